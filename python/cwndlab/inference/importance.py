"""Infer parameters from simulations by sequential importance sampling with a learned distance.

Each round draws points, simulates them and adds them to the points of earlier rounds.  The weight
of a point is the product of a ratio and a kernel.  The ratio is the point's prior density, divided
by the density of the mixture of all proposals so far (Cornuet et al., Scandinavian Journal of
Statistics 39, 2012).  The kernel is a function of the point's distance from the measurement; its
width shrinks from round to round.

The distance is learned: a regression over the points near the measurement estimates parameters from
statistics.  The distance is the difference between the estimates for the point and for the
measurement (semi-automatic summaries: Fearnhead and Prangle, Journal of the Royal Statistical
Society B 74, 2012).  Finally, a cross-fitted local regression corrects for the remaining distance
(Beaumont, Zhang and Balding, Genetics 162, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cwndlab.stats.bootstrap import Floats

FIRST, LATER, ROUNDS = 600, 300, 7
"""Numbers that `infer` uses: `FIRST` simulated points in the first round, `LATER` in each later
round, and by default `ROUNDS` rounds."""
_NEAR = 160
"""Number of points near the measurement that get a weight above 0. The final adjustment, which is a
regression, uses only these points."""
_FEWEST = 40
"""Minimum number of points that a regression needs; points that lack a statistic do not count."""
_RIDGE, _RIDGE_OF_ADJUSTMENT = 0.05, 0.01
"""Ridge penalties of two regressions: for the distance from the measurement, and for the final
adjustment. The second penalty is smaller, because a large penalty would leave a part of the
difference from the measurement uncorrected."""
_SHRUNK, _LEAST_VARIANCE = 0.1, 1e-4
"""A covariance matrix is shrunk towards a diagonal matrix. `_SHRUNK` is the weight of the diagonal
matrix. `_LEAST_VARIANCE` is added to each variance in the diagonal matrix."""
_FOLDS = 4
"""Number of parts of the points in the regressions that correct for remaining distances."""
_PRIOR_SHARE = 0.1
_EDGE = 1e-3


@dataclass(frozen=True, slots=True)
class WeightedPoints:
    """Weighted points that represent the posterior distribution."""

    points: Floats
    """Points in the unit cube after the regression has adjusted them to the measurement.

    Each row is a point, each column a parameter.
    """
    weights: Floats
    raw: Floats
    """The points as they were simulated, before the adjustment."""
    numbers: Floats
    """Summary statistics of the points; each row is a point, each column a statistic."""
    places: NDArray[np.int64]
    """Position of each point among all points that the `Sampler` has simulated."""

    @property
    def effective(self) -> float:
        """Effective sample size of the weighted points."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


class Sampler:
    """Simulated points of one family of links, drawn in rounds, with each point's statistics."""

    def __init__(self, measured: Floats, dimensions: int, draws: np.random.Generator) -> None:
        self.measured = measured
        self.points: Floats = np.empty((0, dimensions))
        self.numbers: Floats = np.empty((0, len(measured)))
        self._draws = draws
        self._proposals: list[tuple[int, _Mixture | None]] = []

    @property
    def is_usable(self) -> bool:
        """True if at least `_FEWEST` simulated points have values of all statistics."""
        return int(np.isfinite(self.numbers).all(axis=1).sum()) >= _FEWEST

    def propose(self, count: int) -> Floats:
        """Draw points to simulate: at first from the prior, later also near the best points."""
        if not self._proposals:
            self._proposals.append((count, None))
            return _hypercube(count, self.points.shape[1], self._draws)
        mixture = _Mixture.around(self.points, self._weights())
        self._proposals.append((count, mixture))
        return mixture.draw(count, self._draws)

    def add(self, points: Floats, numbers: Floats) -> None:
        """Add points with their summary statistics."""
        self.points = np.vstack([self.points, points])
        self.numbers = np.vstack([self.numbers, numbers])

    def ratios(self) -> Floats:
        """Return each point's prior density, divided by its density in the mixture of proposals.

        The mean of these ratios is about 1.
        """
        total = sum(count for count, _ in self._proposals)
        density = np.zeros(len(self.points))
        for count, mixture in self._proposals:
            here = 1.0 if mixture is None else mixture.density(self.points)
            density += count / total * here
        return 1 / density

    def result(self) -> WeightedPoints:
        """Return the simulated points near the measurement, adjusted by a local regression."""
        weights = self._weights()
        kept = weights > 0
        points, numbers, weights = self.points[kept], self.numbers[kept], weights[kept]
        adjusted = _adjusted(points, numbers, self.measured, weights)
        return WeightedPoints(
            adjusted, weights / weights.sum(), points, numbers, np.flatnonzero(kept)
        )

    def _weights(self) -> Floats:
        """Return importance weights times a smoothing kernel.

        The kernel is a function of the distance from the measurement; far away, it is 0.
        """
        points, numbers, measured = self.points, self.numbers, self.measured
        whole = np.isfinite(numbers).all(axis=1)
        distance = np.full(len(points), np.inf)
        first = _scaled(numbers[whole], measured)
        distance[whole] = np.sqrt((first**2).mean(axis=1))
        near = np.argsort(distance)[: max(2 * _NEAR, len(points) // 6)]
        near = near[np.isfinite(distance[near])]
        # Use only near points, as the regression's estimates may also agree by chance far away.
        learned = _estimates(points[near], numbers[near], measured)
        distance = np.full(len(points), np.inf)
        distance[near] = np.sqrt((learned**2).mean(axis=1))
        order = np.sort(distance[np.isfinite(distance)])
        width = order[min(_NEAR, len(order) - 1)]
        kernel = np.where(distance < width, 1 - (distance / width) ** 2, 0.0)
        weights: Floats = kernel * self.ratios()
        # A point that was improbable in every proposal must not dominate the weights.
        most = np.quantile(weights[weights > 0], 0.98)
        bounded: Floats = np.minimum(weights, most)
        return bounded


def infer(
    measured: Floats,
    dimensions: int,
    simulate: Callable[[Floats, int], Floats],
    *,
    seed: int = 1,
    rounds: int = ROUNDS,
) -> WeightedPoints:
    """Infer which parameters, as points of the unit cube, lead to the measured statistics.

    Args:
        measured: the summary statistics of the measurement.
        dimensions: number of dimensions of the cube.
        simulate: function that simulates points, and returns the statistics of each point. Its
            arguments are the points and the number of points that were simulated before. Points
            with a statistic that is NaN are left out.
        seed: seed for all random draws.
        rounds: number of rounds.
    """
    sampler = Sampler(measured, dimensions, np.random.default_rng(seed))
    for count in (FIRST, *[LATER] * (rounds - 1)):
        points = sampler.propose(count)
        sampler.add(points, simulate(points, len(sampler.points)))
    return sampler.result()


def _hypercube(count: int, dimensions: int, draws: np.random.Generator) -> Floats:
    columns = [(draws.permutation(count) + draws.random(count)) / count for _ in range(dimensions)]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class _Mixture:
    """A mixture of the prior and of normal kernels around weighted points."""

    centres: Floats
    weights: Floats
    root: Floats
    """Cholesky factor of the covariance matrix, which is the same for all normal kernels."""

    @classmethod
    def around(cls, points: Floats, weights: Floats) -> _Mixture:
        kept = weights > 0
        centres, weights = points[kept], weights[kept] / weights.sum()
        spread = np.cov(centres.T, aweights=weights) + 1e-6 * np.eye(points.shape[1])
        effective = 1 / (weights**2).sum()
        width = effective ** (-2 / (points.shape[1] + 4))  # square of the width by Silverman's rule
        return cls(centres, weights, np.linalg.cholesky(2 * width * spread))

    def draw(self, count: int, draws: np.random.Generator) -> Floats:
        chosen = draws.choice(len(self.centres), size=count, p=self.weights)
        steps = draws.standard_normal((count, self.root.shape[0])) @ self.root.T
        found = _reflected(self.centres[chosen] + steps)
        from_prior = draws.random(count) < _PRIOR_SHARE
        found[from_prior] = draws.random((int(from_prior.sum()), found.shape[1]))
        return found

    def density(self, points: Floats) -> Floats:
        inverse = np.linalg.inv(self.root)
        scale = np.prod(np.diag(inverse)) / (2 * np.pi) ** (points.shape[1] / 2)
        moved = points @ inverse.T
        centres = self.centres @ inverse.T
        squares = ((moved[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        kernels: Floats = np.exp(-squares / 2) @ self.weights
        found: Floats = _PRIOR_SHARE + (1 - _PRIOR_SHARE) * scale * kernels
        return found


def _reflected(points: Floats) -> Floats:
    """Move points that lie outside the unit cube into it, by reflection at its faces."""
    folded = np.mod(points, 2.0)
    return np.clip(np.where(folded > 1, 2 - folded, folded), _EDGE * 1e-3, 1 - _EDGE * 1e-3)


def _scaled(numbers: Floats, measured: Floats) -> Floats:
    """Return the difference of each point's statistics from the measured statistics.

    The unit is the interquartile range of the statistic over all points.
    """
    low, high = np.quantile(numbers, [0.25, 0.75], axis=0)
    apart: Floats = (numbers - measured) / np.maximum(high - low, 1e-3)
    return apart


def _features(numbers: Floats, measured: Floats) -> Floats:
    """Return features for a regression: a constant, the values of `_scaled`, and their squares."""
    apart = _scaled(numbers, measured)
    apart = np.clip(apart, -4, 4)
    return np.hstack([np.ones((len(apart), 1)), apart, apart**2])


def _fit(
    features: Floats, points: Floats, weights: Floats | None = None, ridge: float = _RIDGE
) -> Floats:
    """Return the coefficients of a ridge regression of points on features.

    The intercept, which is the coefficient of the first feature, is not penalised.
    """
    root = np.ones(len(features)) if weights is None else np.sqrt(weights / weights.mean())
    x, y = features * root[:, None], points * root[:, None]
    penalty = ridge * len(x) * np.eye(x.shape[1])
    penalty[0, 0] = 0
    found: Floats = np.linalg.solve(x.T @ x + penalty, x.T @ y)
    return found


def _estimates(points: Floats, numbers: Floats, measured: Floats) -> Floats:
    """Return each simulated point's estimated parameters, minus those of the measurement.

    A regression is fitted to the parameters and the statistics of all points. It estimates the
    parameters of a point from the point's statistics, and those of the measurement from the
    measured statistics. The unit of each parameter is the standard error of the regression for this
    parameter.
    """
    features = _features(numbers, measured)
    coefficients = _fit(features, points)
    errors = (points - features @ coefficients).std(axis=0)
    gaps = features @ coefficients - coefficients[0]
    found: Floats = gaps / np.maximum(errors, 1e-4)
    return found


def _adjusted(points: Floats, numbers: Floats, measured: Floats, weights: Floats) -> Floats:
    """Correct the points by a regression, because their statistics differ from the measured ones.

    The regression is linear in the coordinates, not in their logits. Logits would keep all points
    inside the unit cube. However, they would distort the relation between statistics and parameters
    near the ends of the prior ranges, where many true values are: for example, the rate of a link
    is often hardly above the goodput.
    """
    features = _features(numbers, measured)[:, : 1 + numbers.shape[1]]
    return _reflected(_corrected(points, features, weights, _RIDGE_OF_ADJUSTMENT))


def _corrected(values: Floats, features: Floats, weights: Floats, ridge: float) -> Floats:
    """Subtract from each value the effect of its features, estimated by a ridge regression.

    A regression follows the noise of the values to which it was fitted. If they were corrected by
    it, their spread would be too small: with 160 points and 43 statistics, the outer two tenths of
    the inferred distributions held 38 % of the true parameters instead of 20 %. Therefore, the
    values are divided into `_FOLDS` parts, and each part is corrected by a regression that was
    fitted to the other parts (cross-fitting: Chernozhukov and others, Econometrics Journal 21,
    2018).

    Args:
        values: one row for each point, one column for each quantity to correct.
        features: one row for each point; the first column is 1, the others are differences from the
            measurement.
        weights: weight of each point in the regression.
        ridge: penalty of the regression.
    """
    apart = features[:, 1:]
    moved = apart - _covered(apart, weights)
    part = np.arange(len(values)) % _FOLDS
    found = np.empty_like(values)
    for own in range(_FOLDS):
        here, others = part == own, part != own
        slopes = _fit(features[others], values[others], weights[others], ridge)[1:]
        found[here] = values[here] - moved[here] @ slopes
    return found


def _covered(apart: Floats, weights: Floats) -> Floats:
    """Return, for each feature, the part of a difference that must not be corrected.

    A regression corrects for the difference between the points' mean and the measurement. It is
    valid only up to the distance of the farthest point from the mean. If the measurement is farther
    from the mean than this point, the result is the part of the difference beyond this distance.
    Otherwise, the whole difference may be corrected, and the result is 0. Each distance is computed
    from all features together (Mahalanobis distance).
    """
    mean = np.average(apart, axis=0, weights=weights)
    spread = np.atleast_2d(np.cov(apart.T, aweights=weights))
    diagonal = np.diag(np.diag(spread) + _LEAST_VARIANCE)
    inverse = np.linalg.inv((1 - _SHRUNK) * spread + _SHRUNK * diagonal)
    moved = np.vstack([np.zeros_like(mean), apart]) - mean
    own, *distances = np.sqrt(np.einsum("ij,jk,ik->i", moved, inverse, moved))
    found: Floats = mean * max(0.0, 1 - max(distances) / max(own, 1e-12))
    return found


def adjusting_features(numbers: Floats, measured: Floats) -> Floats:
    """Return the difference of each row of `numbers` from the measurement.

    The unit of each column is the column's standard deviation over all rows. A difference below -3
    is replaced by -3, and a difference above 3 by 3.
    """
    spread = np.nanstd(numbers, axis=0)
    found: Floats = np.clip((numbers - measured) / np.maximum(spread, 1e-3), -3, 3)
    return found


def adjusted_values(values: Floats, features: Floats) -> Floats:
    """Correct the values for the effect of the features, by ridge regression.

    The regression uses only values that are not NaN and have no feature that is NaN. For each other
    value, the result is NaN. If the regression can use fewer than `_FEWEST` values, all values are
    returned unchanged.
    """
    whole = np.isfinite(values) & np.isfinite(features).all(axis=1)
    if whole.sum() < _FEWEST:
        return values
    equal = np.ones(int(whole.sum()))
    x = np.hstack([equal[:, None], features[whole]])
    found = np.full(len(values), np.nan)
    found[whole] = _corrected(values[whole][:, None], x, equal, _RIDGE)[:, 0]
    return found
