"""A sender's counters and gauges over time, as TCP_INFO, Web100 and logs give them, to a flow."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.imports.measurement import SAMPLE_COLUMNS, mbit_s, smoothed_rtt_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from cwndlab.imports.measurement import Numbers

    Truths = npt.NDArray[np.bool_]

COUNTERS = ("acked_bytes", "sent_bytes", "sent_pkts", "retransmitted_pkts", "timeouts")
GAUGES = (
    "cwnd_pkts",
    "ssthresh_pkts",
    "srtt_ms",
    "rtt_ms",
    "inflight_pkts",
    "pacing_rate_mbit_s",
    "delivery_rate_mbit_s",
    "min_rtt_ms",
    "goodput_mbit_s",
    "throughput_mbit_s",
    "ca_state",
)
_CWR = 2  # of TCP_INFO's ca_state: the window was reduced though nothing is known to be lost
_WHOLE = ("cwnd_pkts", "ssthresh_pkts", "inflight_pkts", "ca_state")


@dataclass(slots=True)
class SeriesBuilder:
    """Rows of one flow, which arrive one by one and take eight bytes a value."""

    count: int = 0
    columns: dict[str, array[float]] = field(default_factory=dict)

    def add(self, row: Mapping[str, float | None]) -> None:
        """Add a row, which has a `t_s`; what it does not have is NaN."""
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = array("d", [math.nan]) * self.count
            column.append(math.nan if value is None else value)
        self.count += 1
        for column in self.columns.values():
            if len(column) < self.count:
                column.append(math.nan)

    def largest(self, name: str) -> float:
        """The largest value of a column; 0 where there is none."""
        values = self.columns.get(name)
        return 0.0 if values is None else float(np.fmax.reduce(np.frombuffer(values), initial=0.0))

    def series(self) -> Series:
        """The rows in the order of their times."""
        columns: dict[str, Numbers] = {
            name: np.frombuffer(values) for name, values in self.columns.items()
        }
        t_s = columns.pop("t_s")
        if not (np.diff(t_s) >= 0).all():
            order = np.argsort(t_s, kind="stable")
            t_s, columns = t_s[order], {name: values[order] for name, values in columns.items()}
        return Series(t_s, columns)


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of one flow by name, one value a sample; NaN where a sample has none."""

    t_s: Numbers
    columns: Mapping[str, Numbers]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, float | None]]) -> Series:
        """Make columns of rows, each of which has a `t_s`."""
        builder = SeriesBuilder()
        for row in rows:
            builder.add(row)
        return builder.series()

    def flow(self, warm_up_s: float) -> dict[str, Any]:
        """The row of a flow: rates and means after the warm-up, counts of the whole life."""
        begin_s, end_s = float(self.t_s[0]), self._end_s()
        window_begin_s = begin_s + warm_up_s
        window_s = end_s - window_begin_s
        in_window = (self.t_s >= window_begin_s) & (self.t_s <= end_s)
        row: dict[str, Any] = {
            "start_s": 0.0,
            "end_s": end_s - begin_s,
            "window_s": window_s if window_s > 0 else None,
        }
        if window_s > 0:
            row |= self._rates(window_begin_s, end_s)
        for counter in ("sent_pkts", "retransmitted_pkts", "timeouts"):
            if (total := self._total(counter)) is not None:
                row[counter] = round(total)
        if (acked := self._total("acked_bytes")) is not None:
            row["delivered_bytes"] = round(acked)
        cwnd = self._gauge("cwnd_pkts", in_window)
        if cwnd.size:
            row |= {"cwnd_mean_pkts": float(cwnd.mean()), "cwnd_max_pkts": round(cwnd.max())}
        return row | self._round_trips(in_window)

    def samples(self, flow: int) -> pl.DataFrame:
        """The time series; rates are those since the sample before."""
        rates = {
            "goodput_mbit_s": self._rate("acked_bytes"),
            "throughput_mbit_s": self._rate("sent_bytes"),
        }
        columns: dict[str, Numbers] = {"t_s": self.t_s - self.t_s[0]}
        for name in GAUGES:
            if name in self.columns and name in SAMPLE_COLUMNS:
                values = self.columns[name]
                columns[name] = np.rint(values) if name in _WHOLE else values
        for name, since_before in rates.items():
            if since_before is not None:
                gauge = columns.get(name, np.nan)
                columns[name] = np.where(np.isfinite(since_before), since_before, gauge)
        number = pl.lit(flow, dtype=pl.Int64).alias("flow")
        return pl.DataFrame(columns).select(number, pl.all().fill_nan(None))

    def events(self, flow: int) -> list[dict[str, Any]]:
        """Retransmissions, timeouts and reductions without either, at the first sample of each."""
        found = []
        state = self.columns.get("ca_state")
        if state is not None:
            reduced = np.flatnonzero((state[1:] == _CWR) & (state[:-1] != _CWR)) + 1
            times = (self.t_s[reduced] - self.t_s[0]).tolist()
            found += [{"flow": flow, "t_s": t_s, "event": "cwr", "value": None} for t_s in times]
        for counter, event in (("retransmitted_pkts", "recovery"), ("timeouts", "timeout")):
            values = self.columns.get(counter)
            if values is None:
                continue
            for at in np.flatnonzero(np.diff(values) > 0):
                t_s = float(self.t_s[at + 1] - self.t_s[0])
                grown = float(values[at + 1] - values[at])
                found.append({"flow": flow, "t_s": t_s, "event": event, "value": grown})
        return sorted(found, key=lambda event: event["t_s"])

    def _end_s(self) -> float:
        """The last sample that still saw data acknowledged."""
        acked = self.columns.get("acked_bytes")
        if acked is None:
            return float(self.t_s[-1])
        grew = np.flatnonzero(np.diff(np.nan_to_num(acked)) > 0)
        return float(self.t_s[grew[-1] + 1]) if grew.size else float(self.t_s[-1])

    def _rates(self, begin_s: float, end_s: float) -> dict[str, float | None]:
        rates = {}
        for counter, column in (
            ("acked_bytes", "goodput_mbit_s"),
            ("sent_bytes", "throughput_mbit_s"),
        ):
            values = self.columns.get(counter)
            if values is not None and np.isfinite(values).any():
                known = np.isfinite(values)
                at = np.interp([begin_s, end_s], self.t_s[known], values[known])
                rates[column] = mbit_s(at[1] - at[0], end_s - begin_s)
            elif column in self.columns:
                inside = (self.t_s > begin_s) & (self.t_s <= end_s)
                gauge = self._gauge(column, inside)
                rates[column] = float(gauge.mean()) if gauge.size else None
        return rates

    def _round_trips(self, in_window: Truths) -> dict[str, float | None]:
        shortest = [
            float(values.min())
            for name in ("min_rtt_ms", "rtt_ms", "srtt_ms")
            if (values := self._gauge(name, self.t_s >= self.t_s[0])).size
        ]
        base_ms = min(shortest) if shortest else None
        name = "srtt_ms" if "srtt_ms" in self.columns else "rtt_ms"
        row = smoothed_rtt_columns(self._gauge(name, in_window), base_ms)
        if name == "rtt_ms":
            row.pop("srtt_mean_ms", None)
        return row

    def _gauge(self, name: str, where: Truths) -> Numbers:
        values = self.columns.get(name)
        if values is None:
            return np.empty(0)
        chosen: Numbers = values[where]
        return chosen[np.isfinite(chosen)]

    def _total(self, name: str) -> float | None:
        """The last value of a counter: it counts from the connection's begin."""
        values = self.columns.get(name)
        if values is None:
            return None
        known = values[np.isfinite(values)]
        return float(known[-1]) if known.size else None

    def _rate(self, counter: str) -> Numbers | None:
        values = self.columns.get(counter)
        if values is None:
            return None
        rates: Numbers = np.full(values.size, np.nan)
        steps = np.diff(self.t_s)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates[1:] = np.where(steps > 0, 8e-6 * np.diff(values) / steps, np.nan)
        return rates
