"""Estimate the difference between two clocks, so that delays in one direction can be measured.

At time t, the server's clock is ahead of the client's clock by c(t). A packet with the delay d
seems to need d + c(t) from the client to the server, and d - c(t) from the server to the client.
The difference c(t) changes linearly, because the oscillators of the clocks run at different speeds.

The method is the linear program of Moon, Skelly and Towsley (INFOCOM 1999), applied to both
directions at once. Each possible line c yields an estimated delay for each packet. The method
chooses the line that maximizes the smallest of these delays. With this line, the smallest delay is
the same in both directions: half of the smallest round-trip time.

If the true smallest delays differ by D, all estimated delays of one direction are too large by D/2,
and those of the opposite direction are too small by D/2. Without synchronised clocks, D cannot be
measured. Nevertheless, the sum of the delays of both directions is right, and so are the changes of
the delays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import LinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

_FASTEST = 1e-3
"""Largest assumed relative difference between the speeds of two clocks; quartz oscillators differ
by less than 1e-4."""
_STEPS = 100
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Transits:
    """Sending times of packets by the sender's clock; arrival times by the receiver's clock; ns."""

    sent_ns: Integers
    received_ns: Integers

    @classmethod
    def of(cls, packets: Sequence[tuple[int, int]]) -> Transits:
        """Create the object from packets, each given by its sending time and its arrival time."""
        sent_ns, received_ns = np.array(packets, dtype=np.int64).reshape(-1, 2).T
        return cls(sent_ns, received_ns)

    def __add__(self, other: Transits) -> Transits:
        """Return an object with the packets of both operands."""
        return Transits(
            np.concatenate([self.sent_ns, other.sent_ns]),
            np.concatenate([self.received_ns, other.received_ns]),
        )


@dataclass(frozen=True, slots=True)
class ClockLine:
    """How far the server's clock is ahead of the client's, as a linear function of time."""

    origin_ns: int
    """Time by the client's clock at which the server's clock is ahead by `ahead_ns`."""
    ahead_ns: float
    drift: float
    """Time that the server's clock gains on the client's clock, as a fraction of the elapsed
    time."""
    least_ns: float
    """Smallest one-way delay of a packet, in ns. It is half of the smallest round-trip time,
    because it is assumed to be the same in both directions."""

    @classmethod
    def of(cls, up: Transits, down: Transits) -> ClockLine:
        """Estimate the line from packets from the client (`up`) and from the server (`down`).

        Only the packets with the shortest delays determine the line. For an exact result, these
        packets should have the same length in both directions, and should have been sent at about
        the same times. Longer packets have longer delays, so they do not affect the result.

        Raises:
            LinkError: there are no packets in one of the directions.
        """
        if not len(up.sent_ns) or not len(down.sent_ns):
            msg = (
                "no datagram arrived in one direction (to or from the server); "
                "the network may block UDP"
            )
            raise LinkError(msg)
        origin_ns = int(up.sent_ns[0])
        far_ns = int(up.received_ns[0])  # the numbers stay small and keep their precision
        up_at, down_at = up.sent_ns - origin_ns, down.received_ns - origin_ns
        there = (up.received_ns - far_ns - up_at).astype(np.float64)
        back = (down_at - (down.sent_ns - far_ns)).astype(np.float64)

        def smallest(drift: float) -> tuple[float, float]:
            return float((there - drift * up_at).min()), float((back + drift * down_at).min())

        drift = _maximum(lambda each: sum(smallest(each)), -_FASTEST, _FASTEST)
        least_there, least_back = smallest(drift)
        return cls(
            origin_ns,
            far_ns - origin_ns + (least_there - least_back) / 2,
            drift,
            (least_there + least_back) / 2,
        )

    def ahead_at(self, at_ns: Integers) -> npt.NDArray[np.float64]:
        """Return, for times of the client's clock, by how many ns the server's clock is ahead."""
        return self.ahead_ns + self.drift * (at_ns - self.origin_ns).astype(np.float64)

    def up_ns(self, packets: Transits) -> npt.NDArray[np.float64]:
        """Return the one-way delays of packets from the client, in ns; negative delays become 0."""
        ahead_ns = self.ahead_at(packets.sent_ns)
        return np.maximum(packets.received_ns - packets.sent_ns - ahead_ns, 0)

    def down_ns(self, packets: Transits) -> npt.NDArray[np.float64]:
        """Return the one-way delays of packets from the server, in ns; negative delays become 0."""
        ahead_ns = self.ahead_at(packets.received_ns)
        return np.maximum(packets.received_ns - packets.sent_ns + ahead_ns, 0)


def _maximum(of: Callable[[float], float], low: float, high: float) -> float:
    """Return the argument at which a concave function is largest, by golden-section search."""
    for _ in range(_STEPS):
        width = _GOLDEN * (high - low)
        if of(high - width) < of(low + width):
            low = high - width
        else:
            high = low + width
    return (low + high) / 2
