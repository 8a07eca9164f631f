"""Compare two algorithms by pairs of runs: differences, tests, corrections and decisions.

Runs with equal seeds have equal channels, so run i of the first algorithm is compared with run i of
the second algorithm. A difference is a fraction of the second algorithm's mean: a reader can judge
"2 % less" without knowing which values are usual. The smallest effect e (by default 5 %) is the
smallest difference that counts as relevant. A difference is negligible if its 90 % interval lies
between -e and +e.
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
"""Default smallest effect: relative differences below it are considered negligible."""

_EXACT_SIGN_FLIPS = 14  # 2^14 = 16,384 sign patterns; for more pairs, DRAWS random patterns
_EXACT_RANKS = 25  # largest number of pairs for the exact distribution of the rank sum
_SEED = 20_100_611


class BoundDecision(StrEnum):
    """Whether a quantity lies within bounds: yes (HOLDS), no (FAILS), or undecided."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Result of a two-sided test over pairs of runs (null hypothesis: no difference)."""

    name: str
    p_value: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two algorithms, computed over pairs of runs.

    `relative` is the ratio of the two averages (first to second algorithm), minus 1, with its
    confidence interval. Verdicts use `relative` as the effect size. Cohen's d is not suitable:
    paired simulated runs vary so little that d is very large even for irrelevant differences.

    `is_negligible` is the outcome of two one-sided tests at 5 %. It is true if the 90 % interval of
    the relative difference lies between -e and +e. The number e is the smallest effect that counts
    as relevant (`smallest_effect` in `compare_pairs`).
    """

    relative: Interval
    is_negligible: bool
    p_value: float
    pairs: int

    @property
    def direction(self) -> int:
        """Sign of `relative` (1 or -1); 0 if its interval includes 0 or is unknown."""
        if self.relative.low is None or self.relative.high is None:
            return 0
        return int(self.relative.low > 0) - int(self.relative.high < 0)


class Average(StrEnum):
    """The kind of mean that summarizes a quantity over runs."""

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
    """Return the ratio of two averages (`ours` to `theirs`), minus 1, with its interval."""
    a, b = _as_pairs(ours, theirs).T
    if average is Average.GEOMETRIC:
        if not ((a > 0).all() and (b > 0).all()):
            msg = "geometric means need positive values"
            raise ValueError(msg)
        return geometric_ratio(a, b, confidence=confidence)
    if not b.mean() > 0:
        msg = "the mean of `theirs` is not positive, so there is no relative difference"
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
    """Compare two algorithms by pairs of runs: run n of `ours` and run n of `theirs`."""
    pairs = _as_pairs(ours, theirs)
    a, b = pairs[:, 0], pairs[:, 1]
    relative = relative_difference(a, b, average=average, confidence=confidence, draws=draws)
    # Two one-sided tests at 5 % are equivalent to a 90 % interval inside the bounds.
    within = 2 * confidence - 1
    inner = relative_difference(a, b, average=average, confidence=within, draws=draws)
    bounds = (inner.estimate, inner.estimate) if inner.low is None else (inner.low, inner.high)
    is_negligible = all(bound is not None and abs(bound) < smallest_effect for bound in bounds)
    tested = (np.log(a), np.log(b)) if average is Average.GEOMETRIC else (a, b)
    return Difference(
        relative=relative,
        is_negligible=is_negligible,
        p_value=paired_permutation_test(*tested).p_value,
        pairs=len(pairs),
    )


def decide(
    interval: Interval, *, at_least: float = -math.inf, at_most: float = math.inf
) -> BoundDecision:
    """Return whether an interval is entirely within the bounds, entirely outside, or neither.

    A single run has no interval, so its result is undecided.
    """
    if interval.low is None or interval.high is None:
        return BoundDecision.UNDECIDED
    if at_least <= interval.low and interval.high <= at_most:
        return BoundDecision.HOLDS
    if interval.high < at_least or interval.low > at_most:
        return BoundDecision.FAILS
    return BoundDecision.UNDECIDED


def sign_test(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> PairedTest:
    """Perform an exact two-sided sign test; pairs without a difference are ignored."""
    deltas = _deltas(ours, theirs)
    count, above = len(deltas), int(np.count_nonzero(deltas > 0))
    fewer = min(above, count - above)
    tail = sum(math.comb(count, k) for k in range(fewer + 1)) / 2**count
    return PairedTest("sign", min(1.0, 2 * tail), count)


def wilcoxon_signed_rank_test(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> PairedTest:
    """Return the p-value of Wilcoxon's signed-rank test.

    The test is exact for up to 25 pairs, even with ties; for more pairs, the normal approximation
    is used. Pairs without a difference are ignored; equal differences share their mean rank.
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
        z = (extreme + 1 - total / 2) / spread  # doubled ranks: the continuity correction is 1
        tail = 0.5 * math.erfc(-z / math.sqrt(2))
    return PairedTest("wilcoxon", min(1.0, 2 * tail), count)


def paired_permutation_test(
    ours: npt.ArrayLike, theirs: npt.ArrayLike, *, draws: int = DRAWS
) -> PairedTest:
    """Test whether the mean difference over pairs is zero, by flipping signs of differences.

    For up to 14 pairs, all patterns of signs are tried; for more pairs, random patterns.
    """
    deltas = _deltas(ours, theirs)
    count = len(deltas)
    if count == 0:
        return PairedTest("permutation", 1.0, 0)
    observed = abs(deltas.sum()) * (1 - 1e-12)  # sums that differ only by rounding are equal
    if count <= _EXACT_SIGN_FLIPS:
        patterns = np.arange(2**count)[:, np.newaxis] >> np.arange(count) & 1
        sums = np.abs((1 - 2 * patterns) @ deltas)
        return PairedTest("permutation", float((sums >= observed).mean()), count)
    generator = np.random.default_rng([_SEED, count])
    signs = generator.integers(2, size=(draws, count), dtype=np.int8) * 2 - 1
    extreme = int(np.count_nonzero(np.abs(signs @ deltas) >= observed))
    return PairedTest("permutation", (extreme + 1) / (draws + 1), count)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return the p-values, in the given order, adjusted by Holm's step-down method."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    steps = given[order] * (len(given) - np.arange(len(given)))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _as_pairs(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        msg = f"pairs need two lists with equal numbers of runs, not {a.shape} and {b.shape}"
        raise ValueError(msg)
    return np.column_stack([a, b])


def _deltas(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    pairs = _as_pairs(ours, theirs)
    deltas: Floats = pairs[:, 0] - pairs[:, 1]
    differing: Floats = deltas[deltas != 0]
    return differing


def _twice_mid_ranks(magnitudes: Floats) -> npt.NDArray[np.int64]:
    """Return twice the mid-rank of each magnitude, which is a whole number even for ties."""
    order = np.sort(magnitudes)
    edges = [0, *(np.flatnonzero(np.diff(order)) + 1).tolist(), len(order)]
    twice = np.concatenate(
        [np.full(stop - start, start + stop + 1, dtype=np.int64) for start, stop in pairwise(edges)]
    )
    ranks: npt.NDArray[np.int64] = twice[np.searchsorted(order, magnitudes)]
    return ranks
