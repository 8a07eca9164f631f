"""The outcome of a fit: a distribution over links, and whether they explain the measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.inference.summaries import title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.inference.family import Dimension, Family
    from cwndlab.inference.importance import WeightedPoints
    from cwndlab.stats.bootstrap import Floats

LEVEL = 0.9
"""Probability of all intervals."""
UNEXPLAINED = 0.88
"""A measurement that is farther off than this share of the 95th percentile of the simulations near
it is not explained.  The share is below 1 as they were chosen to be near; of 60 wires whose truth
was known none was above 0.87 (docs/notes/2026-11-inference.md)."""
WIDEST = 5.0
"""By how much a distribution is widened at most; what is stranger is refused."""
_LEAST_SCALE = 0.02
_SHRUNK = 0.3
_EDGE = 1e-3
_SPREAD_OF_UNIFORM = 1 / math.sqrt(12)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A parameter after the fit."""

    parameter: Dimension
    value: float
    """The median, or the most probable choice."""
    low: float
    high: float
    """The ends of the 90 % interval."""
    known: float
    """Share of the spread beforehand that the measurement took away: 0, nothing; 1, all."""


@dataclass(frozen=True, slots=True)
class Check:
    """The measurement beside simulations of the links that were inferred."""

    probability: float
    """Share of the simulations that are as far off as the measurement."""
    worst: str
    """The number that is farthest off, as `cwndlab.inference.summaries.title` calls it."""
    is_above: bool
    """Whether the measurement's is larger than that of the simulations."""
    excess: float
    """Distance of the measurement over the 95th percentile of nearby simulations' distances."""

    @property
    def is_explained(self) -> bool:
        """Whether the links give what was measured."""
        return self.excess <= UNEXPLAINED

    @property
    def widening(self) -> float:
        """The factor by which the distribution is widened: 1 where the links explain it."""
        return 1.0 if self.is_explained else min(max(self.excess / UNEXPLAINED, 1.1), WIDEST)

    @property
    def is_refused(self) -> bool:
        """Whether nothing in the families comes near the measurement."""
        return not self.is_explained and self.excess > WIDEST


@dataclass(frozen=True, slots=True)
class Prediction:
    """The outcome of another algorithm: medians and 90 % intervals."""

    algorithm: str
    goodput_mbit_s: tuple[float, float, float]
    queueing_delay_p95_ms: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Member:
    """A family, how probable it is, and its links."""

    family: Family
    probability: float
    inferred: WeightedPoints

    def estimates(self) -> list[Estimate]:
        """Every parameter, with its interval and how much of it is known."""
        found = []
        for n, parameter in enumerate(self.family.parameters):
            shares, weights = self.inferred.points[:, n], self.inferred.weights
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
        """Points, each of which counts the same: systematic resampling, then widened."""
        places = (np.arange(count) + 0.5) / count
        order = np.argsort(self.inferred.points[:, 0], kind="stable")
        edges = np.cumsum(self.inferred.weights[order]) / self.inferred.weights.sum()
        chosen = order[np.minimum(np.searchsorted(edges, places), len(order) - 1)]
        points = self.inferred.points[chosen]
        if widening > 1 and count:
            inside = np.clip(self.inferred.points, _EDGE, 1 - _EDGE)
            logits = np.log(inside / (1 - inside))
            mean = np.average(logits, axis=0, weights=self.inferred.weights)
            points = 1 / (1 + np.exp(-(mean + widening * (logits[chosen] - mean))))
        return list(points)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A distribution over the links of families, the most probable first."""

    members: tuple[Member, ...]
    measured: Mapping[str, float]
    """The numbers of the measurement, by name."""
    replicates: Floats
    """The same numbers of new simulations of the links, one row a simulation; NaN: none."""

    def estimates(self) -> list[Estimate]:
        """Every parameter of the most probable family."""
        return self.members[0].estimates()

    def check(self) -> Check:
        """Whether the links explain the measurement: posterior prediction of its own numbers."""
        measured = np.array(list(self.measured.values()))
        near = self._near()
        halves = near[::2], near[1::2]
        own, strange = [], []
        # How the numbers go together is learned from one half, and the other has not been seen.
        for one, other in (halves, halves[::-1]):
            first, *rest = _strangeness(np.vstack([measured, other]), one)
            own.append(first)
            strange += rest
        typical = max(float(np.quantile(strange, 0.95)), 1e-6)
        share = float((1 + (np.array(strange) >= np.mean(own)).sum()) / (1 + len(strange)))
        spread = np.maximum(near.std(axis=0), _LEAST_SCALE)
        apart = (measured - np.median(near, axis=0)) / spread
        worst = int(np.abs(apart).argmax())
        name = list(self.measured)[worst]
        return Check(share, title(name), bool(apart[worst] > 0), float(np.mean(own) / typical))

    def _near(self) -> Floats:
        """Numbers of the simulations that stand for the distribution, each of which counts once."""
        if not self.members:
            return self.replicates
        numbers = np.vstack([each.inferred.numbers for each in self.members])
        weights = np.concatenate(
            [each.probability * each.inferred.weights for each in self.members]
        )
        draws = np.random.default_rng(1)
        count = 2 * len(self.members[0].inferred.weights)
        chosen = np.unique(draws.choice(len(numbers), count, p=weights / weights.sum()))
        found: Floats = numbers[draws.permutation(chosen)]
        return found

    def draw(self, count: int, widening: float = 1.0) -> list[tuple[Family, Floats]]:
        """Links that count the same, in proportion to the probabilities of their families."""
        edges = np.cumsum([each.probability for each in self.members])
        places = (np.arange(count) + 0.5) / count * edges[-1]
        owners = np.searchsorted(edges, places)
        found: list[tuple[Family, Floats]] = []
        for n, member in enumerate(self.members):
            own = int((owners == n).sum())
            found += [(member.family, point) for point in member.draw(own, widening)]
        return found


def _strangeness(numbers: Floats, near: Floats) -> Floats:
    """Distances from the median of nearby summaries, scaled by their spread and correlation.

    Correlations are shrunk, as there are hardly more simulations than numbers.
    """
    spread = np.cov(near.T).reshape(near.shape[1], near.shape[1])
    spread += _LEAST_SCALE**2 * np.eye(len(spread))
    inverse = np.linalg.inv((1 - _SHRUNK) * spread + _SHRUNK * np.diag(np.diag(spread)))
    apart = numbers - np.median(near, axis=0)
    found: Floats = np.sqrt(np.einsum("ij,jk,ik->i", apart, inverse, apart) / len(spread))
    return found


def population(
    draws: list[tuple[Family, Floats]], heading: str, duration_s: float, widening: float
) -> dict[str, Any]:
    """Draws of a distribution as a file of users: links that count the same."""
    note = "Links that give what was measured, by cwndlab link fit."
    if widening > 1:
        note += f" They do not explain all of it, so that they are widened by {widening:.2g} times."
    users = []
    for n, (family, point) in enumerate(draws):
        settings = family.settings(point, duration_s, n)
        user = {
            "name": f"link {n + 1}",
            "link": settings.pop("link"),
            "weight": 1,
            "source": f"one of {len(draws)} equally probable draws of a fit: {family.title}",
        }
        users.append(user | ({"set": settings} if settings else {}))
    return {"title": heading, "description": note, "users": users}


def quantiles(values: Floats, weights: Floats, shares: list[float]) -> Floats:
    """Quantiles of weighted values."""
    order = np.argsort(values, kind="stable")
    edges = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    found: Floats = np.interp(shares, edges, values[order])
    return found
