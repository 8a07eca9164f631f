"""Verdicts per goal: which algorithm for what, how sure, and what is not said."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import polars as pl
import pytest

from cwndlab.judge.comparison import Comparison, ResultsLike, compare
from cwndlab.judge.goal_measures import (
    BESIDE_CUBIC,
    SHARE_BESIDE_CUBIC,
    VARIATION,
    WithSeries,
    measures_of_flows,
)
from cwndlab.judge.goals import Goal, between_places, compare_directions, judge_goal, judge_goals
from cwndlab.judge.verdict import Standing
from made_up import around, comparison_of


class Measured(WithSeries, Protocol):
    """The made-up results of this folder."""

    def samples(self) -> pl.DataFrame:
        """Return all time series."""


def two(column: str, better: float, other: float) -> Comparison:
    return comparison_of(
        {
            "a": {column: around(better, 0.01, 1), "goodput_mbit_s": around(30, 0.01, 3)},
            "b": {column: around(other, 0.01, 2), "goodput_mbit_s": around(30, 0.01, 4)},
        }
    )


@pytest.mark.parametrize(
    ("goal", "column", "better", "other", "by"),
    [
        (Goal.LATENCY, "rtt_p50_ms", 50, 100, "half that of b"),
        (Goal.SHORT_TRANSFERS, "completion_ms", 300, 900, "a third of that of b"),
        (Goal.STABILITY, VARIATION, 10, 40, "a quarter of that of b"),
        (Goal.FAIRNESS_TO_CUBIC, BESIDE_CUBIC, 0.99, 0.66, "50 % more than b"),
    ],
)
def test_each_goal_says_which_to_use_by_how_much_and_how_sure(
    goal: Goal, column: str, better: float, other: float, by: str
) -> None:
    verdict = judge_goal(two(column, better, other), goal)
    assert verdict.recommended == ("a",)
    assert verdict.sentence.startswith("Use a: ")
    assert f"{by} (sure: 12 of 12 pairs)" in verdict.sentence
    assert verdict.is_decided
    assert verdict.change


def test_no_difference_worth_caring_about_is_a_verdict_with_its_bound() -> None:
    verdict = judge_goal(two("rtt_p50_ms", 50, 50.5), Goal.LATENCY)
    assert verdict.sentence.startswith("No difference worth caring about: ")
    assert "within 5 % of each other" in verdict.sentence
    assert verdict.change.startswith("Caring about differences of ")
    assert verdict.is_decided


def test_of_those_as_fast_the_one_with_the_shortest_delay_is_named_first() -> None:
    level = around(30, 0.01, 1)
    comparison = comparison_of(
        {
            "a": {"goodput_mbit_s": level, "rtt_p50_ms": around(200, 0.01, 2)},
            "b": {"goodput_mbit_s": [0.98 * x for x in level], "rtt_p50_ms": around(50, 0.01, 3)},
            "c": {"goodput_mbit_s": [0.5 * x for x in level], "rtt_p50_ms": around(40, 0.01, 4)},
        }
    )
    throughput, latency, *_ = judge_goals(comparison)
    assert throughput.recommended == ("b", "a")
    assert "a is as good, with longer delay." in throughput.sentence
    assert latency.recommended == ("c",)
    assert "It costs throughput: 50 % less than a." in latency.sentence


def test_what_the_runs_do_not_decide_is_named_with_what_would_decide_it() -> None:
    comparison = comparison_of(
        {
            "a": {"goodput_mbit_s": around(30, 0.2, 1)},
            "b": {"goodput_mbit_s": around(30, 0.3, 9)},
        }
    )
    verdict = judge_goal(comparison, Goal.THROUGHPUT)
    assert verdict.ranking is not None
    assert verdict.ranking.those(Standing.UNDECIDED)
    assert not verdict.is_decided
    assert "Not decided: whether" in verdict.sentence
    assert "repetitions" in verdict.change


def test_one_run_is_not_called_sure() -> None:
    one = comparison_of({"a": {"rtt_p50_ms": [50.0]}, "b": {"rtt_p50_ms": [90.0]}})
    verdict = judge_goal(one, Goal.LATENCY)
    assert "one run, so how sure is not known" in verdict.sentence
    assert "ran once under one condition" in verdict.change


def test_goals_without_data_say_what_is_missing(results: Measured) -> None:
    comparison = compare(results, beside=measures_of_flows(results))[0]
    missing = {each.goal: each.sentence for each in judge_goals(comparison) if each.is_missing}
    assert set(missing) == {Goal.SHORT_TRANSFERS, Goal.FAIRNESS, Goal.FAIRNESS_TO_CUBIC}
    assert all(sentence.startswith("Not measured: ") for sentence in missing.values())
    assert "--bytes" in missing[Goal.SHORT_TRANSFERS]


def test_flows_that_run_the_same_are_judged_by_jains_index(
    two_flows_two_rates: Measured,
) -> None:
    for comparison in compare(two_flows_two_rates):
        verdict = judge_goal(comparison, Goal.FAIRNESS)
        assert verdict.sentence.startswith("No difference worth caring about: ")
        assert "Jain's index 1" in verdict.sentence


def test_variation_is_that_of_whole_seconds_within_the_window(results: Measured) -> None:
    measured = measures_of_flows(results)
    run, own = next(iter(results.samples().group_by("run")))
    seconds = (
        own.filter(pl.col("t_s") > 0)
        .group_by(pl.col("t_s").floor())
        .agg(pl.col("goodput_mbit_s").mean())["goodput_mbit_s"]
        .to_numpy()
    )
    expected = 100 * seconds.std(ddof=1) / seconds.mean()
    found = measured.filter(pl.col("run") == run[0])[VARIATION].item()
    assert found == pytest.approx(expected, rel=1e-6)


@dataclass
class Shared:
    """Runs of one algorithm beside CUBIC; more flows may send the other way."""

    shares: Mapping[str, tuple[float, float]]
    backward: str = ""
    factors: tuple[str, ...] = ("algorithm",)
    repetitions: int = 10
    rows: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, (own, cubic) in self.shares.items():
            for at in range(self.repetitions):
                senders = [(name, own, "forward"), ("cubic", cubic, "forward")]
                if self.backward:
                    senders.append((self.backward.format(name), 5.0, "reverse"))
                for flow, (algorithm, goodput, direction) in enumerate(senders):
                    self.rows.append(
                        {
                            "run": f"{name}-{at}",
                            "factor_algorithm": name,
                            "repetition": at,
                            "seed": at,
                            "flow": flow,
                            "algorithm": algorithm,
                            "direction": direction,
                            "goodput_mbit_s": goodput + 0.01 * (at % 3),
                        }
                    )

    def flows(self) -> pl.DataFrame:
        return pl.DataFrame(self.rows)

    def runs(self) -> pl.DataFrame:
        names = ["run", "factor_algorithm", "repetition", "seed"]
        frame = self.flows().select(names).unique(maintain_order=True)
        return frame.rename({"factor_algorithm": "algorithm"})

    def scan(self, table: str) -> pl.LazyFrame:
        assert table == "samples"
        return pl.LazyFrame(schema={"run": pl.String})


def test_share_beside_cubic_is_of_one_flow_of_each() -> None:
    results = Shared({"cubic": (5.0, 5.0), "bbr": (8.0, 2.0), "vegas": (1.0, 9.0)})
    comparison = compare(results, beside=measures_of_flows(results))[0]
    shares = {name: comparison.interval(name, SHARE_BESIDE_CUBIC) for name in results.shares}
    found = {name: round(each.estimate) for name, each in shares.items() if each is not None}
    assert found == {"cubic": 50, "bbr": 80, "vegas": 10}
    verdict = judge_goal(comparison, Goal.FAIRNESS_TO_CUBIC)
    assert verdict.recommended == ("cubic",)
    assert verdict.sentence.endswith("it took: cubic 50 %, bbr 80 % and vegas 10 %.")
    assert judge_goal(comparison, Goal.FAIRNESS).is_missing


def directions_of(results: Shared) -> dict[str, tuple[str, ...]]:
    made = compare_directions(results, beside=measures_of_flows(results))
    return {each.name: each.comparisons[0].contestants for each in made}


def test_nothing_is_attributed_where_another_algorithm_sent() -> None:
    shares = {"bbr": (8.0, 2.0), "vegas": (1.0, 9.0)}
    # The data that go back are CUBIC's, whoever is under test: nobody's result.
    assert directions_of(Shared(shares, "cubic")) == {"forward": ("bbr", "vegas")}
    assert directions_of(Shared(shares, "{}")) == {
        "forward": ("bbr", "vegas"),
        "reverse": ("bbr", "vegas"),
    }


def test_directions_say_who_sends() -> None:
    results = Shared({"bbr": (8.0, 2.0)}, "{}")
    titles = [each.title for each in compare_directions(results, beside=measures_of_flows(results))]
    assert titles == ["downlink (the server sends)", "uplink (the client sends)"]


def test_completion_times_are_averaged_by_their_geometric_mean() -> None:
    comparison = comparison_of({"a": {"completion_ms": [100.0, 10_000.0]}})
    interval = comparison.interval("a", "completion_ms")
    assert interval is not None
    assert interval.estimate == pytest.approx(1000)


def test_stricter_confidence_widens_every_interval(results: ResultsLike) -> None:
    plain = compare(results)[0]
    strict = replace(plain, confidence=0.99)
    for name in plain.contestants:
        narrow, wide = (each.interval(name, "goodput_mbit_s") for each in (plain, strict))
        assert narrow is not None
        assert wide is not None
        assert (wide.half_width or 0) > (narrow.half_width or 0)


def test_variation_from_place_to_place_is_told_where_there_are_places() -> None:
    one = comparison_of(
        {"a": {"goodput_mbit_s": [10.0, 10.0]}, "b": {"goodput_mbit_s": [9.0, 9.0]}}
    )
    two = comparison_of(
        {"a": {"goodput_mbit_s": [20.0, 20.0]}, "b": {"goodput_mbit_s": [9.0, 9.0]}}
    )
    home, campus = replace(one, cell={"place": "home"}), replace(two, cell={"place": "campus"})
    told = between_places(home, [home, campus])
    assert told == "Over the 2 places goodput varies by: a 47 % and b 0 %."
    assert not between_places(one, [one])
    assert not between_places(replace(one, cell={"delay": 1}), [one, two])
