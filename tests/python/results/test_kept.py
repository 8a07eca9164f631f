"""A results folder preserves its input: presets, files and defaults may change afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.running import run_study
from cwndlab.errors import StudyError
from cwndlab.packing import pack
from cwndlab.report import origin_of
from cwndlab.resolve import presets
from cwndlab.run.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.study.definition import StudyDefinition

SLOW = 'rate = "10 Mbit/s"\ndelay = "20 ms"\n'
FAST = 'rate = "50 Mbit/s"\ndelay = "20 ms"\n'


def results_on(link: str | list[str], folder: Path) -> cw.Results:
    study = cw.Study(link=link, algorithm="reno", duration="2 s", id="mine")
    return run_study(study, folder, report=lambda *_: Silent())


def rates(study: StudyDefinition) -> list[object]:
    paths = [cell.resolved.scenario.model_dump()["path"] for cell in study.cells]
    return [path["forward"][0]["rate"]["bits_per_sec"] for path in paths]


def test_a_preset_that_changes_afterwards_changes_nothing_of_what_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = tmp_path / "mine.toml"
    preset.write_text(SLOW)
    monkeypatch.setattr(presets, "presets", lambda: {"mine": preset})
    before = results_on("mine", tmp_path / "results")
    keys = before.runs()["run"].to_list()
    path = origin_of(before).set_ups[0].path
    preset.write_text(FAST)
    assert rates(cw.Study(link="mine", algorithm="reno")) == [50_000_000]
    after = cw.open_results(tmp_path / "results")
    assert rates(after.study) == [10_000_000]
    assert origin_of(after).set_ups[0].path == path
    assert pack(after, tmp_path / "p.zip").exists()
    again = run_study(
        cw.Study.load(tmp_path / "results" / "study.toml"),
        tmp_path / "results",
        report=lambda *_: Silent(),
    )
    assert again.runs()["run"].to_list() == keys
    assert len(again.history) == len(keys), "nothing was run again"
    assert (tmp_path / "results" / "presets" / "mine.toml").read_text() == SLOW


def test_a_link_file_is_kept_wherever_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "near.toml").write_text(SLOW)
    (tmp_path / "far.toml").write_text(FAST)
    results = results_on(["near.toml", str(tmp_path / "far.toml")], tmp_path / "results")
    assert rates(results.study) == [10_000_000, 50_000_000]
    (tmp_path / "work" / "near.toml").unlink()
    (tmp_path / "far.toml").unlink()
    assert rates(cw.open_results(tmp_path / "results").study) == [10_000_000, 50_000_000]
    kept = [path.read_text() for path in (tmp_path / "results").rglob("*.toml")]
    assert SLOW in kept
    assert FAST in kept


def test_damaged_scenarios_are_named_with_a_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    results_on("rate=10 Mbit/s,delay=20 ms", folder)
    file = folder / "study.toml"
    keys = [run.key for run in cw.Study.load(file).matrix.runs]
    scenarios = folder / "scenarios.parquet"
    whole = scenarios.read_bytes()
    flipped = bytearray(whole)
    flipped[len(flipped) // 3] ^= 1  # inside the text of the scenario
    for content in (b"", b"no table", whole[:-100], bytes(flipped)):
        scenarios.write_bytes(content)
        with pytest.raises(StudyError, match=r"scenarios\.parquet: the file is damaged; delete it"):
            cw.Study.load(file)
    scenarios.unlink()
    again = cw.Study.load(file)
    assert [run.key for run in again.matrix.runs] == keys
    run_study(again, folder, report=lambda *_: Silent())
    assert cw.open_results(folder).is_complete
    assert scenarios.read_bytes() == whole
