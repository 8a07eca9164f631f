"""The same runs give the same numbers in the terminal, in JSON, on the page and in a notebook."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

import cwndlab as cw
from cwndlab.cli import run as run_cli
from cwndlab.judge.decision import Decision
from cwndlab.judge.sentences import certainty, headline, sentences

LINK = "rate=8 Mbit/s,delay=15 ms,queue=60 packets,loss=0.2 %"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of `advise`, including similar networks."""
    place = tmp_path_factory.mktemp("advice") / "results"
    cw.advise(
        LINK, "balance", algorithms=["cubic", "bbr", "vegas"], budget_s=1.0, folder=place, jobs=2
    )
    return place


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command and return what it prints."""

    def call(*arguments: str) -> str:
        assert run_cli(list(arguments)) == 0
        return capsys.readouterr().out

    return call


def words(decision: Decision) -> list[str]:
    """Return all sentences about a decision."""
    lines = [text for line in certainty(decision) for text in (line.value, line.meaning)]
    return [headline(decision), *sentences(decision), *lines]


def test_notebook_json_terminal_and_page_agree(folder: Path, run: Callable[..., str]) -> None:
    decision = cw.open_results(folder).verdict("balance")
    assert decision.networks is not None
    document = json.loads(run("advise", "--results", str(folder), "--format", "json"))
    assert document["decision"] == json.loads(json.dumps(decision.to_json()))
    terminal = " ".join(run("advise", "--results", str(folder)).split())
    cw.open_results(folder)
    run("report", str(folder))
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    shown = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split()).replace("\N{MINUS SIGN}", "-")
    for said in words(decision):
        text = " ".join(said.split())
        assert text in shown, text
        # A narrow terminal wraps the lines of the table of certainty, but keeps the order of the
        # text.
        assert text.replace(" ", "") in terminal.replace(" ", ""), text


def test_advice_is_the_decision_of_its_results(folder: Path) -> None:
    again = cw.open_results(folder)
    assert again.verdict().to_json() == again.answers("balance").together.to_json()
