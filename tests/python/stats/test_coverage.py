"""Coverage: 95 % intervals contain the truth in 93 to 97 of 100 studies, including skewed runs.

Every case simulates studies whose truth is known, with the statistics of a comparison: the mean
over runs, the ratio of means over pairs that share a channel, the ratio of geometric means.
"""

from collections.abc import Callable

import numpy as np
import pytest

from cwndlab import stats
from cwndlab.stats.bootstrap import Floats

TRIALS, DRAWS = 1200, 600

Draw = Callable[[np.random.Generator, int], Floats]
Pairs = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def covers(make: Callable[[np.random.Generator], stats.Interval], truth: float) -> float:
    rng = np.random.default_rng(20_261_121)
    intervals = [make(rng) for _ in range(TRIALS)]
    inside = [i.low is not None and i.high is not None and i.low <= truth <= i.high
              for i in intervals]  # fmt: skip
    return float(np.mean(inside))


@pytest.mark.parametrize("runs", [10, 20])
@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        pytest.param(lambda rng, n: rng.normal(20, 1, n), 20.0, id="normal"),
        pytest.param(lambda rng, n: rng.gamma(4, 1, n), 4.0, id="skewed by 1"),
        pytest.param(lambda rng, n: rng.gamma(2, 1, n), 2.0, id="skewed by 1.4"),
    ],
)
def test_intervals_of_means_cover(draw: Draw, truth: float, runs: int) -> None:
    share = covers(lambda rng: stats.covering_mean(draw(rng, runs), draws=DRAWS), truth)
    assert 0.93 <= share <= 0.97


def shared_channel(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    channel = rng.normal(30, 3, n)
    return 0.8 * channel + rng.normal(0, 0.5, n), channel


def skewed_channel(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    channel = rng.lognormal(0, 0.5, n)
    return 0.8 * channel * rng.lognormal(0, 0.2, n), channel * rng.lognormal(0, 0.2, n)


def two_channels(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    return 0.8 * rng.lognormal(0, 0.5, n), rng.lognormal(0, 0.5, n)


@pytest.mark.parametrize("runs", [10, 20])
@pytest.mark.parametrize("pairs", [shared_channel, skewed_channel, two_channels])
def test_intervals_of_relative_differences_cover(pairs: Pairs, runs: int) -> None:
    share = covers(lambda rng: stats.relative_difference(*pairs(rng, runs), draws=DRAWS), -0.2)
    assert 0.93 <= share <= 0.97


def heavy_tail(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    channel = rng.lognormal(0, 1, n)
    return 0.8 * channel * rng.lognormal(0, 0.5, n), channel * rng.lognormal(0, 0.5, n)


def now_and_then_a_timeout(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    ours, theirs = (np.where(rng.random(n) < 0.4, 3.0, 1.0) * rng.lognormal(0, 0.3, n)
                    for _ in range(2))  # fmt: skip
    return 0.8 * ours, theirs


@pytest.mark.parametrize("runs", [6, 10, 20])
@pytest.mark.parametrize("pairs", [skewed_channel, heavy_tail, now_and_then_a_timeout])
def test_intervals_of_completion_times_cover(pairs: Pairs, runs: int) -> None:
    geometric = stats.Average.GEOMETRIC
    share = covers(
        lambda rng: stats.relative_difference(*pairs(rng, runs), average=geometric), -0.2
    )
    assert 0.93 <= share <= 0.97


def test_bca_alone_would_not_cover_a_skewed_channel() -> None:
    def bca(rng: np.random.Generator) -> stats.Interval:
        pairs = np.column_stack(heavy_tail(rng, 10))
        return stats.bca_interval(
            pairs, lambda x: x.mean(axis=1)[:, 0] / x.mean(axis=1)[:, 1] - 1, draws=DRAWS
        )

    assert covers(bca, -0.2) < 0.93


def test_equal_algorithms_are_rarely_told_apart_and_unequal_ones_rarely_called_equal() -> None:
    rng = np.random.default_rng(5)
    different = equal = 0
    for _ in range(600):
        channel = rng.lognormal(0, 0.5, 10)
        ours, same = (channel * rng.lognormal(0, 0.1, 10) for _ in range(2))
        difference = stats.compare_pairs(ours, same, draws=DRAWS)
        different += difference.direction != 0 and difference.p_value < 0.05
        # The two one-sided tests at their boundary: a true difference of exactly 5 %.
        at_bound = stats.compare_pairs(0.95 * ours**0.2, same**0.2, draws=DRAWS)
        equal += at_bound.is_negligible
    assert different / 600 <= 0.07
    assert equal / 600 <= 0.07
