"""Any damage to a results folder is detected, named, and repaired by running the study again."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.running import run_study
from cwndlab.cli import app
from cwndlab.errors import DamagedResultsError, ResultsError
from cwndlab.results.manifest import COPY, MANIFEST
from cwndlab.run.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path

CORRUPTIONS = 1000


def study() -> cw.Study:
    return cw.Study(
        link="rate=10 Mbit/s,delay=20 ms,loss=1 %",
        algorithm=["reno", "cubic"],
        duration="2 s",
        repetitions=3,
        record={"pcap": True},
        id="mine",
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the results of a finished study."""
    folder = tmp_path_factory.mktemp("whole") / "mine"
    run_study(study(), folder, report=lambda *_: Silent())
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """Return all compared files: those that do not contain times and machines of runs."""
    changing = {MANIFEST, COPY, "history.parquet", ".lock"}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in changing
    }


def corrupt(folder: Path, draw: random.Random) -> set[str]:
    """Damage a file in one of four ways; return the names of files with changed content."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    path = draw.choice(paths)
    content = path.read_bytes()
    names = {path.relative_to(folder).as_posix()}
    match draw.choice(["flip", "truncate", "delete", "swap"]):
        case "flip":
            at = draw.randrange(len(content))
            flipped = bytes([content[at] ^ 1 << draw.randrange(8)])
            path.write_bytes(content[:at] + flipped + content[at + 1 :])
        case "truncate":
            path.write_bytes(content[: draw.randrange(len(content))])
        case "delete":
            path.unlink()
        case _:
            other = draw.choice([each for each in paths if each.read_bytes() != content])
            path.write_bytes(other.read_bytes())
            other.write_bytes(content)
            names.add(other.relative_to(folder).as_posix())
    return names


@pytest.mark.long
def test_each_of_a_thousand_random_corruptions_is_found_and_named(
    whole: Path, tmp_path: Path
) -> None:
    cw.open_results(whole)
    draw = random.Random(13)  # noqa: S311  no secret
    folder = tmp_path / "mine"
    for number in range(CORRUPTIONS):
        shutil.copytree(whole, folder)
        names = corrupt(folder, draw)
        with pytest.raises(ResultsError) as caught:
            cw.open_results(folder)
        assert any(name in str(caught.value) for name in names), (number, names, caught.value)
        shutil.rmtree(folder)


def test_running_the_study_again_mends_what_was_damaged(whole: Path, tmp_path: Path) -> None:
    before = files(whole)
    draw = random.Random(14)  # noqa: S311  no secret
    for number in range(12):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        names = corrupt(folder, draw)
        results = run_study(study(), folder, report=lambda *_: Silent())
        assert results.is_complete, names
        assert files(folder) == before, names
        assert cw.open_results(folder).runs().equals(cw.open_results(whole).runs())


def test_commands_name_the_damaged_file_and_end_with_status_2(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(whole, folder)
    (folder / "flows" / "00000.parquet").write_bytes(b"")
    for arguments in (["report", str(folder)], ["pack", str(folder)]):
        with pytest.raises(DamagedResultsError, match=r"flows/00000\.parquet") as caught:
            app(arguments, standalone_mode=False)
        assert caught.value.exit_status == 2
    assert not list(tmp_path.glob("*.zip"))
    capsys.readouterr()


def test_both_copies_of_the_manifest_damaged_leave_nothing_to_trust(
    whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(whole, folder)
    for name in (MANIFEST, COPY):
        (folder / name).write_text("{}")
    with pytest.raises(ResultsError, match=r"manifest\.json.*choose another folder"):
        run_study(study(), folder, report=lambda *_: Silent())
    assert set(files(folder)) == set(files(whole))
