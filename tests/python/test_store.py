from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cwndlab.errors import NewerResultsError, ResultsError, ResultsInUseError
from cwndlab.results.store import FORMAT, Folder, Writer, read_manifest

FILES = {"flows.parquet": b"flows", "links.parquet": b"links"}


def tree(folder: Path) -> dict[str, bytes]:
    """The content of every file below `folder`."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results" / "x"


def test_a_committed_run_is_there_whole_and_noted(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.commit("k1", FILES, {"seed": 3})
        assert writer.folder.committed() == {"k1"}
    assert tree(folder / "runs") == {f"k1/{name}": content for name, content in FILES.items()}
    assert Folder.open(folder).manifest() == [{"run": "k1", "status": "done", "seed": 3}]
    assert Folder.open(folder).header["study"] == "x"


def test_a_run_that_fails_while_it_is_written_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(folder, "x") as writer:
        monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            writer.commit("k1", FILES, {})
        assert writer.folder.committed() == set()
        assert not (folder / ".aside" / "k1").exists()


def test_what_a_killed_process_left_aside_is_cleared(folder: Path) -> None:
    with Writer(folder, "x"):
        pass
    leftover = folder / ".aside" / "k1"
    leftover.mkdir(parents=True)
    (leftover / "flows.parquet").write_bytes(b"half")
    with Writer(folder, "x") as writer:
        assert not leftover.exists()
        writer.commit("k1", FILES, {})


def test_a_torn_last_line_of_the_manifest_is_cut_off_and_written_again(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.commit("k1", FILES, {})
        writer.commit("k2", FILES, {})
    manifest = folder / "manifest.jsonl"
    whole = manifest.read_bytes()
    for cut in range(whole.rindex(b"\n", 0, -1) + 1, len(whole)):
        manifest.write_bytes(whole[:cut])
        assert [line["run"] for line in Folder.open(folder).manifest()] == ["k1"]
        with Writer(folder, "x"):
            pass
        assert Folder.open(folder).manifest()[-1] == {
            "run": "k2",
            "status": "done",
            "is_recovered": True,
        }


def test_a_header_torn_by_a_kill_is_written_again(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "runs").mkdir()
    with Writer(folder, "x"):
        pass
    lines = read_manifest(folder)
    assert lines is not None
    assert lines[0]["format"] == FORMAT


def test_a_damaged_line_in_the_middle_is_named(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.commit("k1", FILES, {})
        writer.commit("k2", FILES, {})
    manifest = folder / "manifest.jsonl"
    lines = manifest.read_text().split("\n")
    manifest.write_text("\n".join([lines[0], "garbage", *lines[2:]]))
    with pytest.raises(ResultsError, match=r"manifest\.jsonl:2: not a line of a manifest"):
        Folder.open(folder)


def test_results_of_a_newer_version_are_refused_and_left_alone(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.commit("k1", FILES, {})
    manifest = folder / "manifest.jsonl"
    manifest.write_text(
        manifest.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}')
    )
    before = tree(folder)
    message = f"{folder}: written by a newer cwndlab (format {FORMAT + 1}, this one reads {FORMAT})"
    with pytest.raises(NewerResultsError) as caught:
        Folder.open(folder)
    assert str(caught.value).startswith(message)
    with pytest.raises(NewerResultsError), Writer(folder, "x"):
        pass
    assert {name: text for name, text in tree(folder).items() if name != ".lock"} == {
        name: text for name, text in before.items() if name != ".lock"
    }


def test_one_process_writes_at_a_time(folder: Path) -> None:
    with Writer(folder, "x"):
        with pytest.raises(ResultsInUseError) as caught, Writer(folder, "x"):
            pass
        assert str(caught.value) == (
            f"{folder}: another cwndlab is writing here (process {os.getpid()}); "
            "wait for it or stop it"
        )
    with Writer(folder, "x"):
        pass


def test_a_folder_with_something_else_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultsError, match=r"holds thesis\.tex, which is no result"):
        Writer(tmp_path, "x").__enter__()
    assert tree(tmp_path) == {"thesis.tex": b"years of work"}
    with pytest.raises(ResultsError, match="is a file"):
        Writer(tmp_path / "thesis.tex", "x").__enter__()


def test_a_folder_of_another_study_is_not_written_into(folder: Path) -> None:
    with Writer(folder, "x"):
        pass
    with pytest.raises(
        ResultsError, match=r"holds results of the study 'x', not of 'y'; name anot"
    ):
        Writer(folder, "y").__enter__()


def test_a_folder_without_results_says_where_some_are(tmp_path: Path) -> None:
    with Writer(tmp_path / "results" / "x", "x"):
        pass
    with pytest.raises(ResultsError, match=r"holds no results; did you mean .*results/x"):
        Folder.open(tmp_path / "results")
    with pytest.raises(ResultsError, match="there is no such folder; cwndlab run STUDY"):
        Folder.open(tmp_path / "none")


def test_a_failure_is_kept_until_the_run_succeeds(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.note_failure("k1", {"error": "boom"}, {"seed": 1})
        assert writer.folder.failed() == {"k1"}
        assert json.loads((folder / "failed" / "k1.json").read_text()) == {"error": "boom"}
        writer.commit("k1", FILES, {"seed": 1})
        assert writer.folder.failed() == set()
    assert [line["status"] for line in Folder.open(folder).manifest()] == ["failed", "done"]


def test_a_file_is_replaced_whole_and_an_equal_one_left_alone(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.replace("study.toml", b"one")
        before = (folder / "study.toml").stat().st_ino
        writer.replace("study.toml", b"one")
        assert (folder / "study.toml").stat().st_ino == before
        writer.replace("study.toml", b"two")
        assert (folder / "study.toml").read_bytes() == b"two"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ResultsError, match="permission denied"):
        Writer(tmp_path / "x", "x").__enter__()
