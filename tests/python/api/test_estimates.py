"""Advice on links that are estimates of one network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.trial import Design, register
from cwndlab.errors import ResultsError
from cwndlab.judge.question import read_question

if TYPE_CHECKING:
    from pathlib import Path

_LINKS = (
    ("link 1", "rate=2 Mbit/s,delay=20 ms,queue=20 packets", 3),
    ("link 2", "rate=3 Mbit/s,delay=9 ms,queue=8 packets", 1),
)


def advice(folder: Path, head: str, links: int) -> cw.Advice:
    """Return advice on the first links, in a users file with these first lines."""
    users = [
        f'[[users]]\nname = "{name}"\nlink = "{link}"\nweight = {weight}\nsource = "a fit"\n'
        for name, link, weight in _LINKS[:links]
    ]
    file = folder / "users.toml"
    file.write_text("\n".join([head, *users]))
    return cw.advise(
        users=str(file), goal="latency", algorithms=["reno", "vegas"], baseline="reno", budget_s=1
    )


@pytest.mark.parametrize("links", [1, 2])
def test_advice_on_links_that_explain_nothing_claims_nothing(
    links: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = advice(tmp_path, 'classes = "estimates"', links)
    unknown = advice(tmp_path, 'classes = "estimates"\nexplained = false', links)
    assert known.results.path != unknown.results.path
    decision = unknown.answers.together
    assert decision.best == known.answers.together.best
    assert known.answers.together.robust is not None
    assert (decision.robust, decision.sure, decision.is_explained) == (None, None, False)
    with pytest.raises(ResultsError, match="do not explain the measurement"):
        register(unknown.results, None, None, Design(6, 2.0, 0.5))
    assert register(known.results, None, None, Design(6, 2.0, 0.5)).baseline == "reno"


def test_the_links_of_estimates_are_not_varied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = advice(tmp_path, 'classes = "estimates"', 2)
    beside = found.results.beside("networks")
    assert beside is not None
    document = json.dumps(beside.study.document)
    assert "link.queue" not in document
    assert "link.server" not in document
    drawn = [name for name in beside.runs()["draw"].unique() if name.startswith("link 1")]
    assert len(drawn) == 3 * beside.runs()["draw"].n_unique() / 4


def test_a_folder_that_is_refused_is_not_changed(tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    foreign.mkdir()
    (foreign / "one.jpg").write_text("")
    study = cw.Study(link=_LINKS[0][1], algorithm="reno", duration="1 s", id="s")
    other = study.run(tmp_path / "other").path
    before = sorted(other.iterdir())
    for folder in (foreign, other):
        with pytest.raises(ResultsError):
            cw.advise(_LINKS[0][1], algorithms=["reno", "vegas"], budget_s=1, folder=folder)
    assert [each.name for each in foreign.iterdir()] == ["one.jpg"]
    assert sorted(other.iterdir()) == before


def test_an_interrupted_question_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("cwndlab.api.inquiry.run_study", interrupted)
        with pytest.raises(KeyboardInterrupt):
            advice(tmp_path, 'classes = "estimates"\nexplained = false', 2)
    (folder,) = (tmp_path / "results").iterdir()
    question = read_question(folder)
    assert question is not None
    assert (question.goal, question.baseline, question.is_explained) == ("latency", "reno", False)
    assert (
        advice(tmp_path, 'classes = "estimates"\nexplained = false', 2).results.path.name
        == folder.name
    )


def test_stored_answers_keep_their_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = advice(tmp_path, "", 2)
    again = cw.open_results(found.results.path).verdict()
    assert again.to_json() == found.answers.together.to_json()
    assert (again.goal.name, again.baseline) == ("latency", "reno")
