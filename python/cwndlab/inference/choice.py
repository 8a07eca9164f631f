"""Infer from a measurement the probability of each family of links.

Links of each family are simulated.  The parameters of a link are represented by a point;
`cwndlab.inference.importance` describes how the points are sampled.  All families use the same
summary statistics and the same distance from the measurement, so that the families can be compared.
In this distance, the difference of each statistic is divided by the standard deviation of the
statistic over runs on one link.

The probability of each family is computed from the importance weights of the points near the
measurement.  A local logistic regression corrects for the remaining distance (Beaumont, in
Matsumura, Forster and Renfrew, Simulations, Genetics and Human Prehistory, 2008; Fagundes and
others, Proceedings of the National Academy of Sciences 104, 2007).  All families have the same
prior probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.inference.importance import Sampler, WeightedPoints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cwndlab.stats.bootstrap import Floats

FIRST, SECOND, LATER, ROUNDS = 200, 80, 300, 8
"""Numbers of simulated links: `FIRST` for each family in round 1, `SECOND` for each family in round
2, and `LATER` for all families together in each later round. There are `ROUNDS` rounds."""
ALONE = 600
"""Number of simulated links in the first round if there is only one family of links."""
LEAST_PROBABILITY = 0.02
"""Families of links that are less probable than this are left out of the result."""
_NEAR = 100
_NEAR_OF_ONE = 150
_MOST_APART = 4.0
_LEAST_NOISE = 0.02
_PENALTY = 0.005
_STEPS = 400
_EVEN = 0.2
"""Fraction of the links in a later round that is divided evenly between the remaining families; the
rest is divided in proportion to the probabilities of these families."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A probable family: its index in the list of families, probability, and posterior points."""

    position: int
    probability: float
    inferred: WeightedPoints


def points_of(families: int, rounds: int = ROUNDS) -> int:
    """Return roughly how many links are simulated for `families` families in `rounds` rounds."""
    if families == 1:
        return ALONE + LATER * (rounds - 1)
    return families * (FIRST + SECOND) + LATER * (rounds - 2)


def choose(
    measured: Floats,
    dimensions: Sequence[int],
    simulate: Callable[[int, Floats, int], Floats],
    *,
    seed: int,
    rounds: int = ROUNDS,
) -> list[Chosen]:
    """Simulate links of all families; return the probable families, the most probable first.

    Args:
        measured: the summary statistics of the measurement.
        dimensions: number of parameters of each family.
        simulate: function that simulates links of one family, and returns the summary statistics
            of each link. Its arguments are the index of the family in `dimensions`, the points that
            represent the links, and the number of earlier simulations of this family.
        seed: seed for all random draws.
        rounds: number of rounds; in each round, further links are simulated.
    """
    samplers = [
        Sampler(measured, count, np.random.default_rng([seed, n]))
        for n, count in enumerate(dimensions)
    ]

    def explore(position: int, count: int) -> None:
        sampler = samplers[position]
        points = sampler.propose(count)
        sampler.add(points, simulate(position, points, len(sampler.points)))

    is_alone = len(samplers) == 1
    for position in range(len(samplers)):
        explore(position, ALONE if is_alone else FIRST)
    alive = [n for n, sampler in enumerate(samplers) if sampler.is_usable]
    chance = np.ones(len(alive)) / max(len(alive), 1)
    for turn in range(1, rounds):
        for position, share in zip(alive, chance, strict=True):
            even = _EVEN / len(alive)
            later = round(LATER * (even + (1 - _EVEN) * share))
            explore(position, SECOND if turn == 1 and not is_alone else later)
        chance = probabilities([samplers[n] for n in alive])
        if turn > 1 or is_alone:
            kept = chance >= LEAST_PROBABILITY / 2
            alive = [n for n, is_kept in zip(alive, kept, strict=True) if is_kept]
            chance = chance[kept] / chance[kept].sum()
    found = [
        Chosen(n, float(share), samplers[n].result())
        for n, share in zip(alive, chance, strict=True)
        if share >= LEAST_PROBABILITY
    ]
    return sorted(found, key=lambda each: -each.probability)


def probabilities(samplers: Sequence[Sampler]) -> Floats:
    """Return the posterior probability of each family; the sum is 1."""
    if len(samplers) == 1:
        return np.ones(1)
    measured = samplers[0].measured
    apart = [each.numbers - measured for each in samplers]
    noise = _noise(samplers)
    scaled = [np.clip(gaps / noise, -_MOST_APART, _MOST_APART) for gaps in apart]
    label: Floats = np.concatenate([np.full(len(gaps), float(n)) for n, gaps in enumerate(scaled)])
    ratio = np.concatenate([each.ratios() / len(each.points) for each in samplers])
    features = np.vstack(scaled)
    whole = np.isfinite(features).all(axis=1)
    features, label, ratio = features[whole], label[whole], ratio[whole]
    distance = np.sqrt((features**2).mean(axis=1))
    width = np.sort(distance)[min(_NEAR, len(distance) - 1)]
    near = distance < width
    weights = ratio[near] * (1 - (distance[near] / width) ** 2)
    shares = np.bincount(label[near].astype(int), weights, len(samplers)).astype(np.float64)
    if (shares > 0).sum() == 1:
        alone: Floats = shares / shares.sum()
        return alone
    return _at_zero(features[near], label[near], weights, shares / shares.sum())


def _noise(samplers: Sequence[Sampler]) -> Floats:
    """Estimate the standard deviation of each statistic over runs on one link.

    A regression on the parameters removes the differences between links.
    """
    found = []
    spread = np.nanstd(np.vstack([each.numbers for each in samplers]), axis=0) + _LEAST_NOISE
    for each in samplers:
        whole = np.isfinite(each.numbers).all(axis=1)
        points, numbers = each.points[whole], each.numbers[whole]
        distance = (((numbers - each.measured) / spread) ** 2).mean(axis=1)
        near = np.argsort(distance)[:_NEAR_OF_ONE]
        x = points[near] - points[near].mean(axis=0)
        x = np.hstack([np.ones((len(x), 1)), x, x**2])
        y = numbers[near]
        fit = np.linalg.solve(x.T @ x + 1e-3 * np.eye(x.shape[1]), x.T @ y)
        found.append(((distance[near]).mean(), (y - x @ fit).std(axis=0)))
    # Use the estimate of the family whose points are nearest to the measurement.
    _, best = min(found, key=lambda each: each[0])
    result: Floats = np.maximum(best, _LEAST_NOISE)
    return result


def _at_zero(features: Floats, label: Floats, weights: Floats, shares: Floats) -> Floats:
    """Return the probability of each family, given the measurement.

    A logistic regression on simulations near the measurement gives these probabilities. Its
    features are the differences of the statistics from the measurement, so the measurement itself
    is the point at which all features are 0.
    """
    count = len(shares)
    present = shares > 0
    weights = weights / weights.sum()
    wanted = np.eye(count)[label.astype(int)]
    start = np.where(present, np.log(np.maximum(shares, 1e-12)), -np.inf)
    scale = features / np.maximum(features.std(axis=0), 1e-6)
    slopes = np.zeros((features.shape[1], count))
    level = start.copy()
    # Steps smaller than the inverse of the largest curvature (Boehning 1992) never overshoot.
    curvature = 0.5 * float(np.linalg.eigvalsh((scale * weights[:, None]).T @ scale)[-1] + 1)
    step = 1 / (curvature + _PENALTY)
    for _ in range(_STEPS):
        gap = weights[:, None] * (_softmax(level + scale @ slopes) - wanted)
        slopes -= step * (scale.T @ gap + _PENALTY * slopes)
        level[present] -= step * gap.sum(axis=0)[present]
    found: Floats = _softmax(level[None, :])[0]
    return found


def _softmax(values: Floats) -> Floats:
    shifted = np.exp(values - values.max(axis=1, keepdims=True))
    found: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return found
