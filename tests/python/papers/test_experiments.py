"""Experiments: whether a change explains why a claim does not hold, or why a table differs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError
from cwndlab.papers import (
    ClaimVerdict,
    TrialEffect,
    claimed_papers,
    load_claims,
    load_paper,
    paper_studies,
)
from cwndlab.papers.claims import ClaimPart, parse_claims
from cwndlab.papers.experiments import (
    ClaimTrial,
    TableTrial,
    try_claims,
    try_tables,
    without_spoilers,
)
from cwndlab.papers.expression import Name
from cwndlab.papers.facts import parse_paper
from cwndlab.papers.judgement import Judgement, judge
from cwndlab.report.sections.claims import causes_sentence
from cwndlab.text.toml import TomlSource
from made_up import toml

Floats = npt.NDArray[np.float64]
SPREAD = np.random.default_rng(5).normal(0, 0.1, 10)


class Runs:
    """Numbers by the level of the factor `part`, and by variant."""

    def __init__(self, values: Mapping[tuple[str, str], float], repetitions: int = 10) -> None:
        self._values = values
        self._spread = SPREAD[:repetitions]

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        centre = self._values.get((part.where["part"], name.variant))
        return None if centre is None else centre + self._spread


def tried(
    values: Mapping[tuple[str, str], float],
    *,
    parts: str = '{ value = "cubic", at_least = 10 }',
    experiment: str = 'levels = { part = "other" }',
    repetitions: int = 10,
) -> list[ClaimTrial]:

    common = 'metric = "m", direction = "downlink"'
    entries = parts.replace("{ value", "{ " + common + ", value")
    text = f"""
    [study]
    preset = "p"
    variants = ["reno", "cubic"]
    variant_factor = "algorithm"
    varied_by_sender = ["downlink"]
    where = {{ part = "as measured" }}
    [[claim]]
    id = "c"
    says = "s"
    own_data = "o"
    part = [{entries}]
    [[experiment]]
    changed = "one thing"
    claims = ["c"]
    {experiment}
    """
    claims = parse_claims(TomlSource("x.toml", text), "x")
    runs = Runs(values, repetitions)
    judged = judge(claims, Runs({}), runs, lambda _: False)
    return try_claims(claims, judged, runs, lambda _: False)


@pytest.mark.parametrize(
    ("changed", "effect"),
    [
        (12.0, TrialEffect.EXPLAINS),
        (8.0, TrialEffect.PART),
        (6.02, TrialEffect.NONE),
        (4.0, TrialEffect.AWAY),
    ],
)
def test_a_change_is_judged_by_where_it_takes_the_value(
    changed: float, effect: TrialEffect
) -> None:
    (trial,) = tried({("as measured", "cubic"): 6, ("other", "cubic"): changed})
    assert trial.effect is effect
    assert trial.holding == (effect is TrialEffect.EXPLAINS)


def test_a_change_that_breaks_what_held_explains_only_a_part() -> None:
    parts = '{ value = "cubic", at_least = 10 }, { value = "reno", at_least = 10 }'
    values = {("as measured", "cubic"): 6, ("other", "cubic"): 12, ("as measured", "reno"): 12}
    assert tried({**values, ("other", "reno"): 12}, parts=parts)[0].effect is TrialEffect.EXPLAINS
    (trial,) = tried({**values, ("other", "reno"): 6}, parts=parts)
    assert trial.effect is TrialEffect.PART
    assert [str(each.before.part.value) for each in trial.changes] == ["cubic"]


def test_a_change_without_all_that_did_not_hold_explains_only_a_part() -> None:
    parts = '{ value = "cubic", at_least = 10 }, { value = "reno", at_least = 10 }'
    values = {("as measured", "cubic"): 6.0, ("other", "cubic"): 12.0}
    (trial,) = tried({**values, ("as measured", "reno"): 6.0}, parts=parts)
    assert trial.effect is TrialEffect.PART
    (trial,) = tried({**values, ("as measured", "reno"): 12.0}, parts=parts)
    assert trial.effect is TrialEffect.EXPLAINS


def test_what_is_shown_is_what_the_change_does_most_to() -> None:
    parts = '{ value = "cubic", at_least = 10 }, { value = "reno", at_least = 10 }'
    before = {("as measured", "cubic"): 6, ("as measured", "reno"): 6}
    (trial,) = tried({**before, ("other", "cubic"): 6, ("other", "reno"): 12}, parts=parts)
    assert (str(trial.shown.before.part.value), trial.holding) == ("reno", 1)


def test_a_claim_that_holds_needs_no_cause_and_one_without_runs_gets_none() -> None:
    assert not tried({("as measured", "cubic"): 12, ("other", "cubic"): 6})
    assert not tried({("as measured", "cubic"): 6})


def test_too_few_repetitions_leave_a_cause_open() -> None:
    values = {("as measured", "cubic"): 6.0, ("other", "cubic"): 12.0}
    (trial,) = tried(values, repetitions=3)
    assert trial.effect is TrialEffect.OPEN


def test_the_sentence_counts_claims_by_what_explains_them() -> None:
    claims = load_claims("nr-5g-vaasa-2023").claims
    missed = [Judgement(each, None, None, ClaimVerdict.FAILS, (), "") for each in claims[:4]]
    held = Judgement(claims[4], None, None, ClaimVerdict.HOLDS, (), "")
    experiment = load_claims("nr-5g-vaasa-2023").experiments[0]

    def trial(at: int, effect: TrialEffect) -> ClaimTrial:
        return ClaimTrial(experiment, claims[at], effect, ())

    trials = [
        trial(0, TrialEffect.EXPLAINS),
        trial(0, TrialEffect.PART),
        trial(1, TrialEffect.PART),
    ]
    trials += [trial(2, TrialEffect.NONE)]
    told = causes_sentence([*missed, held], trials)
    assert told == "4 claims fail; the experiments explain 1 fully, 1 partly and 2 not at all."
    assert causes_sentence([held], trials) == ""
    undecided = Judgement(claims[5], None, None, ClaimVerdict.UNDECIDED, (), "")
    assert causes_sentence([held, undecided], trials) == (
        "1 claim is undecided; more repetitions could lead to a decision."
    )
    assert "Too few repetitions" in causes_sentence(missed, [*trials, trial(3, TrialEffect.OPEN)])


def test_another_variant_may_stand_in_the_place_of_one() -> None:
    values = {("as measured", "cubic"): 6.0, ("as measured", "paced"): 12.0}
    (trial,) = tried(values, experiment='variants = { cubic = "paced" }')
    assert trial.effect is TrialEffect.EXPLAINS


@pytest.mark.parametrize(
    ("experiment", "message"),
    [("", "must set `levels`"), ('levels = { part = "a" }\nwhy = "b"', "unknown key")],
)
def test_a_wrong_experiment_is_refused(experiment: str, message: str) -> None:
    with pytest.raises(CwndlabError, match=message):
        tried({}, experiment=experiment)


def test_an_experiment_on_no_claim_is_refused() -> None:
    document = {
        "study": {"preset": "p", "variants": [], "variant_factor": "v", "varied_by_sender": []},
        "claim": [],
        "experiment": [{"changed": "x", "claims": ["d"], "levels": {"part": "a"}}],
    }
    with pytest.raises(CwndlabError, match="`claims` lists d, but the file contains no such claim"):
        parse_claims(toml(document), "x")


ABOUT = dict.fromkeys(("title", "authors", "method", "conclusion"), "")
TABLE = {
    "name": "Table 1",
    "title": "speed",
    "metric": "goodput_mbit_s",
    "unit": "Mbit/s",
    "direction": "downlink",
    "column_factor": "algorithm",
    "columns": ["reno", "cubic"],
    "where": {"part": "as measured"},
    "values": [[1.0, 1.0]],
}
DOCUMENT: dict[str, Any] = {
    "study": {
        "preset": "p",
        "variants": ["reno", "cubic"],
        "variant_factor": "algorithm",
        "varied_by_sender": ["downlink"],
    },
    "claim": [],
    "experiment": [{"changed": "x", "tables": ["Table 1"], "levels": {"part": "other"}}],
}


def flows_of(changed: tuple[float, float]) -> pl.DataFrame:
    """Return goodputs of two variants: 1.5 Mbit/s as measured, and `changed` after a change."""
    return pl.DataFrame(
        {
            "algorithm": ["reno", "cubic"] * 2,
            "part": ["as measured"] * 2 + ["other"] * 2,
            "direction": ["forward"] * 4,
            "goodput_mbit_s": [1.5, 1.5, *changed],
        }
    )


@pytest.mark.parametrize(
    ("ours", "effect"),
    [
        ((1.02, 0.97), TrialEffect.EXPLAINS),
        ((1.3, 1.2), TrialEffect.PART),
        ((1.6, 1.5), TrialEffect.NONE),
        ((3.0, 1.0), TrialEffect.AWAY),
    ],
)
def test_a_table_is_judged_by_its_mean_difference(
    ours: tuple[float, float], effect: TrialEffect
) -> None:
    paper = parse_paper(toml({"paper": ABOUT, "table": [TABLE]}), "x")
    (trial,) = try_tables(parse_claims(toml(DOCUMENT), "x"), paper.tables, flows_of(ours))
    assert (trial.effect, trial.cells) == (effect, 2)
    assert trial.before == pytest.approx(0.5)


@pytest.mark.parametrize(("after", "effect"), [(1.4, "explains it"), (4.0, "makes a table differ")])
def test_change_that_moves_a_table_away_explains_nothing(after: float, effect: str) -> None:
    (claim,) = tried({("as measured", "cubic"): 6, ("other", "cubic"): 12})
    table = load_paper("hsdpa-2010").tables[0]
    way = TrialEffect.AWAY if after > 1.5 else TrialEffect.NONE
    off = TableTrial(claim.experiment, table, way, 2, 1.5, after, 0.1)
    first, second = without_spoilers([claim], [off])
    assert first.effect.value.startswith(effect)
    assert second.effect is way


def test_tables_that_an_experiment_moves_away_are_found_without_being_named() -> None:
    table = {**TABLE, "name": "Table 2", "values": [[1.0, 1.0]]}
    paper = parse_paper(toml({"paper": ABOUT, "table": [TABLE, table]}), "x")
    document = {**DOCUMENT, "study": {**DOCUMENT["study"], "where": {"part": "as measured"}}}
    claims = parse_claims(toml(document), "x")
    assert [each.table.name for each in try_tables(claims, paper.tables, flows_of((3.0, 1.0)))] == [
        "Table 1",
        "Table 2",
    ]
    (named,) = try_tables(claims, paper.tables, flows_of((1.0, 1.0)))
    assert named.table.name == "Table 1"


@pytest.mark.parametrize("paper_id", claimed_papers())
def test_every_experiment_is_in_its_study_and_about_its_tables(paper_id: str) -> None:
    claims = load_claims(paper_id)
    study = Study.load(paper_studies()[paper_id])
    names = {table.name for table in load_paper(paper_id).tables}
    for experiment in claims.experiments:
        for factor, level in [*experiment.levels.items(), *experiment.among.items()]:
            assert level in map(str, study.factors[factor]), experiment.changed
        assert set(experiment.tables) <= names, experiment.changed
