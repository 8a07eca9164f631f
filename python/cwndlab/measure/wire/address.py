"""Parse addresses of measurement servers, and check the servers' fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, field

from cwndlab.errors import CwndlabError
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.known_servers import KnownServers, OtherServerError


class ServerUnreachableError(CwndlabError):
    """The address that the user gave is malformed, or no server answers there."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a measurement server, with the server's token and fingerprint."""

    host: str
    port: int
    token: str = field(repr=False)
    fingerprint: str | None = None
    """Fingerprint of the server's certificate; None if the user did not give one."""
    known: KnownServers | None = None
    """File of known fingerprints; if None, fingerprints are neither looked up nor stored."""

    @property
    def name(self) -> str:
        """Address of the server as a string `HOST:PORT`."""
        return f"{self.host}:{self.port}"

    def check(self, fingerprint: str) -> None:
        """Compare the server's fingerprint with the expected fingerprint.

        The expected fingerprint is the one that the user gave. If the user gave none, it is the
        stored one. If none is stored either, every fingerprint is accepted.

        Raises:
            OtherServerError: the fingerprints differ, or the stored fingerprint cannot be read.
        """
        if self.fingerprint is None:
            if self.known is not None:
                self.known.check(self.name, fingerprint)
        elif fingerprint.removeprefix("SHA256:") != self.fingerprint.removeprefix("SHA256:"):
            msg = (
                f"{self.name} is not the expected server: its fingerprint is {fingerprint}, not "
                f"{self.fingerprint}; `cwndlab serve` prints the fingerprint of a server"
            )
            raise OtherServerError(msg)

    def remember(self, fingerprint: str) -> None:
        """Store the fingerprint of a server that has proved its knowledge of the token."""
        if self.fingerprint is None and self.known is not None:
            self.known.remember(self.name, fingerprint)

    @classmethod
    def parse(cls, text: str, token: str, fingerprint: str | None = None) -> Address:
        """Parse `HOST` or `HOST:PORT`; an IPv6 address before a port must be in brackets.

        Args:
            text: address as the user wrote it.
            token: token of the server.
            fingerprint: fingerprint of the server's certificate; if None, the fingerprint in the
                user's list of known servers is used.
        """
        host, port = host_and_port(text, protocol.DEFAULT_PORT)
        return cls(host, port, token, fingerprint, KnownServers.of_user())


def host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Split `HOST` or `HOST:PORT`; an IPv6 address before a port must be in brackets.

    Raises:
        ServerUnreachableError: the text has another form, or cannot be the name of a host.
    """
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = text, str(default_port)
    host = host.strip("[]")
    if not is_host(host) or not _is_port(port):
        msg = f"{text!r} is not of the form HOST or HOST:PORT"
        raise ServerUnreachableError(msg)
    return host, int(port)


def is_host(text: str) -> bool:
    """Return whether a text can be an IP address or the name of a host."""
    try:
        text.encode("idna")
    except UnicodeError:  # a part between two dots is empty, or longer than 63 characters
        return False
    return bool(text)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16
