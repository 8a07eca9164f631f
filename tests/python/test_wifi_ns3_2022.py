"""The thesis wifi-ns3-2022 on the simulator: its tables, its claims, and what is given to ours."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.papers import Verdict, judge_paper, load_paper, read_table

STUDY = Path(__file__).parents[2] / "studies" / "wifi-ns3-2022.toml"
PRESET = Path(cw.__file__).parent / "data" / "links" / "wifi-ns3-2022.toml"
PAPER = load_paper("wifi-ns3-2022")
LOSS_BASED = ("cubic", "westwood", "yeah")
MISSED = {("5", "cubic")}
"""Of 40 repetitions the mean is 45.79 Mbit/s with a standard error of 0.04: 5.0 % too little."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cw.Results:
    return cw.Study.load(STUDY).run(tmp_path_factory.mktemp("wifi"))


@pytest.fixture(scope="module")
def flows(results: cw.Results) -> pl.DataFrame:
    return results.flows()


@pytest.fixture(scope="module")
def rates(flows: pl.DataFrame) -> dict[tuple[str, int], float]:
    """Mean throughput of all stations by algorithm and number of stations, in Mbit/s."""
    runs = flows.group_by("run", "algorithm", "stations").agg(pl.col("goodput_mbit_s").sum())
    means = runs.group_by("algorithm", "stations").agg(pl.col("goodput_mbit_s").mean())
    return {(algorithm, stations): rate for algorithm, stations, rate in means.iter_rows()}


def test_tables_hold_but_for_what_is_known_to_miss(flows: pl.DataFrame) -> None:
    cells = [cell for table in PAPER.tables for cell in read_table(table, flows)]
    assert len(cells) == 28
    assert {(cell.row, cell.column) for cell in cells if not cell.holds} == MISSED
    missed = [cell.away for cell in cells if not cell.holds]
    assert missed == pytest.approx([-0.05], abs=0.002)


def test_throughput_falls_with_stations(rates: dict[tuple[str, int], float]) -> None:
    for algorithm in LOSS_BASED:
        own = [rates[algorithm, n] for n in range(1, 8)]
        assert own == sorted(own, reverse=True)
    assert rates["vegas", 7] < 0.8 * rates["vegas", 1]


def test_vegas_is_highest_alone_then_lowest_and_flat(rates: dict[tuple[str, int], float]) -> None:
    assert rates["vegas", 1] > max(rates[name, 1] for name in LOSS_BASED)
    for n in range(2, 8):
        assert rates["vegas", n] < 0.95 * min(rates[name, n] for name in LOSS_BASED)
    flat = [rates["vegas", n] for n in range(3, 8)]
    assert (max(flat) - min(flat)) / mean(flat) < 0.03


def test_variants_that_react_to_loss_are_alike(rates: dict[tuple[str, int], float]) -> None:
    for n in range(1, 8):
        own = [rates[name, n] for name in LOSS_BASED]
        assert (max(own) - min(own)) / mean(own) < 0.02


def test_claims_come_out_as_the_runs_decide(results: cw.Results) -> None:
    judged = {each.claim.id: each for each in judge_paper("wifi-ns3-2022", results)}
    assert {each.theirs for each in judged.values()} == {Verdict.HOLDS}
    verdicts = {claim: each.verdict for claim, each in judged.items()}
    assert verdicts == {
        "falls-with-stations": Verdict.FAILS,  # Vegas rises from four stations on, by 1 %
        "vegas-flat": Verdict.UNDECIDED,  # alone it is 0.2 % ahead, not 1 %
        "cubic-best": Verdict.UNDECIDED,
    }
    beside = [each for each in judged["cubic-best"].findings if each.part.is_beside]
    assert sum(each.verdict is Verdict.HOLDS for each in beside) >= 6  # within 1 %
    assert not any(each.verdict is Verdict.FAILS for each in beside)


def test_every_station_has_a_rate_of_its_own(flows: pl.DataFrame) -> None:
    assert flows["goodput_mbit_s"].null_count() == 0
    users = flows.filter(pl.col("stations") == 7).group_by("run").agg(pl.col("user").sort())
    assert all(own == list(range(1, 8)) for own in users["user"].to_list())


def test_no_published_number_is_given_to_the_study() -> None:
    given = STUDY.read_text("utf-8") + PRESET.read_text("utf-8")
    for table in PAPER.tables:
        for low, _ in (value for row in table.values for value in row):
            assert f"{low:.4g}" not in given
