"""Convert readings of a sender's state (from TCP_INFO, Web100 or logs) into rows of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.imports.measurement import SAMPLE_COLUMNS
from cwndlab.imports.statistics import flow_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from cwndlab.imports.measurement import Numbers

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
_CWR = 2  # a ca_state of TCP_INFO: the window was reduced without a known loss
_WHOLE = ("cwnd_pkts", "ssthresh_pkts", "inflight_pkts", "ca_state")


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of one flow, with one value for each sample; NaN marks missing values."""

    t_s: Numbers
    columns: Mapping[str, Numbers]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, float | None]]) -> Series:
        """Convert rows to columns; each row must contain `t_s`."""
        names = dict.fromkeys(name for row in rows for name in row)
        columns: dict[str, Numbers] = {
            name: np.array([row.get(name) for row in rows], np.float64) for name in names
        }
        return cls(columns.pop("t_s"), columns).in_order()

    def in_order(self) -> Series:
        """Return the series sorted by time."""
        if (np.diff(self.t_s) >= 0).all():
            return self
        return self.at(np.argsort(self.t_s, kind="stable"))

    def at(self, rows: slice | npt.NDArray[np.intp]) -> Series:
        """Return a series that contains only the selected rows."""
        return Series(self.t_s[rows], {name: own[rows] for name, own in self.columns.items()})

    def flow(self, warm_up_s: float) -> dict[str, Any]:
        """Return the flow's row of the table `flows`.

        Counts include the warm-up; rates and means do not.
        """
        return flow_row(lambda: iter([self]), warm_up_s)

    def samples(self, flow: int, begin_s: float | None = None) -> pl.DataFrame:
        """Return the rows of this flow in the table `samples`.

        Times count from `begin_s` (by default, the time of the first sample). Goodput and
        throughput are means since the previous sample.
        """
        begin_s = float(self.t_s[0]) if begin_s is None else begin_s
        rates = {
            "goodput_mbit_s": self._rate("acked_bytes"),
            "throughput_mbit_s": self._rate("sent_bytes"),
        }
        columns: dict[str, Numbers] = {"t_s": self.t_s - begin_s}
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

    def events(self, flow: int, begin_s: float | None = None) -> list[dict[str, Any]]:
        """Return the flow's rows in `events`; an event gets the time of the sample that follows."""
        begin_s = float(self.t_s[0]) if begin_s is None else begin_s
        found = []
        state = self.columns.get("ca_state")
        if state is not None:
            reduced = np.flatnonzero((state[1:] == _CWR) & (state[:-1] != _CWR)) + 1
            times = (self.t_s[reduced] - begin_s).tolist()
            found += [{"flow": flow, "t_s": t_s, "event": "cwr", "value": None} for t_s in times]
        for counter, event in (("retransmitted_pkts", "recovery"), ("timeouts", "timeout")):
            values = self.columns.get(counter)
            if values is None:
                continue
            for at in np.flatnonzero(np.diff(values) > 0):
                t_s = float(self.t_s[at + 1] - begin_s)
                grown = float(values[at + 1] - values[at])
                found.append({"flow": flow, "t_s": t_s, "event": event, "value": grown})
        return sorted(found, key=lambda event: event["t_s"])

    def _rate(self, counter: str) -> Numbers | None:
        values = self.columns.get(counter)
        if values is None:
            return None
        rates: Numbers = np.full(values.size, np.nan)
        steps = np.diff(self.t_s)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates[1:] = np.where(steps > 0, 8e-6 * np.diff(values) / steps, np.nan)
        return rates
