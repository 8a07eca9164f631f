"""An answer for classes of users names the class that loses, and the weight that changes it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.judge.decision import GainsAndCosts
from cwndlab.judge.goals import BALANCE, THROUGHPUT
from cwndlab.judge.networks import Networks
from cwndlab.judge.sentences import certainty, headline, sentences, step_sentence
from cwndlab.judge.weighing import (
    BEST_PROBABILITY,
    Meaning,
    Weights,
    decide_population,
    equal_weights,
    likely_best,
)
from made_up import around

NAMES = ("cubic", "bbr")


def runs(cubic: float, bbr: float) -> GainsAndCosts:
    """Return logarithms of goodput around these means."""
    gain = np.log([around(cubic, 0.01, 1), around(bbr, 0.01, 2)])
    return GainsAndCosts(gain, np.zeros_like(gain))


def test_a_class_that_the_best_mean_starves_is_named() -> None:
    by_class = {"phones": runs(10, 20), "laptops": runs(10, 20), "boats": runs(10, 1)}
    weights = Weights({"phones": 0.5, "laptops": 0.4, "boats": 0.1}, Meaning())
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
    served = "for them, cubic is 10 times as good as bbr."
    assert f"This choice is bad for users of the class boats (10 % of all users): {served}" in said
    turned = "if more than 23 % of the users belong to the class boats."
    assert f"Use bbr, but use cubic {turned}" in said


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


def test_estimates_are_alternatives_and_not_users() -> None:
    by_class = {"link 1": runs(10, 20), "link 2": runs(10, 20), "link 3": runs(10, 1)}
    shares = {"link 1": 0.5, "link 2": 0.4, "link 3": 0.1}
    estimates = Weights(shares, Meaning(are_estimates=True))
    near = Networks(24, 0.9, 0.9, {"bbr": 0.0, "cubic": 0.5}, ())
    decision = decide_population(NAMES, by_class, estimates, THROUGHPUT, "cubic")
    decision = replace(decision, networks=near)
    said = " ".join(sentences(decision))
    other = "on such a network, cubic is 10 times as good as bbr."
    assert f"With a probability of 10 %, your network is like link 3; {other}" in said
    assert "of the users" not in said
    assert "24 networks, drawn from the estimates of your network" in certainty(decision)[1].meaning
    assert (decision.robust, decision.sure) == (0.9, 0.9)


def test_the_set_contains_the_best_with_a_probability_of_nine_tenths() -> None:
    by_class = {"link 1": runs(10, 20), "link 2": runs(10, 20), "link 3": runs(10, 5)}
    shares = {"link 1": 0.5, "link 2": 0.3, "link 3": 0.2}
    estimates = Weights(shares, Meaning(are_estimates=True))
    decision = decide_population(NAMES, by_class, estimates, THROUGHPUT, "cubic")
    assert decision.best == ("bbr", "cubic")
    assert "use bbr; but the network is not known exactly, and cubic may be better" in headline(
        decision
    )
    assert "But cubic may be better, because the network is not known" in step_sentence(decision)
    users = Weights(shares, Meaning())
    assert decide_population(NAMES, by_class, users, THROUGHPUT, "cubic").best == ("bbr",)


def test_a_set_of_estimates_is_small() -> None:
    utilities = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.9], [0.9, 0.9, 2.0]])
    assert likely_best(utilities, [0.5, 0.4, 0.1], 1) == [1]  # a tie counts for both
    assert likely_best(utilities, [0.5, 0.3, 0.2], 1) == [1, 3]
    assert likely_best(utilities, [0.5, 0.3, 0.2], 2) == [2, 3]
    missing = np.column_stack([utilities, [0.0, 0.0, np.nan, 0.0]])
    assert likely_best(missing, [0.25, 0.15, 0.1, 0.5], 1) == [1, 3]
    with_inferior = np.vstack([utilities, utilities.min(axis=0) - 1])
    assert likely_best(with_inferior, [0.5, 0.3, 0.2], 1) == [1, 3]


@given(
    st.integers(1, 6).flatmap(
        lambda rows: st.lists(
            st.lists(st.integers(0, 3), min_size=rows, max_size=rows), min_size=1, max_size=8
        )
    )
)
def test_the_set_of_estimates_reaches_its_probability(columns: list[list[int]]) -> None:
    utilities = np.array(columns, dtype=float).T
    shares = np.full(len(columns), 1 / len(columns))
    found = likely_best(utilities, list(shares), 0)
    covered = utilities[found].max(axis=0) == utilities.max(axis=0)
    assert shares[covered].sum() >= BEST_PROBABILITY - 1e-6
    assert len(set(found)) == len(found)


def test_estimates_that_explain_nothing_are_never_sure() -> None:
    by_class = {"link 1": runs(10, 20), "link 2": runs(10, 20)}
    weights = Weights({"link 1": 0.5, "link 2": 0.5}, Meaning(are_estimates=True))
    decision = decide_population(NAMES, by_class, weights, THROUGHPUT, "cubic")
    decision = replace(decision, is_explained=False)
    assert (decision.repeatable, decision.robust, decision.sure) == (1.0, None, None)
    assert not decision.is_sure
    assert "links that do not explain your measurement; measure bbr" in headline(decision)
    assert certainty(decision)[1].value == "-"
    worse = {name: runs(20, 10) for name in by_class}
    decision = decide_population(NAMES, worse, weights, THROUGHPUT, "cubic")
    decision = replace(decision, is_explained=False)
    assert headline(decision).endswith("links that do not explain your measurement.")
    assert "no change is needed" not in " ".join(sentences(decision))


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
    assert "95th percentile of (queueing delay + 20 ms) -75 %" in sentences(balanced)[0]
    fastest = decide_population(NAMES, by_class, weights, THROUGHPUT, "bbr")
    assert fastest.step is not None
    assert list(fastest.step.changes) == ["goodput_mbit_s"]
