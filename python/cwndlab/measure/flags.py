"""Disturbances of a run: outages, repeated timeouts, a lost interface, a change of technology."""

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
_DOUBLINGS = 3  # so many timeouts in a row are no single lost retransmission

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
    """A disturbance of a run, recorded with its results."""

    kind: FlagKind
    t_s: float
    what: str
    duration_s: float | None = None
    flow: int | None = None
    """The flow that was disturbed; None for all flows."""

    @property
    def is_outage(self) -> bool:
        """Whether the network was unreachable; if so, the run may be repeated."""
        return self.kind != "technology"


def flags_of(flow: int, series: Series, outage_s: float) -> list[Flag]:
    """Return the periods in which nothing was acknowledged although data were in flight.

    Args:
        flow: the flow's number.
        series: the time series of its sender.
        outage_s: shortest silence that is returned.
    """
    found = []
    for begin_s, end_s, backoff in _stalls(series):
        lasted_s = end_s - begin_s
        doubled = f", the timeout doubled {backoff} times" if backoff else ""
        if lasted_s >= outage_s:
            what = f"no data for {lasted_s:.1f} s{doubled}"
            found.append(Flag("outage", begin_s, what, lasted_s, flow))
        elif backoff >= _DOUBLINGS:
            what = f"{backoff} timeouts in a row"
            found.append(Flag("timeouts", begin_s, what, lasted_s, flow))
    return found


def flag_frame(key: str, flags: Sequence[Flag]) -> pl.DataFrame:
    """Return the flags of a run as a table."""
    rows = [(key, f.flow, f.t_s, f.duration_s, f.kind, f.what) for f in flags]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _stalls(series: Series) -> list[tuple[float, float, int]]:
    """Return begin, end and timeout doublings of each period without acknowledgements."""
    acked, in_flight = series.columns.get("acked_bytes"), series.columns.get("unacked_pkts")
    if acked is None or in_flight is None or len(series.t_s) < 2:  # noqa: PLR2004  a time between
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
