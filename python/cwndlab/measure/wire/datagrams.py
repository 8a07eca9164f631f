"""Send datagrams at a fixed rate; measure loss, reordering and jitter (RFC 3550 section 6.4.1)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.wire.signed import SignedHead

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from cwndlab.measure.wire.protocol import DatagramTest

_HEAD = SignedHead(b"datagram ", struct.Struct("!8sIQ"))  # session, number, sending time
_TIMESTAMPS = 35  # SO_TIMESTAMPNS: arrival time of a datagram in the kernel
_FORCED_BUFFER = 33  # SO_RCVBUFFORCE: exceeds the limit for users
_BUFFER_BYTES = 1 << 23
_TIMESPEC = struct.Struct("qq")
_MOST = 1 << 22

SocketAddress = tuple[Any, ...]


def encode(key: bytes, session: bytes, side: bytes, number: int, payload_bytes: int) -> bytes:
    """Return a datagram with `payload_bytes` bytes, signed by `side` (client or server)."""
    return _HEAD.encode(key, side, (session, number, now_ns()), payload_bytes)


def send_datagrams(
    send: Callable[[bytes], object],
    key: bytes,
    session: bytes,
    side: bytes,
    request: DatagramTest,
    stopping: threading.Event | None = None,
) -> int:
    """Send datagrams at the requested rate, and return their number.

    If `send` raises OSError, for example because a buffer is full, the datagram is not sent again.
    The returned number nevertheless includes this datagram, so that it counts as lost.
    """
    step_s = request.payload_bytes * 8 / request.bits_per_sec
    began_s = time.monotonic()
    count = min(_MOST, int(request.duration_ns / 1e9 / step_s))
    for number in range(count):
        if stopping is not None and stopping.is_set():
            return number
        wait_s = began_s + number * step_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        datagram = encode(key, session, side, number, request.payload_bytes)
        try:
            send(datagram)
        except OSError:
            continue
    return count


def prepare(to: socket.socket) -> None:
    """Prepare a socket: enlarge its receive buffer, and let the kernel record arrival times."""
    with contextlib.suppress(OSError):
        to.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
    try:
        to.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, _BUFFER_BYTES)
    except OSError:
        to.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)


def receive(to: socket.socket) -> tuple[bytes, SocketAddress, int]:
    """Return the next datagram, its sender's address, and its arrival time (clock of `now_ns`).

    Raises:
        OSError: no datagram arrived before the timeout of the socket.
    """
    content, ancillary, _flags, address = to.recvmsg(65_536, 64)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPS) and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            # The kernel's clock may be set during a measurement, which does not affect the age.
            age_ns = time.time_ns() - (seconds * 10**9 + nanoseconds)
            return content, address, now_ns() - age_ns
    return content, address, now_ns()


class DatagramReceiver:
    """Counts the arriving datagrams of a session, and measures their jitter."""

    def __init__(self, key: bytes, session: bytes) -> None:
        """Create a counter for datagrams of `session` that are signed with `key`."""
        self.peer: SocketAddress | None = None
        self.has_begun = asyncio.Event()
        self._key = key
        self._session = session
        self._seen = bytearray(_MOST // 8)
        self._highest = -1
        self._received = 0
        self._reordered = 0
        self._jitter_ns = 0.0
        self.transit_ns: int | None = None

    def take(self, content: bytes, address: SocketAddress, received_ns: int, side: bytes) -> bool:
        """Count a datagram that `side` (client or server) has signed.

        Return False if it is a duplicate, or if its session or signature is wrong.
        """
        head = _HEAD.decode(self._key, side, content)
        if head is None:
            return False
        session, number, sent_ns = head
        place, bit = number // 8, 1 << number % 8
        if session != self._session or number >= _MOST or self._seen[place] & bit:
            return False
        self._seen[place] |= bit
        self.peer = address
        self.has_begun.set()
        self._received += 1
        self._reordered += number < self._highest
        self._highest = max(self._highest, number)
        transit_ns = received_ns - sent_ns
        if self.transit_ns is not None:
            self._jitter_ns += (abs(transit_ns - self.transit_ns) - self._jitter_ns) / 16
        self.transit_ns = transit_ns
        return True

    def result(self) -> dict[str, Any]:
        """Return how many datagrams were received and reordered, and the jitter in ms.

        The jitter is None if fewer than two datagrams were received.
        """
        return {
            "received": self._received,
            "reordered": self._reordered,
            "jitter_ms": self._jitter_ns / 1e6 if self._received > 1 else None,
        }
