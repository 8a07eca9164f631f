"""Represent the result of a fit as a distribution over links, and check this distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.inference.summaries import least_chance, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.inference.family import Dimension, Family
    from cwndlab.inference.importance import WeightedPoints
    from cwndlab.stats.bootstrap import Floats

LEVEL = 0.9
"""Probability with which an interval of a fit contains the true value."""
UNEXPLAINED = 0.88
"""Largest value of `Check.excess` at which the links explain the measurement.

`Check.excess` compares the measurement with simulations (see `Posterior.check`). It is the
deviation of the measurement from the median of these simulations, divided by the deviation that
95 % of them do not exceed. The limit would be 1 if the simulations had been selected independently
of the measurement. However, selecting simulations near the measurement makes `Check.excess`
smaller; therefore, the limit is below 1. In a test, flows on 60 simulated wired links served as
measurements. The inference used the correct family of links, and `Check.excess` was never above
0.87 (docs/notes/2026-11-inference.md).
"""
WIDEST = 5.0
"""Largest factor by which the spread of the links is multiplied.

A measurement whose `Check.excess` is above this value is refused.
"""
_CONSIDERED = 0.05
"""Least probability at which `Posterior.check` considers a family as an explanation.

The most probable family is always considered.
"""
_LEAST_TYPICAL = 1.0
"""Lower limit of the divisor in `Check.excess`.

`Check.excess` is the distance of the measurement from the median of the simulations, divided by the
95th percentile of the distances of single simulations (the divisor). The unit of all distances is
the standard deviation of a statistic, which is never below `least_chance`. If the simulations
differ from each other by much less than `least_chance`, the 95th percentile is near 0. Without the
lower limit, even a measurement near the simulations would then seem far away.
"""
_SHRUNK, _SHRUNK_OF_REPLICATES = 0.3, 0.1
_EDGE = 1e-3
_SPREAD_OF_UNIFORM = 1 / math.sqrt(12)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of one parameter of the link, with its 90 % interval."""

    parameter: Dimension
    value: float
    """Median of a numeric parameter, or the most probable choice of any other parameter."""
    low: float
    high: float
    """Upper end of the 90 % interval of the parameter; `low` is the lower end."""
    known: float
    """Fraction of the parameter's prior spread that the measurement removed, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Check:
    """Result of comparing the measurement with simulations on the inferred links."""

    probability: float
    """Fraction of the simulations that deviate from the median of the simulations at least as much
    as the measurement does."""
    worst: str
    """The statistic in which the measurement differs most from the simulations, as the noun phrase
    that `cwndlab.inference.summaries.title` returns."""
    is_above: bool
    """True if the statistic that `worst` names is larger in the measurement than in simulations."""
    excess: float
    """Deviation of the measurement from the median of the simulations, divided by the deviation
    that 95 % of the simulations do not exceed."""

    @property
    def is_explained(self) -> bool:
        """True if the deviation `excess` is so small that the links explain the measurement."""
        return self.excess <= UNEXPLAINED

    @property
    def widening(self) -> float:
        """Factor by which the spread of the links is multiplied; 1 if `is_explained` is true."""
        return 1.0 if self.is_explained else min(max(self.excess / UNEXPLAINED, 1.1), WIDEST)

    @property
    def is_refused(self) -> bool:
        """True if no link of any family reproduces the measurement even approximately."""
        return not self.is_explained and self.excess > WIDEST


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted results of an algorithm: lower end of the 90 % interval, median, upper end."""

    algorithm: str
    goodput_mbit_s: tuple[float, float, float]
    queueing_delay_p95_ms: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Member:
    """A family of links, with its probability and a weight for each simulated link."""

    family: Family
    probability: float
    inferred: WeightedPoints

    def estimates(self, widening: float = 1.0) -> list[Estimate]:
        """Return an estimate of each parameter, with its 90 % interval.

        The intervals are widened by the factor `widening`.
        """
        found = []
        points = self._widened(self.inferred.points, widening)
        for n, parameter in enumerate(self.family.parameters):
            shares, weights = points[:, n], self.inferred.weights
            ends = quantiles(shares, weights, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
            low, middle, high = parameter.value(ends)
            if parameter.choices:
                places = parameter.value(shares).astype(int)
                middle = np.bincount(places, weights).argmax()
            mean = float(np.average(shares, weights=weights))
            spread = math.sqrt(np.average((shares - mean) ** 2, weights=weights))
            known = max(0.0, 1 - spread / _SPREAD_OF_UNIFORM)
            found.append(Estimate(parameter, float(middle), float(low), float(high), known))
        return found

    def draw(self, count: int, widening: float) -> list[Floats]:
        """Draw links in proportion to their weights (systematic resampling); widen their spread.

        `widening` is the factor by which the spread of the links is multiplied.
        """
        places = (np.arange(count) + 0.5) / count
        order = np.argsort(self.inferred.points[:, 0], kind="stable")
        edges = np.cumsum(self.inferred.weights[order]) / self.inferred.weights.sum()
        chosen = order[np.minimum(np.searchsorted(edges, places), len(order) - 1)]
        return list(self._widened(self.inferred.points, widening)[chosen])

    def _widened(self, points: Floats, widening: float) -> Floats:
        """Multiply the distance of each point from the weighted mean by `widening`.

        The mean and the distances are computed from the logits of the coordinates. If `widening` is
        at most 1, the points are returned unchanged.
        """
        if widening <= 1:
            return points
        inside = np.clip(points, _EDGE, 1 - _EDGE)
        logits = np.log(inside / (1 - inside))
        mean = np.average(logits, axis=0, weights=self.inferred.weights)
        found: Floats = 1 / (1 + np.exp(-(mean + widening * (logits - mean))))
        return found


@dataclass(frozen=True, slots=True)
class Posterior:
    """A distribution over links of several families; the most probable family is the first."""

    members: tuple[Member, ...]
    measured: Mapping[str, float]
    """Maps the name of each summary statistic to its value in the measurement."""
    replicates: Floats
    """Summary statistics of new simulations on inferred links; each row is a simulation, and each
    column a statistic."""

    def estimates(self, widening: float = 1.0) -> list[Estimate]:
        """Return an estimate of each parameter of the most probable family; see `Fit.estimates`."""
        return self.members[0].estimates(widening)

    def check(self) -> Check:
        """Check whether the links explain the measurement, by posterior predictive checks.

        There are two checks. The first check treats each probable family of links separately. It
        compares the measurement with those simulations of the family whose statistics are near the
        measured statistics. Only the family with the smallest deviation counts. (If families were
        mixed, the mixture could look like an explanation although no single family is one.) The
        second check compares the measurement with new simulations on the inferred links of all
        families. The returned `excess` is the larger of the deviations in the two checks.
        """
        measured = np.array(list(self.measured.values()))
        nearby = [
            self._near([each])
            for each in self.members
            if each.probability >= min(_CONSIDERED, self.members[0].probability)
        ] or [self.replicates]
        least = np.array([least_chance(name) for name in self.measured])
        comparisons = [(near, *_compared(measured, near, least)) for near in nearby]
        near, excess, share = min(comparisons, key=lambda each: each[1])
        spread = np.maximum(near.std(axis=0), least)
        apart = (measured - np.median(near, axis=0)) / spread
        worst = int(np.abs(apart).argmax())
        name = list(self.measured)[worst]
        excess = max(excess, _excess(measured, self.replicates, least))
        return Check(share, title(name), bool(apart[worst] > 0), excess)

    def uncorrected(self) -> Posterior:
        """Return the posterior with the simulated link parameters, not corrected by regression."""
        return replace(
            self,
            members=tuple(
                replace(each, inferred=replace(each.inferred, points=each.inferred.raw))
                for each in self.members
            ),
        )

    def distance(self) -> float:
        """Return the median distance between the measurement and new simulations on these links.

        Each statistic is measured in units of its spread over the simulations near the measurement.
        The regression that corrects the links' parameters does not change these units. Distances
        with and without the correction can therefore be compared. The distance is infinite if most
        of the new simulations failed.
        """
        least = [least_chance(name) for name in self.measured]
        spread = np.maximum(self._near(self.members).std(axis=0), least)
        apart = (self.replicates - np.array(list(self.measured.values()))) / spread
        distances = np.sqrt((apart**2).mean(axis=1))
        return float(np.median(np.nan_to_num(distances, nan=np.inf)))

    def _near(self, members: Sequence[Member]) -> Floats:
        """Return the statistics of randomly drawn simulations near the measurement.

        The simulations are drawn from those that inferred the families of links in `members`. Each
        simulation used one link. The probability of drawing a simulation is proportional to the
        link's weight, multiplied by the probability of the link's family. A simulation that is
        drawn several times is returned once. If `members` is empty, the result is the statistics of
        the new simulations (`replicates`).
        """
        if not members:
            return self.replicates
        numbers = np.vstack([each.inferred.numbers for each in members])
        weights = np.concatenate([each.probability * each.inferred.weights for each in members])
        draws = np.random.default_rng(1)
        count = 2 * len(members[0].inferred.weights)
        chosen = np.unique(draws.choice(len(numbers), count, p=weights / weights.sum()))
        found: Floats = numbers[draws.permutation(chosen)]
        return found

    def draw(self, count: int, widening: float = 1.0) -> list[tuple[Family, Floats]]:
        """Sample links from each family in proportion to its probability.

        The sampled links have equal weights. Their spread is multiplied by `widening`.
        """
        edges = np.cumsum([each.probability for each in self.members])
        places = (np.arange(count) + 0.5) / count * edges[-1]
        owners = np.searchsorted(edges, places)
        found: list[tuple[Family, Floats]] = []
        for n, member in enumerate(self.members):
            own = int((owners == n).sum())
            found += [(member.family, point) for point in member.draw(own, widening)]
        return found


def _compared(measured: Floats, near: Floats, least: Floats) -> tuple[float, float]:
    """Compare the measurement with the simulations near it; return a ratio and a fraction.

    Both are computed from distances to the median of the simulations. The ratio is the distance of
    the measurement, divided by the 95th percentile of the distances of single simulations. The
    fraction is the share of simulations that are at least as far away as the measurement.
    """
    halves = near[::2], near[1::2]
    own, strange = [], []
    # One half serves to learn the correlations; the other half is independent of them.
    for one, other in (halves, halves[::-1]):
        first, *rest = _strangeness(np.vstack([measured, other]), one, least, _SHRUNK)
        own.append(first)
        strange += rest
    typical = max(float(np.quantile(strange, 0.95)), _LEAST_TYPICAL)
    share = float((1 + (np.array(strange) >= np.mean(own)).sum()) / (1 + len(strange)))
    return float(np.mean(own) / typical), share


def _excess(measured: Floats, replicates: Floats, least: Floats) -> float:
    """Return the distance of the measurement from new simulations on the inferred links.

    The distance is divided by the 95th percentile of the distances of single new simulations from
    all other new simulations. The result shows whether the regression corrected the links'
    parameters validly, because the new simulations use the corrected parameters. The earlier
    simulations cannot show this, because they used the parameters before the correction.
    """
    whole = replicates[np.isfinite(replicates).all(axis=1)]
    if len(whole) <= len(measured):
        return 0.0
    (own,) = _strangeness(measured[None, :], whole, least, _SHRUNK_OF_REPLICATES)
    others = [
        _strangeness(row[None, :], np.delete(whole, n, axis=0), least, _SHRUNK_OF_REPLICATES)[0]
        for n, row in enumerate(whole)
    ]
    return float(own / max(np.quantile(others, 0.95), _LEAST_TYPICAL))


def _strangeness(numbers: Floats, near: Floats, least: Floats, shrunk: float) -> Floats:
    """Return the Mahalanobis distance of each row of `numbers` from the median of `near`.

    A row contains the statistics of one simulation or of the measurement. The distance is divided
    by the square root of the number of statistics.

    The square of `least` is added to the variance of each statistic, so that no statistic has a
    standard deviation below `least`. Correlations are shrunk towards 0, because the number of
    simulations is hardly larger than the number of statistics.
    """
    spread = np.cov(near.T).reshape(near.shape[1], near.shape[1])
    spread += np.diag(least**2)
    inverse = np.linalg.inv((1 - shrunk) * spread + shrunk * np.diag(np.diag(spread)))
    apart = numbers - np.median(near, axis=0)
    found: Floats = np.sqrt(np.einsum("ij,jk,ik->i", apart, inverse, apart) / len(spread))
    return found


def population(
    draws: list[tuple[Family, Floats]], heading: str, duration_s: float, widening: float
) -> dict[str, Any]:
    """Return the content of a users file with one user for each drawn link, all of equal weight."""
    note = "Links that `cwndlab link fit` inferred from a measurement."
    if widening > 1:
        note += (
            " These links do not fully explain the measurement; therefore the spread of their "
            f"parameters is widened by a factor of {widening:.2g}."
        )
    users = []
    for n, (family, point) in enumerate(draws):
        settings = family.settings(point, duration_s, n)
        user = {
            "name": f"link {n + 1}",
            "link": settings.pop("link"),
            "weight": 1,
            "source": f"one of {len(draws)} equally probable links of a fit; "
            f"family: {family.title}",
        }
        users.append(user | ({"set": settings} if settings else {}))
    kind = {"classes": "estimates", "explained": widening == 1}
    return {"title": heading, "description": note, **kind, "users": users}


def quantiles(values: Floats, weights: Floats, shares: list[float]) -> Floats:
    """Return the quantiles of weighted values, at the probabilities in `shares`."""
    order = np.argsort(values, kind="stable")
    edges = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    found: Floats = np.interp(shares, edges, values[order])
    return found
