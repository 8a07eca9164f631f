"""Decide which algorithm is best for each network setting and each data direction of a study."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from cwndlab.errors import ArgumentError
from cwndlab.judge.coexistence import judge_coexistence
from cwndlab.judge.comparison import contestants_of, flows_of
from cwndlab.judge.decision import Decision, GainsAndCosts, decide, runs_of
from cwndlab.judge.directions import compare_directions
from cwndlab.judge.evidence import networks
from cwndlab.judge.goals import BALANCE, SHORT_TRANSFERS, THROUGHPUT
from cwndlab.judge.measures import WithSeries, measures_of_flows
from cwndlab.judge.question import COEXISTENCE, MIXES, NETWORKS
from cwndlab.judge.reality import pooled, reality_of
from cwndlab.judge.simulated_host import simulated_host
from cwndlab.judge.weighing import Weights, decide_population, equal_weights, weighted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from cwndlab.judge.cell import Comparison
    from cwndlab.judge.coexistence import Coexistence
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.networks import Networks
    from cwndlab.resolve.queues import QueueSize


class Measured(WithSeries, Protocol):
    """Results that are stored in a folder."""

    @property
    def path(self) -> Path:
        """Folder in which the results are stored."""


class Answerable(Measured, Protocol):
    """Those methods of `cwndlab.Results` that this module uses."""

    def beside(self, name: str) -> Measured | None:
        """Return the results in the subfolder `name`; None if the subfolder has no results."""

    def scenario(self, cell: Mapping[str, object]) -> Mapping[str, Any] | None:
        """Return the scenario with the given factor levels; None for imported results."""

    def queue(self, cell: Mapping[str, object]) -> QueueSize | None:
        """Return the queue size of the slowest wired link in the scenario with these factor levels.

        Return None for imported results, or if the queue has no fixed size.
        """


BASELINE = "cubic"
"""Algorithm with which the others are compared by default: CUBIC, which most hosts use."""

CLASS = "users"
"""Name of the study factor whose levels are classes of users."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision on the best algorithm, and the comparison of runs that led to it."""

    decision: Decision
    comparison: Comparison = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Decisions on the best algorithm for one goal of a user.

    There is one decision for each network setting, and one for all settings combined.
    """

    settings: tuple[Answer, ...]
    """One decision for each network setting and direction of data, in the order of the study."""
    together: Decision
    """Decision for all network settings combined."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Additional evidence for a decision, besides the runs on the studied link."""

    networks: Measured | None = None
    """Runs on simulated networks similar to the link."""
    coexistence: Measured | None = None
    """Runs in which flows of several algorithms share the link."""
    mixes: Measured | None = None
    """Runs in which the recommended algorithm competes with another algorithm, under several
    conditions, such as different numbers of flows."""
    weights: Weights | None = None
    """Weight of each network setting, if each setting is a class of users. If None, the weights are
    equal."""


def answers(
    results: Answerable,
    goal: Goal | None,
    *,
    baseline: str = BASELINE,
    knowledge: Knowledge,
) -> Answers | None:
    """Decide which algorithm is best for a user's goal, in each network setting.

    Return None if there are no results. If `goal` is None, choose a default goal that fits the
    quantities measured in the first setting. The evidence in `knowledge` concerns the whole study.
    Therefore, if there are several settings, the decision for a single setting does not use it.
    The decision for a simulated network also states the record of earlier advice: how often it
    agreed with measurements on networks of the same class, such as LTE.
    """
    if results.flows().is_empty():
        return None
    directions = compare_directions(results, beside=measures_of_flows(results))
    if not directions:
        return None
    goal = goal or goal_measured(directions[0].comparisons[0])
    found = []
    for direction in directions:
        for comparison in direction.comparisons:
            is_named = comparison.cell.get("direction") in {direction.name, direction.short_title}
            title = "" if len(directions) == 1 or is_named else direction.title
            decision = answer(
                comparison,
                goal,
                baseline=baseline,
                scenario=results.scenario(comparison.cell),
                knowledge=knowledge,
            )
            setting = ", ".join(filter(None, [comparison.name, title]))
            queue = None if decision.is_measured else results.queue(comparison.cell)
            found.append(Answer(replace(decision, setting=setting, queue=queue), comparison))
    together = answer_together(
        [(each.decision.setting, each.comparison) for each in found],
        goal,
        baseline=baseline,
        knowledge=knowledge,
    )
    if together is not None:
        record = pooled(each.decision.reality for each in found)
        together = replace(together, reality=record)
    return Answers(tuple(found), together or found[0].decision)


def check_baseline(found: Answers, baseline: str) -> None:
    """Raise an ArgumentError if the algorithm `baseline` is not one of the compared algorithms."""
    names = contestants_of(each.comparison for each in found.settings)
    if baseline not in names:
        remedy = f"these results contain only {', '.join(names)}"
        raise ArgumentError(baseline, "baseline", remedy)


def known_of(results: Answerable, weights: Weights | None) -> Knowledge:
    """Read the additional evidence for a decision from subfolders of the results' folder."""
    networks, coexistence, mixes = map(results.beside, (NETWORKS, COEXISTENCE, MIXES))
    return Knowledge(networks, coexistence, mixes, weights)


def answer(
    comparison: Comparison,
    goal: Goal,
    *,
    baseline: str,
    scenario: Mapping[str, Any] | None,
    knowledge: Knowledge,
) -> Decision:
    """Decide which algorithm is best for a goal in one network setting.

    The decision uses `knowledge` only if the study has a single network setting.
    """
    decision = decide(comparison, goal, baseline=baseline)
    if scenario is None or scenario["path"]["kind"] == "live":
        decision = replace(decision, is_measured=True)
    else:
        reality, host = reality_of(class_of(scenario)), simulated_host(scenario)
        decision = replace(decision, reality=reality, host=host)
    if comparison.cell:
        return decision  # the runs in subfolders belong to all settings together
    return _with(knowledge, decision, comparison.contestants, runs_of(comparison, goal))


def answer_together(
    settings: Sequence[tuple[str, Comparison]],
    goal: Goal,
    *,
    baseline: str,
    knowledge: Knowledge,
) -> Decision | None:
    """Decide which algorithm is best for all network settings combined.

    Each setting is treated as a class of users. Return None if there is only one setting, or if the
    settings compare different algorithms. Also return None if the classes that have a weight in
    `knowledge` are not exactly these settings.
    """
    names = settings[0][1].contestants
    if len(settings) == 1 or any(set(each.contestants) != set(names) for _, each in settings):
        return None
    by_class = {
        class_name(comparison, title): _in_order(comparison, names, goal)
        for title, comparison in settings
    }
    weights = knowledge.weights or equal_weights(tuple(by_class))
    if set(weights.shares) != set(by_class):
        return None
    decision = decide_population(names, by_class, weights, goal, baseline)
    return _with(knowledge, decision, names, weighted(by_class, weights))


def class_name(comparison: Comparison, title: str) -> str:
    """Return the name of a network setting's class of users.

    The name is the level of the factor `users`, or `title` if other factors also distinguish the
    settings.
    """
    return str(comparison.cell[CLASS]) if set(comparison.cell) == {CLASS} else title


def _in_order(comparison: Comparison, names: tuple[str, ...], goal: Goal) -> GainsAndCosts:
    runs = runs_of(comparison, goal)
    order = [comparison.contestants.index(name) for name in names]
    return GainsAndCosts(runs.gain[order], runs.cost[order])


def _with(
    knowledge: Knowledge, decision: Decision, names: tuple[str, ...], runs: GainsAndCosts
) -> Decision:
    """Add to a decision the results on similar networks and the results with competing flows."""
    is_explained = knowledge.weights is None or knowledge.weights.meaning.is_explained
    return replace(
        decision,
        networks=_networks(knowledge, decision, names, runs) if is_explained else None,
        encounters=_encounters(knowledge, decision),
        is_explained=is_explained,
    )


def _encounters(knowledge: Knowledge, decision: Decision) -> tuple[Coexistence, ...]:
    """Return how flows of the recommended algorithm coexist with CUBIC and with each other."""
    beside, first = knowledge.coexistence, decision.first
    if beside is None or first is None:
        return ()
    return judge_coexistence(beside.flows(), [first])


def _networks(
    knowledge: Knowledge, decision: Decision, names: tuple[str, ...], runs: GainsAndCosts
) -> Networks | None:
    """Return how well the recommended algorithm performs on similar networks.

    Return None if no similar networks were simulated, or if no algorithm is recommended.
    """
    beside = knowledge.networks
    if beside is None or decision.first is None:
        return None
    measures = measures_of_flows(beside)
    flows = flows_of(beside, beside.flows().join(measures, on=["run", "flow"], how="left"))
    return networks(names, runs, decision.first, decision.goal, flows, beside.path)


def class_of(scenario: Mapping[str, Any]) -> str:
    """Return the class of a network: `wifi`, `wire`, `trace`, `chain`, or a radio such as `lte`.

    `trace` is the class of recorded links, and of wired links whose rate varies.
    """
    path = scenario["path"]
    if path["kind"] == "cell":
        return str(path["radio"]["kind"])
    if path["kind"] != "wire":
        return str(path["kind"])
    stages = [stage for way in ("forward", "reverse") for stage in path.get(way, ())]
    kinds = {stage["rate"]["kind"] for stage in stages if "rate" in stage}
    return "wire" if kinds <= {"fixed", "unlimited"} else "trace"


def goal_measured(comparison: Comparison) -> Goal:
    """Return the default goal, such as throughput, that fits the quantities measured."""
    if comparison.has(SHORT_TRANSFERS.gain):
        return SHORT_TRANSFERS
    return BALANCE if comparison.has("log_queueing_delay") else THROUGHPUT
