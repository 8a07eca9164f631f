"""Levels of factors that cannot be varied, are equal, or come from arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from cwndlab import Study
from cwndlab.errors import StudyError
from cwndlab.resolve import Resolved, resolve
from cwndlab.study import matrix
from program import LINK


@pytest.mark.parametrize(
    ("path", "levels"),
    [("seed", [1, 2]), ("repetitions", [2, 3]), ("title", ["a", "b"]), ("common_seeds", [True])],
)
def test_key_that_all_runs_share_cannot_be_varied(path: str, levels: list[object]) -> None:
    with pytest.raises(StudyError, match=f"{path} cannot be varied"):
        Study(link=LINK, algorithm="reno", factors={path: levels})
    variants = [{"name": "a", path: levels[0], "link.delay": "5 ms"}]
    with pytest.raises(StudyError, match=f"{path} cannot be varied"):
        Study(link=LINK, algorithm="reno", factors={"variant": variants})


def test_million_seeds_are_refused_before_any_combination_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrix, "_cells", None)
    with pytest.raises(StudyError, match="set the number of `repetitions`"):
        Study(link=LINK, algorithm="reno", factors={"seed": list(range(1_000_000))})


def test_equal_combinations_are_refused_as_soon_as_they_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = []

    def counted(*given: Any) -> Resolved:  # noqa: ANN401  arguments of `resolve`
        checked.append(given)
        return resolve(*given)

    monkeypatch.setattr(matrix, "resolve", counted)
    delays = ["10 ms", "0.01 s", *(f"{ms} ms" for ms in range(11, 60))]
    with pytest.raises(StudyError, match=r"10 ms and 0\.01 s describe the same run"):
        Study(link=LINK, algorithm="reno", factors={"link.delay": delays})
    assert len(checked) == 2


def test_progress_of_a_large_study_is_printed_while_its_combinations_are_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matrix, "_PROGRESS_INTERVAL_S", 0)
    Study(link=LINK, algorithm="reno", flows=[1, 2, 3])
    assert "checked 2 of 3 combinations of levels" in capsys.readouterr().err


@pytest.mark.parametrize("name", [["a"], {"a": 1}, None, float("nan")])
def test_name_of_a_level_is_a_text_or_a_number(name: object) -> None:
    variants = [{"name": name, "link.delay": "5 ms"}]
    with pytest.raises(StudyError, match="the name of a level must be text or a number"):
        Study(link=LINK, algorithm="reno", factors={"variant": variants})


def test_levels_whose_names_are_equal_in_tables_are_refused() -> None:
    variants = [{"name": "1", "link.delay": "5 ms"}, {"name": 1, "link.delay": "6 ms"}]
    with pytest.raises(StudyError, match="already in this list"):
        Study(link=LINK, algorithm="reno", factors={"variant": variants})


def test_levels_may_come_from_arrays_and_series() -> None:
    algorithms = ["reno", "cubic"]
    for many in (np.array(algorithms), pl.Series(algorithms), dict.fromkeys(algorithms)):
        study = Study(link=LINK, algorithm=many.keys() if isinstance(many, dict) else many)  # type: ignore[arg-type]
        assert study.factors == {"algorithm": algorithms}
    study = Study(link=LINK, algorithm="reno", flows=np.arange(1, 3), repetitions=np.int64(2))  # type: ignore[arg-type]
    assert study.factors == {"flows": [1, 2]}
    assert study.repetitions == 2


@pytest.mark.parametrize(("value", "remedy"), [({"reno"}, "write a list"), (b"reno", "string")])
def test_sets_and_bytes_are_refused(value: object, remedy: str) -> None:
    with pytest.raises(StudyError, match=remedy):
        Study(link=LINK, algorithm=value)  # type: ignore[arg-type]
