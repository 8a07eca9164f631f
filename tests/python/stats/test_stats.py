"""Statistics: intervals by simulated coverage, tests against published and exact values."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from cwndlab import stats
from cwndlab.stats import bootstrap, students_t
from cwndlab.stats.bootstrap import Floats, mean_interval

# Depression scores before and after treatment: Hollander and Wolfe, Nonparametric Statistical
# Methods, table 3.1, the example whose exact two-sided signed-rank p-value is 0.0390625.
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]


@pytest.mark.parametrize(
    ("degrees_of_freedom", "expected"),
    [(1, 12.706205), (2, 4.302653), (3, 3.182446), (4, 2.776445), (9, 2.262157), (30, 2.042272)],
)
def test_quantiles_of_students_t_are_those_of_the_tables(
    degrees_of_freedom: int, expected: float
) -> None:
    assert students_t.quantile(0.975, degrees_of_freedom) == pytest.approx(expected, abs=1e-6)
    assert students_t.quantile(0.025, degrees_of_freedom) == pytest.approx(-expected, abs=1e-6)


def test_students_t_refuses_what_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="degrees of freedom are 0"):
        students_t.cumulative_probability(1.0, 0)
    with pytest.raises(ValueError, match="probability is 1"):
        students_t.quantile(1.0, 5)


@pytest.mark.parametrize("count", [10, 40])
@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        pytest.param(lambda rng, n: rng.normal(20, 1, n), 20.0, id="normal"),
        pytest.param(lambda rng, n: rng.uniform(0, 2, n), 1.0, id="uniform"),
        pytest.param(lambda rng, n: rng.gamma(16, 1, n), 16.0, id="gently skewed"),
    ],
)
def test_ninety_five_percent_intervals_cover_the_mean_93_to_97_percent_of_the_time(
    draw: Callable[[np.random.Generator, int], Floats], truth: float, count: int
) -> None:
    rng = np.random.default_rng(count)
    trials, covered = 1500, 0
    for _ in range(trials):
        interval = stats.mean_interval(draw(rng, count), draws=1500)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / trials <= 0.97


def test_intervals_of_relative_differences_cover_too_when_pairs_share_a_channel() -> None:
    rng = np.random.default_rng(7)
    trials, covered = 2000, 0
    for _ in range(trials):
        channel = rng.normal(30, 3, 12)
        ours = 0.9 * channel + rng.normal(0, 0.5, 12)
        interval = stats.relative_difference(ours, channel, draws=1500)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= -0.1 <= interval.high
    assert 0.93 <= covered / trials <= 0.97


def test_pairing_by_seed_narrows_the_interval_when_the_channel_varies() -> None:
    rng = np.random.default_rng(3)
    channel = rng.normal(30, 5, 15)
    ours = 0.97 * channel + rng.normal(0, 0.1, 15)
    paired = stats.relative_difference(ours, channel).half_width
    shuffled = stats.relative_difference(rng.permutation(ours), channel).half_width
    assert paired is not None
    assert shuffled is not None
    assert paired < shuffled / 5


def test_interval_of_a_skewed_sample_leans_to_the_long_tail() -> None:
    interval = stats.mean_interval([1, 1, 1, 2, 2, 3, 3, 4, 6, 19])
    assert interval.low is not None
    assert interval.high is not None
    assert interval.high - interval.estimate > 1.3 * (interval.estimate - interval.low)


def test_interval_is_the_same_every_time_and_scales_with_its_unit() -> None:
    runs = [31.2, 30.8, 31.9, 30.1, 31.5, 31.0]
    first, second = stats.mean_interval(runs), stats.mean_interval(runs)
    assert first == second
    thousandth = stats.mean_interval([value / 1000 for value in runs]).scaled(1000)
    assert first.low is not None
    assert thousandth.low == pytest.approx(first.low)
    with pytest.raises(ValueError, match="positive"):
        first.scaled(-1)


def test_one_run_has_no_interval_and_says_so() -> None:
    interval = stats.mean_interval([31.2])
    assert interval.is_one_run
    assert interval.low is None
    assert interval.half_width is None
    assert str(interval) == "31.2 (one run)"
    assert stats.decide(interval, at_least=0) is stats.BoundDecision.UNDECIDED


def test_runs_that_are_all_equal_are_known_to_be_deterministic() -> None:
    interval = stats.mean_interval([7.5] * 5)
    assert interval.is_constant
    assert not interval.is_one_run
    assert (interval.low, interval.high) == (7.5, 7.5)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [1.0, float("inf")]])
def test_missing_runs_are_refused_instead_of_counted(values: list[float]) -> None:
    with pytest.raises(ValueError, match="run"):
        stats.mean_interval(values)


def test_statistic_may_be_any_function_of_the_runs() -> None:
    runs = np.arange(1, 22, dtype=np.float64)
    interval = stats.bca_interval(runs, lambda resamples: np.median(resamples, axis=1))
    assert interval.estimate == 11
    assert interval.low is not None
    assert interval.high is not None
    assert 4 <= interval.low < 11 < interval.high <= 18


def test_signed_rank_test_gives_the_published_value() -> None:
    assert stats.wilcoxon_signed_rank_test(BEFORE, AFTER).p_value == 0.0390625


def test_signed_rank_test_is_exact_with_ties() -> None:
    deltas = [1, 1, 2, -2, 3, 4, 5, -1]
    ranks = [2, 2, 4.5, 4.5, 6, 7, 8, 2]  # ranks of the magnitudes; ties share their mean
    observed = 4.5 + 2  # sum of the negative ranks, which is the smaller sum
    as_extreme = 0
    for signs in itertools.product([0, 1], repeat=8):
        positive = sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        as_extreme += min(positive, sum(ranks) - positive) <= observed
    assert stats.wilcoxon_signed_rank_test(deltas, [0] * 8).p_value == as_extreme / 256


def test_signed_rank_test_goes_over_to_the_normal_limit_without_a_jump() -> None:
    rng = np.random.default_rng(5)
    deltas = rng.normal(0.35, 1, 26)
    approximate = stats.wilcoxon_signed_rank_test(deltas, np.zeros(26)).p_value
    exact = stats.wilcoxon_signed_rank_test(deltas[:25], np.zeros(25)).p_value
    assert 0.01 < exact < 0.5
    assert approximate == pytest.approx(exact, rel=0.5)


def test_sign_test_counts_pairs_only() -> None:
    assert stats.sign_test(BEFORE, AFTER).p_value == pytest.approx(92 / 512)  # 2 of 9 are negative
    assert stats.sign_test([1, 2, 3], [1, 2, 3]) == stats.PairedTest("sign", 1.0, 0)


def test_permutation_test_enumerates_small_studies_exactly() -> None:
    test = stats.paired_permutation_test(BEFORE, AFTER)
    assert test.p_value == 14 / 512
    all_above = stats.paired_permutation_test(np.arange(1, 11), np.zeros(10))
    assert all_above.p_value == 2 / 1024


def test_permutation_test_by_draws_is_never_zero_and_agrees_with_enumeration() -> None:
    rng = np.random.default_rng(11)
    deltas = rng.normal(0.5, 1, 14)
    exact = stats.paired_permutation_test(deltas, np.zeros(14)).p_value
    # Two pairs with negligible differences cause random draws and change nothing else.
    drawn = stats.paired_permutation_test([*deltas, 1e-9, -1e-9], np.zeros(16)).p_value
    assert drawn == pytest.approx(exact, abs=0.01)
    assert stats.paired_permutation_test(np.arange(1, 41), np.zeros(40)).p_value > 0


def test_permutation_test_rejects_at_its_level_when_there_is_no_difference() -> None:
    rng = np.random.default_rng(13)
    rejected = sum(
        stats.paired_permutation_test(rng.normal(0, 1, 10), np.zeros(10)).p_value <= 0.05
        for _ in range(1000)
    )
    assert 30 <= rejected <= 70


def test_holm_steps_down_keeps_order_and_never_exceeds_one() -> None:
    adjusted = stats.holm([0.01, 0.04, 0.03, 0.005])
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([0.9, 0.8]).max() == 1.0
    assert len(stats.holm([])) == 0


def test_difference_too_small_to_care_about_is_negligible_though_it_is_sure() -> None:
    rng = np.random.default_rng(17)
    theirs = rng.normal(30, 2, 20)
    difference = stats.compare_pairs(theirs * 0.98, theirs)
    assert difference.direction == -1
    assert difference.p_value < 0.001
    assert difference.is_negligible
    assert not stats.compare_pairs(theirs * 0.90, theirs).is_negligible


def test_noisy_difference_is_neither_sure_nor_negligible() -> None:
    rng = np.random.default_rng(19)
    difference = stats.compare_pairs(rng.normal(30, 9, 6), rng.normal(30, 9, 6))
    assert difference.direction == 0
    assert not difference.is_negligible


def test_pairs_must_have_equal_lengths() -> None:
    with pytest.raises(ValueError, match="equal numbers of runs"):
        stats.compare_pairs([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="not positive"):
        stats.relative_difference([1, 2], [0, 0])


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [(0.96, 1.04, "holds"), (0.80, 0.90, "fails"), (0.90, 1.0, "undecided"), (1.2, 1.3, "fails")],
)
def test_decisions_follow_where_the_interval_lies(low: float, high: float, decision: str) -> None:
    interval = stats.Interval((low + high) / 2, low, high, 12)
    assert stats.decide(interval, at_least=0.95, at_most=1.05) == decision


def test_jain_index_runs_from_one_share_to_equal_shares() -> None:
    assert stats.jain_index([5, 5, 5, 5]) == 1
    assert stats.jain_index([10, 0, 0, 0]) == 0.25
    assert stats.jain_index([3, 1]) == pytest.approx(0.8)
    assert stats.jain_index([0, 0]) is None


def test_box_has_tukeys_whiskers_and_outliers() -> None:
    box = stats.box_summary([1, 2, 3, 4, 5, 6, 7, 8, 30])
    assert (box.first_quartile, box.median, box.third_quartile) == (3, 5, 7)
    assert (box.whisker_low, box.whisker_high) == (1, 8)
    assert box.outliers == (30,)
    assert box.mean == pytest.approx(66 / 9)
    with pytest.raises(ValueError, match="at least one"):
        stats.box_summary([])


def test_empirical_cdf_ends_at_one_and_ignores_missing_values() -> None:
    values, shares = stats.empirical_cdf([3.0, 1.0, float("nan"), 2.0])
    assert values.tolist() == [1, 2, 3]
    assert shares.tolist() == pytest.approx([1 / 3, 2 / 3, 1])


def test_most_representative_run_is_nearest_to_the_mean() -> None:
    runs = [[1443, 383, 0], [1200, 300, 4], [1430, 390, 1], [1600, 460, 1]]
    assert stats.most_representative(runs, is_scaled=False) == 2
    assert stats.most_representative([[1.0, math.nan], [2.0, math.nan], [9.0, math.nan]]) == 1


def test_scale_decides_which_run_is_representative() -> None:
    # The first column varies a thousand times more, so it decides alone if it is not scaled.
    runs = [[1000, 9], [2000, 1], [3000, 1], [1990, 9], [2010, 4]]
    assert stats.most_representative(runs, is_scaled=False) != stats.most_representative(runs)


def test_pareto_front_keeps_what_nothing_beats_in_both() -> None:
    goodput, delay = [31.9, 31.2, 31.4, 28.7, 25.0], [241, 58, 112, 49, 60]
    assert stats.pareto_front(goodput, delay) == [3, 1, 2, 0]


def test_the_interval_of_many_runs_is_as_wide_as_the_runs_spread() -> None:
    runs = np.random.default_rng(5).exponential(1.0, 60_000)
    interval = mean_interval(runs)
    assert interval.runs == len(runs)
    assert interval.estimate == pytest.approx(runs.mean(), rel=1e-12)
    assert interval.low is not None
    assert interval.high is not None
    reach = 1.96 * runs.std() / np.sqrt(len(runs))
    assert interval.high - interval.estimate == pytest.approx(reach, rel=0.15)
    assert interval.estimate - interval.low == pytest.approx(reach, rel=0.15)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_resamples_in_parts_give_the_same_bits(
    columns: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = np.random.default_rng(1).random((700, *columns)) + 1

    def ratio(resamples: Floats) -> Floats:
        means = resamples.mean(axis=1)
        return np.asarray(means if means.ndim == 1 else means[:, 0] / means[:, 1])

    in_parts = bootstrap.bca_interval(runs, ratio)
    monkeypatch.setattr(bootstrap, "_PART", 1 << 40)
    monkeypatch.setattr(bootstrap, "_taken", lambda own, rows: own[rows])
    assert bootstrap.bca_interval(runs, ratio) == in_parts
