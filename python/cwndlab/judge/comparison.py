"""Convert results into comparisons of algorithms, with one value for each repetition.

The *contestants* are what is compared: usually the algorithms. If the study has a factor called
`variant`, the contestants are the levels of this factor (such as the variants that a paper
compares). A *cell* is one combination of the levels of all other factors. Within a cell, runs of
the same repetition form a pair. If these runs also have the same seed, their random channel was
identical.

A contestant's value in a run is computed only from those flows of the contestant that send data in
one direction. This is the study's direction, unless the caller names a direction. Goodput and
retransmissions are summed over these flows, and round-trip times are averaged.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.judge.cell import CONTESTANT, Comparison
from cwndlab.results.metrics import TOTALS, together

if TYPE_CHECKING:
    from cwndlab.stats.bootstrap import Floats


class ResultsLike(Protocol):
    """Those methods of `cwndlab.Results` that this module uses."""

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the study's factors, each of which is a column of all tables.

        The column of a factor NAME is called `factor_NAME` if another column is already called
        NAME.
        """

    def runs(self) -> pl.DataFrame:
        """Return a table with one row for each run."""

    def flows(self) -> pl.DataFrame:
        """Return a table with one row for each flow of each run."""


_KEYS = ("run", "seed", "repetition")
_NAMED = "named"  # name of a flow's algorithm in the study file
_FLOW_COUNT = "flow_count"  # cannot be the name of a factor


def compare(
    results: ResultsLike,
    *,
    smallest_effect: float = stats.SMALLEST_EFFECT,
    confidence: float = stats.CONFIDENCE,
    direction: str | None = None,
    beside: pl.DataFrame | None = None,
) -> list[Comparison]:
    """Return one comparison for each setting of the study, in the order of the study's runs.

    Args:
        results: the results to compare.
        smallest_effect: relative differences below this value are negligible.
        confidence: confidence level of the intervals.
        direction: direction of the flows to compare, `forward` or `reverse`; None for the study's
            direction.
        beside: additional columns for the table of flows; rows are matched by `run` and `flow`.
    """
    flows = results.flows()
    if beside is not None:
        flows = flows.join(beside, on=["run", "flow"], how="left", maintain_order="left")
    flows = flows_of(results, flows, direction)
    if flows.is_empty():
        return []
    cell_columns = cell_factors(results)
    shown = {f"factor_{name}": name for name in cell_columns if f"factor_{name}" in flows.columns}
    flows = flows.drop(shown.values()).rename(shown)
    by_run = _per_run(flows, cell_columns)
    cells = by_run.partition_by(cell_columns, maintain_order=True) if cell_columns else [by_run]
    return [_comparison(cell, cell_columns, smallest_effect, confidence) for cell in cells]


def flows_of(
    results: ResultsLike, flows: pl.DataFrame, direction: str | None = None
) -> pl.DataFrame:
    """Return the flows under test, with a column `contestant` for the algorithm or variant.

    Only flows that send in `direction` are returned; None means the direction of the study. In the
    opposite direction, a flow can use an algorithm that is not under test. If the algorithm is a
    factor of the study, such flows are omitted. If the study has a factor `variant`, all flows in
    the opposite direction are omitted.
    """
    if flows.is_empty():
        return flows
    own = _of_the_studys_direction(flows)
    if direction is None:
        return _with_contestant(own, results)
    flows = flows.filter(pl.col("direction") == direction)
    if flows.is_empty() or direction in own["direction"]:
        return _with_contestant(flows, results)
    factor = contestant_factor(results)
    if f"factor_{factor}" in flows.columns:
        is_named = pl.col(f"factor_{factor}").cast(pl.String) == pl.col(factor)
        flows = flows.filter(is_named & ~_is_sent_by_another(flows))
    elif factor in results.factors:
        return flows.clear()
    return _with_contestant(flows, results)


def cell_factors(results: ResultsLike) -> list[str]:
    """Return the factors whose levels distinguish network settings, without the compared factor.

    A factor does not distinguish settings if another factor determines its level. For example, the
    compared variant of a paper determines the TCP stack, and the number of stations determines the
    number of flows.
    """
    runs = results.runs()
    contestant = contestant_factor(results)
    leaders = [contestant] if contestant in results.factors else []
    telling: list[str] = []
    for name in results.factors:
        is_new = name != contestant and runs[name].n_unique() > 1
        if is_new and not any(_follows(runs, name, leader) for leader in (*leaders, *telling)):
            telling.append(name)
    return telling


def contestant_factor(results: ResultsLike) -> str:
    """Return the compared factor: `variant` if the study has such a factor, else `algorithm`."""
    return "variant" if "variant" in results.factors else "algorithm"


def contestants_of(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Return all compared algorithms without duplicates, in the order of their appearance."""
    return tuple(dict.fromkeys(name for each in comparisons for name in each.contestants))


def _of_the_studys_direction(flows: pl.DataFrame) -> pl.DataFrame:
    """Keep only the flows that send in the same direction as the first flow of their run."""
    return flows.filter(
        pl.col("direction") == pl.col("direction").sort_by("flow").first().over("run")
    )


def _with_contestant(flows: pl.DataFrame, results: ResultsLike) -> pl.DataFrame:
    """Add a column with the algorithm or variant of each flow; omit flows not under test."""
    factor = contestant_factor(results)
    under_test = f"factor_{factor}" if f"factor_{factor}" in flows.columns else factor
    if "algorithm" not in flows.columns:
        label = pl.col(under_test).cast(pl.String)
        return flows.with_columns(label.alias(_NAMED), label.alias(CONTESTANT))
    label = pl.col(under_test).cast(pl.String)
    # Results are never attributed to an algorithm that did not send the data.
    contestant = label
    if "sent_by" in flows.columns:
        other = pl.format("{} (sent by {})", label, "sent_by")
        contestant = pl.when(_is_sent_by_another(flows)).then(other).otherwise(label)
    named = flows.with_columns(label.alias(_NAMED), contestant.alias(CONTESTANT))
    if under_test == factor:
        return named
    is_own = pl.col(factor) == pl.col(CONTESTANT)
    return named.filter(is_own | ~is_own.any().over("run"))


def _is_sent_by_another(flows: pl.DataFrame) -> pl.Expr:
    """Return an expression that marks flows whose sender did not use the requested algorithm."""
    if "sent_by" not in flows.columns:
        return pl.lit(value=False)
    return (pl.col("sent_by") != pl.col("algorithm")).fill_null(value=False)


def _follows(runs: pl.DataFrame, name: str, leader: str) -> bool:
    per_leader = runs.group_by(leader).agg(pl.col(name).n_unique().alias("levels"))
    return runs[leader].n_unique() > 1 and bool((per_leader["levels"] == 1).all())


def _per_run(flows: pl.DataFrame, cell_columns: Sequence[str]) -> pl.DataFrame:
    """Return a table with one row per run and algorithm, which combines the algorithm's flows."""
    keys = [key for key in _KEYS if key in flows.columns]
    by = [*cell_columns, CONTESTANT, _NAMED, *keys]
    measured = [
        name
        for name, kind in flows.schema.items()
        if kind.is_numeric() and name not in by and name not in {"flow", "user", "start_s", "end_s"}
    ]
    aggregated = flows.group_by(by, maintain_order=True).agg(
        *[together(name, flows.columns) for name in measured],
        pl.len().alias(_FLOW_COUNT),
        pl.col("flow").alias("flow_ids"),
        *([pl.col("goodput_mbit_s").alias("shares")] if "goodput_mbit_s" in measured else []),
    )
    if {"retransmitted_pkts", "sent_pkts"} <= set(measured):
        share = 100 * pl.col("retransmitted_pkts") / pl.col("sent_pkts")
        aggregated = aggregated.with_columns(
            pl.when(pl.col("sent_pkts") > 0).then(share).alias("retransmitted_pct")
        )
    if "shares" in aggregated.columns:
        # Fairness is undefined for a single flow.
        fairness = [
            stats.jain_index(shares) if len(shares) > 1 else None
            for shares in aggregated["shares"].to_list()
        ]
        jain = pl.Series("jain_index", fairness, dtype=pl.Float64)
        aggregated = aggregated.with_columns(jain, jain.log().alias("log_jain_index")).drop(
            "shares"
        )
    return aggregated


def _comparison(
    cell: pl.DataFrame, cell_columns: Sequence[str], smallest_effect: float, confidence: float
) -> Comparison:
    is_per_flow = cell[_FLOW_COUNT].n_unique() > 1
    if is_per_flow:
        totals = [name for name in cell.columns if name in TOTALS]
        cell = cell.with_columns([pl.col(name) / pl.col(_FLOW_COUNT) for name in totals])
    repetitions = cell["repetition"].unique(maintain_order=True).to_list()
    place = {repetition: at for at, repetition in enumerate(repetitions)}
    seeds_each = cell.group_by("repetition").agg(pl.col("seed").n_unique())["seed"]
    contestants = tuple(cell[CONTESTANT].unique(maintain_order=True).to_list())
    columns = [
        name
        for name, kind in cell.schema.items()
        if kind.is_numeric() and name not in {*cell_columns, *_KEYS, _FLOW_COUNT}
    ]
    values: dict[str, dict[str, Floats]] = {}
    keys: dict[str, tuple[str | None, ...]] = {}
    flow_ids: dict[str, tuple[int, ...]] = {}
    for contestant in contestants:
        rows = cell.filter(pl.col(CONTESTANT) == contestant)
        at = np.array([place[number] for number in rows["repetition"]], dtype=np.intp)
        own: dict[str, Floats] = {}
        for column in columns:
            own[column] = np.full(len(repetitions), np.nan)
            own[column][at] = rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        values[contestant] = own
        names: list[str | None] = [None] * len(repetitions)
        for index, run in zip(at, rows["run"], strict=True):
            names[index] = str(run)
        keys[contestant] = tuple(names)
        flow_ids[contestant] = tuple(rows["flow_ids"].explode().unique().sort().to_list())
    return Comparison(
        cell={name: cell[name][0] for name in cell_columns},
        contestants=contestants,
        seeds=tuple(cell["seed"].unique(maintain_order=True).to_list()),
        repetitions=len(repetitions),
        is_paired=bool((seeds_each == 1).all()),
        values=values,
        runs=keys,
        flow_ids=flow_ids,
        flows_per_run=int(cell[_FLOW_COUNT].to_numpy().max()),
        not_sent={
            contestant: name
            for contestant, name in cell.select(CONTESTANT, _NAMED).unique().iter_rows()
            if contestant != name
        },
        is_per_flow=is_per_flow,
        smallest_effect=smallest_effect,
        confidence=confidence,
    )
