"""The plan of `advise` uses the time limit, regardless of the runs that the results contain."""

from pathlib import Path

import pytest

import cwndlab as cw
from cwndlab.api.inquiry import Inquiry, inquire
from cwndlab.api.spending import (
    BUDGET_S,
    DRAWS_AT_LEAST,
    DRAWS_AT_MOST,
    Times,
    draws_within,
    has_time_for,
)
from cwndlab.judge.goals import BALANCE, STABILITY, Goal

LINK = "rate=8 Mbit/s,delay=15 ms,queue=60 packets,loss=0.2 %"
FIRST_LOOK = 10


def question(folder: Path, goal: Goal = BALANCE) -> Inquiry:
    """Return the question about a wire."""
    return inquire([LINK], None, goal, ["cubic", "vegas"], "cubic", "downlink", folder, 2)


def spent_s(draws: int, times: Times) -> float:
    """Return the time of an answer with this number of networks."""
    return FIRST_LOOK * times.repetition_s + draws * times.draw_s + times.coexistence_s


@pytest.mark.parametrize("repetition_s", [0.001, 0.01, 0.07, 0.15, 0.25])
@pytest.mark.parametrize("longer", [1.0, 1.5, 2.5])
@pytest.mark.parametrize("classes", [1, 3, 6])
def test_all_parts_fit_into_the_budget_unless_the_fewest_networks_do_not(
    repetition_s: float, longer: float, classes: int
) -> None:
    budget_s = BUDGET_S * classes
    times = Times(repetition_s * classes, longer * repetition_s * classes, 12 * repetition_s)
    draws = draws_within(budget_s, classes, FIRST_LOOK, times)
    assert DRAWS_AT_LEAST <= draws <= DRAWS_AT_MOST
    if draws > DRAWS_AT_LEAST:
        assert spent_s(draws, times) < 0.9 * budget_s


def test_a_larger_budget_tries_more_networks() -> None:
    times = Times(repetition_s=0.01, draw_s=0.01, coexistence_s=0.1)
    few, more = (draws_within(budget_s, 1, FIRST_LOOK, times) for budget_s in (15.0, 30.0))
    assert few < more <= DRAWS_AT_MOST


def test_repetitions_are_added_while_there_is_time() -> None:
    times = Times(repetition_s=0.5, draw_s=1.0, coexistence_s=1.0)
    assert has_time_for(10, times, budget_s=15.0, spent_s=8.0)
    assert not has_time_for(10, times, budget_s=15.0, spent_s=8.5)


def test_results_that_are_there_change_no_plan(tmp_path: Path) -> None:
    asked = question(tmp_path / "results")
    results, _ = asked.look(FIRST_LOOK)
    planned = asked.times(results)
    took_s = [entry["duration_s"] for entry in results.history]
    # Two algorithms on two cores, and 30 % more for Python.
    assert planned.repetition_s == pytest.approx(1.3 * sum(took_s) / len(took_s))
    again, _ = asked.look(FIRST_LOOK)
    assert asked.times(again) == planned


def test_more_repetitions_that_are_there_change_no_plan(tmp_path: Path) -> None:
    asked = question(tmp_path / "results")
    first, _ = asked.look(FIRST_LOOK)
    planned = asked.times(first)
    asked.look(2 * FIRST_LOOK)
    again, _ = asked.look(FIRST_LOOK)
    assert asked.times(again) == planned


def test_the_same_question_has_the_same_answer_again(tmp_path: Path) -> None:
    def answer() -> object:
        advice = cw.advise(
            LINK, algorithms=["cubic", "vegas"], budget_s=1.0, folder=tmp_path / "results", jobs=2
        )
        return advice.decision.to_json()

    assert answer() == answer()


def test_series_of_similar_networks_are_kept_for_stability_alone(tmp_path: Path) -> None:
    for goal, is_kept in ((BALANCE, False), (STABILITY, True)):
        asked = question(tmp_path / goal.name, goal)
        asked.look(2)
        asked.try_networks(DRAWS_AT_LEAST)
        networks = cw.open_results(tmp_path / goal.name / "networks")
        assert ("samples" in networks.tables and not networks.samples().is_empty()) == is_kept
