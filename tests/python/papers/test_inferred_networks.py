"""Networks of papers that are inferred from the numbers of one variant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from cwndlab import Study
from cwndlab.cli.inferred import infer_paper
from cwndlab.cli.options import Where
from cwndlab.cli.reproduce import reproduce_command
from cwndlab.errors import LinkError, UnknownNameError
from cwndlab.judge.keys import Key
from cwndlab.papers import load_claims, load_paper, paper_studies
from cwndlab.papers.claims import Claims, parse_claims
from cwndlab.papers.facts import PaperTable
from cwndlab.papers.inferred import read_inferred
from cwndlab.papers.judgement import ClaimVerdict
from cwndlab.papers.library import further_plans, inferred_papers
from cwndlab.papers.network_claims import inferred_claims
from cwndlab.papers.network_fit import fit_paper, shuffled_errors, table_numbers
from cwndlab.papers.network_plan import (
    POINT,
    PaperPlan,
    PlaceNetworks,
    PossibleNetworks,
    load_plan,
    possible_networks,
)
from cwndlab.text.toml import TomlSource

VARIANTS = ("slow", "usual", "fast", "doubled")
if TYPE_CHECKING:
    from pathlib import Path

POINTS = 400
RATES = (2.0, 4.0, 8.0)


def claim(name: str, value: str, at_least: float) -> str:
    return f"""
[[claim]]
id = "{name}"
says = "{value} is at least {at_least}"
own_data = "a table"
[[claim.part]]
value = "{value}"
metric = "goodput_mbit_s"
direction = "downlink"
at_least = {at_least}
"""


CLAIMS = (
    """
[study]
preset = "nr-5g-vaasa-2023"
variants = ["slow", "usual", "fast", "doubled"]
variant_factor = "variant"
row_factor = "rows"
varied_by_sender = ["downlink"]
"""
    + claim("true", "min(doubled[1] / usual[1], doubled[2] / usual[2])", 1.5)
    + claim("false", "slow[1] / doubled[1]", 1)
    + claim("given", "usual[2] / usual[1]", 1)
    + claim("elsewhere", "fast[9]", 1)
)


class Flows:
    """Results that consist of one table of flows."""

    def __init__(self, flows: pl.DataFrame) -> None:
        self._flows = flows

    def flows(self) -> pl.DataFrame:
        return self._flows

    def samples(self, **where: object) -> pl.DataFrame:
        raise AssertionError(where)


def goodput(rate: float, power: float, variant: str, row: int) -> float:
    """An invented law: two settings determine the rate, of which each variant uses a share."""
    share = {"slow": 0.5, "usual": 1.0, "fast": 1.0 + power, "doubled": 2.0}[variant]
    return rate * share * float(row**power)


def networks() -> PossibleNetworks:
    plan = PaperPlan(points=POINTS, training=("usual",), tables=("Table",), range={})
    keys = (Key("rate", "", low=1.0, high=100.0, is_log=True), Key("power", "", low=0.0, high=1.0))
    shares = np.random.default_rng(5).random((POINTS, 2))
    return PossibleNetworks(plan, (PlaceNetworks("", 0, keys, shares),), {})


def networks_of_towns() -> PossibleNetworks:
    one = networks()
    plan = one.plan.model_copy(update={"place": "rows"})
    keys = one.places[0].keys
    shares = np.random.default_rng(6).random((2, POINTS, 2))
    towns = [PlaceNetworks(name, n * POINTS, keys, shares[n]) for n, name in enumerate("12")]
    return PossibleNetworks(plan, tuple(towns), {})


def flows_on(drawn: PossibleNetworks) -> pl.DataFrame:
    rows = []
    for place in drawn.places:
        for point, (first, second) in enumerate(place.shares, start=place.first):
            rate, power = 100.0**first, second
            rows += [
                {
                    "run": f"{point}/{variant}/{row}",
                    POINT: point,
                    "variant": variant,
                    "rows": row,
                    "direction": "forward",
                    "repetition": 0,
                    "goodput_mbit_s": goodput(rate, power, variant, row),
                }
                for variant in VARIANTS
                for row in (1, 2)
                if place.name in {"", str(row)}
            ]
    return pl.DataFrame(rows)


def table(rate: float, power: float, *, second_rate: float | None = None) -> PaperTable:
    rates = (rate, second_rate or rate)
    values = [
        [goodput(own, power, variant, row) for variant in VARIANTS]
        for row, own in enumerate(rates, start=1)
    ]
    return PaperTable.model_validate(
        {
            "name": "Table",
            "title": "goodput",
            "metric": "goodput_mbit_s",
            "unit": "Mbit/s",
            "direction": "downlink",
            "column_factor": "variant",
            "columns": VARIANTS,
            "row_factor": "rows",
            "rows": (1, 2),
            "values": values,
        }
    )


def claims() -> Claims:
    return parse_claims(TomlSource("claims.toml", CLAIMS), "made-up")


@pytest.mark.parametrize("rate", RATES)
def test_the_other_variants_of_a_known_law_are_predicted(rate: float) -> None:
    drawn = networks()
    numbers = table_numbers([table(rate, 0.6)], drawn, flows_on(drawn))
    fit = fit_paper(numbers, drawn)
    assert {each.number.column for each in fit.predicted} == {"slow", "fast", "doubled"}
    assert fit.error < 0.05
    assert fit.error < fit.error_of_mean / 2
    assert all(each.is_inside for each in fit.predicted)


def test_each_place_has_its_own_network() -> None:
    drawn = networks_of_towns()
    numbers = table_numbers([table(4.0, 0.6, second_rate=40.0)], drawn, flows_on(drawn))
    fit = fit_paper(numbers, drawn)
    assert [len(each.given) for each in fit.places] == [1, 1]
    found = {(each.number.row, each.number.column): each.median for each in fit.predicted}
    assert found["1", "doubled"] == pytest.approx(8.0, rel=0.05)
    assert found["2", "doubled"] == pytest.approx(goodput(40.0, 0.6, "doubled", 2), rel=0.05)


def test_a_claim_about_several_places_combines_their_networks() -> None:
    drawn = networks_of_towns()
    flows = flows_on(drawn)
    fit = fit_paper(table_numbers([table(4.0, 0.6, second_rate=40.0)], drawn, flows), drawn)
    sets = fit.sets()
    assert {int(point) // POINTS for point in sets.points[:, 0]} == {0}
    assert {int(point) // POINTS for point in sets.points[:, 1]} == {1}
    text = CLAIMS + claim("across", "slow[2] / slow[1]", 5) + claim("not", "fast[1] / slow[2]", 1)
    across = parse_claims(TomlSource("claims.toml", text), "made-up")
    found = {each.claim.id: each for each in inferred_claims(across, fit, Flows(flows))}
    assert found["across"].verdict is ClaimVerdict.HOLDS
    assert found["not"].verdict is ClaimVerdict.FAILS
    assert found["elsewhere"].verdict is ClaimVerdict.NOT_RUN


def test_shuffled_names_predict_worse() -> None:
    drawn = networks()
    numbers = table_numbers([table(4.0, 0.6)], drawn, flows_on(drawn))
    errors = shuffled_errors(numbers, drawn)
    assert len(errors) == 200
    assert (errors > fit_paper(numbers, drawn).error).mean() > 0.95


def test_a_table_that_the_plan_does_not_name_is_not_used() -> None:
    drawn = networks()
    other = table(4.0, 0.6).model_copy(update={"name": "Other"})
    assert table_numbers([other], drawn, flows_on(drawn)) == []


def test_claims_have_the_probability_that_they_are_true_on_inferred_networks() -> None:
    drawn = networks()
    flows = flows_on(drawn)
    fit = fit_paper(table_numbers([table(4.0, 0.6)], drawn, flows), drawn)
    found = {each.claim.id: each for each in inferred_claims(claims(), fit, Flows(flows))}
    assert found["true"].verdict is ClaimVerdict.HOLDS
    assert found["true"].probability == pytest.approx(1)
    assert found["false"].verdict is ClaimVerdict.FAILS
    assert found["given"].verdict is ClaimVerdict.INPUT
    assert found["elsewhere"].verdict is ClaimVerdict.NOT_RUN


PLANS = [(each, name) for each in inferred_papers() for name in (None, *further_plans(each))]


@pytest.mark.parametrize(("paper_id", "name"), PLANS)
def test_every_plan_names_tables_and_variants_of_its_paper(paper_id: str, name: str | None) -> None:
    plan, paper = load_plan(paper_id, name), load_paper(paper_id)
    assert (plan.after is None) == (name is None)
    columns = {column for each in paper.tables for column in each.columns}
    assert set(plan.tables) <= {each.name for each in paper.tables}
    assert set(plan.training) < columns
    assert set(plan.training) <= set(load_claims(paper_id).variants)


def test_every_network_of_a_further_plan_can_be_run() -> None:
    study = Study.load(paper_studies()["hsdpa-2010"])
    plan = load_plan(study.id, "spaced-drops").model_copy(update={"points": 12})
    cells = study.changed(possible_networks(plan, study).study).cells
    assert len(cells) == 12 * 2 * 4 * 4  # networks, directions, variants, numbers of flows


def test_a_plan_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownNameError, match="spaced-drops"):
        load_plan("hsdpa-2010", "spaced-drop")
    with pytest.raises(UnknownNameError, match="known: none"):
        load_plan("wifi-ns3-2022", "spaced-drops")


@pytest.mark.parametrize("options", [["hsdpa-2010"], ["all", "--inferred"]])
def test_a_plan_is_for_one_paper_whose_network_is_inferred(options: list[str]) -> None:
    done = CliRunner().invoke(reproduce_command, [*options, "--plan", "spaced-drops"])
    assert "--plan needs --inferred and the ID of one paper" in done.output


def test_every_network_of_a_plan_is_a_study_that_can_be_run() -> None:
    study = Study.load(paper_studies()["nr-5g-vaasa-2023"])
    plan = load_plan(study.id).model_copy(update={"points": 12})
    drawn = possible_networks(plan, study)
    cells = study.changed(drawn.study).cells
    assert len(cells) == 12 * 2 * 5  # networks, directions, variants
    assert {cell.labels["test"] for cell in cells} == {"1 min"}
    rates = {str(cell.resolved.scenario.path) for cell in cells}
    assert len(rates) == 12


def test_the_networks_of_a_place_are_simulated_at_this_place_only() -> None:
    study = Study.load(paper_studies()["lte-4g-vaasa-2013"])
    plan = PaperPlan.model_validate(
        {
            "points": 3,
            "place": "place",
            "training": ["cubic"],
            "tables": ["Table 9"],
            "levels": {
                "part": ["as measured"],
                "place": ["olympia", "vamk"],
                "period": ["forenoon"],
                "variant": ["cubic", "winsock"],
            },
            "range": {
                "signal": {
                    "paths": ["link.cell.user.uplink"],
                    "low": "0 dB",
                    "high": "20 dB",
                    "invented": "a test",
                },
                "load": {
                    "paths": ["link.cell.background.0.off"],
                    "low": "1 s",
                    "high": "60 s",
                    "invented": "a list in a preset that a period replaces",
                },
            },
        }
    )
    drawn = possible_networks(plan, study)
    assert [(each.name, each.points) for each in drawn.places] == [
        ("olympia", slice(0, 3)),
        ("vamk", slice(3, 6)),
    ]
    cells = study.changed(drawn.study).cells
    found = {(cell.labels["place"], cell.labels[POINT]) for cell in cells}
    assert found == {(each.name, n) for each in drawn.places for n in range(6)[each.points]}
    assert len(cells) == 6 * 2 * 2  # networks, directions, variants
    paths = {str(cell.resolved.scenario.path) for cell in cells}
    assert len(paths) == 6


def test_a_study_without_a_link_for_all_variants_is_refused() -> None:
    study = Study.load(paper_studies()["lte-4g-vaasa-2013"])
    plan = load_plan("nr-5g-vaasa-2023")
    with pytest.raises(LinkError, match="only if all variants use the same link"):
        possible_networks(plan, study)


@pytest.mark.parametrize("content", ["", "{", '{"claims": {"a": {"verdict": "never"}}}', "[]"])
def test_a_damaged_file_of_verdicts_is_not_believed(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "hsdpa-2010-inferred"
    folder.mkdir()
    (folder / "inferred.json").write_text(content)
    assert read_inferred(tmp_path / "hsdpa-2010", "hsdpa-2010") == {}


def test_the_command_infers_and_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = load_plan("nr-5g-vaasa-2023")
    small = whole.model_copy(
        update={
            "points": 300,
            "tables": ("Uplink",),
            "levels": {**whole.levels, "variant": ("cubic", "reno", "htcp")},
        }
    )
    monkeypatch.setattr("cwndlab.cli.inferred.load_plan", lambda *_: small)
    folder = tmp_path / "nr-5g-vaasa-2023-inferred"
    study = Study.load(paper_studies()["nr-5g-vaasa-2023"])
    short = study.changed({**study.document, "duration": "4 s"})
    short = short.changed(
        {**short.document, "factors": {**short.document["factors"], "test": [{"name": "1 min"}]}}
    )
    infer_paper(short, folder, Where("sim", 1, None, None), is_quick=True)
    text = capsys.readouterr().out
    assert "The mean error of 2 predicted numbers is" in text.replace("\n  ", " ")
    assert "network inferred from 1 number of cubic" in text
    found = json.loads((folder / "inferred.json").read_text())
    assert {each["column"] for each in found["predicted"]} == {"reno", "htcp"}
    assert all(each["low"] <= each["median"] <= each["high"] for each in found["predicted"])
    shown = read_inferred(tmp_path / "nr-5g-vaasa-2023", "nr-5g-vaasa-2023")
    assert shown["wifi"] == "not run"
    capsys.readouterr()


def test_a_paper_without_a_plan_is_named(tmp_path: Path) -> None:
    study = Study.load(paper_studies()["lte-ns2-2011"])
    with pytest.raises(UnknownNameError, match="papers with --inferred: hsdpa-2010"):
        infer_paper(study, tmp_path, Where("sim", 1, None, None), is_quick=True)
