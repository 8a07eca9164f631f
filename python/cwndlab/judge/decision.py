"""Decide which algorithms are recommended for a goal, and how certain the recommendation is.

This module computes values only; `cwndlab.judge.sentences` expresses them in words. Three separate
probabilities describe how certain it is that the first recommended algorithm is right:

- *repeatable*: the probability that a new experiment on this link would again find that the
  algorithm may well be the best. The new experiment has the same number of repetitions, but other
  random seeds. With more repetitions, this probability approaches 1, even if the simulated link
  resembles no real network. Therefore, a high value alone does not make a decision certain.
- *robust*: the probability that the algorithm is nearly the best (within the indifference zone) on
  similar networks. Their uncertain properties are drawn at random from ranges.
- *reality*: the fraction of cases in which advice for this class of networks agreed with
  measurements of real networks.

`sure` is the lowest of the three probabilities. An unknown *reality* is ignored. If *repeatable* or
*robust* is unknown, `sure` is None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import core
from cwndlab.judge.goals import SHORT_TRANSFERS

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
"""Differences in utility below this value, the indifference zone, are negligible."""

SURE = 0.9
"""A decision is called sure if the lowest of its probabilities is at least this value."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with its 95 % interval; the bounds are None if there are too few runs."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Entrant:
    """The result of one of the compared algorithms."""

    name: str
    score: Bounds
    """Mean utility of the algorithm over all runs."""
    behind: float
    """Mean utility of the first recommended algorithm, minus the mean utility of this algorithm."""
    is_good: bool
    """True if the algorithm belongs to the set of recommended algorithms."""
    prices: tuple[float, float] | None
    """Lowest and highest price of delay (see `Goal.price`) at which the algorithm is nearly the
    best; None if there is no such price, or if the goal has no cost."""
    is_undominated: bool
    """True if every algorithm with a higher gain has a higher cost, too (Pareto-optimal)."""

    @property
    def loss(self) -> float:
        """`behind` as a fraction: 0.04 if the algorithm is 4 % worse than the first recommended."""
        return -math.expm1(-self.behind)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Relative changes of results when one algorithm replaces another."""

    old: str
    new: str
    changes: Mapping[str, Bounds]
    """Relative change of each reported column from `old` to `new`; -0.04 means 4 % less."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """The algorithms recommended for one goal, such as latency, on one network."""

    goal: Goal
    setting: str
    """Name of the network setting; empty if the study has only one setting."""
    pairs: int
    """Number of repetitions whose runs form pairs. It is 0 if all repetitions have identical
    results, which do not show the effect of chance."""
    best: tuple[str, ...]
    """The recommended algorithms, best first; empty if nothing was measured or no data arrived."""
    candidates: tuple[str, ...]
    """All algorithms that may well be the best: `best` if `repeatable` is at least 0.9, or if the
    decision concerns estimates of one network; otherwise often more."""
    entrants: tuple[Entrant, ...]
    """Results of the compared algorithms, from the highest score to the lowest."""
    repeatable: float | None
    same_set: float | None
    """Probability that the experiment, if repeated, would recommend exactly the same algorithms."""
    good_selection: float | None
    """Probability that the first recommended algorithm is nearly the best algorithm on this
    link."""
    is_settled: bool
    """True if the runs suffice to decide for each algorithm whether it is recommended. Always False
    if all repetitions have identical results, or if there is only one repetition."""
    step: Replacement | None = None
    """Changes of results when the recommended algorithm replaces the baseline; None if both are
    the same algorithm, or if one of the two has no results."""
    baseline: str | None = None
    networks: Networks | None = None
    """Results on similar networks; None if no similar networks were simulated."""
    reality: Reality | None = None
    """How often earlier advice for this class of networks agreed with measurements of real
    networks; None if this is unknown."""
    host: SimulatedHost | None = None
    """Properties of the simulated host; None for measured results."""
    queue: QueueSize | None = None
    """Queue size of the slowest wired link; None if the queue has no fixed size, or for measured
    results."""
    encounters: tuple[Coexistence, ...] = ()
    """Results of runs in which flows of the first recommended algorithm compete with CUBIC flows,
    and with each other."""
    population: PopulationView | None = None
    """Result for each class of users; None if the decision concerns a single network."""
    is_measured: bool = False
    """True if the runs were measured on a real network, neither simulated nor emulated."""
    is_alone: bool = field(default=False)
    """True if `entrants` contains only one algorithm, so that no comparison is possible."""
    unpaired: tuple[str, ...] = ()
    """Algorithms that share no repetition with the first recommended algorithm, and therefore
    cannot be compared with it."""
    is_idle: bool = field(default=False)
    """True if the goodput of every run is zero, so that no algorithm can be recommended."""
    is_explained: bool = True
    """False if the networks were inferred from a measurement, but do not explain its results. In
    that case, nothing is known about similar networks, and `networks` is None."""

    def __repr__(self) -> str:
        sure = "unknown" if self.sure is None else f"{self.sure:.2f}"
        setting = f", setting {self.setting!r}" if self.setting else ""
        best = ", ".join(self.best) or "none"
        return f"Decision({self.goal.name!r}{setting}, best: {best}, sure: {sure})"

    @property
    def first(self) -> str | None:
        """The first algorithm in `best`; None if no algorithm is recommended."""
        return self.best[0] if self.best else None

    @property
    def robust(self) -> float | None:
        """Probability that the first recommended algorithm is nearly best on similar networks."""
        return None if self.networks is None else self.networks.is_good

    @property
    def are_estimates(self) -> bool:
        """True if the classes in `population` are alternative estimates of a single network."""
        return self.population is not None and self.population.meaning.are_estimates

    @property
    def sure(self) -> float | None:
        """The lowest of the probabilities *repeatable*, *robust* and *reality*.

        If *reality* is unknown, the result is the lower of *repeatable* and *robust*. If one of
        these two is unknown, the result is None.
        """
        if self.repeatable is None or self.robust is None:
            return None
        checked = [] if self.reality is None else [self.reality.share]
        return min(self.repeatable, self.robust, *checked)

    @property
    def is_sure(self) -> bool:
        """True if `sure`, the lowest of the decision's probabilities, is at least 0.9."""
        return self.sure is not None and self.sure >= SURE

    def entrant(self, name: str) -> Entrant:
        """Return the result of the algorithm `name`.

        Raises:
            KeyError: the decision contains no result of this algorithm.
        """
        for entrant in self.entrants:
            if entrant.name == name:
                return entrant
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Return the decision as a dictionary for JSON.

        docs/explanation/verdict.md explains the keys of the dictionary.
        """
        return {
            "goal": self.goal.name,
            "setting": self.setting,
            "best": list(self.best),
            "candidates": list(self.candidates),
            "sure": self.sure,
            "repeatable": self.repeatable,
            "same_set": self.same_set,
            "good_selection": self.good_selection,
            "robust": self.robust,
            "is_explained": self.is_explained,
            "reality": None if self.reality is None else self.reality.to_json(),
            "baseline": self._baseline_json(),
            "pairs": self.pairs,
            "unpaired": list(self.unpaired),
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
    """Decide which algorithms are best for a goal, from the runs in one network setting."""
    decision = decide_runs(comparison.contestants, runs_of(comparison, goal), goal, baseline)
    old, new = decision.baseline, decision.first
    change = step(comparison, old, new, goal.shown) if old and new and old != new else None
    decision = replace(decision, setting=comparison.name, step=change)
    is_idle = (
        comparison.has("goodput_mbit_s")
        and not np.nan_to_num(rows(comparison, "goodput_mbit_s")).any()
    )
    return _without_choice(decision) if is_idle else decision


def _without_choice(decision: Decision) -> Decision:
    """Remove the recommendation from a decision about runs in which no data arrived."""
    unknown = replace(decision, repeatable=None, same_set=None, good_selection=None, step=None)
    return replace(unknown, best=(), candidates=(), entrants=(), is_alone=False, is_idle=True)


@dataclass(frozen=True, slots=True)
class GainsAndCosts:
    """Logarithms of the gain and the cost of each run, in arrays of shape (algorithms, runs)."""

    gain: Floats
    cost: Floats

    def utilities(self, goal: Goal) -> Floats:
        """Return the utility of each run: its gain, minus `goal.price` times its cost."""
        return self.gain if goal.price == 0 else self.gain - goal.price * self.cost


def runs_of(comparison: Comparison, goal: Goal) -> GainsAndCosts:
    """Return the gains and costs that a goal defines, for all runs in one network setting."""
    gain = rows(comparison, goal.gain)
    return GainsAndCosts(gain, rows(comparison, goal.cost) if goal.cost else np.zeros_like(gain))


def decide_runs(
    names: Sequence[str], runs: GainsAndCosts, goal: Goal, baseline: str | None
) -> Decision:
    """Decide which algorithms are best for a goal, from the gains and costs of their runs."""
    chosen = chosen_of(runs.gain, runs.cost, goal.price)
    repetitions = runs.gain.shape[1]  # a single run cannot show whether anything is random
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
        pairs=repetitions if chosen["is_random"] or repetitions == 1 else 0,
        best=tuple(names[at] for at in chosen["good"]),
        candidates=tuple(names[at] for at in chosen["candidates"]),
        entrants=entrants,
        repeatable=chosen["leader_stays"],
        same_set=chosen["same_set"],
        good_selection=chosen["leader_is_good"],
        is_settled=chosen["is_settled"],
        baseline=baseline if baseline in {each.name for each in entrants} else None,
        is_alone=len(entrants) == 1,
        unpaired=tuple(
            name
            for name, gains, score in zip(names, runs.gain, chosen["scores"], strict=True)
            if score is None and np.isfinite(gains).any()
        ),
    )


def chosen_of(gain: Floats, cost: Floats, price: float) -> Chosen:
    """Choose the set of recommended algorithms.

    `gain` and `cost` have a row for each algorithm and a column for each repetition; `price` is the
    weight of the cost.
    """
    return core.choose_set(gain.tolist(), cost.tolist(), price=price, zone=ZONE, sure=SURE)


def rows(comparison: Comparison, column: str) -> Floats:
    """Return a quantity as an array of shape (algorithms, repetitions); missing runs are NaN."""
    nothing = np.full(comparison.repetitions, np.nan)
    return np.array(
        [comparison.values[name].get(column, nothing) for name in comparison.contestants]
    )


def step(comparison: Comparison, old: str, new: str, columns: Sequence[str]) -> Replacement:
    """Return the mean relative change of each column if the algorithm `new` replaces `old`."""
    values = comparison.values
    changes = {}
    for column in columns:
        if column in values[new] and column in values[old]:
            share = _share(_logarithms(values[new], column), _logarithms(values[old], column))
            if share is not None:
                changes[column] = share
    return Replacement(old, new, changes)


def step_of_runs(
    names: Sequence[str], runs: GainsAndCosts, goal: Goal, old: str, new: str
) -> Replacement:
    """Return the relative changes of gain and cost if the algorithm `new` replaces `old`."""
    at, before = names.index(new), names.index(old)
    shares = {"goodput_mbit_s": _share(runs.gain[at].tolist(), runs.gain[before].tolist())}
    if goal.cost and goal.price:
        shares[goal.cost] = _share(runs.cost[at].tolist(), runs.cost[before].tolist())
    return Replacement(
        old, new, {name: share for name, share in shares.items() if share is not None}
    )


def _share(ours: Sequence[float], theirs: Sequence[float]) -> Bounds | None:
    """Return the mean relative change from `theirs` to `ours`, with its interval.

    Both sequences contain logarithms; equal positions form a pair. Return None without pairs.
    """
    found = core.relative_change(ours, theirs)
    return None if found is None else Bounds(*found)


def _logarithms(values: Mapping[str, Floats], column: str) -> list[float]:
    """Return the logarithms of a column.

    Unfinished transfers are assumed to last as long as their runs.
    """
    if column == "completion_ms" and SHORT_TRANSFERS.gain in values:
        found: list[float] = (-values[SHORT_TRANSFERS.gain]).tolist()
        return found
    return core.logarithms(values[column].tolist())
