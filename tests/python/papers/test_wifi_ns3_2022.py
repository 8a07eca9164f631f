"""The thesis wifi-ns3-2022 on the simulator: tables, claims, and inputs of our study."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.papers import ClaimVerdict, judge_paper, load_paper, paper_studies, read_table

STUDY = paper_studies()["wifi-ns3-2022"]
PRESET = Path(cw.__file__).parent / "data" / "links" / "wifi-ns3-2022.toml"
PAPER = load_paper("wifi-ns3-2022")
LOSS_BASED = ("cubic", "westwood", "yeah")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cw.Results:
    return cw.Study.load(STUDY).run(tmp_path_factory.mktemp("wifi"))


@pytest.fixture(scope="module")
def flows(results: cw.Results) -> pl.DataFrame:
    return results.flows(part="as measured")


@pytest.fixture(scope="module")
def rates(flows: pl.DataFrame) -> dict[tuple[str, int], float]:
    """Return the mean throughput of all stations by algorithm and number of stations, in Mbit/s."""
    runs = flows.group_by("run", "algorithm", "stations").agg(pl.col("goodput_mbit_s").sum())
    means = runs.group_by("algorithm", "stations").agg(pl.col("goodput_mbit_s").mean())
    return {(algorithm, stations): rate for algorithm, stations, rate in means.iter_rows()}


def test_every_table_holds(flows: pl.DataFrame) -> None:
    cells = [cell for table in PAPER.tables for cell in read_table(table, flows)]
    assert len(cells) == 28
    assert [cell for cell in cells if not cell.holds] == []
    # The deviations are at most half of the bounds.
    away: dict[str, list[float]] = {cell.column: [] for cell in cells}
    for cell in cells:
        assert cell.away is not None
        away[cell.column].append(abs(cell.away))
    assert all(max(away[name]) < 0.025 for name in LOSS_BASED)
    assert max(away["vegas"]) < 0.06


def test_stations_beside_the_access_point_are_heard_over_the_others(flows: pl.DataFrame) -> None:
    # Gains of some stations are losses of others; among equal stations, none stays ahead.
    own = flows.filter((pl.col("stations") == 4) & (pl.col("algorithm") == "cubic"))
    means = own.group_by("user").agg(pl.col("goodput_mbit_s").mean()).sort("user")
    one, two, three, four = means["goodput_mbit_s"]
    assert min(two, four) > 1.5 * max(one, three)
    assert two == pytest.approx(four, rel=0.1)


def test_a_station_that_starves_waits_for_timeouts(flows: pl.DataFrame) -> None:
    starved = flows.filter(pl.col("goodput_mbit_s") < 3)
    assert len(starved) > 0
    assert min(starved["timeouts"].to_list()) >= 3
    assert set(starved["user"].to_list()) <= {1, 3, 5, 7}, "those that are never heard over others"


def test_throughput_falls_with_stations(rates: dict[tuple[str, int], float]) -> None:
    for algorithm in LOSS_BASED:
        own = [rates[algorithm, n] for n in range(1, 8)]
        assert own == sorted(own, reverse=True)
    assert rates["vegas", 7] < 0.8 * rates["vegas", 1]


def test_vegas_is_lowest_and_flat_in_company(rates: dict[tuple[str, int], float]) -> None:
    for n in range(2, 8):
        assert rates["vegas", n] < 0.95 * min(rates[name, n] for name in LOSS_BASED)
    flat = [rates["vegas", n] for n in range(3, 8)]
    assert (max(flat) - min(flat)) / mean(flat) < 0.03


def test_vegas_alone_hangs_on_the_first_round_trip(flows: pl.DataFrame) -> None:
    # The thesis's 54.44 is one draw of two waits of up to 9 ms; one of our ten is below the others.
    alone = flows.filter(pl.col("stations") == 1)
    vegas = sorted(alone.filter(pl.col("algorithm") == "vegas")["goodput_mbit_s"].to_list())
    others = alone.filter(pl.col("algorithm") != "vegas")["goodput_mbit_s"].to_list()
    assert sum(rate > max(others) for rate in vegas) == 9
    assert mean(vegas) == pytest.approx(54.44, rel=0.01)
    assert vegas[-1] - vegas[0] > 2
    assert max(others) - min(others) < 0.5


def test_variants_that_react_to_loss_are_alike(rates: dict[tuple[str, int], float]) -> None:
    for n in range(1, 8):
        own = [rates[name, n] for name in LOSS_BASED]
        assert (max(own) - min(own)) / mean(own) < 0.02


def test_claims_come_out_as_the_runs_decide(results: cw.Results) -> None:
    judged = {each.claim.id: each for each in judge_paper("wifi-ns3-2022", results)}
    assert {each.theirs for each in judged.values()} == {ClaimVerdict.HOLDS}
    verdicts = {claim: each.verdict for claim, each in judged.items()}
    assert verdicts == {
        "falls-with-stations": ClaimVerdict.FAILS,  # Vegas gains 1 % from six stations to seven
        "vegas-flat": ClaimVerdict.UNDECIDED,  # a single flow leads by 2 %, but the bound is 1 %
        "cubic-best": ClaimVerdict.UNDECIDED,
        "no-clear-winner": ClaimVerdict.HOLDS,
        "equal-alone": ClaimVerdict.HOLDS,
    }
    beside = [each for each in judged["cubic-best"].findings if each.part.is_beside]
    assert sum(each.verdict is ClaimVerdict.HOLDS for each in beside) >= 6  # within 1 %
    assert not any(each.verdict is ClaimVerdict.FAILS for each in beside)


def test_every_station_has_a_rate_of_its_own(flows: pl.DataFrame) -> None:
    assert flows["goodput_mbit_s"].null_count() == 0
    users = flows.filter(pl.col("stations") == 7).group_by("run").agg(pl.col("user").sort())
    assert all(own == list(range(1, 8)) for own in users["user"].to_list())


def test_no_published_number_is_given_to_the_study() -> None:
    given = STUDY.read_text("utf-8") + PRESET.read_text("utf-8")
    for table in PAPER.tables:
        for low, _ in (value for row in table.values for value in row):
            assert f"{low:.4g}" not in given
