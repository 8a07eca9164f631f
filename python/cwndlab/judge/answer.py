"""The decisions of results, one for each setting and direction: the same wherever shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from cwndlab.judge.comparison import flows_of
from cwndlab.judge.decision import Decision, decide
from cwndlab.judge.directions import compare_directions
from cwndlab.judge.evidence import networks
from cwndlab.judge.goals import BALANCE, SHORT_TRANSFERS, THROUGHPUT
from cwndlab.judge.measures import WithSeries, measures_of_flows
from cwndlab.judge.question import NETWORKS
from cwndlab.judge.reality import reality_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from cwndlab.judge.comparison import Comparison
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.networks import Networks


class Measured(WithSeries, Protocol):
    """Results in a folder."""

    @property
    def path(self) -> Path:
        """The folder of the results."""


class Answerable(Measured, Protocol):
    """What is read of results to answer; `cwndlab.Results` is one."""

    def beside(self, name: str) -> Measured | None:
        """Return results in a folder below these; None where there are none."""

    def scenario(self, cell: Mapping[str, object]) -> Mapping[str, Any] | None:
        """Return the scenario of a cell; None where it is not known."""


BASELINE = "cubic"
"""What most hosts run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision and the runs behind it."""

    decision: Decision
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beside the runs of a link."""

    networks: Measured | None = None
    """Runs on networks like it."""


def answers(results: Answerable, goal: Goal, *, baseline: str = BASELINE) -> list[Answer]:
    """Decide a goal in every setting and direction of results, in the order of the study.

    What is known beside the runs is part of each decision: networks like the link, where they were
    tried, and the record of advice for its class of networks.
    """
    directions = compare_directions(results, beside=measures_of_flows(results))
    knowledge = Knowledge(results.beside(NETWORKS))
    found = []
    for direction in directions:
        title = direction.title if len(directions) > 1 else ""
        for comparison in direction.comparisons:
            decision = answer(
                comparison,
                goal,
                baseline=baseline,
                scenario=results.scenario(comparison.cell),
                knowledge=knowledge,
            )
            setting = ", ".join(filter(None, [comparison.name, title]))
            found.append(Answer(replace(decision, setting=setting), comparison))
    return found


def answer(
    comparison: Comparison,
    goal: Goal,
    *,
    baseline: str,
    scenario: Mapping[str, Any] | None,
    knowledge: Knowledge,
) -> Decision:
    """Decide a goal in one setting, with all that is known of it."""
    decision = decide(comparison, goal, baseline=baseline)
    reality = None if scenario is None else reality_of(class_of(scenario))
    tried = _networks(knowledge.networks, decision, comparison)
    return replace(decision, reality=reality, networks=tried)


def _networks(
    beside: Measured | None, decision: Decision, comparison: Comparison
) -> Networks | None:
    """Return what runs beside the results say, where the results are of one setting."""
    if beside is None or comparison.cell or decision.first is None:
        return None
    measures = measures_of_flows(beside)
    flows = flows_of(beside, beside.flows().join(measures, on=["run", "flow"], how="left"))
    return networks(comparison, decision.first, decision.goal, flows, beside.path)


def class_of(scenario: Mapping[str, Any]) -> str | None:
    """Return the class of a scenario's network: a radio's kind, `wifi`; None of wires."""
    path = scenario["path"]
    if path["kind"] == "cell":
        return str(path["radio"]["kind"])
    return "wifi" if path["kind"] == "wifi" else None


def goal_measured(comparison: Comparison) -> Goal:
    """Return the goal that is answered where none was asked for, by what was measured."""
    if comparison.has(SHORT_TRANSFERS.gain):
        return SHORT_TRANSFERS
    return BALANCE if comparison.has("log_queueing_delay") else THROUGHPUT
