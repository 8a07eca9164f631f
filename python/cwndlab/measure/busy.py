"""Estimate how fast a busy link serves a packet, and for how long a link stays busy.

Some links serve a packet faster shortly after another packet. For example, the base station of a
cell continues to send grants for a while after the last data, so a packet need not request a grant.
Pairs of packets with a random gap show this effect: the first packet of a pair arrives at an idle
link; the second packet arrives at a link that has been idle only since the first packet left.

A link counts as busy if it serves a second packet faster than almost all packets on the idle link.
On a link without a busy state, such as a wire, first and second packets have the same delays, and
nothing is estimated. Two kinds of busy state remain undetected. On some links, the arrival of a
first packet ends the idle state so soon that first packets are sometimes as fast as second packets.
On other links, the busy state lasts longer than the idle time before a pair, so that first packets
find the link still busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Milliseconds = npt.NDArray[np.float64]

FEWEST_PAIRS = 40
_IDLE_MS = 50.0
"""A pair of packets is used only if the link was idle for at least this time, in ms, before the
pair. The sender waits at least twice as long before each pair, so that jitter does not exclude
pairs."""
_FASTEST_QUANTILE = 0.02
"""This quantile of the measured delays is taken as the shortest delay, both of the idle link and of
the busy link. The minimum of the delays can be too short if a clock or a sending time was wrong.
For the idle link, it can also be too short if other traffic arrived just before a pair of packets:
this traffic made the link busy, and a busy link serves packets faster."""
_FASTER_MS = 0.2
"""A smaller difference between two delays, in ms, may be noise of the hosts' timers."""
_CHANCE = 1e-4
"""Significance level of the test for a busy state: accepted probability of a false detection."""
_MOSTLY = 0.5
"""The second packet of a pair is fast if its delay is clearly shorter than on the idle link. Of the
second packets that find the link busy according to the estimate, at least this share must be fast.
If the share is lower, no busy state is reported. The limit is below 1, because retransmissions on a
radio link delay a tenth of the packets or more."""
_RESAMPLES = 200
_BOUNDS_PCT = (2.5, 97.5)


class Bounded(NamedTuple):
    """An estimate in ms, with the bounds of its 95 % interval."""

    low_ms: float
    value_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of packets in one direction; the link was idle before each pair.

    Both packets of each pair arrived. All times are in ms.
    """

    gap_ms: Milliseconds
    """Time between sending the first and the second packet of a pair."""
    first_ms: Milliseconds
    """Delay of the first packet of each pair."""
    second_ms: Milliseconds
    """Delay of the second packet of each pair."""

    @classmethod
    def of(cls, sent_ms: Milliseconds, delay_ms: Milliseconds) -> Pairs:
        """Return the pairs of packets in a sequence, from sending times and delays.

        Packets with an even index begin a pair. The delay of a lost packet is NaN. A pair is
        omitted if one of its packets was lost, or if the packet before the pair arrived so late
        that the link may still have been busy.
        """
        (first_at, second_at), (first_ms, second_ms) = (
            each.reshape(-1, 2).T for each in (sent_ms, delay_ms)
        )
        arrived = ~np.isnan(first_ms + second_ms)
        fastest_ms = float(np.nanmin(delay_ms)) if arrived.any() else 0.0
        before_at = np.concatenate([[-np.inf], np.nan_to_num(second_at + second_ms)[:-1]])
        found = arrived & (first_at + fastest_ms - before_at >= _IDLE_MS)
        return cls((second_at - first_at)[found], first_ms[found], second_ms[found])

    @classmethod
    def joined(cls, some: Sequence[Pairs]) -> Pairs:
        """Return one `Pairs` object with the packet pairs of all objects in `some`."""
        parts = [np.stack([each.gap_ms, each.first_ms, each.second_ms]) for each in some]
        return cls(*np.concatenate([np.empty((3, 0)), *parts], axis=1))

    def __len__(self) -> int:
        """Return the number of packet pairs."""
        return self.gap_ms.size

    def drawn(self, random: np.random.Generator) -> Pairs:
        """Return a bootstrap sample: the same number of pairs, drawn with replacement."""
        which = random.integers(len(self), size=len(self))
        return Pairs(self.gap_ms[which], self.first_ms[which], self.second_ms[which])


@dataclass(frozen=True, slots=True)
class BusyState:
    """Busy state of a link: for some time after each packet, the link serves packets faster."""

    delay: Bounded
    """Shortest delay of a packet on the busy link, with its 95 % interval."""
    lasts: Bounded
    """Time without packets after which the link leaves the busy state, with its 95 % interval."""

    @classmethod
    def of(cls, pairs: Pairs, idle_delays_ms: Milliseconds) -> BusyState | None:
        """Estimate the busy state of a link from packet pairs and from delays on the idle link.

        The first packet of a pair finds the link idle, as do the packets with the delays
        `idle_delays_ms`. The second packet of a pair may find the link busy. Return None if there
        are too few pairs, or if the second packets are not clearly faster. The intervals come from
        resampled pairs (bootstrap). They do not include errors that affect all pairs equally, such
        as errors of the clocks.
        """
        if len(pairs) < FEWEST_PAIRS:
            return None
        idle_ms = np.concatenate([pairs.first_ms, idle_delays_ms])
        limit_ms = float(np.quantile(idle_ms, _FASTEST_QUANTILE)) - _FASTER_MS
        fast, fast_idle = (int((each < limit_ms).sum()) for each in (pairs.second_ms, idle_ms))
        if not fast or _chance(fast, len(pairs), fast_idle, idle_ms.size) > _CHANCE:
            return None
        found = _estimate(pairs, limit_ms)
        if found is None:
            return None
        random = np.random.default_rng(len(pairs))
        drawn = [pairs.drawn(random) for _ in range(_RESAMPLES)]
        again = [each for each in (_estimate(some, limit_ms) for some in drawn) if each]
        bounds = np.percentile(np.array([found, *again]), _BOUNDS_PCT, axis=0)
        delay, lasts = (
            Bounded(min(low, value), value, max(high, value))
            for value, low, high in zip(found, *bounds.tolist(), strict=True)
        )
        return cls(delay, lasts)


def _estimate(pairs: Pairs, limit_ms: float) -> tuple[float, float] | None:
    """Return the shortest delay on the busy link, and for how long the link stays busy, in ms.

    If the delay of a pair's second packet is below `limit_ms`, the link was busy: a busy link
    serves packets faster than an idle link.
    """
    is_fast = pairs.second_ms < limit_ms
    if not is_fast.any():
        return None
    busy_ms = float(np.quantile(pairs.second_ms[is_fast], _FASTEST_QUANTILE))
    idle_for_ms = pairs.gap_ms - (pairs.first_ms - busy_ms)
    order = np.argsort(idle_for_ms)
    order = order[idle_for_ms[order] > 0]  # others met the first packet in the queue
    idle_for_ms, is_fast = idle_for_ms[order], is_fast[order]
    # The time that classifies most pairs correctly: those before it are fast, the others slow.
    fast = np.concatenate([[0], np.cumsum(is_fast)])
    slow = np.arange(fast.size) - fast
    wrong = slow + (fast[-1] - fast)
    count = int(np.argmin(wrong))
    if count in {0, idle_for_ms.size} or fast[count] < _MOSTLY * count:
        return None
    return busy_ms, float(idle_for_ms[count - 1 : count + 1].mean())


def _chance(fast: int, seconds: int, fast_idle: int, idle: int) -> float:
    """Return how probable so many fast second packets are if the link has no busy state.

    Of a pair of packets, the second may find the link in a busy state and therefore be fast. If
    there is no such state, second packets are fast as often as packets that find the link idle. The
    method is Fisher's exact test (one-sided).

    Args:
        fast: number of pairs whose second packet was fast.
        seconds: number of pairs.
        fast_idle: number of packets that were fast although the link was idle.
        idle: number of packets that found the link idle.
    """
    both = fast + fast_idle
    ways = sum(
        comb(seconds, each) * comb(idle, both - each)
        for each in range(fast, min(seconds, both) + 1)
    )
    return ways / comb(seconds + idle, both)
