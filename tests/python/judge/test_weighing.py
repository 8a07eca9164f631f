"""An answer for classes of users names the class that loses, and the weight that changes it."""

import numpy as np
import pytest

from cwndlab.judge.decision import GainsAndCosts
from cwndlab.judge.goals import BALANCE, THROUGHPUT
from cwndlab.judge.sentences import sentences
from cwndlab.judge.weighing import Weights, decide_population, equal_weights
from made_up import around

NAMES = ("cubic", "bbr")


def runs(cubic: float, bbr: float) -> GainsAndCosts:
    """Return logarithms of goodput around these means."""
    gain = np.log([around(cubic, 0.01, 1), around(bbr, 0.01, 2)])
    return GainsAndCosts(gain, np.zeros_like(gain))


def test_a_class_that_the_best_mean_starves_is_named() -> None:
    by_class = {"phones": runs(10, 20), "laptops": runs(10, 20), "boats": runs(10, 1)}
    weights = Weights({"phones": 0.5, "laptops": 0.4, "boats": 0.1}, is_invented=False)
    decision = decide_population(NAMES, by_class, weights, THROUGHPUT, "cubic")
    assert decision.best == ("bbr",)
    assert decision.population is not None
    assert decision.population.loser is not None
    assert decision.population.loser.name == "boats"
    # ln 2 (1 - w) = ln 10 w: the answer changes at w = 0.231.
    turn = decision.population.turns[0]
    assert (turn.name, turn.side, turn.instead) == ("boats", "above", "cubic")
    assert turn.at == pytest.approx(np.log(2) / np.log(20), rel=0.02)
    said = " ".join(sentences(decision))
    served = "for them, cubic is worth 10 times as much as bbr."
    assert f"This choice is bad for users of the class boats (10 % of all users): {served}" in said
    assert "Use bbr, but use cubic if the class boats exceeds 23 % of the users." in said


def test_nobody_loses_where_all_classes_agree() -> None:
    by_class = {"phones": runs(10, 20), "laptops": runs(5, 8)}
    weights = equal_weights(tuple(by_class))
    decision = decide_population(NAMES, by_class, weights, THROUGHPUT, "cubic")
    assert decision.population is not None
    assert decision.population.loser is None
    assert not decision.population.turns
    # Mean of logarithms: a factor of sqrt(2 x 1.6) = 1.789.
    assert decision.step is not None
    assert decision.step.changes["goodput_mbit_s"].estimate == pytest.approx(0.789, abs=0.02)


def test_the_change_of_a_population_shows_the_delay_where_it_has_a_price() -> None:
    gain = np.log([around(10, 0.01, 1), around(9.8, 0.01, 2)])
    cost = np.log([around(400, 0.01, 3), around(100, 0.01, 4)])
    by_class = {"phones": GainsAndCosts(gain, cost), "laptops": GainsAndCosts(gain, cost)}
    weights = equal_weights(tuple(by_class))
    balanced = decide_population(NAMES, by_class, weights, BALANCE, "cubic")
    assert balanced.best == ("bbr",)
    assert balanced.step is not None
    assert balanced.step.changes["log_queueing_delay"].estimate == pytest.approx(-0.75, abs=0.01)
    assert "throughput -2 %" in sentences(balanced)[0]
    assert "queueing delay (95th percentile plus 20 ms) -75 %" in sentences(balanced)[0]
    fastest = decide_population(NAMES, by_class, weights, THROUGHPUT, "bbr")
    assert fastest.step is not None
    assert list(fastest.step.changes) == ["goodput_mbit_s"]
