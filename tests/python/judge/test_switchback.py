"""Verdicts of switchback trials: order of periods, intervals, and error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.judge.decision import ZONE
from cwndlab.judge.plan import needed_repetitions
from cwndlab.judge.switchback import Verdict, change_of, orders, verdict_of


@given(st.integers(0, 60), st.integers(0, 10**6))
def test_each_algorithm_goes_first_in_half_of_the_blocks(blocks: int, seed: int) -> None:
    found = orders(blocks, seed)
    assert len(found) == blocks
    assert sum(found) == math.ceil(blocks / 2)
    assert found == orders(blocks, seed)


def test_a_drift_that_is_the_same_for_both_changes_nothing() -> None:
    drift = np.linspace(0, 5, 8)
    change = change_of(drift + 0.1, drift)
    assert change is not None
    assert change.estimate == pytest.approx(0.1)
    assert change.spread == pytest.approx(0, abs=1e-12)


def test_blocks_without_a_value_are_left_out() -> None:
    nan = math.nan
    change = change_of([1, nan, 2, 3], [0, 0, nan, 2.5])
    assert change is not None
    assert change.blocks == 2
    assert change.estimate == pytest.approx(0.75)
    assert change_of([1, nan], [0, 0]) is None


@pytest.mark.parametrize(("true", "wrong"), [(0.0, Verdict.CONFIRMED), (ZONE, Verdict.REFUTED)])
@pytest.mark.parametrize("blocks", [6, 20])
def test_a_verdict_is_wrong_as_often_as_it_says(true: float, wrong: Verdict, blocks: int) -> None:
    draws = np.random.default_rng([blocks, round(1000 * true)])
    apart = true + 0.2 * draws.standard_normal((4000, blocks))
    verdicts = [verdict_of(change_of(row, np.zeros(blocks))) for row in apart]
    share = sum(each is wrong for each in verdicts) / len(verdicts)
    assert share < 0.025 + 3 * math.sqrt(0.025 * 0.975 / 4000)


def test_few_blocks_give_no_verdict() -> None:
    assert verdict_of(change_of([1.0] * 5, [0.0] * 5)) is Verdict.NOT_ENOUGH
    assert verdict_of(change_of([1.0] * 6, [0.0] * 6)) is Verdict.CONFIRMED
    assert verdict_of(None) is Verdict.NOT_ENOUGH


def test_the_planned_length_sees_the_planned_change_in_four_of_five_trials() -> None:
    draws = np.random.default_rng(7)
    spread, effect, seen = 0.2, 0.1, 0
    for _ in range(300):
        pilot = change_of(spread * draws.standard_normal(8), np.zeros(8))
        assert pilot is not None
        blocks = needed_repetitions(pilot.cautious_spread, effect)
        assert blocks is not None
        trial = change_of(effect + spread * draws.standard_normal(blocks), np.zeros(blocks))
        seen += trial is not None and trial.low > 0
    assert seen >= 0.8 * 300
