"""Simulate the flows of the trials in bench/trial.py, and compute each period's outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import core
from cwndlab.measure.machine.sock_diag import Connection
from cwndlab.measure.trial.periods import PeriodOutcome
from cwndlab.measure.trial.traffic import PeriodTraffic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.judge.goals import Goal

FLOWS = 4
LOOK_S = 0.25
"""Interval in seconds at which the connections of a trial are sampled."""
_SEGMENT = 1448


@dataclass(frozen=True)
class Flows:
    """The rows of all flows of a run, and their samples if the run records samples."""

    rows: list[dict[str, Any]]
    samples: dict[int, list[dict[str, float]]]

    def period(self, n: int) -> list[dict[str, Any]]:
        """Return the rows of the flows of the nth period of a run, counted from 0."""
        return self.rows[n * FLOWS : (n + 1) * FLOWS]


def flows_of(texts: list[str]) -> list[Flows]:
    """Simulate scenarios, and return the flows of each."""
    found: list[Flows] = []
    while texts:
        tables = core.run_many(texts, {})
        done = len(tables["errors"])
        runs = [Flows([], {}) for _ in range(done)]
        for run, row in _rows(tables["flows"]):
            runs[run].rows.append(row)
        for run, row in _rows(tables.get("samples") or {"run": []}):
            runs[run].samples.setdefault(int(row["flow"]), []).append(row)
        found += runs
        texts = texts[done:]
    return found


def _rows(columns: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for n, run in enumerate(columns["run"]):
        yield int(run), {name: values[n] for name, values in columns.items()}


def outcome(run: Flows, rows: list[dict[str, Any]], washout_s: float, goal: Goal) -> PeriodOutcome:
    """Return the outcome of a period of a run, without its wash-out, from the rows of its flows.

    The 25th percentile of the RTT is computed from the run's samples.
    """
    # A flow whose data never arrived has the smallest goodput and no queueing delay.
    base = min((row["rtt_base_ms"] for row in rows if row["rtt_base_ms"] is not None), default=0.0)
    goodputs = [max(row["goodput_mbit_s"] or 0.0, 0.01) for row in rows]
    late = [row["rtt_p95_ms"] if row["rtt_p95_ms"] is not None else base for row in rows]
    utilities = [
        goal.utility_of_flow(goodput, max(rtt - base, 0))
        for goodput, rtt in zip(goodputs, late, strict=True)
    ]
    again = float(np.mean([row["retransmitted_pct"] or 0.0 for row in rows]))
    return PeriodOutcome(
        float(np.mean(utilities)),
        float(np.mean(goodputs)),
        float(np.mean(late)),
        again,
        len(rows),
        _quartile_ms([run.samples.get(int(row["flow"]), []) for row in rows], washout_s),
    )


def _quartile_ms(samples: list[list[dict[str, float]]], washout_s: float) -> float | None:
    """Return the 25th percentile of the RTTs of all flows after the wash-out."""
    rtts_ms = [
        row["srtt_ms"]
        for own in samples
        for row in own
        if row["t_s"] >= own[0]["t_s"] + washout_s and row["srtt_ms"]
    ]
    finite = [rtt_ms for rtt_ms in rtts_ms if np.isfinite(rtt_ms)]
    return float(np.percentile(finite, 25)) if finite else None


def outcomes_so_far(
    flows: Flows, period: int, begins_s: float, washout_s: float, goal: Goal
) -> Iterator[tuple[float, PeriodOutcome]]:
    """Yield what a guard sees during a period: seconds since its start, and the outcome so far.

    Samples contain no retransmissions, so their share is 0 here.
    """
    traffic = PeriodTraffic("any", lambda _: True, goal)
    traffic.look([], counts=False)
    acked = dict.fromkeys(range(period * FLOWS, (period + 1) * FLOWS), 0.0)
    series = [flows.samples.get(flow, []) for flow in acked]
    for samples in zip(*series, strict=False):
        passed_s = samples[0]["t_s"] - begins_s
        if passed_s <= 0:
            continue
        connections = []
        for row in samples:
            flow = int(row["flow"])
            acked[flow] += row["goodput_mbit_s"] * 1e6 / 8 * LOOK_S
            info = {
                "bytes_acked": int(acked[flow]),
                "busy_time_us": int(passed_s * 1e6),
                "rtt_us": int(np.nan_to_num(row["srtt_ms"]) * 1e3),
                "min_rtt_us": 0,
                "segs_out": int(acked[flow] / _SEGMENT),
                "total_retrans": 0,
            }
            connections.append(Connection(str(flow).encode(), ("", 0), ("", 0), "any", info))
        counts = passed_s >= washout_s
        traffic.look(connections, counts=counts)
        if counts:
            yield passed_s, traffic.outcome()
