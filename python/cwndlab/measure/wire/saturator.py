"""Keep a real link full with datagrams, and record when the datagrams arrive.

The method comes from Saturatr (Winstein et al., NSDI 2013). Datagrams are sent faster than they
arrive, so that the queue in front of the slowest link never runs empty. The bytes that arrive in
each millisecond then show the capacity of the link. Fifty times a second, the receiver reports the
arrived bytes and their delay to the sender. If buffers are deep, the sender stops filling them at
a queueing delay of 750 ms.
"""

from __future__ import annotations

import array
import hmac
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab.measure.wire.datagrams import DatagramReceiver, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.measure.wire.datagrams import SocketAddress
    from cwndlab.measure.wire.protocol import Saturate

FEEDBACK_EVERY_S = 0.02
WARM_UP_S = 2.0

_FEEDBACK = struct.Struct("!8sIQqQ")  # session, number, bytes, delay, arrival time; times in ns
_MARK = b"arrived "
_MAC_BYTES = 16
FEEDBACK_BYTES = _FEEDBACK.size + _MAC_BYTES

_FIRST_BITS_PER_SEC = 2e6
_FLOOR_BITS_PER_SEC = 5e5
_START_GAIN, _GAIN = 2.0, 1.5
_ENOUGH_NS, _TOO_MUCH_NS = 750_000_000, 1_500_000_000
_HOLD, _DRAIN = 1.0, 0.7
_MEMORY_NS = 150_000_000
_LEAST_MEMORY_NS = 40_000_000
_SILENCE_S = 1.0
_GONE_S = 10.0
_BURST = 64
_NS_PER_MS = 10**6
_NS_PER_S = 10**9


@dataclass(slots=True)
class Control:
    """Computes the sending rate that keeps the link full; uses neither a clock nor a socket."""

    most_bits_per_sec: float
    bits_per_sec: float = _FIRST_BITS_PER_SEC
    queueing_ns: int = 0
    highest_queueing_ns: int = 0
    _seen: deque[tuple[int, int]] = field(default_factory=deque)
    _least_ns: int | None = None
    _is_starting: bool = True

    def handle_feedback(self, arrived_bytes: int, delay_ns: int, at_ns: int) -> None:
        """Adapt the sending rate to a report from the receiver.

        Args:
            arrived_bytes: bytes of all datagrams that arrived so far, including headers.
            delay_ns: one-way delay of the latest datagram, including the offset of the clocks.
            at_ns: arrival time of this datagram by the receiver's clock.
        """
        self._least_ns = delay_ns if self._least_ns is None else min(self._least_ns, delay_ns)
        self.queueing_ns = delay_ns - self._least_ns
        self.highest_queueing_ns = max(self.highest_queueing_ns, self.queueing_ns)
        self._seen.append((at_ns, arrived_bytes))
        while self._seen[0][0] < at_ns - _MEMORY_NS:
            self._seen.popleft()
        first_ns, first_bytes = self._seen[0]
        if at_ns - first_ns < _LEAST_MEMORY_NS:
            return
        delivered = (arrived_bytes - first_bytes) * 8 * _NS_PER_S / (at_ns - first_ns)
        if self._is_starting and delivered < self.bits_per_sec / _GAIN:
            self._is_starting = False
        self.bits_per_sec = min(
            self.most_bits_per_sec, max(_FLOOR_BITS_PER_SEC, delivered * self._gain())
        )

    def handle_silence(self) -> None:
        """Halve the sending rate in an outage, so that the queue is short afterwards."""
        self._seen.clear()
        self.bits_per_sec = max(_FLOOR_BITS_PER_SEC, self.bits_per_sec / 2)

    def _gain(self) -> float:
        if self.queueing_ns > _TOO_MUCH_NS:
            return _DRAIN
        if self.queueing_ns > _ENOUGH_NS:
            return _HOLD
        return _START_GAIN if self._is_starting else _GAIN


class Saturator:
    """Sends datagrams at a controlled rate, until the time is over or the receiver is silent."""

    def __init__(
        self,
        send: Callable[[bytes], object],
        key: bytes,
        session: bytes,
        side: bytes,
        request: Saturate,
    ) -> None:
        """Create a sender; `send` sends a datagram, or raises OSError if the buffer is full."""
        self.control = Control(request.most_bits_per_sec)
        self.sent = 0
        self._send = send
        self._key = key
        self._session = session
        self._side = side
        self._request = request
        self._lock = threading.Lock()
        self._heard_s = 0.0
        self._number = -1

    def take(self, content: bytes, other: bytes) -> bool:
        """Process a report from the receiver; return False if it is invalid or not new."""
        if len(content) != FEEDBACK_BYTES:
            return False
        body, mac = content[: _FEEDBACK.size], content[_FEEDBACK.size :]
        if not hmac.compare_digest(mac, _mac(self._key, other, body)):
            return False
        session, number, arrived_bytes, delay_ns, at_ns = _FEEDBACK.unpack(body)
        if session != self._session or number <= self._number:
            return False
        with self._lock:
            self._number = number
            self._heard_s = time.monotonic()
            self.control.handle_feedback(arrived_bytes, delay_ns, at_ns)
        return True

    def run(self, stopping: threading.Event | None = None) -> None:
        """Send for the requested duration, or until `stopping` is set."""
        request = self._request
        began_s = last_s = self._heard_s = time.monotonic()
        packet_bits = request.packet_bytes * 8
        credit_bits = 0.0
        silent_until_s = began_s + _SILENCE_S
        while (now_s := time.monotonic()) < began_s + request.duration_ns / _NS_PER_S:
            if stopping is not None and stopping.is_set():
                break
            with self._lock:
                if now_s > max(self._heard_s + _SILENCE_S, silent_until_s):
                    if now_s > self._heard_s + _GONE_S:
                        break
                    self.control.handle_silence()
                    silent_until_s = now_s + _SILENCE_S
                credit_bits += self.control.bits_per_sec * (now_s - last_s)
            last_s = now_s
            credit_bits = min(credit_bits, _BURST * packet_bits)
            while credit_bits >= packet_bits:
                credit_bits -= packet_bits
                if not self._send_one():
                    credit_bits = 0.0
            time.sleep(max(0.0005, (packet_bits - credit_bits) / self.control.bits_per_sec))

    def result(self) -> dict[str, Any]:
        """Return the number of datagrams that were sent, and their highest queueing delay."""
        queueing_ms = self.control.highest_queueing_ns / 1e6
        return {"sent": self.sent, "highest_queueing_ms": queueing_ms}

    def _send_one(self) -> bool:
        content = encode(
            self._key, self._session, self._side, self.sent, self._request.payload_bytes
        )
        try:
            self._send(content)
        except OSError:
            return False  # the queue of the device is full, and so is the link
        self.sent += 1
        return True


class ArrivalRecorder(DatagramReceiver):
    """Counts the bytes that arrive in each millisecond, and creates reports for the sender."""

    def __init__(self, key: bytes, session: bytes, request: Saturate) -> None:
        """Create a counter for each millisecond of the test, plus 2 s for late datagrams."""
        super().__init__(key, session)
        self._packet_bytes = request.packet_bytes
        self._per_ms = array.array("I", bytes(4 * (request.duration_ns // _NS_PER_MS + 2_000)))
        self._first_ns: int | None = None
        self._arrived_bytes = 0
        self._delay_ns = 0
        self._last_ns = 0
        self._told = 0
        self._feedbacks = 0

    def take(self, content: bytes, address: SocketAddress, received_ns: int, side: bytes) -> bool:
        """Count a datagram, return True; ignore duplicates and those that `side` did not sign."""
        if not super().take(content, address, received_ns, side):
            return False
        if self.transit_ns is None:
            return True
        if self._first_ns is None:
            self._first_ns = received_ns
        at_ms = (received_ns - self._first_ns) // _NS_PER_MS
        if 0 <= at_ms < len(self._per_ms):
            self._per_ms[at_ms] += self._packet_bytes
        self._arrived_bytes += self._packet_bytes
        self._delay_ns = self.transit_ns
        self._last_ns = received_ns
        return True

    def feedback(self, side: bytes) -> bytes | None:
        """Return a report for the sender, or None if no datagram arrived since the last report."""
        if self._last_ns == 0 or self._told == self._arrived_bytes:
            return None
        self._told = self._arrived_bytes
        facts = (self._feedbacks, self._arrived_bytes, self._delay_ns, self._last_ns)
        body = _FEEDBACK.pack(self._session, *facts)
        self._feedbacks += 1
        return body + _mac(self._key, side, body)

    def arrivals(self) -> list[int]:
        """Return how many bytes arrived in each millisecond, from the first arrival to the last."""
        if self._first_ns is None:
            return []
        last = min(len(self._per_ms) - 1, (self._last_ns - self._first_ns) // _NS_PER_MS)
        return list(self._per_ms[: last + 1])


def _mac(key: bytes, side: bytes, body: bytes) -> bytes:
    return hmac.digest(key, _MARK + side + body, "sha256")[:_MAC_BYTES]
