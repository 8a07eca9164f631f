"""An SFTP server that offers a single file of zeros.

The class `asyncssh.SFTPServer` opens any file that a client names. Its subclass `OneFile` defines a
few operations and refuses all other operations, even those that a later version of asyncssh adds.
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
    # These attributes access no files: formatting, the session's properties, its end.
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
    """Accepts clients that know the flow's password; offers no shell, commands or forwarding."""

    def __init__(self, user: str, password: str) -> None:
        """Create a server that accepts only this user name with this password."""
        self._user = user
        self._password = password

    def begin_auth(self, username: str) -> bool:
        """Require authentication from every user."""
        del username
        return True

    def password_auth_supported(self) -> bool:
        """Allow authentication by password; the server accepts no other credentials."""
        return True

    def validate_password(self, username: str, password: str) -> bool:
        """Return whether user name and password are correct."""
        is_right = hmac.compare_digest(password.encode(), self._password.encode())
        return is_right and username == self._user


def _refuse(*_: object) -> NoReturn:
    msg = "this server offers only a single file"
    raise asyncssh.SFTPPermissionDenied(msg)


class OneFile(asyncssh.SFTPServer):
    """Executes the operations of an SFTP session on the server's only file."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], exchange: Exchange) -> None:
        """Offer the file of `exchange`, and count the bytes that are transferred."""
        super().__init__(channel)
        self._exchange = exchange

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        """Open the only file of this server, no matter which name the client requests."""
        del path, attrs
        is_writing = bool(pflags & asyncssh.FXF_WRITE)
        if is_writing != self._exchange.is_upload:
            _refuse()
        return self

    def close(self, file_obj: object) -> None:
        """Do nothing when a file is closed, because nothing is stored."""

    def read(self, file_obj: object, offset: int, size: int) -> bytes:
        """Count and return the requested bytes of the file, which are zeros."""
        del file_obj
        if self._exchange.is_upload:
            _refuse()
        left = max(0, self._exchange.file_bytes - offset)
        content = ZEROS[: min(size, left, _LONGEST_READ_BYTES)]
        self._exchange.count(len(content))
        return content

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Count the bytes that the client writes, and discard them."""
        del file_obj
        if not self._exchange.is_upload or offset + len(data) > self._exchange.file_bytes:
            _refuse()
        self._exchange.count(len(data))
        return len(data)

    def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        """Return the attributes of the server's file, including its length."""
        del file_obj
        return asyncssh.SFTPAttrs(size=self._exchange.file_bytes, permissions=stat.S_IFREG)


for _name in dir(asyncssh.SFTPServer):
    if not _name.startswith("_") and _name not in _NEUTRAL and _name not in vars(OneFile):
        setattr(OneFile, _name, _refuse)


def file_server(
    exchange: Exchange,
) -> Callable[[asyncssh.SSHServerChannel[bytes]], asyncssh.SFTPServer]:
    """Return a function with which asyncssh creates the SFTP server of a session."""
    return lambda channel: OneFile(channel, exchange)
