"""Results in folders whose names mean something else to Polars, DuckDB or a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab import Study, open_results
from program import LINK


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    "name", ["x[1]", "x*y", "x?y", "[", "file:x", "./~", "x'y", "x{a,b}", "%20"]
)
def test_results_are_written_and_read_in_a_folder_of_any_name(name: str) -> None:
    study = Study(link=LINK, algorithm=["reno", "cubic"], duration="1 s", id="any")
    made = study.run(name)
    assert made.path == Path(name)
    assert Path(name, "matrix.parquet").exists()
    found = open_results(name)
    assert found.runs().height == 2
    assert found.samples().height > 0
    assert found.sql("SELECT count(*) AS n FROM samples").item() == found.samples().height
    study.changed({**study.document, "repetitions": 2}).run(name)
    assert open_results(Path(name)).runs().height == 4


def test_pattern_in_a_name_does_not_match_other_folders() -> None:
    for name, algorithm in (("x1", "reno"), ("x[1]", "cubic")):
        Study(link=LINK, algorithm=algorithm, duration="1 s", id="any").run(name)
    assert set(open_results("x[1]").flows()["algorithm"]) == {"cubic"}
    assert set(open_results("x[1]").sql("SELECT algorithm FROM flows")["algorithm"]) == {"cubic"}
