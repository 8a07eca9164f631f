"""Judge, for each setting of a study, whether simulator and kernel agree.

A setting is a combination of factor levels. Its verdict is based on goodput and median RTT:

- "agrees": the medians over repetitions differ by no more than the bounds.
- "overlaps": a median differs by more, but the values of simulator and kernel have overlapping
  ranges. The verdict includes the share of runs that lie in both ranges.
- "differs": a median differs by more, and the ranges do not overlap.

A difference of medians may be due to chance: on some links, a first loss that occurs slightly
earlier changes the whole run. Therefore, `validate` repeats a setting that does not agree, up to
ten seeds in total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.results.metrics import together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.api.results import Results

GOODPUT_BOUND = 0.03
RTT_BOUND = 0.05
COMPARED = (
    "goodput_mbit_s",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "cwnd_mean_pkts",
    "retransmitted_pct",
    "timeouts",
)
_BOUNDS = {"goodput_mbit_s": GOODPUT_BOUND, "rtt_p50_ms": RTT_BOUND}
_KEYS = frozenset({"run", "cell", "repetition", "seed"})


class Agreement(Enum):
    """Verdict on how well simulator and kernel agree in one setting (factor levels) of a study."""

    AGREES = "agrees"
    OVERLAPS = "overlaps"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Pair:
    """Values of one metric, such as goodput, in all repetitions of simulator and kernel."""

    simulated: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """The median of the simulator's values, and the median of the kernel's values.

        The median of no values is NaN.
        """
        simulated, measured = (
            float(np.median(values)) if values else math.nan
            for values in (self.simulated, self.measured)
        )
        return simulated, measured

    @property
    def difference(self) -> float:
        """(simulator's median - kernel's median) / kernel's median; NaN if that is undefined."""
        simulated, measured = self.medians
        return (simulated - measured) / measured if measured else math.nan

    @property
    def common(self) -> float:
        """Fraction of all values that lie in both ranges: the simulator's and the kernel's.

        A range extends from the smallest to the largest value.
        """
        if not self.simulated or not self.measured:
            return 0.0
        values = (*self.simulated, *self.measured)
        least = max(min(self.simulated), min(self.measured))
        most = min(max(self.simulated), max(self.measured))
        return sum(least <= value <= most for value in values) / len(values)

    @property
    def overlaps(self) -> bool:
        """True if the ranges of values in the simulator and the kernel overlap."""
        return self.common > 0


@dataclass(frozen=True, slots=True)
class CellAgreement:
    """Comparison of simulator and kernel in one setting (factor levels) of a study."""

    cell: Mapping[str, object]
    pairs: Mapping[str, Pair]
    cwnd_distance: float
    """Mean absolute difference between the simulator's and the kernel's congestion window, divided
    by the kernel's mean window."""

    @property
    def seeds(self) -> int:
        """Number of repetitions: the smaller of the simulator's and the kernel's numbers."""
        goodput = self.pairs["goodput_mbit_s"]
        return min(len(goodput.simulated), len(goodput.measured))

    @property
    def common(self) -> float:
        """The smaller of two fractions of runs: one for goodput, and one for median RTT.

        Each fraction is the share of all runs (of simulator and kernel together) whose goodput or
        median RTT lies both in the range of the simulator's values and in that of the kernel's.
        """
        return min(self.pairs[name].common for name in _BOUNDS)

    @property
    def verdict(self) -> Agreement:
        """The worse of the setting's two verdicts: on goodput and on median RTT."""
        verdict = Agreement.AGREES
        for name, bound in _BOUNDS.items():
            pair = self.pairs[name]
            if not abs(pair.difference) <= bound:  # written so that NaN does not agree
                if not pair.overlaps:
                    return Agreement.DIFFERS
                verdict = Agreement.OVERLAPS
        return verdict


def judge(simulated: Results, measured: Results) -> list[CellAgreement]:
    """Compare simulator and kernel in each setting, in the order of the study."""
    factors = list(simulated.factors)
    frames = [_per_run(results, factors) for results in (simulated, measured)]
    judgements = []
    for cell in frames[0].select(factors).unique(maintain_order=True).iter_rows(named=True):
        ours, theirs = (_of_cell(frame, cell) for frame in frames)
        pairs = {
            name: Pair(*(tuple(frame[name].drop_nulls().to_list()) for frame in (ours, theirs)))
            for name in COMPARED
        }
        distance = _cwnd_distance(
            *(
                results.samples().filter(pl.col("run").is_in(frame["run"].to_list()))
                for results, frame in ((simulated, ours), (measured, theirs))
            )
        )
        judgements.append(CellAgreement(cell, pairs, distance))
    return judgements


def _per_run(results: Results, factors: list[str]) -> pl.DataFrame:
    """Return one row for each run; `together` combines the values of the run's flows."""
    flows = results.flows()
    columns = [together(name, flows.columns) for name in COMPARED]
    return flows.group_by(["run", "repetition", *factors], maintain_order=True).agg(
        column.cast(pl.Float64) for column in columns
    )


def _of_cell(frame: pl.DataFrame, cell: Mapping[str, object]) -> pl.DataFrame:
    kept = [pl.col(name).eq_missing(pl.lit(value)) for name, value in cell.items()]
    return frame.filter(*kept) if kept else frame


def _cwnd_distance(ours: pl.DataFrame, theirs: pl.DataFrame) -> float:
    if ours.is_empty() or theirs.is_empty():
        return math.nan
    columns = (pl.col("repetition", "flow", "cwnd_pkts"), pl.col("t_s").round(6))
    ours, theirs = (frame.select(*columns) for frame in (ours, theirs))
    joined = ours.join(theirs, on=["repetition", "flow", "t_s"], suffix="_measured")
    mean = joined["cwnd_pkts_measured"].mean()
    apart = (joined["cwnd_pkts"] - joined["cwnd_pkts_measured"]).abs().mean()
    if not isinstance(mean, float) or not isinstance(apart, float) or mean <= 0:
        return math.nan
    return apart / mean
