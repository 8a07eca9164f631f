"""Compute a flow's row of the table `flows` from a long time series.

The series is read several times, piece by piece.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.imports.measurement import mbit_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cwndlab.imports.measurement import Numbers
    from cwndlab.imports.series import Series

    Pieces = Callable[[], Iterator[Series]]

_COUNTERS = {"sent_pkts", "retransmitted_pkts", "timeouts", "acked_bytes"}
_RATES = {"acked_bytes": "goodput_mbit_s", "sent_bytes": "throughput_mbit_s"}
_ROUND_TRIPS = ("min_rtt_ms", "rtt_ms", "srtt_ms")
_IN_MEMORY = 1 << 20
_DIGIT_BITS = 16


def flow_row(pieces: Pieces, warm_up_s: float) -> dict[str, Any]:
    """Return a flow's row of the table `flows`.

    Counts include the warm-up; rates and means do not.

    Args:
        pieces: function that returns the whole series in pieces. The first sample of each piece
            repeats the last sample of the previous piece.
        warm_up_s: length of the warm-up at the beginning of the series.
    """
    life = _Life()
    for piece in pieces():
        life.add(piece)
    begin_s, end_s = life.begin_s + warm_up_s, life.end_s
    window_s = end_s - begin_s
    row: dict[str, Any] = {
        "start_s": 0.0,
        "end_s": end_s - life.begin_s,
        "window_s": window_s if window_s > 0 else None,
    }
    smoothed = "srtt_ms" if "srtt_ms" in life.names else "rtt_ms"
    window = _Window(begin_s, end_s, smoothed)
    for n, piece in enumerate(pieces()):
        window.add(piece.at(slice(int(n > 0), None)))
    if window_s > 0:
        row |= _rates(life, window)
    for counter in ("sent_pkts", "retransmitted_pkts", "timeouts"):
        if counter in life.totals:
            row[counter] = round(life.totals[counter])
    if "acked_bytes" in life.totals:
        row["delivered_bytes"] = round(life.totals["acked_bytes"])
    if window.cwnd.count:
        row |= {"cwnd_mean_pkts": window.cwnd.mean, "cwnd_max_pkts": round(window.cwnd.most)}
    row["rtt_base_ms"] = life.shortest_ms
    if window.rtt.count:
        middle = _median(
            lambda: (
                window.round_trips(p.at(slice(int(n > 0), None))) for n, p in enumerate(pieces())
            ),
            window.rtt.count,
        )
        row |= {"rtt_mean_ms": window.rtt.mean, "rtt_p50_ms": middle}
        if smoothed == "srtt_ms":
            row["srtt_mean_ms"] = window.rtt.mean
    return row


def _rates(life: _Life, window: _Window) -> dict[str, float | None]:
    rates: dict[str, float | None] = {}
    for counter, column in _RATES.items():
        if counter in life.totals:
            moved = window.at_end[counter].value - window.at_begin[counter].value
            rates[column] = mbit_s(moved, window.end_s - window.begin_s)
        elif column in life.names:
            gauge = window.gauges[column]
            rates[column] = gauge.mean if gauge.count else None
    return rates


@dataclass(slots=True)
class _Life:
    """Statistics of a flow over its whole series, including the warm-up."""

    begin_s: float = math.nan
    end_s: float = math.nan
    """Time of the last sample with newly acknowledged data, or of the last sample if no data were
    acknowledged."""
    names: set[str] = field(default_factory=set)
    totals: dict[str, float] = field(default_factory=dict)
    """Last value of each counter; all counters start at 0 when the connection begins."""
    shortest_ms: float | None = None
    _has_grown: bool = False

    def add(self, piece: Series) -> None:
        if math.isnan(self.begin_s):
            self.begin_s = float(piece.t_s[0])
        self.names |= piece.columns.keys()
        acked = piece.columns.get("acked_bytes")
        growth = np.diff(np.nan_to_num(np.empty(0) if acked is None else acked))
        grew = np.flatnonzero(growth > 0)
        if grew.size:
            self.end_s, self._has_grown = float(piece.t_s[grew[-1] + 1]), True
        elif not self._has_grown:
            self.end_s = float(piece.t_s[-1])
        for name in (_COUNTERS | _RATES.keys()) & piece.columns.keys():
            known = _finite(piece.columns[name])
            if known.size:
                self.totals[name] = float(known[-1])
        for name in _ROUND_TRIPS:
            known = _finite(piece.columns.get(name, np.empty(0)))
            if known.size:
                least = float(known.min())
                self.shortest_ms = (
                    least if self.shortest_ms is None else min(least, self.shortest_ms)
                )


@dataclass(slots=True)
class _Moments:
    """Number, sum and maximum of the values in all arrays that were passed to `add`."""

    count: int = 0
    total: float = 0.0
    most: float = -math.inf

    def add(self, values: Numbers) -> None:
        if values.size:
            self.count += values.size
            self.total += float(values.sum())
            self.most = max(self.most, float(values.max()))

    @property
    def mean(self) -> float:
        return self.total / self.count


@dataclass(slots=True)
class _CounterAt:
    """Value of a counter at a given time, interpolated between two samples."""

    at_s: float
    before: tuple[float, float] | None = None
    after: tuple[float, float] | None = None

    def add(self, t_s: Numbers, values: Numbers) -> None:
        split = int(np.searchsorted(t_s, self.at_s, side="right"))
        if split:
            self.before = float(t_s[split - 1]), float(values[split - 1])
        if split < t_s.size and self.after is None:
            self.after = float(t_s[split]), float(values[split])

    @property
    def value(self) -> float:
        before, after = self.before or self.after, self.after or self.before
        if before is None or after is None:
            return math.nan
        (t0_s, low), (t1_s, high) = before, after
        share = (self.at_s - t0_s) / (t1_s - t0_s) if t1_s > t0_s else 0.0
        return low + max(share, 0.0) * (high - low)


class _Window:
    """Statistics of the samples from `begin_s`, the end of the warm-up, until `end_s`."""

    def __init__(self, begin_s: float, end_s: float, smoothed: str) -> None:
        self.begin_s, self.end_s = begin_s, end_s
        self.at_begin = {name: _CounterAt(begin_s) for name in _RATES}
        self.at_end = {name: _CounterAt(end_s) for name in _RATES}
        self.gauges = {name: _Moments() for name in _RATES.values()}
        self.cwnd, self.rtt = _Moments(), _Moments()
        self._smoothed = smoothed

    def add(self, piece: Series) -> None:
        t_s = piece.t_s
        for name in _RATES.keys() & piece.columns.keys():
            known = np.isfinite(piece.columns[name])
            for levels in (self.at_begin, self.at_end):
                levels[name].add(t_s[known], piece.columns[name][known])
        inside = (t_s > self.begin_s) & (t_s <= self.end_s)
        for name in self.gauges.keys() & piece.columns.keys():
            self.gauges[name].add(_finite(piece.columns[name][inside]))
        if "cwnd_pkts" in piece.columns:
            in_window = (t_s >= self.begin_s) & (t_s <= self.end_s)
            self.cwnd.add(_finite(piece.columns["cwnd_pkts"][in_window]))
        self.rtt.add(self.round_trips(piece))

    def round_trips(self, piece: Series) -> Numbers:
        """Return the valid round-trip times of the samples after the warm-up."""
        if self._smoothed not in piece.columns:
            return np.empty(0)
        in_window = (piece.t_s >= self.begin_s) & (piece.t_s <= self.end_s)
        values = _finite(piece.columns[self._smoothed][in_window])
        return values[values > 0]


def _finite(values: Numbers) -> Numbers:
    known: Numbers = values[np.isfinite(values)]
    return known


def _median(values: Callable[[], Iterator[Numbers]], count: int) -> float:
    """Return the median of `count` positive numbers; each call of `values` yields all of them."""
    if count <= _IN_MEMORY:
        return float(np.median(np.concatenate(list(values()))))
    low, high = (_ranked(values, rank) for rank in ((count - 1) // 2, count // 2))
    return (low + high) / 2


def _ranked(values: Callable[[], Iterator[Numbers]], rank: int) -> float:
    """Find, without sorting, the number at index `rank` of the sorted positive numbers."""
    prefix = 0
    for shift in range(64 - _DIGIT_BITS, -1, -_DIGIT_BITS):
        counts = np.zeros(1 << _DIGIT_BITS, np.int64)
        for piece in values():
            bits = piece.view(np.uint64) >> np.uint64(shift)
            own = bits[bits >> np.uint64(_DIGIT_BITS) == prefix] & np.uint64((1 << _DIGIT_BITS) - 1)
            counts += np.bincount(own.astype(np.int64), minlength=counts.size)
        sums = np.cumsum(counts)
        digit = int(np.searchsorted(sums, rank, side="right"))
        rank -= int(sums[digit - 1]) if digit else 0
        prefix = prefix << _DIGIT_BITS | digit
    return float(np.array([prefix], np.uint64).view(np.float64)[0])
