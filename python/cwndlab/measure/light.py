"""Evaluate the delays of packet trains and packet pairs on an idle link and on a busy link.

A train is a group of packets that are sent at once. The result is a *light* trace, in the format of
CellReplay (Sentosa et al., NSDI 2025). Each line describes a train: its sending time, the delay
until the earliest arrival of one of its packets (the *base delay*), and the arrival times of its
packets, counted from the earliest arrival. A train whose first packet was lost has no line. Other
lost packets have no arrival time. Pairs of packets show how long the link stays busy after a packet
(see `busy`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import LinkError
from cwndlab.measure.busy import FEWEST_PAIRS, BusyState, Pairs
from cwndlab.measure.clock_line import Transits
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from cwndlab.measure.clock_line import ClockLine
    from cwndlab.measure.wire.protocol import Trains
    from cwndlab.measure.wire.trains import Arrival

REGULAR_MS = 100
"""Idle time in ms before each train of the trace. After this time without packets, CellReplay
treats a link as idle."""
_QUEUED_MS = 50.0
"""A packet that waits longer than this, in ms, was probably queued behind other packets. Without a
queue, a packet waits only until it may be sent: about 10 ms for a scheduling request in LTE, and 20
ms with a retransmission on the radio link."""


@dataclass(frozen=True, slots=True)
class TrainSeries:
    """Trains of packets that were sent one after another in one direction."""

    arrivals: Sequence[Arrival]
    """Packets that arrived, in the order in which they were sent."""
    request: Trains
    begins_ms: float
    """Time at which the first train was sent, in ms on the time axis of the trace."""
    lasts_ms: float
    """Duration of the series in ms on the time axis of the trace. The duration begins when the
    first train is sent. Trains that are sent after its end do not belong to the trace."""

    def first_packets(self) -> Transits:
        """Return the sending and arrival times of each train's first packet; omit lost packets."""
        return Transits.of([(sent, at) for _, place, sent, at in self.arrivals if place == 0])

    def began_ns(self) -> int:
        """Return when the first train was sent, in ns of the sender's clock; 0 if it is unknown."""
        for train, place, sent_ns, _ in self.arrivals:
            if place == 0:
                return sent_ns - sum(self.request.gaps_ns[:train])
        return 0

    def train_ms(self) -> float | None:
        """Return the median duration of the trains in ms; None if no packet arrived.

        The duration of a train is the time between the arrivals of two of its packets: the packet
        that arrives first and the packet that arrives last.
        """
        times: dict[int, list[int]] = {}
        for train, _, _, at_ns in self.arrivals:
            times.setdefault(train, []).append(at_ns)
        if not times:
            return None
        return float(np.median([max(each) - min(each) for each in times.values()])) / 1e6


@dataclass(frozen=True, slots=True)
class Train:
    """A train of packets whose first packet arrived."""

    at_ms: float | None
    """Sending time on the time axis of the trace; None if the train does not belong to the
    trace."""
    base_ms: float
    offsets_ms: tuple[float, ...]
    """Arrival times in ms of the train's packets relative to the first arrival, in ascending
    order; the first value is 0."""
    idle_ms: float | None
    """Time in ms for which the link had been idle before the train. The value is negative if the
    train caught up with the previous train, and None if no packet of the previous train
    arrived."""


@dataclass(frozen=True, slots=True)
class LightDirection:
    """Packet trains and packet pairs in one direction of a link, with their delays."""

    direction: Direction
    packets: int
    """Number of packets in each train."""
    first_bytes: int
    """Size in bytes, including all headers, of each packet of a pair and of each train's first
    packet."""
    sent: int
    trains: tuple[Train, ...]
    pairs: Pairs
    busy: BusyState | None
    """Busy state of the link: for some time after each packet, the link serves packets faster. The
    value states the delay in this state, and how long after a packet the state lasts. None if the
    packet pairs show no such state, or if there are too few pairs."""

    @classmethod
    def of(
        cls,
        direction: Direction,
        series: Sequence[TrainSeries],
        pairs: Sequence[TrainSeries],
        clock: ClockLine,
    ) -> LightDirection:
        """Evaluate the packet trains and the packet pairs that were sent in one direction.

        Raises:
            LinkError: the first packets of all trains of the trace were lost.
        """
        delays = [_delays_ns(each, direction, clock) for each in series]
        least_ns = min((float(each.min()) for each in delays if len(each)), default=0.0)
        trains = [
            train
            for each, delay_ns in zip(series, delays, strict=True)
            for train in _trains(each, delay_ns.tolist(), least_ns)
        ]
        if all(train.at_ms is None for train in trains):
            msg = f"{direction.title}: no packet train arrived, so the idle link's delay is unknown"
            raise LinkError(msg)
        sent = sum(len(each.request.gaps_ns) for each in series)
        request = series[-1].request
        headers_bytes = request.packet_bytes - request.payload_bytes
        first_bytes = request.first_payload_bytes + headers_bytes
        both = _pairs(pairs, [_delays_ns(each, direction, clock) for each in pairs])
        alone = cls(direction, request.packets, first_bytes, sent, tuple(trains), both, None)
        base_ms = np.array([each.base_ms for each in alone.recorded])
        return replace(alone, busy=BusyState.of(both, base_ms))

    @property
    def base_ms(self) -> tuple[float, float, float]:
        """The 10th, 50th and 90th percentile of the trains' base delays, in ms."""
        low, median, high = np.percentile([each.base_ms for each in self.recorded], [10, 50, 90])
        return float(low), float(median), float(high)

    @property
    def train_ms(self) -> float:
        """Median duration, in ms, of the trains in `recorded`.

        The duration of a train is the time between the arrivals of two of its packets: the packet
        that arrives first and the packet that arrives last.
        """
        return float(np.median([each.offsets_ms[-1] for each in self.recorded]))

    @property
    def recorded(self) -> list[Train]:
        """Trains of the trace, without those that caught up with the previous train.

        If every train caught up, none is omitted.
        """
        on_axis = [each for each in self.trains if each.at_ms is not None]
        return [each for each in on_axis if each.idle_ms is None or each.idle_ms > 0] or on_axis

    @property
    def lost_trains_pct(self) -> float:
        """Percentage of trains whose first packet was lost."""
        return 100 * (1 - len(self.trains) / self.sent)

    @property
    def lost_in_trains_pct(self) -> float:
        """Percentage of packets that were lost in the trains of the trace.

        A train whose first packet was lost does not belong to the trace.
        """
        arrived = sum(len(each.offsets_ms) for each in self.recorded)
        return 100 * (1 - arrived / (self.packets * len(self.recorded)))

    @property
    def has_enough_pairs(self) -> bool:
        """True if enough pairs arrived to show whether the link has a busy state."""
        return len(self.pairs) >= FEWEST_PAIRS

    @property
    def queued_pct(self) -> float:
        """Percentage of trains whose delay suggests that they queued behind other traffic."""
        base_ms = np.array([each.base_ms for each in self.recorded])
        return 100 * float((base_ms > base_ms.min() + _QUEUED_MS).mean())

    def keys(self) -> dict[str, str]:
        """Return the keys of a link description that the recording determines, and their values."""
        keys = {"light_first": f"{self.first_bytes} B"}
        if self.busy is None:
            return keys
        shortest_ms = min(each.base_ms for each in self.recorded)
        # The trace has whole microseconds, and none of its delays may be shorter.
        delay_us = floor(min(self.busy.delay.value_ms, shortest_ms) * 1e3)
        return {
            **keys,
            "light_after": f"{self.busy.lasts.value_ms:.1f} ms",
            "busy_delay": f"{delay_us / 1e3:.3f} ms",
        }

    def trace(self) -> str:
        """Return the light trace (packet trains on a link without load) as text; times are in ms.

        Each line describes a train: its sending time, its base delay, and the arrival times of its
        packets, counted from the earliest arrival of one of them.
        """
        return "".join(
            " ".join(f"{value:.3f}" for value in (train.at_ms, train.base_ms, *train.offsets_ms))
            + "\n"
            for train in self.recorded
        )


def _delays_ns(
    series: TrainSeries, direction: Direction, clock: ClockLine
) -> npt.NDArray[np.float64]:
    """Return the one-way delay, in ns, of each train's first packet; omit lost packets."""
    first = series.first_packets()
    return clock.down_ns(first) if direction is Direction.DOWNLINK else clock.up_ns(first)


def _pairs(series: Sequence[TrainSeries], delays_ns: Sequence[npt.NDArray[np.float64]]) -> Pairs:
    """Group the packets of each series into pairs: 1 and 2, 3 and 4, and so on.

    Each train in these series must consist of a single packet. A pair is omitted if one of its
    packets was lost, or if the link may not have been idle before the pair.
    """
    found = []
    for each, delays in zip(series, delays_ns, strict=True):
        sent_ms, delay_ms = np.full((2, len(each.request.gaps_ns)), np.nan)
        for (number, _, sent_ns, _), delay_ns in zip(each.arrivals, delays, strict=True):
            sent_ms[number] = (sent_ns - each.arrivals[0][2]) / 1e6
            delay_ms[number] = delay_ns / 1e6
        found.append(Pairs.of(sent_ms, delay_ms))
    return Pairs.joined(found)


def _trains(series: TrainSeries, delays_ns: Sequence[float], least_ns: float) -> list[Train]:
    """Return the trains of a series; omit trains whose first packet was lost."""
    packets: dict[int, list[Arrival]] = {}
    for arrival in series.arrivals:
        packets.setdefault(arrival[0], []).append(arrival)
    began_ns = series.began_ns()
    delays = iter(delays_ns)
    trains = []
    for number in sorted(packets):
        _, place, sent_ns, first_ns = packets[number][0]
        if place != 0:
            continue
        delay_ns = next(delays)
        at_ns = sorted(each_ns for *_, each_ns in packets[number])
        before = packets.get(number - 1)
        idle_ns = None
        if before is not None:
            apart_ns = first_ns - max(each_ns for *_, each_ns in before)
            idle_ns = apart_ns - (delay_ns - least_ns)
        axis_ms = (sent_ns - began_ns) / 1e6
        trains.append(
            Train(
                series.begins_ms + axis_ms if axis_ms < series.lasts_ms else None,
                # A packet that overtakes the first one is the first arrival.
                (delay_ns - (first_ns - at_ns[0])) / 1e6,
                tuple((each_ns - at_ns[0]) / 1e6 for each_ns in at_ns),
                None if idle_ns is None else idle_ns / 1e6,
            )
        )
    return trains
