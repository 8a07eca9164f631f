"""The interface of transfer methods: the data connection, and the count of bytes moved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from typing_extensions import Buffer

ZEROS = bytes(1 << 18)
"""The bytes to send, all zero."""


class LibraryMissingError(CwndlabError):
    """A library that a transfer method needs is not installed."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The transfer of one file over a socket with short timeouts, which let it end in time."""

    connection: socket.socket
    file_bytes: int
    is_upload: bool
    """Whether the client (at the user's end) sends the file."""
    count: Callable[[int], None]
    """Function called with the number of bytes of the file that this end sent or received."""
    is_over: Callable[[], bool]
    """Function that returns whether the flow's time is over."""


class PatientSocket(io.RawIOBase):
    """A socket for the standard library's HTTP client; it never raises a timeout error."""

    def __init__(self, connection: socket.socket, is_over: Callable[[], bool]) -> None:
        """Use a socket that has a timeout; its owner closes it."""
        super().__init__()
        self._connection = connection
        self._is_over = is_over

    def makefile(self, mode: str, buffering: int = -1) -> io.BufferedReader:
        """Return the received data as a file."""
        del mode, buffering  # the library only reads through files
        return io.BufferedReader(PatientSocket(self._connection, self._is_over))

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes; return 0 at the end of data, or when the flow's time is over."""
        while not self._is_over():
            try:
                return self._connection.recv_into(buffer)
            except TimeoutError:
                continue
        return 0

    def sendall(self, content: Buffer) -> None:
        """Write everything, or stop when the flow's time is over."""
        left = memoryview(content)
        while left.nbytes and not self._is_over():
            try:
                left = left[self._connection.send(left) :]
            except TimeoutError:
                continue
