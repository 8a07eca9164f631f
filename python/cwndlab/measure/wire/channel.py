"""Client side: read lines from the TLS control connection and from data connections."""

from __future__ import annotations

import socket
import ssl

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.certificate import binding_of, client_context, fingerprint
from cwndlab.measure.wire.protocol import ProtocolError

_READ_BYTES = 1 << 16
_NO_SERVER = (
    "the server is not `cwndlab serve`, or runs a different version of cwndlab; check host and port"
)


class ControlChannel:
    """A control connection over TLS 1.3, with the fingerprint of the server's certificate."""

    def __init__(self, connection: socket.socket) -> None:
        """Complete the TLS handshake on a connected socket; this channel then owns the socket.

        Raises:
            ProtocolError: the server does not support TLS 1.3.
            OSError: the connection was lost.
            EOFError: the other end has closed the connection.
        """
        try:
            self.socket = client_context().wrap_socket(connection)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            raise EOFError from None
        except ssl.SSLError:
            raise ProtocolError(_NO_SERVER) from None
        certificate = self.socket.getpeercert(binary_form=True)
        self.binding = binding_of(certificate or b"")
        self._buffer = b""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the certificate that the server has sent."""
        return fingerprint(self.binding)

    def read_line(self, most_bytes: int) -> bytes:
        """Return the next line without the newline.

        Raises:
            ProtocolError: the line is much longer than `most_bytes`.
            EOFError: the other end has closed the connection.
        """
        parts = [self._buffer]
        size = len(self._buffer)
        while b"\n" not in parts[-1]:
            part = self.socket.recv(_READ_BYTES)
            if not part:
                raise EOFError
            parts.append(part)
            size += len(part)
            if size > most_bytes + _READ_BYTES:
                raise ProtocolError(_NO_SERVER)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line


def read_line(connection: socket.socket) -> bytes:
    """Return the next line of a data connection, without reading beyond the line.

    Raises:
        ProtocolError: the line is too long.
        EOFError: the other end has closed the connection.
    """
    line = b""
    while True:
        seen = connection.recv(_READ_BYTES, socket.MSG_PEEK)
        if not seen:
            raise EOFError
        end = seen.find(b"\n")
        line += connection.recv(len(seen) if end < 0 else end + 1)
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > protocol.MAX_REQUEST_BYTES:
            raise ProtocolError(_NO_SERVER)
