"""The folder of results: committed runs are complete, regardless of interruptions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from cwndlab.errors import DamagedResultsError, NewerResultsError, ResultsError, ResultsInUseError
from cwndlab.results.folder import Folder
from cwndlab.results.manifest import FORMAT
from cwndlab.results.tables import to_parquet
from cwndlab.results.writer import Writer

KEYS = [f"{n:032x}" for n in range(12)]


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below `folder`, except the lock."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def rows(keys: list[str], table: str = "samples") -> tuple[bytes, list[tuple[str, int]]]:
    """Return two rows per run, whose values identify the run."""
    twice = [key for key in keys for _ in range(2)]
    own = [f"{table} of {key}" for key in twice]
    return to_parquet(pl.DataFrame({"run": twice, "text": own})), [(key, 2) for key in keys]


def matrix(keys: list[str]) -> bytes:
    count = len(keys)
    columns = {"run": keys, "cell": [0] * count, "algorithm": ["reno"] * count}
    return to_parquet(pl.DataFrame({**columns, "repetition": range(count), "seed": range(count)}))


def commit(writer: Writer, *keys: str) -> None:
    done = [{"run": key, "status": "done", "host": "here"} for key in keys]
    writer.commit_all(done, {"samples": rows(list(keys)), "acks": rows(list(keys), "acks")})


def samples(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "samples" / "*.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results" / "x"


def test_results_below_other_results_stay_whole(folder: Path) -> None:
    below = folder / "networks"
    for path, name in ((folder, "x"), (below, "x-networks"), (folder, "x")):
        with Writer(path, name) as writer:
            writer.replace({"matrix.parquet": matrix(KEYS[:2])})
            commit(writer, KEYS[len(writer.committed())])
            writer.finish()
    assert Folder.open(below).damaged() == []
    assert Folder.open(folder).damaged() == []


def test_a_committed_run_outlives_a_process_that_writes_no_tables(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        commit(writer, *KEYS[:2])
        assert set(Folder.open(folder).committed()) == set(KEYS[:2])
    assert set(Folder.open(folder).committed()) == set(KEYS[:2])
    assert [entry["host"] for entry in Folder.open(folder).history] == ["here"] * 2


def test_tables_are_in_the_order_of_the_matrix_whatever_that_of_the_commits(
    tmp_path: Path,
) -> None:
    orders = [[KEYS[:5], KEYS[5:]], [KEYS[5:], KEYS[:5]], [[key] for key in reversed(KEYS)]]
    trees = []
    for n, order in enumerate(orders):
        folder = tmp_path / str(n)
        for some in order:
            with Writer(folder, "x") as writer:
                writer.replace({"matrix.parquet": matrix(KEYS)})
                commit(writer, *some)
                if n != 1:
                    writer.finish()
        with Writer(folder, "x") as writer:
            writer.finish()
        assert samples(folder)["run"].to_list() == [key for key in KEYS for _ in range(2)]
        assert samples(folder).columns == ["run", "algorithm", "repetition", "seed", "text"]
        written = tree(folder)
        trees.append({name: own for name, own in written.items() if name.endswith("0.parquet")})
        assert not any(name.startswith("journal/") for name in written)
    assert trees[0] == trees[1] == trees[2]


def test_rows_of_a_run_that_was_never_finished_do_not_count(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.replace({"matrix.parquet": matrix(KEYS[:3])})
        writer.commit_part(KEYS[0], {"samples": rows(KEYS[:1])}, {"capture.pcap": b"half"})
        writer.commit_part(KEYS[1], {"samples": rows(KEYS[1:2])}, {"capture.pcap": b"first "})
        writer.commit_part(KEYS[1], {"samples": rows(KEYS[1:2])}, {"capture.pcap": b"then "})
        done = [{"run": KEYS[1], "status": "done"}]
        files = {f"{KEYS[1]}/capture.pcap": b"last"}
        writer.commit_all(done, {"samples": rows(KEYS[1:2])}, files)
        writer.finish()
    assert samples(folder)["run"].to_list() == [KEYS[1]] * 6
    assert (folder / "files" / KEYS[1] / "capture.pcap").read_bytes() == b"first then last"
    assert not (folder / "files" / KEYS[0] / "capture.pcap").exists()
    # The same run again from its beginning, in another session.
    with Writer(folder, "x") as writer:
        writer.commit_part(KEYS[0], {"samples": rows(KEYS[:1])}, {})
        commit(writer, KEYS[0])
        writer.finish()
    assert samples(folder)["run"].to_list() == [KEYS[0]] * 4 + [KEYS[1]] * 6


def test_a_torn_record_counts_as_never_written(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.replace({"matrix.parquet": matrix(KEYS)})
        commit(writer, KEYS[0])
        (journal,) = (folder / "journal").iterdir()
        whole = journal.stat().st_size
        commit(writer, KEYS[1])
        content = journal.read_bytes()
        manifest = {
            name: (folder / name).read_bytes() for name in ("manifest.json", ".manifest.json")
        }
    # As a process leaves the journal if it is killed while it writes.
    for cut in range(whole, len(content), 7):
        journal.write_bytes(content[:cut])
        for name, own in manifest.items():
            (folder / name).write_bytes(own)
        assert set(Folder.open(folder).committed()) == {KEYS[0]}
    with Writer(folder, "x") as writer:
        commit(writer, KEYS[1])
        writer.finish()
    assert samples(folder)["run"].to_list() == [KEYS[0]] * 2 + [KEYS[1]] * 2


def test_results_of_a_newer_version_are_refused_and_left_alone(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        commit(writer, KEYS[0])
    for name in ("manifest.json", ".manifest.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))
    before = tree(folder)
    message = (
        f"{folder}: written by a newer version of cwndlab (manifest.json has format {FORMAT + 1}; "
        f"this version reads format {FORMAT})"
    )
    with pytest.raises(NewerResultsError) as caught:
        Folder.open(folder)
    assert str(caught.value).startswith(message)
    with pytest.raises(NewerResultsError), Writer(folder, "x"):
        pass
    assert tree(folder) == before


def test_results_of_the_first_format_are_refused_with_what_to_do(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "manifest.jsonl").write_text('{"format": 1, "study": "x"}\n')
    for use in (Folder.open, lambda path: Writer(path, "x").__enter__()):
        with pytest.raises(ResultsError, match=r"older version of cwndlab \(format 1.*--results"):
            use(folder)


def test_one_process_writes_at_a_time(folder: Path) -> None:
    with Writer(folder, "x"):
        with pytest.raises(ResultsInUseError) as caught, Writer(folder, "x"):
            pass
        assert str(caught.value) == (
            f"{folder}: another cwndlab process is writing to this folder (process {os.getpid()}); "
            "wait until it ends, or stop it"
        )
    with Writer(folder, "x"):
        pass


def test_a_folder_with_something_else_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultsError, match=r"contains thesis\.tex, which is not a file of results"):
        Writer(tmp_path, "x").__enter__()
    assert tree(tmp_path) == {"thesis.tex": b"years of work"}
    with pytest.raises(ResultsError, match="is a file"):
        Writer(tmp_path / "thesis.tex", "x").__enter__()


def test_a_folder_of_another_study_is_not_written_into(folder: Path) -> None:
    with Writer(folder, "x"):
        pass
    with pytest.raises(
        ResultsError, match=r"contains results of the study 'x', not of 'y'; name anot"
    ):
        Writer(folder, "y").__enter__()


def test_a_folder_without_results_says_where_some_are(tmp_path: Path) -> None:
    with Writer(tmp_path / "results" / "x", "x"):
        pass
    with pytest.raises(ResultsError, match=r"contains no results; did you mean .*results/x"):
        Folder.open(tmp_path / "results")
    with pytest.raises(ResultsError, match="there is no such folder; `cwndlab run STUDY`"):
        Folder.open(tmp_path / "none")


def test_a_failure_is_kept_until_the_run_succeeds(folder: Path) -> None:
    key = "f" * 32
    with Writer(folder, "x") as writer:
        writer.replace({"matrix.parquet": matrix(KEYS)})
        writer.note_failure(key, {"error": "boom"}, {"seed": 1})
        assert Folder.open(folder).failed() == {key}
        assert json.loads((folder / "failed" / f"{key}.json").read_text()) == {"error": "boom"}
        commit(writer, key)
        assert Folder.open(folder).failed() == set()
        writer.finish()
    assert [line["status"] for line in Folder.open(folder).history] == ["failed", "done"]
    assert not list((folder / "failed").iterdir())


def test_files_are_replaced_together_and_equal_ones_left_alone(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.replace({"study.toml": b"one", "traces/a": b"a"})
        before = (folder / "study.toml").stat().st_ino
        writer.replace({"study.toml": b"one", "traces/a": b"b"})
        assert (folder / "study.toml").stat().st_ino == before
        assert (folder / "traces" / "a").read_bytes() == b"b"


def test_a_change_that_was_decided_is_seen_whole_and_carried_out_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(folder, "x") as writer:
        writer.replace({"study.toml": b"one", "traces/a": b"a"})
        moves = 0
        replace = Path.replace

        def killed(self: Path, target: Path) -> Path:
            nonlocal moves
            moves += 1
            if moves == 2:
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            writer.replace({"study.toml": b"two", "traces/a": b"b"})
        monkeypatch.undo()
        seen = Folder.open(folder)
        paths = [seen.file("study.toml"), seen.file("traces/a")]
        assert [path and path.read_bytes() for path in paths] == [b"two", b"b"]
    with Writer(folder, "x"):
        pass
    assert (folder / "study.toml").read_bytes() == b"two"
    assert (folder / "traces" / "a").read_bytes() == b"b"
    assert not (folder / ".commit").exists()


def test_a_damaged_file_is_named_and_its_runs_are_made_again(folder: Path) -> None:
    with Writer(folder, "x") as writer:
        writer.replace({"matrix.parquet": matrix(KEYS)})
        commit(writer, *KEYS)
        writer.finish()
    before = tree(folder)
    part = folder / "samples" / "00000.parquet"
    part.write_bytes(before["samples/00000.parquet"][:-1])
    with pytest.raises(DamagedResultsError, match=r"samples/00000\.parquet: the file is damaged"):
        Folder.open(folder)
    with Writer(folder, "x") as writer:
        assert writer.damaged == ["samples/00000.parquet"]
        assert writer.committed().is_empty()
        commit(writer, *KEYS)
        writer.finish()
    names = [name for name in before if name.endswith("0.parquet")]
    assert {name: tree(folder)[name] for name in names} == {name: before[name] for name in names}
    assert samples(folder).height == 2 * len(KEYS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ResultsError, match="permission denied"):
        Writer(tmp_path / "x", "x").__enter__()
