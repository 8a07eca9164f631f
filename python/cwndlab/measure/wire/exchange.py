"""Define what HTTP and SFTP transfers need: a socket, the file's size, and callbacks."""

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
"""A block of zero bytes; all transferred files contain only zeros."""


class LibraryMissingError(CwndlabError):
    """A Python library that a transfer method needs is not installed."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The transfer of one file over a socket; it ends early when `is_over` returns true."""

    connection: socket.socket
    file_bytes: int
    is_upload: bool
    """True if the client, which is at the user's end, sends the file to the server."""
    count: Callable[[int], None]
    """Function that is called whenever this computer has sent or received bytes of the file; its
    argument is the number of these bytes."""
    is_over: Callable[[], bool]
    """Function that returns true when the flow's time is over, or when the flow was stopped."""


class PatientSocket(io.RawIOBase):
    """A socket for the standard library's HTTP client and server; it retries after timeouts."""

    def __init__(self, connection: socket.socket, is_over: Callable[[], bool]) -> None:
        """Wrap a socket that has a timeout; the caller remains its owner and closes it."""
        super().__init__()
        self._connection = connection
        self._is_over = is_over

    def makefile(self, mode: str, buffering: int = -1) -> io.BufferedReader:
        """Return the received data as a file object."""
        del mode, buffering  # the HTTP client uses files only for reading
        return io.BufferedReader(PatientSocket(self._connection, self._is_over))

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes; return 0 at the end of the data, or when the flow's time is over."""
        while not self._is_over():
            try:
                return self._connection.recv_into(buffer)
            except TimeoutError:
                continue
        return 0

    def sendall(self, content: Buffer) -> None:
        """Send all bytes, or stop when the time of the flow is over."""
        left = memoryview(content)
        while left.nbytes and not self._is_over():
            try:
                left = left[self._connection.send(left) :]
            except TimeoutError:
                continue
