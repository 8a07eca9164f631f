"""Studies, results, answers and errors are pickled, as process pools and clusters need it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import TypeVar

import pytest

import cwndlab as cw

LINK = "rate=10 Mbit/s,delay=20 ms"
Pickled = TypeVar("Pickled")


def again(value: Pickled) -> Pickled:
    """Return what a pickle of the value contains."""
    found: Pickled = pickle.loads(pickle.dumps(value))  # noqa: S301  our own
    return found


def test_studies_results_and_answers_are_pickled(tmp_path: Path) -> None:
    study = cw.Study(link=LINK, algorithm=["reno", "cubic"], application="video", title="a")
    same = again(study)
    assert (same.title, same.document) == ("a", study.document)
    assert [run.key for run in same.matrix.runs] == [run.key for run in study.matrix.runs]
    results = cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s").run(tmp_path / "s")
    assert again(results).runs().equals(results.runs())
    kept = cw.Study.load(tmp_path / "s" / "study.toml")
    assert again(kept).matrix.runs[0].key == kept.matrix.runs[0].key
    answers = results.answers()
    assert again(answers).together == answers.together
    assert repr(answers.together) == "Decision('balance', best: reno, sure: unknown)"


@pytest.mark.parametrize(
    "error",
    [
        cw.errors.ArgumentError(1, "jobs", "write 2"),
        cw.errors.UnknownNameError("x", ["xy"], "list", kind="link"),
        cw.errors.StudyError(["a: b", "c: d"]),
        cw.errors.ScenarioRefusedError("path", "message"),
        cw.errors.DamagedResultsError(Path("x"), ["a", "b"]),
        cw.errors.LinkError("x"),
    ],
)
def test_errors_are_pickled_with_their_message_and_attributes(error: cw.CwndlabError) -> None:
    for same in (again(error), copy.copy(error)):
        assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))
