"""Where a server is."""

from __future__ import annotations

from dataclasses import dataclass, field

from cwndlab.errors import CwndlabError
from cwndlab.measure.wire import protocol


class ServerUnreachableError(CwndlabError):
    """No server answers."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is, and what shows that one may use it."""

    host: str
    port: int
    token: str = field(repr=False)

    @classmethod
    def parse(cls, text: str, token: str) -> Address:
        """`HOST` or `HOST:PORT`; an IPv6 address in brackets where a port follows."""
        host, colon, port = text.rpartition(":")
        if not colon or (":" in host and not host.endswith("]")):
            host, port = text, str(protocol.DEFAULT_PORT)
        if not port.isdigit() or not 0 < int(port) < 1 << 16:
            msg = f"{text!r} is no HOST or HOST:PORT"
            raise ServerUnreachableError(msg)
        return cls(host.strip("[]"), int(port), token)
