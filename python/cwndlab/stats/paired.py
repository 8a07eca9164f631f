"""Comparing two algorithms run by run: differences, tests, corrections and decisions.

Equal seeds mean an equal channel, so run i of one algorithm is compared with run i of the other.
A difference is relative to the other's mean, because "2 % less" is what a reader can judge; the
smallest effect of interest defines when it is too small to matter.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cwndlab.stats.bootstrap import CONFIDENCE, DRAWS, Floats, Interval
from cwndlab.stats.covering import covering_ratio, geometric_ratio

SMALLEST_EFFECT = 0.05
"""Relative differences below this are too small to matter, unless a study says otherwise."""

_EXACT_SIGN_FLIPS = 14  # 2^14 = 16,384 sign patterns; beyond that, DRAWS random ones
_EXACT_RANKS = 25  # exact distribution of the rank sum up to here, normal approximation beyond
_SEED = 20_100_611


class BoundDecision(StrEnum):
    """Relation of an interval to a bound."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A two-sided test of "no difference" over pairs."""

    name: str
    p_value: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How one algorithm's runs differ from another's, pair by pair.

    `relative` is (average of ours / average of theirs - 1) with its interval; it is the effect size
    that verdicts use, and `dominance` says in how many pairs it shows.  Cohen's d is not suitable:
    paired simulated runs vary so little that it is enormous even for irrelevant differences.
    `is_negligible` is the outcome of two one-sided tests at 5 %: the 90 % interval lies within the
    smallest effect.
    """

    relative: Interval
    is_negligible: bool
    p_value: float
    pairs: int
    pairs_above: int
    pairs_below: int
    smallest_effect: float

    @property
    def is_settled(self) -> bool:
        """Whether the difference is known to be above or below the smallest effect."""
        if self.is_negligible or self.relative.low is None or self.relative.high is None:
            return True
        nearest = max(self.relative.low, -self.relative.high)
        return nearest >= self.smallest_effect

    @property
    def dominance(self) -> float:
        """Share of pairs above less that of pairs below: 1 if all are above, -1 if all below.

        Cliff's delta for pairs (N. Cliff, Psychological Bulletin 114 (1993), "d within").
        """
        return (self.pairs_above - self.pairs_below) / self.pairs

    @property
    def direction(self) -> int:
        """1 if surely above, -1 if surely below, 0 if the interval covers no difference."""
        if self.relative.low is None or self.relative.high is None:
            return 0
        return int(self.relative.low > 0) - int(self.relative.high < 0)


class Average(StrEnum):
    """The statistic that sums up a quantity over runs."""

    ARITHMETIC = "mean"
    GEOMETRIC = "geometric mean"


def relative_difference(
    ours: npt.ArrayLike,
    theirs: npt.ArrayLike,
    *,
    average: Average = Average.ARITHMETIC,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
) -> Interval:
    """Return (average of ours / average of theirs - 1) with its interval over pairs."""
    a, b = _as_pairs(ours, theirs).T
    if average is Average.GEOMETRIC:
        if not ((a > 0).all() and (b > 0).all()):
            msg = "geometric means need positive values"
            raise ValueError(msg)
        return geometric_ratio(a, b, confidence=confidence)
    if not b.mean() > 0:
        msg = "a difference relative to a mean that is not positive has no meaning"
        raise ValueError(msg)
    return covering_ratio(a, b, confidence=confidence, draws=draws)


def compare_pairs(
    ours: npt.ArrayLike,
    theirs: npt.ArrayLike,
    *,
    smallest_effect: float = SMALLEST_EFFECT,
    average: Average = Average.ARITHMETIC,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
) -> Difference:
    """Compare two algorithms over runs with equal seeds, in equal order."""
    pairs = _as_pairs(ours, theirs)
    a, b = pairs[:, 0], pairs[:, 1]
    relative = relative_difference(a, b, average=average, confidence=confidence, draws=draws)
    # Two one-sided tests at 5 % are the question whether the 90 % interval is inside the bounds.
    within = 2 * confidence - 1
    inner = relative_difference(a, b, average=average, confidence=within, draws=draws)
    bounds = (inner.estimate, inner.estimate) if inner.low is None else (inner.low, inner.high)
    is_negligible = all(bound is not None and abs(bound) < smallest_effect for bound in bounds)
    deltas = a - b
    tested = (np.log(a), np.log(b)) if average is Average.GEOMETRIC else (a, b)
    return Difference(
        relative=relative,
        is_negligible=is_negligible,
        p_value=paired_permutation_test(*tested).p_value,
        pairs=len(pairs),
        pairs_above=int(np.count_nonzero(deltas > 0)),
        pairs_below=int(np.count_nonzero(deltas < 0)),
        smallest_effect=smallest_effect,
    )


def decide(
    interval: Interval, *, at_least: float = -math.inf, at_most: float = math.inf
) -> BoundDecision:
    """Return whether an interval lies within bounds, outside of them, or neither.

    One run has no interval, so it decides nothing.
    """
    if interval.low is None or interval.high is None:
        return BoundDecision.UNDECIDED
    if at_least <= interval.low and interval.high <= at_most:
        return BoundDecision.HOLDS
    if interval.high < at_least or interval.low > at_most:
        return BoundDecision.FAILS
    return BoundDecision.UNDECIDED


def sign_test(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> PairedTest:
    """Exact sign test; pairs without a difference are left out."""
    deltas = _deltas(ours, theirs)
    count, above = len(deltas), int(np.count_nonzero(deltas > 0))
    fewer = min(above, count - above)
    tail = sum(math.comb(count, k) for k in range(fewer + 1)) / 2**count
    return PairedTest("sign", min(1.0, 2 * tail), count)


def wilcoxon_signed_rank_test(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> PairedTest:
    """Wilcoxon's signed-rank test: exact up to 25 pairs, also with ties; beyond, the normal limit.

    Pairs without a difference are left out, equal differences share the mean of their ranks.
    """
    deltas = _deltas(ours, theirs)
    count = len(deltas)
    if count == 0:
        return PairedTest("wilcoxon", 1.0, 0)
    twice_ranks = _twice_mid_ranks(np.abs(deltas))
    positive = int(twice_ranks[deltas > 0].sum())
    total = int(twice_ranks.sum())
    extreme = min(positive, total - positive)
    if count <= _EXACT_RANKS:
        ways = np.zeros(total + 1)  # ways[s]: sign patterns whose positive ranks sum to s / 2
        ways[0] = 1
        for rank in twice_ranks:
            ways[rank:] += ways[: total + 1 - rank].copy()
        tail = float(ways[: extreme + 1].sum()) / 2.0**count
    else:
        spread = math.sqrt(float((twice_ranks.astype(np.float64) ** 2).sum()) / 4)
        z = (extreme + 1 - total / 2) / spread  # ranks are doubled, so continuity is 1, not 1/2
        tail = 0.5 * math.erfc(-z / math.sqrt(2))
    return PairedTest("wilcoxon", min(1.0, 2 * tail), count)


def paired_permutation_test(
    ours: npt.ArrayLike, theirs: npt.ArrayLike, *, draws: int = DRAWS
) -> PairedTest:
    """Test the mean difference by flipping signs: exact up to 14 pairs, else with seeded draws."""
    deltas = _deltas(ours, theirs)
    count = len(deltas)
    if count == 0:
        return PairedTest("permutation", 1.0, 0)
    observed = abs(deltas.sum()) * (1 - 1e-12)  # equal sums must count as equal despite rounding
    if count <= _EXACT_SIGN_FLIPS:
        patterns = np.arange(2**count)[:, np.newaxis] >> np.arange(count) & 1
        sums = np.abs((1 - 2 * patterns) @ deltas)
        return PairedTest("permutation", float((sums >= observed).mean()), count)
    generator = np.random.default_rng([_SEED, count])
    signs = generator.integers(2, size=(draws, count), dtype=np.int8) * 2 - 1
    extreme = int(np.count_nonzero(np.abs(signs @ deltas) >= observed))
    return PairedTest("permutation", (extreme + 1) / (draws + 1), count)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return p-values adjusted for their number by Holm's step-down method, in the given order."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    steps = given[order] * (len(given) - np.arange(len(given)))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _as_pairs(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        msg = f"pairs need two lists of runs of equal length, not {a.shape} and {b.shape}"
        raise ValueError(msg)
    return np.column_stack([a, b])


def _deltas(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    pairs = _as_pairs(ours, theirs)
    deltas: Floats = pairs[:, 0] - pairs[:, 1]
    differing: Floats = deltas[deltas != 0]
    return differing


def _twice_mid_ranks(magnitudes: Floats) -> npt.NDArray[np.int64]:
    """Return twice the rank of each magnitude, equal ones sharing the mean: whole numbers."""
    order = np.sort(magnitudes)
    edges = [0, *(np.flatnonzero(np.diff(order)) + 1).tolist(), len(order)]
    twice = np.concatenate(
        [np.full(stop - start, start + stop + 1, dtype=np.int64) for start, stop in pairwise(edges)]
    )
    ranks: npt.NDArray[np.int64] = twice[np.searchsorted(order, magnitudes)]
    return ranks
