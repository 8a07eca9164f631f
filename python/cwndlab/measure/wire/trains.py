"""Send short trains of packets over an idle link, and record when each packet arrives.

The method comes from CellReplay (Sentosa et al., NSDI 2025), which records a network without load
by means of trains. The packets of a train are sent at once. Between two trains, the link is idle
for a time that the client requests.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.wire.signed import SignedHead

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from cwndlab.measure.wire.datagrams import SocketAddress
    from cwndlab.measure.wire.protocol import Trains

_HEAD = SignedHead(b"train ", struct.Struct("!8sHHHQ"))
"""Layout of a packet's header: session, serial number of the request, number of the train, position
of the packet in the train, and sending time in ns."""
_NS_PER_S = 10**9

Arrival = tuple[int, int, int, int]
"""A packet that arrived: its train, its position in the train, its sending time by the sender's
clock, and its arrival time by the receiver's clock. Times are in ns."""


def encode_train(
    key: bytes, session: bytes, side: bytes, request: Trains, place: tuple[int, int]
) -> bytes:
    """Return a packet of a train, signed by `side` (client or server).

    `place` is the number of the train and the position of the packet in the train.
    """
    values = session, request.series, *place, now_ns()
    is_first = place[1] == 0
    payload_bytes = request.first_payload_bytes if is_first else request.payload_bytes
    return _HEAD.encode(key, side, values, payload_bytes)


def send_trains(
    send: Callable[[bytes], object],
    key: bytes,
    session: bytes,
    side: bytes,
    request: Trains,
    stopping: threading.Event,
) -> int:
    """Send the requested trains, and return how many were sent.

    If `send` raises OSError, for example because a buffer is full, the packet is not sent again,
    and thus counts as lost. A late train delays the following trains, so that no gap is shorter
    than requested.
    """
    for train, gap_ns in enumerate(request.gaps_ns):
        due_s = time.monotonic() + gap_ns / _NS_PER_S
        for place in range(request.packets):
            packet = encode_train(key, session, side, request, (train, place))
            try:
                send(packet)
            except OSError:
                continue
        if stopping.wait(max(0.0, due_s - time.monotonic())):
            return train + 1
    return len(request.gaps_ns)


class TrainReceiver:
    """Records when the packets of the requested trains arrive."""

    def __init__(self, key: bytes, session: bytes, request: Trains) -> None:
        """Create a receiver of packets of `session` that are signed with `key`."""
        self.peer: SocketAddress | None = None
        self._key = key
        self._session = session
        self._request = request
        self._arrivals: dict[tuple[int, int], Arrival] = {}

    def take(self, content: bytes, address: SocketAddress, received_ns: int, side: bytes) -> bool:
        """Record a packet of a requested train.

        Return False if the packet is not signed by `side` (client or server), was not requested, or
        is a duplicate.
        """
        head = _HEAD.decode(self._key, side, content)
        if head is None:
            return False
        session, series, train, place, sent_ns = head
        request = self._request
        is_requested = train < len(request.gaps_ns) and place < request.packets
        if session != self._session or series != request.series or not is_requested:
            return False
        if (train, place) in self._arrivals:
            return False
        self.peer = address
        self._arrivals[train, place] = (train, place, sent_ns, received_ns)
        return True

    def arrivals(self) -> list[Arrival]:
        """Return all packets that arrived, in the order of their sending."""
        return [self._arrivals[place] for place in sorted(self._arrivals)]
