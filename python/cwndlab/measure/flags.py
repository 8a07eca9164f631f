"""Describe disturbances of a run, and find outages and repeated timeouts of its flows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.imports.series import Series

DEFAULT_OUTAGE_S = 3.0
_DOUBLINGS = 3  # more timeouts in a row than a single lost retransmission causes

FlagKind = Literal["outage", "timeouts", "interface", "technology"]
_SCHEMA = {
    "run": pl.String,
    "flow": pl.Int64,
    "t_s": pl.Float64,
    "duration_s": pl.Float64,
    "flag": pl.String,
    "what": pl.String,
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A disturbance of a run, stored with the results of the run."""

    kind: FlagKind
    t_s: float
    what: str
    duration_s: float | None = None
    flow: int | None = None
    """Number of the disturbed flow; None if all flows were disturbed."""

    @property
    def is_outage(self) -> bool:
        """True if the run should be repeated: any kind of disturbance except "technology"."""
        return self.kind != "technology"


def flags_of(flow: int, series: Series, outage_s: float) -> list[Flag]:
    """Return the outages and the repeated timeouts of a flow.

    An outage is a period in which no acknowledgement arrived although data were in flight.

    Args:
        flow: number of the flow.
        series: time series of the sender of the flow.
        outage_s: minimum duration of an outage; a shorter period is returned only if it contains
            repeated timeouts.
    """
    found = []
    for begin_s, end_s, backoff in _stalls(series):
        lasted_s = end_s - begin_s
        doubled = f", retransmission timeout doubled {backoff} times" if backoff else ""
        if lasted_s >= outage_s:
            what = f"no data for {lasted_s:.1f} s{doubled}"
            found.append(Flag("outage", begin_s, what, lasted_s, flow))
        elif backoff >= _DOUBLINGS:
            what = f"{backoff} timeouts in a row"
            found.append(Flag("timeouts", begin_s, what, lasted_s, flow))
    return found


def flag_frame(key: str, flags: Sequence[Flag]) -> pl.DataFrame:
    """Return the disturbances of a run as a table."""
    rows = [(key, f.flow, f.t_s, f.duration_s, f.kind, f.what) for f in flags]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _stalls(series: Series) -> list[tuple[float, float, int]]:
    """Return start, end and number of timeout doublings of each period of waiting for ACKs."""
    acked, in_flight = series.columns.get("acked_bytes"), series.columns.get("unacked_pkts")
    if acked is None or in_flight is None or len(series.t_s) < 2:  # noqa: PLR2004  no interval
        return []
    backoff = np.nan_to_num(series.columns.get("backoff", np.zeros(len(acked))))
    moved = np.flatnonzero(np.diff(np.nan_to_num(acked)) > 0) + 1
    marks = [0, *moved.tolist(), len(acked) - 1]
    found = []
    for first, last in pairwise(marks):
        waiting = np.flatnonzero(np.nan_to_num(in_flight[first:last]) > 0)
        if waiting.size == 0:
            continue
        begin_s = float(series.t_s[first + waiting[0]])
        doublings = int(backoff[first : last + 1].max())
        found.append((begin_s, float(series.t_s[last]), doublings))
    return found
