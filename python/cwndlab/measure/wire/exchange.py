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
"""The data that are sent."""


class LibraryMissingError(CwndlabError):
    """An end has not installed what a method needs."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One file over a connection whose socket times out now and then, so that it can be ended."""

    connection: socket.socket
    file_bytes: int
    is_upload: bool
    """Whether the client, which is at the user's end, sends the file."""
    count: Callable[[int], None]
    """Told how many bytes of the file were sent, or received, at this end."""
    is_over: Callable[[], bool]
    """Whether the time of the flow is over."""


class PatientSocket(io.RawIOBase):
    """A socket, as the standard library's HTTP uses one, whose timeouts nobody sees."""

    def __init__(self, connection: socket.socket, is_over: Callable[[], bool]) -> None:
        """Use a socket that has a timeout; closing it is its owner's."""
        super().__init__()
        self._connection = connection
        self._is_over = is_over

    def makefile(self, mode: str, buffering: int = -1) -> io.BufferedReader:
        """The received data, as a file."""
        del mode, buffering  # the library only reads through files
        return io.BufferedReader(PatientSocket(self._connection, self._is_over))

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes; 0 at the end of data, or when it is over."""
        while not self._is_over():
            try:
                return self._connection.recv_into(buffer)
            except TimeoutError:
                continue
        return 0

    def sendall(self, content: Buffer) -> None:
        """Write everything, or until it is over."""
        left = memoryview(content)
        while left.nbytes and not self._is_over():
            try:
                left = left[self._connection.send(left) :]
            except TimeoutError:
                continue
