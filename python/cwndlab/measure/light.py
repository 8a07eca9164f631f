"""Evaluate trains of packets that crossed an idle link: delays, durations and idle times.

The result is a *light* trace, in the format of CellReplay (Sentosa et al., NSDI 2025): a line for
each train, with the time of its sending, the delay of its first packet (the *base delay*), and the
time of each arrival after the first. A train whose first packet was lost has no line; other lost
packets have no arrival time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import LinkError
from cwndlab.measure.clock_line import Transits
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.measure.clock_line import ClockLine
    from cwndlab.measure.wire.protocol import Trains
    from cwndlab.measure.wire.trains import Arrival

IDLE_MS = (5, 10, 20, 50, 100, 200)
"""Idle times in ms that are compared, to find out after which time the link is like an idle
link."""
REGULAR_MS = 100
"""Idle time in ms before each train of the trace. CellReplay's calibration treats a link as idle
after this time without packets."""
_FEWEST = 8  # trains for an estimate of a median
_SAME_MS = 1.0  # the resolution of a trace of the loaded link
_QUEUED_MS = 50.0
"""A packet that waits longer than this, in ms, was probably queued. Without a queue, a packet waits
only for an opportunity to send: a scheduling request in LTE takes some 10 ms, with a retransmission
on the radio link 20 ms."""
_CONFIDENCE = 1.96  # standard errors of an interval of 95 %


@dataclass(frozen=True, slots=True)
class TrainSeries:
    """Trains in one direction that were sent one after the other."""

    arrivals: Sequence[Arrival]
    """Packets that arrived, in the order of their sending."""
    request: Trains
    begins_ms: float
    """Time at which the first train was sent, on the time axis of the trace."""
    lasts_ms: float
    """Duration of the part of the series that belongs to the trace. Later trains only serve to
    compare idle times."""

    def first_packets(self) -> Transits:
        """Return the first packets of the trains that arrived."""
        return Transits.of([(sent, at) for _, place, sent, at in self.arrivals if place == 0])

    def began_ns(self) -> int:
        """Return when the first train was sent, by the sender's clock; 0 if no train arrived."""
        for train, place, sent_ns, _ in self.arrivals:
            if place == 0:
                return sent_ns - sum(self.request.gaps_ns[:train])
        return 0

    def train_ms(self) -> float | None:
        """Return the median time from a train's first to last arrival; None without arrivals."""
        times: dict[int, list[int]] = {}
        for train, _, _, at_ns in self.arrivals:
            times.setdefault(train, []).append(at_ns)
        if not times:
            return None
        return float(np.median([max(each) - min(each) for each in times.values()])) / 1e6


@dataclass(frozen=True, slots=True)
class Train:
    """A train whose first packet arrived."""

    at_ms: float | None
    """Sending time on the time axis of the trace; None if the train does not belong to the
    trace."""
    base_ms: float
    offsets_ms: tuple[float, ...]
    """Arrival times of the train's packets relative to the first arrival, which is 0; ascending."""
    idle_ms: float | None
    """Time for which the link had been idle before the train. Negative if the train caught up with
    the previous train; None if no packet of the previous train arrived."""
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LightDirection:
    """Trains in one direction of a link."""

    direction: Direction
    packets: int
    """Number of packets of each train."""
    sent: int
    trains: tuple[Train, ...]

    @classmethod
    def of(
        cls, direction: Direction, series: Sequence[TrainSeries], clock: ClockLine
    ) -> LightDirection:
        """Evaluate all trains in a direction.

        Raises:
            LinkError: no first packet of a train arrived.
        """
        is_down = direction is Direction.DOWNLINK
        delays = []
        for each in series:
            first = each.first_packets()
            delays.append(clock.down_ns(first) if is_down else clock.up_ns(first))
        least_ns = min((float(each.min()) for each in delays if len(each)), default=0.0)
        trains = [
            train
            for each, delay_ns in zip(series, delays, strict=True)
            for train in _trains(each, delay_ns.tolist(), least_ns)
        ]
        if all(train.at_ms is None for train in trains):
            msg = f"{direction.title}: no train arrived, so nothing was recorded without load"
            raise LinkError(msg)
        sent = sum(len(each.request.gaps_ns) for each in series)
        return cls(direction, series[0].request.packets, sent, tuple(trains))

    @property
    def base_ms(self) -> tuple[float, float, float]:
        """The 10th, 50th and 90th percentile of the base delay."""
        low, median, high = np.percentile([each.base_ms for each in self.recorded], [10, 50, 90])
        return float(low), float(median), float(high)

    @property
    def train_ms(self) -> float:
        """Median time from the first to the last arrival of a train."""
        return float(np.median([each.offsets_ms[-1] for each in self.recorded]))

    @property
    def recorded(self) -> list[Train]:
        """Packet trains in the trace: trains that did not catch up with the previous train."""
        on_axis = [each for each in self.trains if each.at_ms is not None]
        return [each for each in on_axis if each.idle_ms is None or each.idle_ms > 0] or on_axis

    @property
    def lost_trains_pct(self) -> float:
        """Percentage of trains whose first packet was lost."""
        return 100 * (1 - len(self.trains) / self.sent)

    @property
    def lost_in_trains_pct(self) -> float:
        """Percentage of lost packets in trains whose first packet arrived."""
        arrived = sum(len(each.offsets_ms) for each in self.trains)
        return 100 * (1 - arrived / (self.packets * len(self.trains)))

    @property
    def queued_pct(self) -> float:
        """Percentage of trains that probably queued behind other traffic, judged by their delay."""
        base_ms = np.array([each.base_ms for each in self.recorded])
        return 100 * float((base_ms > base_ms.min() + _QUEUED_MS).mean())

    @property
    def light_after_ms(self) -> int | None:
        """Shortest idle time after which trains are as fast as after the longest one, or None."""
        return light_after_ms(self.trains)

    def trace(self) -> str:
        """Return a light trace, with times in ms.

        Each line contains the sending time of a train, its base delay, and the times of its
        arrivals relative to the first arrival.
        """
        return "".join(
            " ".join(f"{value:.3f}" for value in (train.at_ms, train.base_ms, *train.offsets_ms))
            + "\n"
            for train in self.recorded
        )


def light_after_ms(trains: Sequence[Train]) -> int | None:
    """Return the shortest idle time after which trains are as fast as after the longest idle time.

    Two groups of trains are equally fast if the medians of the base delay and of the last arrival
    differ by at most a millisecond, or if their 95 % intervals overlap. If there are too few trains
    after the longest idle time, None is returned.
    """
    groups: dict[int, list[Train]] = {idle_ms: [] for idle_ms in IDLE_MS}
    for train in trains:
        if train.idle_ms is not None and train.idle_ms > IDLE_MS[0] / 2:
            idle_ms = train.idle_ms
            groups[min(IDLE_MS, key=lambda each: abs(np.log(each / idle_ms)))].append(train)
    longest, *shorter = sorted(IDLE_MS, reverse=True)
    if len(_whole(groups[longest])) < _FEWEST:
        return None
    found = longest
    for idle_ms in shorter:
        if len(_whole(groups[idle_ms])) < _FEWEST or not _are_alike(
            groups[idle_ms], groups[longest]
        ):
            break
        found = idle_ms
    return found


def _trains(series: TrainSeries, delays_ns: Sequence[float], least_ns: float) -> list[Train]:
    """Return the trains whose first packets arrived, with the delays of these packets."""
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
                is_whole=len(at_ns) == series.request.packets,
            )
        )
    return trains


def _whole(trains: Sequence[Train]) -> list[Train]:
    return [each for each in trains if each.is_whole]


def _are_alike(some: Sequence[Train], others: Sequence[Train]) -> bool:
    """Return whether two groups of trains have the same base delay and the same duration."""
    return _have_same_median(
        [each.base_ms for each in some], [each.base_ms for each in others]
    ) and _have_same_median(
        [each.offsets_ms[-1] for each in _whole(some)],
        [each.offsets_ms[-1] for each in _whole(others)],
    )


def _have_same_median(some: Sequence[float], others: Sequence[float]) -> bool:
    (low, median, high), (other_low, other, other_high) = _median(some), _median(others)
    return abs(median - other) <= _SAME_MS or (low <= other_high and other_low <= high)


def _median(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median between the bounds of its 95 % interval, which are order statistics."""
    ordered = sorted(values)
    count = len(ordered)
    rank = max(int((count - _CONFIDENCE * count**0.5) / 2), 1)
    return ordered[rank - 1], float(np.median(ordered)), ordered[count - rank]
