"""Our SFTP server: one file of zeros, and nothing else.

asyncssh's own server opens what a client names. Here every operation that stands not in this file
is refused, also one that a later version brings.
"""

from __future__ import annotations

import hmac
import stat
from typing import TYPE_CHECKING, NoReturn

import asyncssh

from cwndlab.measure.wire.exchange import ZEROS, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_READ_BYTES = len(ZEROS)
_NEUTRAL = {
    # They touch nothing: names of numbers, what a session is, its end.
    "channel",
    "connection",
    "convert_attrs",
    "env",
    "exit",
    "format_group",
    "format_longname",
    "format_user",
    "logger",
}


class Gate(asyncssh.SSHServer):
    """Lets in who knows the session's password; no shell, no command, no forwarding."""

    def __init__(self, user: str, password: str) -> None:
        """Know the one user."""
        self._user = user
        self._password = password

    def begin_auth(self, username: str) -> bool:
        """Nobody enters without."""
        del username
        return True

    def password_auth_supported(self) -> bool:
        """The one way in."""
        return True

    def validate_password(self, username: str, password: str) -> bool:
        """Whether it is the session's."""
        is_right = hmac.compare_digest(password.encode(), self._password.encode())
        return is_right and username == self._user


def _refuse(*_: object) -> NoReturn:
    msg = "only the one file"
    raise asyncssh.SFTPPermissionDenied(msg)


class OneFile(asyncssh.SFTPServer):
    """The file, which is as long as announced."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], exchange: Exchange) -> None:
        """Count what is moved."""
        super().__init__(channel)
        self._exchange = exchange

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        """Open the one file, under any name."""
        del path, attrs
        is_writing = bool(pflags & asyncssh.FXF_WRITE)
        if is_writing != self._exchange.is_upload:
            _refuse()
        return self

    def close(self, file_obj: object) -> None:
        """Nothing is kept."""

    def read(self, file_obj: object, offset: int, size: int) -> bytes:
        """Zeros, as far as the file is long."""
        del file_obj
        if self._exchange.is_upload:
            _refuse()
        left = max(0, self._exchange.file_bytes - offset)
        content = ZEROS[: min(size, left, _LONGEST_READ_BYTES)]
        self._exchange.count(len(content))
        return content

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Count them, as far as the file is long."""
        del file_obj
        if not self._exchange.is_upload or offset + len(data) > self._exchange.file_bytes:
            _refuse()
        self._exchange.count(len(data))
        return len(data)

    def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        """Attributes of the file, with its length."""
        del file_obj
        return asyncssh.SFTPAttrs(size=self._exchange.file_bytes, permissions=stat.S_IFREG)


for _name in dir(asyncssh.SFTPServer):
    if not _name.startswith("_") and _name not in _NEUTRAL and _name not in vars(OneFile):
        setattr(OneFile, _name, _refuse)


def file_server(
    exchange: Exchange,
) -> Callable[[asyncssh.SSHServerChannel[bytes]], asyncssh.SFTPServer]:
    """The object that asyncssh makes for a session."""
    return lambda channel: OneFile(channel, exchange)
