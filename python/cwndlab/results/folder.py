"""Read a folder of results; the module `results.writer` describes the content of the folder."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.errors import DamagedResultsError, ResultsError
from cwndlab.results.blocks import (
    DONE,
    FAILED,
    LOST,
    Blocks,
    Entry,
    Logged,
    history_entries,
    history_frame,
    parts_of,
    read_history,
    read_journals,
)
from cwndlab.results.manifest import (
    MANIFEST,
    Manifest,
    damaged_files,
    file_digest,
    located,
    read_manifest,
)
from cwndlab.results.numbering import Numbering
from cwndlab.results.tables import read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

HISTORY = "history.parquet"
MATRIX = "matrix.parquet"
IMPORT_FILE = "import.toml"
"""Name of the file that states the origin of imported results."""

JOURNALS = "journal"
FILES = "files"
UNUSED = "unused"
RUNS = "runs"
"""Name of the table with one row for each run, computed from the tables of flows and links."""
NO_TABLES = frozenset({FILES, JOURNALS, UNUSED, "set-aside"})
"""Names of subfolders that do not represent a table. In contrast, the subfolder `flows` represents
the table `flows`: each file in it is a part of this table."""


class Folder:
    """A results folder with the files that its manifest listed when the folder was opened."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Open a folder whose manifest the caller has already read."""
        self.path = path
        self.study = manifest.study
        self.manifest = manifest

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Open a folder; check that this version can read it and that no file is damaged.

        Raises:
            ResultsError: the folder does not exist, or contains no results.
            DamagedResultsError: a file is missing or has changed.
            NewerResultsError: a later version of cwndlab has written the folder.
        """
        manifest = read_manifest(path)
        if manifest is None:
            near = _results_within(path)
            hint = f"; did you mean {near}?" if near else "; `cwndlab run STUDY` creates results"
            if path.is_dir():
                what = "contains no results"
            else:
                what = "is not a folder" if path.exists() else "there is no such folder"
            msg = f"{path}: {what}{hint}"
            raise ResultsError(msg)
        folder = cls(path, manifest)
        if damaged := folder.damaged():
            raise DamagedResultsError(path, damaged)
        return folder

    def damaged(self) -> list[str]:
        """Return the names of files that are missing or have changed since they were written."""
        return damaged_files(self.path, self.digests.items())

    @property
    def digests(self) -> dict[str, str]:
        """Maps the name of each file in the manifest or a journal to the file's SHA-256."""
        return self.manifest.files | self.logged.files

    @property
    def journals(self) -> list[Path]:
        """Journals whose rows are not in the tables yet; the oldest journal comes first."""
        return journals_of(self.path, self.manifest.first_journal)

    def file(self, name: str) -> Path | None:
        """Return the path of a file in the folder; None if the file does not exist."""
        path = located(self.path, name)
        return path if path.exists() else None

    def _pieces(self, name: str, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table that is stored in one file, a few thousand rows at a time."""
        for _ in range(2):  # the file may just have been moved to its final place
            with contextlib.suppress(FileNotFoundError):
                yield from read_pieces(located(self.path, name), columns)
                return

    def _is_damaged(self, name: str) -> bool:
        return file_digest(located(self.path, name)) != self.manifest.files.get(name)

    def names(self, below: str) -> list[str]:
        """Return the names of all files in the subfolder `below`, in alphabetical order."""
        return sorted(name for name in self.digests if name.startswith(f"{below}/"))

    def parts(self, table: str) -> list[Path]:
        """Return the files of a table, in the order of the table's rows."""
        parts = (name for name in self.names(table) if name.endswith(".parquet"))
        return [located(self.path, name) for name in parts]

    def label_columns(self, table: str) -> Sequence[str]:
        """Return the columns that a table copies from the table `matrix`, the list of runs."""
        return self.manifest.labels.get(table, ())

    def blocks(self) -> Blocks:
        """Return all stored rows as blocks.

        Some rows may belong to unfinished runs: other rows of these runs were lost.
        """
        logged, numbering = self.logged, self.numbering
        parts = parts_of("", [], numbering)
        for folder, table in self._table_folders():
            parts = parts.and_then(parts_of(table, self.parts(folder), numbering))
        elsewhere = np.ones(len(numbering), np.bool_)
        elsewhere[: len(logged.done)] = ~logged.done
        return parts.where(elsewhere).and_then(logged.blocks)

    def tables(self) -> list[str]:
        """Return the names of the tables that have files; tables only in journals are omitted."""
        return sorted({name.split("/")[0] for name in self.manifest.files if is_part(name)})

    def _table_folders(self) -> list[tuple[str, str]]:
        """Return the subfolder and name of each table except the table `runs`.

        The tables in the subfolder `unused` are included.
        """
        unused = {name.split("/")[1] for name in self.names(UNUSED)}
        own = [(table, table) for table in self.tables() if table != RUNS]
        return own + [(f"{UNUSED}/{table}", table) for table in sorted(unused)]

    @cached_property
    def numbering(self) -> Numbering:
        """Numbers of the runs: positions in the table `matrix`; runs that it lacks come last."""
        if self._is_damaged(MATRIX):
            return Numbering([])
        numbering = Numbering(frame["run"] for frame in self._pieces(MATRIX, ["run"]))
        return Numbering([]) if self._is_damaged(MATRIX) else numbering  # replaced meanwhile

    @cached_property
    def logged(self) -> Logged:
        """Results of runs that finished after the tables were last written; read from journals."""
        return read_journals(self.journals, self.numbering)

    @cached_property
    def history(self) -> list[Entry]:
        """Records of all attempts to execute runs, in order of time."""
        return history_entries(self.history_table())

    def history_table(self) -> pl.DataFrame:
        """Return the records of all attempts to execute runs, as a table."""
        return pl.concat(self.history_pieces())

    def history_pieces(self) -> Iterator[pl.DataFrame]:
        """Yield the records of all attempts to execute runs, in pieces that fit into memory."""
        yield history_frame([])
        for frame in self._pieces(HISTORY):
            yield frame.cast(history_frame([]).schema)
        yield from read_history(self.journals)

    def committed(self) -> pl.Series:
        """Return the keys of the finished runs."""
        return self.numbering.keys(np.flatnonzero(self.is_done()))

    def is_done(self) -> NDArray[np.bool_]:
        """Return an array that states, for each run number, whether the run is finished."""
        logged = self.logged
        done = np.zeros(len(self.numbering), np.bool_)
        for tried in self._pieces(HISTORY, ["run", "status"]):
            ends = tried.filter(pl.col("status").cast(pl.String).is_in([DONE, LOST]))
            numbers = self.numbering.numbers(ends["run"].to_list())
            done = np.append(done, np.zeros(len(self.numbering) - len(done), np.bool_))
            done[numbers] = (ends["status"] == DONE).to_numpy()
        done[: len(logged.done)] |= logged.done
        done[: len(logged.lost)] &= ~logged.lost
        return done

    def failed(self) -> set[str]:
        """Return the keys of runs whose last attempt failed."""
        last = {entry["run"]: entry["status"] for entry in self.history}
        return {key for key, status in last.items() if status == FAILED}


def is_part(name: str) -> bool:
    """Return whether a file is a numbered part of a table, such as `flows/00003.parquet`.

    Return False for a file such as `networks/history.parquet`. This file is not a part of a table
    of these results: it belongs to separate results, which the subfolder `networks` contains.
    """
    table, _, part = name.partition("/")
    stem, _, ending = part.partition(".")
    return table not in NO_TABLES and stem.isdigit() and ending == "parquet"


def journals_of(path: Path, first: int) -> list[Path]:
    """Return those journals in a folder that have the number `first` or a higher one, in order."""
    try:
        found = sorted((path / JOURNALS).glob("*.log"))
    except FileNotFoundError:  # another process removed the folder or a file
        return []
    return [file for file in found if int(file.stem) >= first]


def _results_within(path: Path) -> Path | None:
    """Return a direct subfolder of `path` that contains results, or None."""
    try:
        return next(
            (child for child in sorted(path.iterdir()) if (child / MANIFEST).exists()), None
        )
    except OSError:
        return None


def no_result(folder: Path) -> ResultsError:
    """Return the error that no run has a result; its message says where the reasons are."""
    failed = folder / "failed"
    reasons = f"; {failed} contains the reasons" if failed.is_dir() else ""
    return ResultsError(f"{folder}: no run has a result{reasons}")
