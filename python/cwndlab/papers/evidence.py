"""Provide the numbers that decide claims: from the paper's tables, or from cwndlab's runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl
from polars.dataframe.group_by import GroupBy

from cwndlab import stats
from cwndlab.papers.claims import ClaimPart, Claims
from cwndlab.papers.expression import Name
from cwndlab.papers.facts import Paper
from cwndlab.papers.reading import MEASURES, WindowSeries
from cwndlab.papers.tables import is_level, of_levels
from cwndlab.stats.bootstrap import Floats

AFTER_LOSSES = "median slow-start threshold after losses (in BDP)"
"""Name of the only statistic that is computed from several columns of a time series."""
_PAYLOAD_BYTES = 1448  # payload of a packet of 1500 bytes with timestamps

_WAYS = {"downlink": "forward", "uplink": "reverse"}


class FlowResults(Protocol):
    """Those methods of `cwndlab.Results` that this module uses."""

    def flows(self) -> pl.DataFrame:
        """Return a table with one row for each flow of each run."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return those rows of the time series whose columns have the given values."""


class Evidence(Protocol):
    """A source of numbers for the cells of a table in a paper."""

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        """Return the numbers for one cell of a paper's table, or None if there are no numbers."""


class PaperTables:
    """A source of the numbers in a paper's tables: for a table cell, one number or None."""

    def __init__(self, paper: Paper) -> None:
        """Create a source of numbers from a paper's tables."""
        self._paper = paper

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        """Return the number in a table cell; None if the paper prints a range or no number."""
        if part.at is not None or part.of_samples or part.is_median:
            return None
        for table in self._paper.tables:
            is_own = (table.metric, table.direction) == (part.metric, name.direction) and (
                part.row_factor in {None, table.row_factor}
                and part.column_factor in {None, table.column_factor}
                and dict(part.where) == table.where
            )
            row = "" if name.row is None else name.row
            columns = [identifier(column) for column in table.columns]
            if not is_own or identifier(name.variant) not in columns or row not in table.rows:
                continue
            column = columns.index(identifier(name.variant))
            low, high = table.values[table.rows.index(row)][column]
            return np.array([low / table.scale]) if low == high else None
        return None


class PaperRuns:
    """A source of numbers from cwndlab's runs: for a table cell, one number for each repetition."""

    def __init__(self, claims: Claims, results: FlowResults) -> None:
        """Store the claims, and the results of the study that reproduces the paper."""
        self._claims = claims
        self._results = results

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        """Return cwndlab's number for a table cell in each repetition; None if no run exists."""
        flows = self._of_cell(part, name)
        if flows.is_empty():
            return None
        if part.at is not None:
            return self._measured(part, part.at, flows)
        if part.of_samples:
            own = self._of_samples(part, flows)
        elif part.metric == "jain_index":
            shares = flows.group_by("repetition").agg(pl.col("goodput_mbit_s")).sort("repetition")
            jain = [stats.jain_index(each) for each in shares["goodput_mbit_s"].to_list()]
            return np.array([np.nan if each is None else each for each in jain])
        else:
            own = flows.select("repetition", value=pl.col(part.metric).cast(pl.Float64))
        value = pl.col("value")
        over = value.sum() if part.is_total else value.median() if part.is_median else value.mean()
        runs = own.group_by("repetition").agg(over).sort("repetition")
        return runs["value"].fill_null(np.nan).to_numpy()

    @cached_property
    def _flows(self) -> pl.DataFrame:
        return self._results.flows()

    def _of_cell(self, part: ClaimPart, name: Name) -> pl.DataFrame:
        row_factor = part.row_factor or self._claims.row_factor
        column_factor = part.column_factor or self._claims.variant_factor
        level = self._written(column_factor, name.variant)
        cell = self._flows.filter(is_level(self._flows, column_factor, level))
        if "direction" in cell.columns and name.direction is not None:
            cell = cell.filter(pl.col("direction") == _WAYS[name.direction])
        if name.row is not None and row_factor is None:
            return cell.clear()
        levels = dict(part.where)
        if name.row is not None and row_factor is not None:
            levels[row_factor] = name.row
        return cell.filter(of_levels(cell, levels))

    def _written(self, factor: str, name: str) -> str:
        """Return how the study spells a level that a claim names: TCP-Linux for `TCP_Linux`."""
        levels = list(self._claims.variants)
        if factor in self._flows.columns:
            levels += self._flows[factor].cast(pl.String).unique().to_list()
        return {identifier(each): each for each in levels}.get(name, name)

    def _of_samples(self, part: ClaimPart, flows: pl.DataFrame) -> pl.DataFrame:
        starts = flows.select(
            "run", "flow", "repetition", begin=pl.col("end_s") - pl.col("window_s")
        )
        rows = self._samples(flows).join(starts, on=["run", "flow"], how="inner")
        inside = rows.filter(pl.col("t_s") > pl.col("begin"))
        of_flow = inside.group_by("repetition", "run", "flow", maintain_order=True)
        if part.of_samples == AFTER_LOSSES:
            return _after_losses(of_flow, flows)
        value = pl.col(part.metric).cast(pl.Float64)
        return of_flow.agg(value=_OF_SAMPLES[part.of_samples](value))

    def _measured(self, part: ClaimPart, at: float, flows: pl.DataFrame) -> Floats:
        runs = flows.select("run", "repetition").unique()
        samples = self._samples(flows).join(runs, on="run").sort("repetition", "t_s")
        values = []
        for own in samples.partition_by("repetition", maintain_order=True):
            first = own.filter(pl.col("flow") == own["flow"].min())
            series = WindowSeries(
                times_s=first["t_s"].to_numpy(),
                windows_pkts=_floats(first, "cwnd_pkts"),
                thresholds_pkts=_floats(first, "ssthresh_pkts"),
            )
            measured = MEASURES[part.metric](series, at)
            values.append(np.nan if measured is None else measured)
        return np.array(values)

    def _samples(self, flows: pl.DataFrame) -> pl.DataFrame:
        runs = flows["run"].unique(maintain_order=True).to_list()
        return self._results.samples(run=runs).drop("repetition", strict=False)


class ReplacedVariants:
    """A source of numbers that, for some variants, returns the numbers of other variants."""

    def __init__(self, runs: Evidence, replaced_by: Mapping[str, str]) -> None:
        """Store a source of numbers; `replaced_by` maps replaced variants to their replacements."""
        self._runs = runs
        self._replaced_by = replaced_by

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        """Return the source's numbers for a cell of a paper's table; None if there are no numbers.

        If `replaced_by` maps the variant of the cell to another variant, return the numbers of that
        other variant.
        """
        variant = self._replaced_by.get(name.variant, name.variant)
        return self._runs.values(part, replace(name, variant=variant))


def _after_losses(samples: GroupBy, flows: pl.DataFrame) -> pl.DataFrame:
    """Return each flow's median slow-start threshold after losses, divided by the capacity.

    Because the threshold changes only at losses, each new value counts as one loss. The capacity of
    the path, in packets, is the flow's goodput times its shortest RTT.
    """
    threshold = pl.col("ssthresh_pkts").cast(pl.Float64)
    is_new = threshold.is_not_null() & (threshold != threshold.shift(1)).fill_null(value=False)
    left = samples.agg(left_pkts=threshold.filter(is_new).median())
    path = flows.select(
        "run",
        "flow",
        path_pkts=pl.col("rtt_base_ms") * pl.col("goodput_mbit_s") * 1e3 / (8 * _PAYLOAD_BYTES),
    )
    both = left.join(path, on=["run", "flow"])
    return both.select("repetition", "run", "flow", value=pl.col("left_pkts") / pl.col("path_pkts"))


def identifier(name: str) -> str:
    """Return the name by which a claim's expressions refer to a level of a factor.

    Each character that is neither a letter nor a digit becomes `_`.
    """
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _floats(samples: pl.DataFrame, column: str) -> Floats:
    return samples[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _quantile(share: float) -> Callable[[pl.Expr], pl.Expr]:
    return lambda value: value.quantile(share, "linear")


def _peaks(value: pl.Expr) -> pl.Expr:
    """Return how often a time series rises to at least twice its mean."""
    is_high = value >= 2 * value.mean()
    return (is_high & ~is_high.shift(1, fill_value=False)).sum().cast(pl.Float64)


def _low(value: pl.Expr) -> pl.Expr:
    """Return how many samples of a time series have a value of at most 10."""
    return (value <= 10).sum().cast(pl.Float64)  # noqa: PLR2004  as it says


_OF_SAMPLES: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "mean": lambda value: value.mean(),
    "standard deviation": lambda value: value.std(),
    "variation": lambda value: value.std() / value.mean(),
    "number of rises to twice the mean": _peaks,
    "number of samples with a value of at most 10": _low,
    "p5": _quantile(0.05),
    "p5 over mean": lambda value: value.quantile(0.05, "linear") / value.mean(),
    "p10": _quantile(0.1),
    "p90": _quantile(0.9),
    "p95": _quantile(0.95),
}
"""Maps the name of each statistic of a time series to the function that computes it."""
