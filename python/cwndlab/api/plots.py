"""Plot results by one call, such as `results.plot.cwnd(algorithm="cubic")`."""

from collections.abc import Sequence
from typing import Protocol

import polars as pl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.errors import ArgumentError
from cwndlab.figures.canvas import house_style
from cwndlab.figures.distributions import plot_box, plot_cdf
from cwndlab.figures.effects import plot_effect
from cwndlab.figures.operating_point import operating_point_figure
from cwndlab.figures.over_time import over_time_figure, plot_over_time
from cwndlab.figures.standings import plot_bars, plot_throughput_delay
from cwndlab.judge.cell import Comparison
from cwndlab.judge.comparison import compare
from cwndlab.judge.effects import effect


class Plottable(Protocol):
    """The attributes and methods of `cwndlab.Results` that plots use."""

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the study's factors."""

    def runs(self) -> pl.DataFrame:
        """Return one row for each run."""

    def flows(self) -> pl.DataFrame:
        """Return one row for each flow of each run."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series of those runs that have the given factor values."""

    def events(self, **where: object) -> pl.DataFrame:
        """Return losses, recoveries and timeouts of the runs that have the given factor values."""


class Plotter:
    """Draws results with pyplot, so that notebooks display the plots.

    Keyword arguments select runs by the values of their factors, such as `algorithm="cubic"` or
    `rate="10 Mbit/s"`. Plots over time show the most representative of the selected runs.
    """

    def __init__(self, results: Plottable) -> None:
        """Create an object that plots these results."""
        self._results = results

    def cwnd(self, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw congestion windows over time."""
        return self.over_time("cwnd_pkts", axes, **factors)

    def rtt(self, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw round-trip times over time."""
        return self.over_time("rtt_ms", axes, **factors)

    def throughput(self, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw throughput over time."""
        return self.over_time("throughput_mbit_s", axes, **factors)

    def queue(self, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw the queue length over time."""
        return self.over_time("queue_pkts", axes, **factors)

    def over_time(self, column: str, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw the values of any column of the table `samples` over time."""
        samples, events = self._series(factors)
        _check_column(column, samples.columns)
        where = self._axes(axes)
        plot_over_time(where, samples, column, contestant="contestant", events=events)
        where.set_xlabel("Time (s)")
        return where

    def timeline(self, **factors: object) -> Figure:
        """Draw throughput, round-trip time, congestion window and queue over a shared time axis."""
        samples, events = self._series(factors)
        return over_time_figure(samples, contestant="contestant", events=events)

    def cdf(self, column: str, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw, for each algorithm, the cumulative distribution of a column over its runs."""
        comparison = self._measured(column, factors)
        where = self._axes(axes)
        values = {name: comparison.finite(name, column) for name in comparison.contestants}
        plot_cdf(where, values, column)
        return where

    def box(self, column: str, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw a box plot of a column for each algorithm, with the mean as a cross."""
        comparison = self._measured(column, factors)
        where = self._axes(axes)
        values = {name: comparison.finite(name, column) for name in comparison.contestants}
        plot_box(where, values, column)
        return where

    def bars(self, column: str, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw the mean of a column for each algorithm, with its 95 % confidence interval."""
        comparison = self._measured(column, factors)
        where = self._axes(axes)
        plot_bars(where, comparison, column)
        return where

    def effect(self, column: str, factor: str, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw the mean of a column at each level of a factor, with its confidence interval.

        All means cover the same combinations of the other factors: those that were run at every
        level of `factor`.

        Raises:
            ValueError: the factor does not vary, or the column was not measured.
        """
        found = effect(compare(_Selected(self._results, factors)), factor)
        if found is None or column not in found.means:
            missing = f'"{factor}" does not vary' if found is None else f'"{column}" has no value'
            msg = f"cannot draw the effect of {factor} on {column}: {missing} in these runs"
            raise ValueError(msg)
        where = self._axes(axes)
        plot_effect(where, found, column)
        return where

    def throughput_delay(self, axes: Axes | None = None, **factors: object) -> Axes:
        """Draw throughput against delay."""
        where = self._axes(axes)
        plot_throughput_delay(where, self._comparison(factors))
        return where

    def operating_point(
        self, *, bdp_pkts: float | None = None, queue_pkts: float | None = None, **factors: object
    ) -> Figure:
        """Draw delivery rate and round-trip time against the data in flight."""
        samples, _ = self._series(factors)
        return operating_point_figure(
            samples, contestant="contestant", bdp_pkts=bdp_pkts, queue_pkts=queue_pkts
        )

    @staticmethod
    def _axes(axes: Axes | None) -> Axes:
        if axes is not None:
            return axes
        with house_style():
            _, made = plt.subplots(figsize=(6.3, 3.2))
        return made

    def _comparison(self, factors: dict[str, object]) -> Comparison:
        selected = _Selected(self._results, factors)
        comparisons = compare(selected)
        if not comparisons:
            msg = (
                f"no run has the factor values {factors}; results.runs() shows the factors as "
                "columns"
            )
            raise ValueError(msg)
        if len(comparisons) > 1:
            cells = "; ".join(each.name for each in comparisons)
            msg = (
                "this plot shows one combination of factor values, but these runs have several; "
                f"select one: {cells}"
            )
            raise ValueError(msg)
        return comparisons[0]

    def _measured(self, column: str, factors: dict[str, object]) -> Comparison:
        """Compare the algorithms in the selected runs, after checking that `column` exists."""
        comparison = self._comparison(factors)
        _check_column(column, sorted({each for own in comparison.values.values() for each in own}))
        return comparison

    def _series(self, factors: dict[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
        comparison = self._comparison(factors)
        samples = comparison.representative_rows(self._results.samples)
        if samples.is_empty():
            msg = "these runs have no time series; configure the study to record samples"
            raise ValueError(msg)
        return samples, comparison.representative_rows(self._results.events)


def _check_column(column: object, known: Sequence[str]) -> None:
    if column not in known:
        remedy = f"write the name of a column of these runs: {', '.join(known)}"
        raise ArgumentError(column, "column", remedy)


class _Selected:
    """The results of only those runs that have the given factor values."""

    def __init__(self, results: Plottable, factors: dict[str, object]) -> None:
        runs = results.runs()
        for name, value in factors.items():
            if name not in runs.columns:
                known = ", ".join(runs.columns)
                msg = f'the results have no factor "{name}"; you can select runs by {known}'
                raise ValueError(msg)
            runs = runs.filter(pl.col(name) == value)
        self.factors = results.factors
        self._runs = runs
        self._flows = results.flows().filter(pl.col("run").is_in(runs["run"].to_list()))

    def runs(self) -> pl.DataFrame:
        return self._runs

    def flows(self) -> pl.DataFrame:
        return self._flows
