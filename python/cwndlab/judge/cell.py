"""Define `Comparison`: the values measured with all algorithms in one network setting."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.results.columns import Better, quantity
from cwndlab.stats.bootstrap import Floats

GEOMETRIC = frozenset({"completion_ms"})
"""Columns averaged by the geometric mean, because their relative differences matter."""

CONTESTANT = "contestant"
"""Name of the column that identifies the algorithm or variant to which a flow belongs."""

_NOT_RECORDED = {
    "run": pl.String,
    CONTESTANT: pl.String,
    "flow": pl.Int64,
    "t_s": pl.Float64,
    "event": pl.String,
}


@dataclass(frozen=True)
class Comparison:
    """The algorithms or variants compared in one network setting, with their measured values.

    Each array in `values` contains one quantity, with one entry for each repetition, in order.
    An entry is NaN if the algorithm has no run in this repetition, or if the quantity was not
    measured in the run.
    """

    cell: Mapping[str, object]
    contestants: tuple[str, ...]
    seeds: tuple[int, ...]
    """Random seeds of all runs in this network setting."""
    repetitions: int
    is_paired: bool
    """True if, in each repetition, all algorithms ran with the same random seed."""
    values: Mapping[str, Mapping[str, Floats]]
    runs: Mapping[str, tuple[str | None, ...]]
    """Maps each compared algorithm to the keys (identifiers) of the runs from which its values are
    computed."""
    flow_ids: Mapping[str, tuple[int, ...]]
    """Maps each compared algorithm to the numbers that identify its flows (the column `flow`)."""
    flows_per_run: int
    not_sent: Mapping[str, str] = field(default_factory=dict)
    """Maps a name such as "bbr (sent by cubic)" to the algorithm that the study requested, `bbr`.
    The name says that `cubic` sent the data instead."""
    is_per_flow: bool = False
    """True if the number of flows differs between algorithms or runs. Sums over flows, such as the
    goodput, are then divided by the number of flows."""
    smallest_effect: float = stats.SMALLEST_EFFECT
    confidence: float = stats.CONFIDENCE
    _intervals: dict[tuple[str, str], stats.Interval | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _differences: dict[tuple[str, str, str], stats.Difference | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def named(self, contestant: str) -> str:
        """Return a contestant's name in the study.

        The contestant "bbr (sent by cubic)" is called "bbr" in the study: the study requested bbr,
        but cubic sent the data.
        """
        return self.not_sent.get(contestant, contestant)

    @property
    def is_contest(self) -> bool:
        """True if the compared algorithms competed in the same runs."""
        keys = [run for runs in self.runs.values() for run in runs if run is not None]
        return len(set(keys)) < len(keys)

    @property
    def name(self) -> str:
        """The factor levels that define this network setting, such as "loss 1 %, rtt 50 ms"."""
        return ", ".join(f"{key} {value}" for key, value in self.cell.items())

    @property
    def is_one_run(self) -> bool:
        """True if each algorithm ran only once; then the uncertainty is unknown."""
        return self.repetitions == 1

    @property
    def is_deterministic(self) -> bool:
        """True if there are several repetitions and no algorithm's goodput varies between them."""
        if self.is_one_run:
            return False
        intervals = [self.interval(name, "goodput_mbit_s") for name in self.contestants]
        return all(interval is None or interval.is_constant for interval in intervals)

    def has(self, column: str) -> bool:
        """Return whether at least one compared algorithm has a value in the column `column`."""
        return any(self.finite(name, column).size for name in self.contestants)

    def finite(self, contestant: str, column: str) -> Floats:
        """Return the values of a column for one algorithm, without the missing values."""
        values = self.values[contestant].get(column)
        if values is None:
            return np.empty(0)
        finite: Floats = values[np.isfinite(values)]
        return finite

    def interval(self, contestant: str, column: str) -> stats.Interval | None:
        """Return the mean of a column over an algorithm's runs, with its confidence interval.

        Return None if the column has no values.
        """
        key = (contestant, column)
        if key not in self._intervals:
            values = self.finite(contestant, column)
            self._intervals[key] = self._average(column, values) if values.size else None
        return self._intervals[key]

    def _average(self, column: str, values: Floats) -> stats.Interval:
        if column in GEOMETRIC:
            return stats.geometric_mean(values, confidence=self.confidence)
        return stats.covering_mean(values, confidence=self.confidence)

    def best(self, column: str) -> str | None:
        """Return the algorithm with the best mean of a column.

        Return None if no algorithm has values, or if the column does not say whether higher or
        lower values are better.
        """
        better = quantity(column).better
        if better is Better.NEITHER:
            return None
        means = {
            name: interval.estimate
            for name in self.contestants
            if (interval := self.interval(name, column)) is not None
        }
        if not means:
            return None
        choose = max if better is Better.HIGHER else min
        return choose(means, key=lambda name: means[name])

    def difference(self, contestant: str, other: str, column: str) -> stats.Difference | None:
        """Return the relative difference of `contestant` from `other` in a column.

        The difference is computed from pairs of runs. Return None if there are no pairs, or if the
        mean of `other` is not positive.
        """
        key = (contestant, other, column)
        if key not in self._differences:
            self._differences[key] = self._compare(contestant, other, column)
        return self._differences[key]

    def _compare(self, contestant: str, other: str, column: str) -> stats.Difference | None:
        ours, theirs = self.values[contestant].get(column), self.values[other].get(column)
        if ours is None or theirs is None:
            return None
        both = np.isfinite(ours) & np.isfinite(theirs)
        if not both.any() or not theirs[both].mean() > 0:
            return None
        return stats.compare_pairs(
            ours[both],
            theirs[both],
            smallest_effect=self.smallest_effect,
            average=stats.Average.GEOMETRIC if column in GEOMETRIC else stats.Average.ARITHMETIC,
            confidence=self.confidence,
        )

    def representative_runs(self) -> dict[str, str]:
        """Return the key of each algorithm's most representative run (see `representative_run`)."""
        found = {name: self.representative_run(name) for name in self.contestants}
        return {name: run for name, run in found.items() if run is not None}

    def representative_rows(self, read: Callable[..., pl.DataFrame]) -> pl.DataFrame:
        """Return the rows of the representative runs; the column `contestant` names the algorithm.

        `read` is a function that returns the rows of a table, such as `Results.samples`. The result
        contains, for each algorithm, the rows of its flows and the rows that concern all flows. The
        result is empty if the table was not recorded.
        """
        runs = self.representative_runs()
        rows = read(run=list(runs.values()))
        if "t_s" not in rows.columns:
            return pl.DataFrame(schema=_NOT_RECORDED)
        names = pl.DataFrame({"run": list(runs.values()), CONTESTANT: list(runs)})
        named = rows.join(names, on="run", how="inner", maintain_order="left")
        is_own = pl.col("flow").is_null()
        for name in runs:
            is_own |= (pl.col(CONTESTANT) == name) & pl.col("flow").is_in(self.flow_ids[name])
        return named.filter(is_own)

    def representative_run(self, contestant: str) -> str | None:
        """Return the key of the most representative run of one algorithm.

        The most representative run is the run nearest to the mean over runs in goodput, round-trip
        time and number of timeouts (paper `hsdpa-2010`, section V). Each distance is measured in
        standard deviations of the quantity.
        """
        present = [at for at, run in enumerate(self.runs[contestant]) if run is not None]
        if not present:
            return None
        values = self.values[contestant]
        nothing = np.full(self.repetitions, np.nan)
        rtt = "rtt_mean_ms" if "rtt_mean_ms" in values else "rtt_p50_ms"
        measures = np.column_stack(
            [values.get(column, nothing)[present] for column in ("goodput_mbit_s", rtt, "timeouts")]
        )
        return self.runs[contestant][present[stats.most_representative(measures)]]
