"""The decision: a set, three separate probabilities of certainty, and its sentences."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.judge.decision import SURE, Decision, decide
from cwndlab.judge.goals import (
    BALANCE,
    GOALS,
    GOALS_OF_USES,
    LATENCY,
    SHORT_TRANSFERS,
    THROUGHPUT,
    Goal,
)
from cwndlab.judge.networks import Distance, Networks, Turn
from cwndlab.judge.reality import Reality
from cwndlab.judge.sentences import certainty, condition, headline, sentences, step_sentence
from cwndlab.judge.templates import CHANGES
from cwndlab.results.columns import quantity
from made_up import FAST_OR_SHORT, answer_on, around, comparison_of

NAMED = (("cubic", 1.0), ("vegas", 0.5))


def tried(decision: Decision, is_good: float) -> Decision:
    """Return the decision with results on similar networks."""
    turn = Turn("server", "above", "22 ms", "vegas", 0.3)
    regrets = {each.name: 0.05 + each.behind for each in decision.entrants}
    return replace(decision, networks=Networks(64, is_good, is_good, regrets, (turn,)))


@pytest.mark.parametrize(
    ("goal", "best"), [(THROUGHPUT, "cubic"), (BALANCE, "bbr"), (LATENCY, "bbr")]
)
def test_each_goal_has_its_own_winner(goal: Goal, best: str) -> None:
    assert decide(FAST_OR_SHORT, goal).best == (best,)


def test_a_winner_comes_with_the_prices_of_delay_at_which_it_is_right() -> None:
    bbr = decide(FAST_OR_SHORT, BALANCE).entrant("bbr")
    # At the lower price, U is 3 % below cubic's: ln 9.5 - d ln 60 = ln 10 - d ln 220 - 0.03.
    low = (np.log(10 / 9.5) - 0.03) / np.log(220 / 60)
    high = (np.log(9.5 / 4) + 0.03) / np.log(60 / 25)
    assert bbr.prices == pytest.approx((low, high), rel=0.02)
    assert "vegas is the right choice if you would give up more for this" in condition(
        decide(FAST_OR_SHORT, BALANCE)
    )


def test_identical_runs_say_nothing_about_others() -> None:
    same = comparison_of({name: {"log_goodput": [level] * 3} for name, level in NAMED})
    line, *_ = certainty(decide(same, THROUGHPUT))
    assert line.value == "-"
    assert line.meaning.startswith("cannot be estimated from identical runs;")


def test_alone_repeatable_is_never_sure() -> None:
    decision = decide(FAST_OR_SHORT, BALANCE)
    assert decision.repeatable == 1.0
    assert decision.sure is None
    assert not decision.is_sure
    assert "similar networks were not simulated" in headline(decision)


def test_the_headline_takes_the_weakest_of_the_three_lines() -> None:
    decision = tried(decide(FAST_OR_SHORT, BALANCE), 0.97)
    assert decision.sure == 0.97
    assert "sure in simulation (0.97)" in headline(decision)
    refuted = replace(decision, reality=Reality("LTE", 4, 20, "papers"))
    assert refuted.sure == 0.2
    assert "not sure (0.20): advice for LTE agreed with 4 of 20" in headline(refuted)
    fragile = tried(decision, 0.6)
    assert "not sure (0.60): this choice is good on 60 % of similar networks" in headline(fragile)
    assert (
        condition(fragile) == "Use vegas instead if the one-way delay to the server is above 22 ms."
    )


def test_conditions_are_those_of_the_algorithm_for_similar_networks() -> None:
    """On this exact network, another algorithm is best, so "instead" would be ambiguous."""
    decision = decide(FAST_OR_SHORT, BALANCE)
    turn = Turn("server", "below", "3 ms", "vegas", 0.3)
    regrets = {"bbr": 0.4, "cubic": 0.02, "vegas": 0.3}
    elsewhere = replace(decision, networks=Networks(24, 0.1, 0.8, regrets, (turn,)))
    assert "use bbr on exactly this network, but cubic on similar networks" in headline(elsewhere)
    assert condition(elsewhere) == (
        "On similar networks, use vegas instead of cubic if the one-way delay to the server is "
        "below 3 ms."
    )
    robust = certainty(elsewhere)[1]
    assert (robust.value, robust.meaning) == (
        "0.10",
        "share of 24 similar networks on which bbr is within 3 % of the best (cubic: 0.80)",
    )


def test_too_few_pairs_leave_it_unknown() -> None:
    few = answer_on({"cubic": 10.0, "bbr": 9.5}, {"cubic": 200.0, "bbr": 40.0}, pairs=5)
    decision = tried(decide(few, BALANCE), 1.0)
    assert decision.repeatable is None
    assert decision.sure is None
    assert "5 repetitions, too few to estimate the uncertainty" in headline(decision)


def test_one_run_does_not_show_whether_anything_is_random() -> None:
    decision = decide(
        comparison_of({"cubic": {"log_goodput": [2.0]}, "bbr": {"log_goodput": [1.0]}}), THROUGHPUT
    )
    assert (decision.pairs, decision.repeatable) == (1, None)
    assert headline(decision) == (
        "Throughput: use cubic, from one run, too few to estimate the uncertainty."
    )
    assert "from one run;" in certainty(decision)[0].meaning


def test_repetitions_that_do_not_differ_are_no_evidence() -> None:
    same = answer_on({"cubic": 10.0, "bbr": 5.0}, {"cubic": 200.0, "bbr": 40.0}, spread=0.0)
    decision = decide(same, THROUGHPUT)
    assert decision.best == ("cubic",)
    assert decision.pairs == 0
    assert decision.repeatable is None
    assert "nothing is random" in headline(decision)


def test_what_was_measured_on_a_real_network_is_not_called_simulated() -> None:
    measured = replace(decide(FAST_OR_SHORT, BALANCE), is_measured=True)
    assert headline(measured).endswith(
        "as measured on exactly this network; similar networks were not simulated."
    )
    same = answer_on({"cubic": 10.0, "bbr": 5.0}, {"cubic": 200.0, "bbr": 40.0}, spread=0.0)
    silent = headline(replace(decide(same, THROUGHPUT), is_measured=True))
    assert "simulation" not in silent


def test_runs_without_any_data_recommend_nothing() -> None:
    nothing = comparison_of(
        {
            name: {"goodput_mbit_s": [0.0] * 3, "log_goodput": [np.log(0.01)] * 3}
            for name in ("cubic", "bbr")
        }
    )
    decision = decide(nothing, THROUGHPUT, baseline="bbr")
    assert headline(decision) == (
        "Throughput: no algorithm delivered any data; make the runs longer, or check the link."
    )
    assert sentences(decision) == []
    document = decision.to_json()
    assert (document["best"], document["algorithms"], document["repeatable"]) == ([], [], None)


def test_algorithms_without_a_common_repetition_are_named_as_not_compared() -> None:
    nan = np.nan
    runs = {"cubic": [1.0, 1.1, nan, nan], "reno": [nan, nan, 0.5, 0.6]}
    columns = {name: {"log_goodput": gains} for name, gains in runs.items()}
    apart = decide(comparison_of(columns), THROUGHPUT)
    assert headline(apart) == (
        "Throughput: no repetition contains runs of both cubic and another algorithm, so no "
        "comparison is possible."
    )
    with_bbr = comparison_of({**columns, "bbr": {"log_goodput": [nan, nan, 1.5, 1.6]}})
    decision = decide(with_bbr, THROUGHPUT)
    assert decision.unpaired == ("cubic",)
    assert "all compared algorithms" not in headline(decision)
    assert sentences(decision)[0].startswith("Not compared: cubic, because")


def test_a_change_that_is_unknown_in_every_quantity_is_no_sentence() -> None:
    decision = decide(FAST_OR_SHORT, BALANCE)
    assert decision.step is not None
    assert not step_sentence(replace(decision, step=replace(decision.step, changes={})))


def test_large_changes_are_written_without_exponents() -> None:
    far = answer_on({"cubic": 0.05, "bbr": 9.0}, {"cubic": 5.0, "bbr": 5.0})
    assert step_sentence(decide(far, THROUGHPUT)).startswith("From cubic to bbr: throughput 180 ")


def test_a_single_algorithm_is_not_recommended_by_distance() -> None:
    decision = decide(answer_on({"cubic": 10.0}, {"cubic": 200.0}), BALANCE)
    near = Distance("near", 0.0, 6.0, 12, ("cubic",))
    networks = Networks(24, 1.0, 1.0, {"cubic": 0.0}, (), (near,))
    assert not any("distance" in each for each in sentences(replace(decision, networks=networks)))


def test_the_step_from_the_baseline_is_in_shares_with_its_interval() -> None:
    decision = decide(FAST_OR_SHORT, BALANCE)
    assert decision.step is not None
    assert decision.step.changes["goodput_mbit_s"].estimate == pytest.approx(-0.05, abs=1e-3)
    assert step_sentence(decision).startswith("From cubic to bbr: throughput -5 % [-5, -5] and ")


def test_every_change_that_a_goal_shows_has_a_column_and_words() -> None:
    shown = {column for goal in (*GOALS.values(), *GOALS_OF_USES.values()) for column in goal.shown}
    assert shown | {"log_queueing_delay"} == set(CHANGES)
    assert all(quantity(column).title for column in shown)


def test_a_baseline_that_is_best_is_kept() -> None:
    decision = decide(FAST_OR_SHORT, THROUGHPUT)
    assert decision.step is None
    assert "no change is needed" in step_sentence(decision)


def test_what_was_not_measured_says_how_to_measure_it() -> None:
    decision = decide(FAST_OR_SHORT, SHORT_TRANSFERS)
    assert decision.best == ()
    assert headline(decision) == (
        "Short transfers: not measured; no flow completed a transfer of a fixed size; add such a "
        "flow (cwndlab compare --bytes 500kB), or make the runs longer (cwndlab compare --duration "
        "TIME)."
    )


def test_names_are_all_that_swaps_when_names_are_swapped() -> None:
    swap = {"cubic": "bbr", "bbr": "cubic", "vegas": "vegas"}
    values = {swap[name]: own for name, own in FAST_OR_SHORT.values.items()}
    swapped = decide(comparison_of(values), BALANCE)
    plain = decide(FAST_OR_SHORT, BALANCE)
    assert tuple(swap[name] for name in swapped.best) == plain.best
    assert [each.score for each in swapped.entrants] == [each.score for each in plain.entrants]


def test_units_change_no_difference() -> None:
    values = {
        name: {**own, "log_goodput": own["log_goodput"] + np.log(1000)}
        for name, own in FAST_OR_SHORT.values.items()
    }
    other, plain = decide(comparison_of(values), BALANCE), decide(FAST_OR_SHORT, BALANCE)
    assert other.best == plain.best
    for one, two in zip(other.entrants, plain.entrants, strict=True):
        assert one.behind == pytest.approx(two.behind, abs=1e-12)


def test_json_has_every_key_and_no_number_that_json_lacks() -> None:
    document = decide(FAST_OR_SHORT, BALANCE).to_json()
    json.dumps(document, allow_nan=False)
    wanted = {"goal", "best", "sure", "repeatable", "robust", "reality", "baseline", "algorithms"}
    assert wanted <= document.keys()
    assert all({"score", "low", "high"} <= each.keys() for each in document["algorithms"])


@given(
    pairs=st.integers(1, 14),
    spread=st.floats(0, 0.6),
    rates=st.lists(st.floats(0.5, 50), min_size=2, max_size=5),
)
def test_only_a_decision_that_is_not_repeatable_leaves_out_candidates(
    pairs: int, spread: float, rates: list[float]
) -> None:
    made = comparison_of(
        {
            f"a{n}": {"log_goodput": np.log(rate) + np.array(around(1, spread, n, pairs))}
            for n, rate in enumerate(rates)
        }
    )
    decision = decide(made, THROUGHPUT)
    others = set(decision.candidates) - set(decision.best)
    assert set(decision.best) <= set(decision.candidates)
    assert not others or decision.repeatable is None or decision.repeatable < SURE
    said = [each for each in sentences(decision) if "more repetitions may decide" in each]
    assert bool(said) == bool(others)
    assert all(any(name in each for each in said) for name in others)


@given(
    pairs=st.integers(1, 14),
    spread=st.floats(0, 0.6),
    rates=st.lists(st.floats(0.5, 50), min_size=2, max_size=5),
    robust=st.one_of(st.none(), st.floats(0, 1)),
    agreed=st.one_of(st.none(), st.integers(0, 10)),
)
def test_no_words_say_sure_where_the_decision_does_not(
    pairs: int, spread: float, rates: list[float], robust: float | None, agreed: int | None
) -> None:
    names = [f"a{n}" for n in range(len(rates))]
    made = comparison_of(
        {
            name: {"log_goodput": np.log(rate) + np.array(around(1, spread, n, pairs))}
            for n, (name, rate) in enumerate(zip(names, rates, strict=True))
        }
    )
    decision = decide(made, THROUGHPUT)
    if robust is not None:
        decision = tried(decision, robust)
    if agreed is not None:
        decision = replace(decision, reality=Reality("LTE", agreed, 10, "papers"))
    said = " ".join(
        [headline(decision), *sentences(decision), *(line.meaning for line in certainty(decision))]
    )
    says_sure = " sure (" in said.replace("not sure (", "") or "sure in simulation" in said
    assert says_sure == decision.is_sure
    if decision.is_sure:
        assert decision.sure is not None
        assert decision.sure >= SURE
