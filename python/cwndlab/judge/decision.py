"""The decision: the set of good algorithms for a goal, and the certainty of this set.

This module holds values only; `cwndlab.judge.sentences` puts them into words. Three probabilities
describe the certainty of a decision, and they are never merged:

- *repeatable*: the probability that the same number of new random repetitions on this link gives a
  set that contains the algorithm named first. With more repetitions, this probability approaches 1,
  so a high value alone does not make an answer sure.
- *robust*: the probability that the algorithm named first is within the zone of the best on
  networks like this one, that is, over the declared ranges of all assumptions.
- *reality*: the share of cases in which advice for this class of networks agreed with measurements
  of real networks.

`sure` is the lowest of the three probabilities; None if repeatable or robust is not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab._core import Chosen
    from cwndlab.judge.cell import Comparison
    from cwndlab.judge.coexistence import Coexistence
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.networks import Networks
    from cwndlab.judge.reality import Reality
    from cwndlab.judge.simulated_host import SimulatedHost
    from cwndlab.judge.weighing import PopulationView
    from cwndlab.resolve.queues import QueueSize
    from cwndlab.stats.bootstrap import Floats

ZONE = 0.03
"""Differences in utility below this are too small to matter."""

SURE = 0.9
"""Lowest probability that is called sure."""

LEAST_PAIRS = 6
"""Smallest number of random pairs for which *repeatable* is reported."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with its 95 % interval; the bounds are None if there are too few runs."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Entrant:
    """Result of one algorithm in a decision."""

    name: str
    score: Bounds
    """Mean utility."""
    behind: float
    """Mean over pairs of the utility by which the algorithm is behind the first."""
    is_good: bool
    """Whether the algorithm is in the set."""
    prices: tuple[float, float] | None
    """Prices of delay at which the algorithm is practically as good as the best; None if none."""
    is_undominated: bool
    """Whether no other algorithm is at least as good in both gain and cost."""

    @property
    def loss(self) -> float:
        """Share by which the algorithm is worth less than the first; `behind` is its logarithm."""
        return -math.expm1(-self.behind)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Relative changes from one algorithm to another: -0.04 is 4 % less."""

    old: str
    new: str
    changes: Mapping[str, Bounds]
    """Changes by column, in the order of the goal's `shown`; only columns that were measured."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one goal in one setting."""

    goal: Goal
    setting: str
    """Name of the setting; empty if the study has only one."""
    pairs: int
    """Number of random pairs behind the decision; 0 if all repetitions are identical."""
    best: tuple[str, ...]
    """The set of good algorithms, the recommended one first; empty if nothing was measured."""
    entrants: tuple[Entrant, ...]
    """Results of the algorithms, the highest score first."""
    repeatable: float | None
    same_set: float | None
    """Probability that the same number of new repetitions gives exactly the same set."""
    good_selection: float | None
    """Probability that the algorithm named first is within the zone of the best on this link."""
    is_settled: bool
    """Whether each algorithm is certainly inside or outside the set, even with repeated checks."""
    step: Replacement | None = None
    """Change from the baseline to the recommended algorithm; None if they are the same."""
    baseline: str | None = None
    networks: Networks | None = None
    """Result on networks like this one; None if such networks were not tried."""
    reality: Reality | None = None
    """Agreement with real networks; None if advice for this class was never checked."""
    host: SimulatedHost | None = None
    """The simulated host; None for measurements."""
    queue: QueueSize | None = None
    """Size of the wire's queue at its lowest rate; None if the queue has no size."""
    encounters: tuple[Coexistence, ...] = ()
    """Encounters of the first algorithm with CUBIC and with itself; empty if not run."""
    population: PopulationView | None = None
    """The classes of users; None if the answer is for one network."""
    is_measured: bool = False
    """Whether the runs were measured on a real network, not simulated or emulated."""
    is_alone: bool = field(default=False)
    """Whether only one algorithm was run, which leaves nothing to decide."""

    @property
    def first(self) -> str | None:
        """The recommended algorithm."""
        return self.best[0] if self.best else None

    @property
    def robust(self) -> float | None:
        """Probability that the first algorithm is good on networks like this one."""
        return None if self.networks is None else self.networks.is_good

    @property
    def sure(self) -> float | None:
        """The lowest of the three probabilities; None if repeatable or robust is not known."""
        if self.repeatable is None or self.robust is None:
            return None
        checked = [] if self.reality is None else [self.reality.share]
        return min(self.repeatable, self.robust, *checked)

    @property
    def is_sure(self) -> bool:
        """Whether the answer is called sure."""
        return self.sure is not None and self.sure >= SURE

    def entrant(self, name: str) -> Entrant:
        """Return the result of an algorithm.

        Raises:
            KeyError: the algorithm has no result.
        """
        for entrant in self.entrants:
            if entrant.name == name:
                return entrant
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Return the decision for JSON; docs/explanation/verdict.md explains the keys."""
        return {
            "goal": self.goal.name,
            "setting": self.setting,
            "best": list(self.best),
            "sure": self.sure,
            "repeatable": self.repeatable,
            "same_set": self.same_set,
            "good_selection": self.good_selection,
            "robust": self.robust,
            "reality": None if self.reality is None else self.reality.to_json(),
            "baseline": self._baseline_json(),
            "pairs": self.pairs,
            "zone": ZONE,
            "price_of_delay": self.goal.price,
            "coexistence": [each.to_json() for each in self.encounters],
            "population": None if self.population is None else self.population.to_json(),
            "networks": None if self.networks is None else self.networks.to_json(),
            "algorithms": [
                {
                    "algorithm": each.name,
                    "score": each.score.estimate,
                    "low": each.score.low,
                    "high": each.score.high,
                    "behind": each.behind,
                    "is_good": each.is_good,
                    "prices_of_delay": None
                    if each.prices is None
                    else [None if math.isinf(price) else price for price in each.prices],
                    "is_undominated": each.is_undominated,
                }
                for each in self.entrants
            ],
        }

    def _baseline_json(self) -> dict[str, Any] | None:
        if self.baseline is None:
            return None
        shares = {} if self.step is None else _shares(self.step)
        host = None if self.host is None else self.host.to_json()
        return {"algorithm": self.baseline, "change": shares or None, "host": host}


_JSON_NAMES = {
    "goodput_mbit_s": "throughput",
    "rtt_p95_ms": "delay",
    "log_queueing_delay": "queueing_delay",
    "completion_ms": "completion",
}


def _shares(step: Replacement) -> dict[str, Any]:
    return {
        _JSON_NAMES.get(name, name): {"estimate": b.estimate, "low": b.low, "high": b.high}
        for name, b in step.changes.items()
    }


def decide(comparison: Comparison, goal: Goal, *, baseline: str | None = "cubic") -> Decision:
    """Decide a goal in one setting from the runs of this setting alone."""
    decision = decide_runs(comparison.contestants, runs_of(comparison, goal), goal, baseline)
    old, new = decision.baseline, decision.first
    change = step(comparison, old, new, goal.shown) if old and new and old != new else None
    return replace(decision, setting=comparison.name, step=change)


@dataclass(frozen=True, slots=True)
class GainsAndCosts:
    """Logarithms of gains and costs, with a row per algorithm and a column per repetition."""

    gain: Floats
    cost: Floats

    def utilities(self, goal: Goal) -> Floats:
        """Return the gain minus the cost at the goal's price."""
        return self.gain if goal.price == 0 else self.gain - goal.price * self.cost


def runs_of(comparison: Comparison, goal: Goal) -> GainsAndCosts:
    """Return the gains and costs of the runs of one setting."""
    gain = rows(comparison, goal.gain)
    return GainsAndCosts(gain, rows(comparison, goal.cost) if goal.cost else np.zeros_like(gain))


def decide_runs(
    names: Sequence[str], runs: GainsAndCosts, goal: Goal, baseline: str | None
) -> Decision:
    """Decide a goal from the gains and costs of each algorithm's runs."""
    chosen = chosen_of(runs.gain, runs.cost, goal.price)
    entrants = tuple(
        Entrant(
            name=names[at],
            score=Bounds(score["score"], score["low"], score["high"]),
            behind=score["behind"],
            is_good=score["is_good"],
            prices=chosen["spans"][at] if goal.cost else None,
            is_undominated=at in chosen["undominated"],
        )
        for at in chosen["order"]
        if (score := chosen["scores"][at]) is not None
    )
    return Decision(
        goal=goal,
        setting="",
        pairs=runs.gain.shape[1] if chosen["is_random"] else 0,
        best=tuple(names[at] for at in chosen["good"]),
        entrants=entrants,
        repeatable=chosen["leader_stays"],
        same_set=chosen["same_set"],
        good_selection=chosen["leader_is_good"],
        is_settled=chosen["is_settled"],
        baseline=baseline if baseline in {each.name for each in entrants} else None,
        is_alone=len(entrants) == 1,
    )


def chosen_of(gain: Floats, cost: Floats, price: float) -> Chosen:
    """Choose the set of good algorithms; rows are algorithms, columns are repetitions."""
    return core.choose_set(gain.tolist(), cost.tolist(), price=price, zone=ZONE)


def rows(comparison: Comparison, column: str) -> Floats:
    """Return a column's values by contestant (rows) and repetition; missing values are NaN."""
    nothing = np.full(comparison.repetitions, np.nan)
    return np.array(
        [comparison.values[name].get(column, nothing) for name in comparison.contestants]
    )


def step(comparison: Comparison, old: str, new: str, columns: Sequence[str]) -> Replacement:
    """Return the changes from one contestant to another, computed over pairs of runs."""
    values = comparison.values
    changes = {}
    for column in columns:
        if column in values[new] and column in values[old]:
            share = _share(_logarithms(values[new][column]), _logarithms(values[old][column]))
            if share is not None:
                changes[column] = share
    return Replacement(old, new, changes)


def step_of_runs(
    names: Sequence[str], runs: GainsAndCosts, goal: Goal, old: str, new: str
) -> Replacement:
    """Return the changes from one algorithm to another, from the logarithms in `runs`."""
    at, before = names.index(new), names.index(old)
    shares = {"goodput_mbit_s": _share(runs.gain[at].tolist(), runs.gain[before].tolist())}
    if goal.cost and goal.price:
        shares[goal.cost] = _share(runs.cost[at].tolist(), runs.cost[before].tolist())
    return Replacement(
        old, new, {name: share for name, share in shares.items() if share is not None}
    )


def _share(ours: Sequence[float], theirs: Sequence[float]) -> Bounds | None:
    """Return a mean difference between logarithms as a relative change with its interval."""
    found = core.relative_change(ours, theirs)
    return None if found is None else Bounds(*found)


def _logarithms(values: Floats) -> list[float]:
    return core.logarithms(values.tolist())
