"""The verdict: what it says follows from the runs, and it does not say more than they do."""

from dataclasses import replace

import numpy as np
import pytest

from cwndlab.judge.comparison import Comparison, ResultsLike, compare
from cwndlab.judge.verdict import DELAY, THROUGHPUT, Standing, judge, rank, ratio_words
from made_up import around, comparison_of


def measured(goodput: dict[str, list[float]], delay: dict[str, list[float]]) -> Comparison:
    return comparison_of(
        {name: {THROUGHPUT: goodput[name], DELAY: delay[name]} for name in goodput}
    )


def test_best_of_both_is_fast_enough_with_the_shortest_delay(results: ResultsLike) -> None:
    verdict = judge(compare(results)[0])
    assert verdict.recommended == ("bbr",)
    assert verdict.headline == (
        "Best of both: bbr (98 % of cubic's throughput at 47 % of its delay; sure: 20 of 20 pairs)."
    )
    assert "too little to care" in verdict.details[0]
    assert "vegas is 10 % lower" in verdict.details[0]
    assert verdict.details[1].startswith("Latency: vegas (42.9 ms) has the shortest round trips")


def test_one_run_says_that_its_certainty_is_unknown(one_run: ResultsLike) -> None:
    verdict = judge(compare(one_run)[0])
    assert "one run, so how sure is not known" in verdict.headline
    assert any("repeat" in note for note in verdict.notes)
    assert "sure:" not in verdict.headline.replace("how sure is", "")


def test_small_differences_are_called_too_small_to_care_about_even_if_sure() -> None:
    base = around(30, 0.02, 1, 20)
    comparison = measured(
        {"a": base, "b": [0.98 * g for g in base]},
        {"a": [100.0 + 0.1 * i for i in range(20)], "b": [101.0 + 0.1 * i for i in range(20)]},
    )
    verdict = judge(comparison)
    assert verdict.headline.startswith("No difference worth caring about: a and b are within 5 %")
    assert set(verdict.recommended) == {"a", "b"}


def test_smallest_effect_of_interest_is_the_studys_to_choose() -> None:
    base = around(30, 0.02, 1, 20)
    comparison = measured(
        {"a": base, "b": [0.98 * g for g in base]}, {"a": [100.0] * 20, "b": [100.0] * 20}
    )
    strict = replace(comparison, smallest_effect=0.01)
    ranking = rank(strict, THROUGHPUT)
    assert ranking is not None
    assert ranking.standings == {"a": Standing.BEST, "b": Standing.WORSE}


def test_noise_is_left_undecided_and_named_so() -> None:
    comparison = measured(
        {"a": around(30, 0.3, 1, 8), "b": around(28, 0.3, 2, 8)},
        {"a": around(100, 0.01, 3, 8), "b": around(50, 0.01, 4, 8)},
    )
    ranking = rank(comparison, THROUGHPUT)
    assert ranking is not None
    assert list(ranking.standings.values()) == [Standing.BEST, Standing.UNDECIDED]
    assert "the runs do not decide about" in judge(comparison).details[0]


def test_a_true_trade_off_names_both_sides() -> None:
    comparison = measured(
        {"fast": around(30, 0.01, 1, 10), "quick": around(20, 0.01, 2, 10)},
        {"fast": around(200, 0.01, 3, 10), "quick": around(50, 0.01, 4, 10)},
    )
    headline = judge(comparison).headline
    assert headline.startswith("None is best in both: fast in throughput (")
    assert "quick in latency (a quarter of fast's delay; sure: 10 of 10 pairs)" in headline


def test_what_is_not_sure_is_not_claimed() -> None:
    level = around(30, 0.01, 1, 8)
    noisy = measured(
        {"a": level, "b": level}, {"a": around(50, 0.2, 2, 8), "b": around(54, 0.2, 3, 8)}
    )
    assert judge(noisy).headline == (
        "No clear winner: a and b are within 5 % of each other in throughput, and the runs do not "
        "decide about their delay."
    )
    both = measured(
        {"a": around(30, 0.2, 1, 8), "b": around(29, 0.2, 2, 8)},
        {"a": around(60, 0.2, 3, 8), "b": around(50, 0.2, 5, 8)},
    )
    assert judge(both).headline.count("not sure: ") == 2
    assert judge(both).headline.startswith("No clear winner: ")
    one = measured(
        {"a": around(30, 0.01, 1, 8), "b": around(25, 0.01, 2, 8)},
        {"a": around(60, 0.2, 3, 8), "b": around(50, 0.2, 5, 8)},
    )
    assert judge(one).headline.startswith("Best: a in throughput (")
    assert "Latency is not decided: b in latency (" in judge(one).headline


def test_fewer_than_six_pairs_must_all_agree() -> None:
    delay = {"a": [100.0, 101, 99, 100], "b": [50.0, 52, 49, 51]}
    agreeing = measured({"a": [30.0, 31, 29, 30], "b": [30.0, 31.1, 29, 30.1]}, delay)
    assert "sure: 4 of 4 pairs" in judge(agreeing).headline
    ranking = rank(agreeing, DELAY)
    assert ranking is not None
    assert ranking.standings["a"] is Standing.WORSE


def test_difference_is_seen_where_pairs_are_too_few_for_the_corrected_test() -> None:
    # Six pairs give p = 2/64 at best; times three comparisons no test could call anything sure.
    names = {name: around(level, 0.01, at, 6) for at, (name, level) in enumerate(
        {"a": 30, "b": 25, "c": 20, "d": 15}.items())}  # fmt: skip
    ranking = rank(measured(names, names), THROUGHPUT)
    assert ranking is not None
    assert ranking.those(Standing.WORSE) == ["b", "c", "d"]


def test_transfers_with_an_end_are_judged_by_when_they_end() -> None:
    level = around(30, 0.01, 1, 8)
    comparison = measured({"a": level, "b": level, "c": level}, dict.fromkeys("abc", level))
    spread = np.linspace(-4, 4, 8)
    times = {"a": 400 + spread, "b": 405 - spread, "c": 800 + spread}
    values = {name: {**comparison.values[name], "completion_ms": times[name]} for name in times}
    verdict = judge(replace(comparison, values=values))
    assert verdict.headline == "Quickest: a or b (half c's time; sure: 8 of 8 pairs)."
    assert verdict.details[0].startswith("Completion: a (400 ms) and b (405 ms) have the quickest")
    same = {**values, "c": values["a"]}
    assert "complete within 5 % of each other" in judge(replace(comparison, values=same)).headline


def test_names_of_several_words_stay_one_in_a_sentence() -> None:
    level = around(30, 0.01, 1, 8)
    comparison = measured(
        {"Full, 1460": level, "b": level}, {"Full, 1460": [50.0] * 8, "b": [100.0] * 8}
    )
    assert judge(comparison).headline.startswith('Best of both: "Full, 1460" (the throughput of b')


def test_alone_there_is_nothing_to_compare() -> None:
    verdict = judge(measured({"cubic": [30.0, 31.0]}, {"cubic": [100.0, 101.0]}))
    assert verdict.recommended == ("cubic",)
    assert "Nothing stands beside it" in verdict.headline


def test_without_any_result_it_says_so() -> None:
    nothing = measured({"a": [float("nan")], "b": [float("nan")]}, {"a": [1.0], "b": [1.0]})
    assert judge(nothing).headline == "No run has a result."


def test_holms_correction_counts_the_comparisons_made() -> None:
    # Seven contestants as good as noise: the chance that one is called worse stays small.
    falsely = 0
    for trial in range(40):
        names = {f"c{at}": around(30, 0.1, 1000 * trial + at, 10) for at in range(7)}
        ranking = rank(measured(names, names), THROUGHPUT)
        assert ranking is not None
        falsely += Standing.WORSE in ranking.standings.values()
    assert falsely <= 12  # the best of seven was chosen by looking, so above 5 % is expected


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.25, "a quarter of"),
        (0.5, "half"),
        (0.47, "47 % of"),
        (1.04, "104 % of"),
        (2.3, "2.3 times"),
    ],
)
def test_ratios_read_as_one_says_them(ratio: float, words: str) -> None:
    assert ratio_words(ratio) == words
