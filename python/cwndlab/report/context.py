"""What sections are made from: results, comparisons, verdicts, and where the study is from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from cwndlab import stats
from cwndlab.figures.style import Style, styles_of
from cwndlab.judge.comparison import (
    Comparison,
    ResultsLike,
    compare,
    contestant_factor,
    contestants_of,
)
from cwndlab.judge.goal_measures import measures_of_flows
from cwndlab.judge.goals import Direction, compare_directions
from cwndlab.judge.verdict import Verdict, judge
from cwndlab.report.origin import Origin, SetUp

MOST_TIMELINES = 12
"""Settings whose time series are put into the page; more would make it heavy."""


class Reportable(ResultsLike, Protocol):
    """What is read of results to report them; `cwndlab.Results` is one."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series of the runs with these values."""

    def events(self, **where: object) -> pl.DataFrame:
        """Return losses, recoveries and timeouts of the runs with these values."""

    def links(self, **where: object) -> pl.DataFrame:
        """Return one row a link of a run's path."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table that is read when it is needed."""


class Context:
    """A study's results, compared and judged once for all sections."""

    def __init__(
        self,
        results: Reportable,
        origin: Origin,
        *,
        smallest_effect: float = stats.SMALLEST_EFFECT,
    ) -> None:
        """Compare the results; differences below `smallest_effect` are too small to care about."""
        self.results = results
        self.origin = origin
        self.smallest_effect = smallest_effect
        self.comparisons: Sequence[Comparison] = compare(
            results, smallest_effect=smallest_effect, beside=self.measures
        )
        self.settings = [
            Setting(self, at, comparison) for at, comparison in enumerate(self.comparisons)
        ]

    @cached_property
    def measures(self) -> pl.DataFrame:
        """The goals' measures of every flow."""
        return measures_of_flows(self.results)

    @cached_property
    def directions(self) -> Sequence[Direction]:
        """The comparisons of each direction in which something under test sent."""
        return compare_directions(
            self.results, smallest_effect=self.smallest_effect, beside=self.measures
        )

    @cached_property
    def contestants(self) -> tuple[str, ...]:
        """Everyone who is compared anywhere in the study."""
        return contestants_of(self.comparisons)

    @cached_property
    def styles(self) -> Mapping[str, Style]:
        """How each of them is drawn."""
        return styles_of(self.contestants)

    @property
    def contestant_column(self) -> str:
        """Column of samples and events that names the contestant."""
        return contestant_factor(self.results)


@dataclass(frozen=True)
class Setting:
    """One cell of the study: everything but the algorithm is fixed."""

    context: Context
    index: int
    comparison: Comparison

    @cached_property
    def verdict(self) -> Verdict:
        """The answer for this setting."""
        return judge(self.comparison)

    @cached_property
    def directions(self) -> Sequence[tuple[Direction, Comparison]]:
        """Each direction of this setting in which something under test sent."""
        return [
            (direction, comparison)
            for direction in self.context.directions
            for comparison in direction.comparisons
            if comparison.cell == self.comparison.cell
        ]

    @property
    def name(self) -> str:
        """The setting in words; empty if the study has only this one."""
        return self.comparison.name

    @property
    def has_timeline(self) -> bool:
        """Whether the page shows this setting's time series."""
        return self.index < MOST_TIMELINES

    @cached_property
    def set_ups(self) -> Sequence[SetUp]:
        """What each contestant's runs resolved to; empty if it is not known."""
        return self.context.origin.set_ups_of(self.comparison.cell)

    @property
    def scenario(self) -> Mapping[str, Any] | None:
        """The scenario of the first contestant's runs; None if it is not known."""
        return self.set_ups[0].scenario if self.set_ups else None

    @cached_property
    def representatives(self) -> Mapping[str, str]:
        """The most representative run of each contestant."""
        return self.comparison.representative_runs()

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series of the representative runs, with a column `contestant`."""
        return self.comparison.representative_rows(self.context.results.samples)

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events of the representative runs, with a column `contestant`."""
        return self.comparison.representative_rows(self.context.results.events)

    def chart(self, name: str) -> str:
        """Return the name of a chart of this setting, for `data-chart`."""
        return f"{name}-{self.index}"
