"""The input of a report: results, comparisons, decisions and the origin of the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
"""Largest number of settings whose time series the page contains; limits the page's size."""


class Reportable(ResultsLike, Protocol):
    """Part of the interface of `cwndlab.Results` that reports need."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series of the runs with the given column values."""

    def events(self, **where: object) -> pl.DataFrame:
        """Return the losses, recoveries and timeouts of the runs with the given column values."""

    def links(self, **where: object) -> pl.DataFrame:
        """Return one row for each link of the path of each run."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table whose rows are read only when they are needed."""


class Context:
    """Results of a study, with the comparisons and decisions that all sections share."""

    def __init__(
        self,
        results: Reportable,
        origin: Origin,
        *,
        smallest_effect: float = ZONE,
        question: Question | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        """Compare the results.

        Args:
            results: the results to report.
            origin: origin of the study.
            smallest_effect: smallest relative difference that is not negligible.
            question: the question that the results answer. If None, choose a goal that fits the
                measured quantities.
            knowledge: evidence in addition to the runs, such as runs on similar networks.
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
        """The measures of each flow that the goals need."""
        return measures_of_flows(self.results)

    @cached_property
    def directions(self) -> Sequence[DirectionComparisons]:
        """The comparisons in each direction in which an algorithm under test sent data."""
        return compare_directions(
            self.results, smallest_effect=self.smallest_effect, beside=self.measures
        )

    @cached_property
    def together(self) -> Decision | None:
        """The decision for all settings as classes of users; None for a single setting."""
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
        """Name of the column with the algorithm or variant in the tables of samples and events."""
        return contestant_factor(self.results)


@dataclass(frozen=True)
class Setting:
    """One setting of the study, in which everything except the algorithm is constant."""

    context: Context
    index: int
    comparison: Comparison

    @cached_property
    def decision(self) -> Decision:
        """The decision for this setting; without a question, for the default goal."""
        question = self.context.question
        goal = goal_measured(self.comparison) if question is None else goal_named(question.goal)
        return self.decide(goal, self.comparison)

    def decide(self, goal: Goal, comparison: Comparison) -> Decision:
        """Return the decision for a goal from the comparison in one direction of the data."""
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
        """Each direction in which an algorithm under test sent data in this setting."""
        return [
            (direction, comparison)
            for direction in self.context.directions
            for comparison in direction.comparisons
            if comparison.cell == self.comparison.cell
        ]

    @property
    def name(self) -> str:
        """The name of the setting as text; empty if the study has only one setting."""
        return self.comparison.name

    @property
    def has_timeline(self) -> bool:
        """Whether the page shows the time series of this setting."""
        return self.index < MOST_TIMELINES

    @cached_property
    def set_ups(self) -> Sequence[SetUp]:
        """The scenario of each algorithm's runs; empty if the scenarios are unknown."""
        return self.context.origin.set_ups_of(self.comparison.cell)

    @property
    def scenario(self) -> Mapping[str, Any] | None:
        """The scenario of the first algorithm's runs; None if the scenario is unknown."""
        return self.set_ups[0].scenario if self.set_ups else None

    @cached_property
    def representatives(self) -> Mapping[str, str]:
        """The most representative run of each compared algorithm."""
        return self.comparison.representative_runs()

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series of the representative runs, with an additional column `contestant`."""
        return self.comparison.representative_rows(self.context.results.samples)

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events of the representative runs, with an additional column `contestant`."""
        return self.comparison.representative_rows(self.context.results.events)

    def chart(self, name: str) -> str:
        """Return the value of the attribute `data-chart` for a chart of this setting."""
        return f"{name}-{self.index}"
