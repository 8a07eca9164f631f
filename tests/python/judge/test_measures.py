"""Verdicts per goal: the best algorithm for each goal, its certainty, and omitted statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.judge.comparison import ResultsLike, compare
from cwndlab.judge.decision import Decision
from cwndlab.judge.directions import between_places, compare_directions
from cwndlab.judge.measures import (
    VARIATION,
    WithSeries,
    measures_of_flows,
)
from cwndlab.judge.sentences import headline
from made_up import comparison_of


class Measured(WithSeries, Protocol):
    """The synthetic results of this folder."""

    def samples(self) -> pl.DataFrame:
        """Return all time series."""


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
    """Runs of one algorithm with CUBIC; further flows may send in the other direction."""

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


def directions_of(results: Shared) -> dict[str, tuple[str, ...]]:
    made = compare_directions(results, beside=measures_of_flows(results))
    return {each.name: each.comparisons[0].contestants for each in made}


def test_nothing_is_attributed_where_another_algorithm_sent() -> None:
    shares = {"bbr": (8.0, 2.0), "vegas": (1.0, 9.0)}
    # The reverse flows always use CUBIC, so their results belong to no algorithm under test.
    assert directions_of(Shared(shares, "cubic")) == {"forward": ("bbr", "vegas")}
    assert directions_of(Shared(shares, "{}")) == {
        "forward": ("bbr", "vegas"),
        "reverse": ("bbr", "vegas"),
    }


def test_directions_say_who_sends() -> None:
    results = Shared({"bbr": (8.0, 2.0)}, "{}")
    titles = [each.title for each in compare_directions(results, beside=measures_of_flows(results))]
    assert titles == ["downlink (the server sends)", "uplink (the client sends)"]


def test_a_setting_that_names_the_direction_names_it_once(tmp_path: Path) -> None:
    link = "rate=10 Mbit/s,delay=20 ms,queue=50 packets"
    how: dict[str, Any] = {"link": link, "reverse_link": link, "duration": "2 s"}
    varied = cw.Study(factors={"direction": ["downlink", "uplink"]}, algorithm=["reno"], **how)
    answers = varied.run(tmp_path / "varied").answers().settings
    names = [each.decision.setting for each in answers]
    assert names == ["direction downlink", "direction uplink"]
    flows = [{"direction": "downlink"}, {"direction": "uplink"}]
    both = cw.Study(flow=flows, algorithm=["reno"], **how).run(tmp_path / "both")
    names = [each.decision.setting for each in both.answers().settings]
    assert names == ["downlink (the server sends)", "uplink (the client sends)"]


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
    assert told == (
        "Variation of goodput between the 2 places (relative standard deviation): a 47 % and b 0 %."
    )
    assert not between_places(one, [one])
    assert not between_places(replace(one, cell={"delay": 1}), [one, two])


def decided(folder: Path, goal: str, application: Mapping[str, str], link: str) -> Decision:
    """Run CUBIC and BBR ten times for 8 s, and return the decision for a goal."""
    study = cw.Study(
        link=link,
        algorithm=["cubic", "bbr"],
        duration="8 s",
        repetitions=10,
        application=application,
    )
    return study.run(folder / "results").verdict(goal)


def test_an_unfinished_transfer_counts_as_if_it_ended_with_its_run(tmp_path: Path) -> None:
    link = "rate=5 Mbit/s,delay=50 ms,loss=6 %"
    transfer = {"kind": "sized", "bytes": "600 kB"}
    decision = decided(tmp_path, "short-transfers", transfer, link=link)
    done = cw.open_results(tmp_path / "results").flows()
    finished = done.group_by("algorithm").agg(pl.col("completion_ms").count())
    counts = dict(finished.iter_rows())
    assert counts["bbr"] == 10
    assert 0 < counts["cubic"] < 6  # too few pairs of finished transfers for a probability
    assert decision.pairs == 10
    assert decision.best == ("bbr",)
    assert decision.repeatable is not None
    assert decision.step is not None
    # Of the finished transfers alone, the change would be -66 %.
    assert decision.step.changes["completion_ms"].estimate < -0.7


@pytest.mark.parametrize(
    ("goal", "application"),
    [
        ("short-transfers", {"kind": "sized", "bytes": "600 kB"}),
        ("web", {"kind": "web"}),
        ("rpc", {"kind": "request_response", "request": "1 kB", "response": "600 kB"}),
        ("video", {"kind": "video", "chunk": "60 s", "buffer": "600 s"}),
    ],
)
def test_algorithms_are_not_equal_because_nothing_arrived(
    goal: str, application: Mapping[str, str], tmp_path: Path
) -> None:
    """At 100 kbit/s, 8 s are too short for a page, a chunk or a transfer of 600 kB."""
    decision = decided(tmp_path, goal, application, link="rate=100 kbit/s,delay=50 ms")
    assert decision.best == ()
    assert "make the runs longer (cwndlab compare --duration TIME)" in headline(decision)
