"""Collect the input of a report: results and their origin, comparisons and decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from cwndlab.figures.style import Style, styles_of
from cwndlab.judge.answer import BASELINE, Knowledge, answer, answer_together, goal_measured
from cwndlab.judge.cell import Comparison
from cwndlab.judge.comparison import ResultsLike, compare, contestant_factor, contestants_of
from cwndlab.judge.decision import ZONE, Decision
from cwndlab.judge.directions import DirectionComparisons, compare_directions
from cwndlab.judge.goals import Goal, goal_named
from cwndlab.judge.measures import measures_of_flows
from cwndlab.judge.question import Question
from cwndlab.judge.reality import pooled
from cwndlab.report.origin import Origin, SetUp

MOST_TIMELINES = 12
"""Maximum number of network settings with time series on the page; limits the page's size."""


class Reportable(ResultsLike, Protocol):
    """Interface of `cwndlab.Results`, as far as reports use it."""

    @property
    def path(self) -> Path:
        """Folder of the results."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series of the runs that `where` selects."""

    def events(self, **where: object) -> pl.DataFrame:
        """Return the losses, recoveries and timeouts of the runs that `where` selects."""

    def links(self, **where: object) -> pl.DataFrame:
        """Return one row for each link in the network path of each run that `where` selects."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return the table with this name as a Polars lazy frame."""


class Context:
    """Results of a study, with the comparisons and decisions that a report shows."""

    def __init__(
        self,
        results: Reportable,
        origin: Origin,
        *,
        smallest_effect: float = ZONE,
        question: Question | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        """Compare the results, and make the decisions that the report shows.

        Args:
            results: the results to report.
            origin: origin of the study.
            smallest_effect: smallest relative difference that is not negligible.
            question: the user's question: goal, baseline and classes of users. If None, choose a
                goal that fits the measured quantities.
            knowledge: what is known from further runs, such as runs on similar networks.
        """
        self.results = results
        self.question = question
        self.knowledge = knowledge or Knowledge()
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
        """The measures of each flow, such as delay, by which algorithms are judged."""
        return measures_of_flows(self.results)

    @cached_property
    def directions(self) -> Sequence[DirectionComparisons]:
        """For each direction in which algorithms sent data, the comparisons of these algorithms."""
        return compare_directions(
            self.results, smallest_effect=self.smallest_effect, beside=self.measures
        )

    @cached_property
    def together(self) -> Decision | None:
        """The recommendation for all network settings combined.

        It is None for a single network setting, or if the settings cannot be combined.
        """
        if len(self.settings) == 1 or not self.settings:
            return None
        question = self.question
        first = self.comparisons[0]
        decision = answer_together(
            [(each.name, each.comparison) for each in self.settings],
            goal_measured(first) if question is None else goal_named(question.goal),
            baseline=BASELINE if question is None else question.baseline,
            knowledge=self.knowledge,
        )
        if decision is None:
            return None
        return replace(decision, reality=pooled(each.decision.reality for each in self.settings))

    @cached_property
    def contestants(self) -> tuple[str, ...]:
        """The names of all algorithms or variants that the study compares."""
        return contestants_of(self.comparisons)

    @cached_property
    def styles(self) -> Mapping[str, Style]:
        """The colour, line style and marker of each compared algorithm in figures."""
        return styles_of(self.contestants)

    @property
    def contestant_column(self) -> str:
        """Name of the factor that is compared: `variant` or `algorithm`."""
        return contestant_factor(self.results)


@dataclass(frozen=True)
class Setting:
    """One network setting of the study, for which all algorithms are compared."""

    context: Context
    index: int
    comparison: Comparison

    @cached_property
    def decision(self) -> Decision:
        """The recommendation for this network setting and the user's goal (or a default goal)."""
        question = self.context.question
        goal = goal_measured(self.comparison) if question is None else goal_named(question.goal)
        return self.decide(goal, self.comparison)

    def decide(self, goal: Goal, comparison: Comparison) -> Decision:
        """Return the recommendation for `goal`, based on `comparison` (of one data direction)."""
        question = self.context.question
        return answer(
            comparison,
            goal,
            baseline=BASELINE if question is None else question.baseline,
            scenario=self.scenario,
            knowledge=self.context.knowledge,
        )

    @cached_property
    def directions(self) -> Sequence[tuple[DirectionComparisons, Comparison]]:
        """For each data direction: comparisons of algorithms, in all settings and in this one."""
        return [
            (direction, comparison)
            for direction in self.context.directions
            for comparison in direction.comparisons
            if comparison.cell == self.comparison.cell
        ]

    @property
    def name(self) -> str:
        """The name of the network setting as text; empty if the study has only one setting."""
        return self.comparison.name

    @property
    def has_timeline(self) -> bool:
        """True if the report's page shows time series for this network setting."""
        return self.index < MOST_TIMELINES

    @cached_property
    def set_ups(self) -> Sequence[SetUp]:
        """The scenarios of this setting, one for each algorithm; empty if they are unknown."""
        return self.context.origin.set_ups_of(self.comparison.cell)

    @property
    def scenario(self) -> Mapping[str, Any] | None:
        """The scenario of the first algorithm's runs; None if this scenario is unknown."""
        return self.set_ups[0].scenario if self.set_ups else None

    @cached_property
    def representatives(self) -> Mapping[str, str]:
        """Maps each compared algorithm to the key of its most representative run."""
        return self.comparison.representative_runs()

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series of the representative runs; the column `contestant` names the algorithm."""
        return self.comparison.representative_rows(self.context.results.samples)

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events of the representative runs; the column `contestant` names the algorithm."""
        return self.comparison.representative_rows(self.context.results.events)

    def chart(self, name: str) -> str:
        """Return the value of the HTML attribute `data-chart` for one chart of this setting."""
        return f"{name}-{self.index}"
