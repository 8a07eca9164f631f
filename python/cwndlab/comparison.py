"""Results as a comparison of algorithms: one cell of the study, values aligned run by run.

A *cell* is one setting of everything the study varies except what is compared; within it, rows with
equal seeds are pairs.  What is compared (the *contestants*) is normally the algorithm; a study may
name its own, such as the variants of a paper, in a factor called `variant`.

A contestant's value in a run is that of its own flows in the study's direction: goodput is their
sum, round-trip times are their mean, retransmissions their total.  Flows that send against that
direction carry nobody's result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
from cwndlab import stats
from cwndlab.columns import Better, quantity
from cwndlab.stats.bootstrap import Floats


class ResultsLike(Protocol):
    """What is read of results; `cwndlab.store.Results` is one."""

    def runs(self) -> pl.DataFrame:
        """Return one row a run."""

    def flows(self) -> pl.DataFrame:
        """Return one row a flow of a run."""


SUMMED = frozenset(
    {
        "goodput_mbit_s",
        "throughput_mbit_s",
        "delivered_bytes",
        "sent_pkts",
        "retransmitted_pkts",
        "timeouts",
        "spurious_timeouts",
        "recoveries",
        "tail_loss_probes",
        "ecn_marked_pkts",
        "utilisation_pct",
    }
)
"""Columns of flows that add up over a contestant's flows; the others are averaged."""

_KEYS = ("run", "seed", "repetition")
_CONTESTANT = "contestant"


@dataclass(frozen=True)
class Comparison:
    """The contestants of one cell: for each, one value of each quantity per seed.

    All arrays of a comparison have one entry per seed, in the same order; NaN where that contestant
    has no such run or the run has no such value.
    """

    cell: Mapping[str, object]
    contestants: tuple[str, ...]
    seeds: tuple[int, ...]
    values: Mapping[str, Mapping[str, Floats]]
    runs: Mapping[str, tuple[str | None, ...]]
    """Key of the run behind each value, by contestant."""
    flows_per_run: int
    smallest_effect: float = stats.SMALLEST_EFFECT
    _intervals: dict[tuple[str, str], stats.Interval | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    _differences: dict[tuple[str, str, str], stats.Difference | None] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def name(self) -> str:
        """The cell's settings as a reader would name them; empty if the study has one cell."""
        return ", ".join(f"{key} {value}" for key, value in self.cell.items())

    @property
    def repetitions(self) -> int:
        """How many seeds there are."""
        return len(self.seeds)

    @property
    def is_one_run(self) -> bool:
        """Whether every contestant ran once, so that nothing is known about uncertainty."""
        return self.repetitions == 1

    @property
    def is_deterministic(self) -> bool:
        """Whether repetitions, of which there are several, all gave the same values."""
        if self.is_one_run:
            return False
        intervals = [self.interval(name, "goodput_mbit_s") for name in self.contestants]
        return all(interval is None or interval.is_constant for interval in intervals)

    def has(self, column: str) -> bool:
        """Whether any contestant has a value of this quantity."""
        return any(self.finite(name, column).size for name in self.contestants)

    def finite(self, contestant: str, column: str) -> Floats:
        """Return the contestant's values that exist."""
        values = self.values[contestant].get(column)
        if values is None:
            return np.empty(0)
        finite: Floats = values[np.isfinite(values)]
        return finite

    def interval(self, contestant: str, column: str) -> stats.Interval | None:
        """Return the mean over runs with its interval; None if there is no value."""
        key = (contestant, column)
        if key not in self._intervals:
            values = self.finite(contestant, column)
            self._intervals[key] = stats.mean_interval(values) if values.size else None
        return self._intervals[key]

    def best(self, column: str) -> str | None:
        """Return the contestant whose mean is best; None if the quantity has no better way."""
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
        """Compare two contestants pair by pair; None without pairs or against a mean of zero."""
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
        return stats.compare_pairs(ours[both], theirs[both], smallest_effect=self.smallest_effect)

    def representative_run(self, contestant: str) -> str | None:
        """Return the key of the contestant's most representative run.

        It is the run nearest to the mean over runs in goodput, round-trip time and timeouts (HSDPA
        paper, 2010, section V), each counted in its own standard deviations.
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


def compare(
    results: ResultsLike, *, smallest_effect: float = stats.SMALLEST_EFFECT
) -> list[Comparison]:
    """Return one comparison per cell of the study, in the order in which the cells were run."""
    flows = results.flows()
    if flows.is_empty():
        return []
    runs = results.runs()
    flows = _of_the_studys_direction(flows)
    flows = _with_contestant(flows, runs)
    cell_columns = cell_factors(runs)
    flows = _with_columns_of(flows, runs, [*_KEYS[1:], *cell_columns])
    by_run = _per_run(flows, cell_columns)
    cells = by_run.partition_by(cell_columns, maintain_order=True) if cell_columns else [by_run]
    return [_comparison(cell, cell_columns, smallest_effect) for cell in cells]


def cell_factors(runs: pl.DataFrame) -> list[str]:
    """Return the factors that tell the cells of a study apart: those that vary, contestant aside.

    Factor columns stand between the run's keys and its first measured column.
    """
    contestant = contestant_factor(runs)
    factors = [name for name in runs.columns if is_factor(name, runs)]
    varying = [name for name in factors if name != contestant and runs[name].n_unique() > 1]
    if contestant == "algorithm":
        return varying
    # A variant fixes other factors with it (its stack, its algorithm): they make no cells.
    return [name for name in varying if not _follows(runs, name, contestant)]


def contestant_factor(runs: pl.DataFrame) -> str:
    """Return the factor that is compared: `variant` where the study names one, else `algorithm`."""
    return "variant" if "variant" in runs.columns else "algorithm"


def is_factor(name: str, runs: pl.DataFrame) -> bool:
    """Whether a column of runs is a factor of the study, not a key and not a measurement."""
    return name not in _NOT_FACTORS and not runs.schema[name].is_nested()


def contestants_of(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Return every contestant of all cells, in order of appearance."""
    return tuple(dict.fromkeys(name for each in comparisons for name in each.contestants))


def _follows(runs: pl.DataFrame, name: str, leader: str) -> bool:
    per_leader = runs.group_by(leader).agg(pl.col(name).n_unique().alias("levels"))
    return bool((per_leader["levels"] == 1).all())


def _of_the_studys_direction(flows: pl.DataFrame) -> pl.DataFrame:
    if "direction" not in flows.columns:
        return flows
    first = flows.sort("flow")["direction"][0] if "flow" in flows.columns else None
    return flows if first is None else flows.filter(pl.col("direction") == first)


def _with_contestant(flows: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    factor = contestant_factor(runs)
    if factor in flows.columns:
        return flows.with_columns(pl.col(factor).cast(pl.String).alias(_CONTESTANT))
    named = runs.select("run", pl.col(factor).cast(pl.String).alias(_CONTESTANT))
    return flows.join(named, on="run", how="left", maintain_order="left")


def _with_columns_of(
    flows: pl.DataFrame, runs: pl.DataFrame, wanted: Sequence[str]
) -> pl.DataFrame:
    missing = [name for name in wanted if name not in flows.columns and name in runs.columns]
    if not missing:
        return flows
    return flows.join(runs.select("run", *missing), on="run", how="left", maintain_order="left")


def _per_run(flows: pl.DataFrame, cell_columns: Sequence[str]) -> pl.DataFrame:
    """Return one row per run and contestant with the contestant's values."""
    keys = [key for key in _KEYS if key in flows.columns]
    by = [*cell_columns, _CONTESTANT, *keys]
    measured = [
        name
        for name, kind in flows.schema.items()
        if kind.is_numeric() and name not in by and name not in {"flow", "start_s", "end_s"}
    ]
    aggregated = flows.group_by(by, maintain_order=True).agg(
        *[
            # A sum of nothing is nothing, not zero.
            pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
            if name in SUMMED
            else pl.col(name).mean()
            for name in measured
        ],
        pl.len().alias("flows"),
        *([pl.col("goodput_mbit_s").alias("shares")] if "goodput_mbit_s" in measured else []),
    )
    if {"retransmitted_pkts", "sent_pkts"} <= set(measured):
        share = 100 * pl.col("retransmitted_pkts") / pl.col("sent_pkts")
        aggregated = aggregated.with_columns(
            pl.when(pl.col("sent_pkts") > 0).then(share).alias("retransmitted_pct")
        )
    if "shares" in aggregated.columns:
        fairness = [stats.jain_index(shares) for shares in aggregated["shares"].to_list()]
        aggregated = aggregated.with_columns(
            pl.Series("jain_index", fairness, dtype=pl.Float64)
        ).drop("shares")
    return aggregated


def _comparison(
    cell: pl.DataFrame, cell_columns: Sequence[str], smallest_effect: float
) -> Comparison:
    pair = "seed" if "seed" in cell.columns else "repetition"
    seeds = tuple(cell[pair].unique(maintain_order=True).to_list())
    place = {seed: at for at, seed in enumerate(seeds)}
    contestants = tuple(cell[_CONTESTANT].unique(maintain_order=True).to_list())
    columns = [
        name
        for name, kind in cell.schema.items()
        if kind.is_numeric() and name not in {*cell_columns, *_KEYS, "flows"}
    ]
    values: dict[str, dict[str, Floats]] = {}
    keys: dict[str, tuple[str | None, ...]] = {}
    for contestant in contestants:
        rows = cell.filter(pl.col(_CONTESTANT) == contestant)
        at = np.array([place[seed] for seed in rows[pair]], dtype=np.intp)
        own: dict[str, Floats] = {}
        for column in columns:
            own[column] = np.full(len(seeds), np.nan)
            own[column][at] = rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        values[contestant] = own
        names: list[str | None] = [None] * len(seeds)
        for index, run in zip(at, rows["run"], strict=True):
            names[index] = str(run)
        keys[contestant] = tuple(names)
    return Comparison(
        cell={name: cell[name][0] for name in cell_columns},
        contestants=contestants,
        seeds=seeds,
        values=values,
        runs=keys,
        flows_per_run=int(cell["flows"].cast(pl.Int64).to_numpy().max()),
        smallest_effect=smallest_effect,
    )


_NOT_FACTORS = frozenset(
    {
        *_KEYS,
        *SUMMED,
        "backend",
        "behaviour_epoch",
        "flows",
        "jain_index",
        "window_s",
        "start_s",
        "end_s",
        "rtt_mean_ms",
        "rtt_p50_ms",
        "rtt_p95_ms",
        "rtt_p99_ms",
        "rtt_base_ms",
        "srtt_mean_ms",
        "queueing_delay_mean_ms",
        "queue_mean_pkts",
        "queue_max_pkts",
        "retransmitted_pct",
        "completion_ms",
        "dropped_pkts",
        "cwnd_mean_pkts",
        "cwnd_max_pkts",
    }
)
