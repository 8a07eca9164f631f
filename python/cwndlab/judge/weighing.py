"""Recommend one algorithm for several classes of users, by the weighted mean of their utilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cwndlab.judge.decision import ZONE, Decision, GainsAndCosts, decide_runs, step_of_runs
from cwndlab.judge.goals import THROUGHPUT
from cwndlab.judge.sensitivity import weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.judge.goals import Goal
    from cwndlab.stats.bootstrap import Floats


BEST_PROBABILITY = 0.9
"""Least probability with which the set of algorithms for an inferred network contains the best."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Meaning:
    """Meaning of a population's classes, and source of their weights."""

    is_invented: bool = False
    """True if the weight of any class of users was invented, not taken from a source."""
    are_estimates: bool = False
    """True if each class is one estimate of the same network, and its weight is the probability of
    this estimate."""
    is_explained: bool = True
    """False if the networks were inferred from a measurement, but do not explain its results."""


@dataclass(frozen=True, slots=True)
class ClassView:
    """Effect of a recommendation on one class of users."""

    name: str
    weight: float
    """Fraction of the population that belongs to the class. If the class is an estimate of a
    network (see `Meaning.are_estimates`), the weight is the probability of this estimate."""
    regret: float
    """Utility that the class loses with the recommended algorithm, compared with the best algorithm
    for the class."""
    best: str
    """The algorithm that would be best for this class of users alone."""
    is_loser: bool
    """True for the class with the largest regret, unless this regret is negligible."""


@dataclass(frozen=True, slots=True)
class WeightTurn:
    """Threshold (`at`) of a class's weight, beyond which another algorithm is recommended."""

    name: str
    weight: float
    """Current weight of the class of users, from 0 to 1."""
    at: float
    side: Literal["above", "below"]
    instead: str


@dataclass(frozen=True, slots=True)
class PopulationView:
    """Effect of the advice on each class of users, and class weights that change the advice."""

    classes: tuple[ClassView, ...]
    turns: tuple[WeightTurn, ...]
    """Class weights at which the recommendation would change; the weight nearest to its current
    value comes first."""
    meaning: Meaning

    @property
    def loser(self) -> ClassView | None:
        """Class of users that loses the most utility; None if all losses are negligible."""
        return next((each for each in self.classes if each.is_loser), None)

    def to_json(self) -> dict[str, Any]:
        """Return the results for the population as a dictionary for JSON."""
        return {
            "classes": [
                {
                    "class": each.name,
                    "weight": each.weight,
                    "regret": each.regret,
                    "best": each.best,
                    "is_loser": each.is_loser,
                }
                for each in self.classes
            ],
            "turns": [
                {
                    "class": each.name,
                    "weight": each.weight,
                    "at": each.at,
                    "side": each.side,
                    "instead": each.instead,
                }
                for each in self.turns
            ],
            "weights_are_invented": self.meaning.is_invented,
            "are_estimates": self.meaning.are_estimates,
        }


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of all classes of users, and the meaning of these weights."""

    shares: Mapping[str, float]
    """Maps the name of each class to its weight; the weights sum to 1."""
    meaning: Meaning


def equal_weights(names: Sequence[str]) -> Weights:
    """Return equal weights for classes whose weights are unknown."""
    return Weights(dict.fromkeys(names, 1 / len(names)), Meaning(is_invented=True))


def decide_population(
    names: Sequence[str],
    by_class: Mapping[str, GainsAndCosts],
    weights: Weights,
    goal: Goal,
    baseline: str | None,
) -> Decision:
    """Decide which algorithm is best for all classes, by the weighted mean of utilities.

    If the classes are estimates of one network, `likely_best` chooses the set of recommended
    algorithms. Repetition n of a class is combined with repetition n of the other classes.
    Repetitions that do not exist in all classes are ignored.
    """
    together = weighted(by_class, weights)
    decision = decide_runs(names, together, goal, baseline)
    means = np.array([np.nanmean(runs.utilities(goal), axis=1) for runs in by_class.values()]).T
    if decision.first is None or not np.isfinite(means).all():
        return decision
    shares = [weights.shares[name] for name in by_class]
    found = weigh(means, list(by_class), shares, zone=ZONE)
    first = names.index(decision.first)
    if weights.meaning.are_estimates:
        good = tuple(names[each] for each in likely_best(means, shares, first))
        decision = replace(decision, best=good, candidates=good)
    regrets = found.regrets[first]
    worst = int(np.argmax(regrets))
    classes = tuple(
        ClassView(
            name=name,
            weight=share,
            regret=regrets[n],
            best=names[int(np.argmax(means[:, n]))],
            is_loser=n == worst and regrets[n] > ZONE,
        )
        for n, (name, share) in enumerate(zip(by_class, shares, strict=True))
    )
    turns = tuple(
        WeightTurn(turn.class_name, turn.weight, turn.at, turn.side, names[turn.other])
        for turn in found.turns
    )
    view = PopulationView(classes, turns, weights.meaning)
    old, new = decision.baseline, names[first]
    is_step = old is not None and old != new and goal.gain == THROUGHPUT.gain
    change = step_of_runs(names, together, goal, old, new) if old and is_step else None
    return replace(decision, population=view, step=change)


def likely_best(utilities: Floats, shares: Sequence[float], first: int) -> list[int]:
    """Return a small set that contains the best algorithm of a network that is not known exactly.

    An estimate of the network is covered if the set contains the best algorithm for this estimate.
    The set begins with `first`. Algorithms are added one by one until the total probability of the
    covered estimates is at least `BEST_PROBABILITY`. The next algorithm is always the one that
    increases this probability most.

    Args:
        utilities: utility of each algorithm (row) in each estimate of the network (column).
            Estimates with a missing utility are ignored; at least one estimate must be complete.
        shares: probability of each estimate; the probabilities sum to 1.
        first: row of the recommended algorithm.
    """
    whole = np.isfinite(utilities).all(axis=0)
    probabilities = np.asarray(shares)[whole] / np.sum(np.asarray(shares)[whole])
    is_best = utilities[:, whole] >= utilities[:, whole].max(axis=0)
    found, is_covered = [first], is_best[first]
    while probabilities[is_covered].sum() < BEST_PROBABILITY - _ROUNDING:
        gains = (is_best & ~is_covered) @ probabilities
        found.append(int(np.argmax(gains)))
        is_covered = is_covered | is_best[found[-1]]
    return found


def weighted(by_class: Mapping[str, GainsAndCosts], weights: Weights) -> GainsAndCosts:
    """Average the gains and costs over all classes by weight, separately for each repetition."""
    count = min(runs.gain.shape[1] for runs in by_class.values())

    def mean(column: Literal["gain", "cost"]) -> Any:  # noqa: ANN401  an array
        return sum(
            weights.shares[name] * getattr(runs, column)[:, :count]
            for name, runs in by_class.items()
        )

    return GainsAndCosts(mean("gain"), mean("cost"))
