"""Sign the head of a datagram, so that the receiver counts only datagrams of its peer."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import struct

_MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class SignedHead:
    """Layout of a datagram: a head, its message authentication code, and zeros as padding."""

    mark: bytes
    """Kind of the datagram. The kind is part of the signed data, so that a datagram of one kind
    cannot pass for another kind."""
    layout: struct.Struct
    """Binary layout of the values at the start of a datagram, in network byte order."""

    def encode(self, key: bytes, side: bytes, values: tuple[Any, ...], payload_bytes: int) -> bytes:
        """Return a datagram of `payload_bytes` bytes, signed by `side` (client or server)."""
        head = self.layout.pack(*values)
        filling = bytes(max(0, payload_bytes - len(head) - _MAC_BYTES))
        return head + self._code(key, side, head) + filling

    def decode(self, key: bytes, side: bytes, content: bytes) -> tuple[Any, ...] | None:
        """Return the values in a datagram's head; None if `side` did not sign this head.

        `side` is the client or the server.
        """
        size = self.layout.size
        head, code = content[:size], content[size : size + _MAC_BYTES]
        if len(head) < size or not hmac.compare_digest(code, self._code(key, side, head)):
            return None
        return self.layout.unpack(head)

    def _code(self, key: bytes, side: bytes, head: bytes) -> bytes:
        return hmac.digest(key, self.mark + side + head, "sha256")[:_MAC_BYTES]
