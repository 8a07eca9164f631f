"""A folder of results, to be read. `Writer` says what is in it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import DamagedResultsError, ResultsError
from cwndlab.results.blocks import (
    DONE,
    LOST,
    Block,
    Entry,
    Logged,
    history_entries,
    part_block,
    read_journals,
)
from cwndlab.results.manifest import MANIFEST, Manifest, damaged_files, located, read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HISTORY = "history.parquet"
MATRIX = "matrix.parquet"
IMPORT_FILE = "import.toml"
"""Stands instead of a study where results were measured elsewhere."""

JOURNALS = "journal"
FILES = "files"
UNUSED = "unused"
RUNS = "runs"
"""The table that is computed from flows and links: one row a run."""
NO_TABLES = frozenset({FILES, JOURNALS, UNUSED, "set-aside"})
"""Folders that hold no parts of tables."""


class Folder:
    """A folder of results as it was when it was opened."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Use `manifest`, which the caller has read there."""
        self.path = path
        self.study = manifest.study
        self.manifest = manifest

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Check that `path` holds results that this version can read, and that none is damaged.

        Raises:
            ResultsError: it does not exist, or holds something else.
            DamagedResultsError: a file is missing or holds something else than was written.
            NewerResultsError: a later version has written it.
        """
        manifest = read_manifest(path)
        if manifest is None:
            near = _results_within(path)
            hint = f"; did you mean {near}?" if near else "; cwndlab run STUDY makes some"
            what = "holds no results" if path.is_dir() else "there is no such folder"
            msg = f"{path}: {what}{hint}"
            raise ResultsError(msg)
        folder = cls(path, manifest)
        if damaged := folder.damaged():
            raise DamagedResultsError(path, damaged)
        return folder

    def damaged(self) -> list[str]:
        """Names of the files that are missing or hold something else than was written."""
        return damaged_files(self.path, self.digests.items())

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the folder's files, by name."""
        return self.manifest.files | self.logged.files

    @property
    def journals(self) -> list[Path]:
        """The journals that are not in the tables yet, the oldest first."""
        return journals_of(self.path, self.manifest.first_journal)

    def file(self, name: str) -> Path | None:
        """A file of the folder; None if there is none of this name."""
        path = located(self.path, name)
        return path if path.exists() else None

    def names(self, below: str) -> list[str]:
        """The names of the folder's files below one of its folders, sorted."""
        return sorted(name for name in self.digests if name.startswith(f"{below}/"))

    def parts(self, table: str) -> list[Path]:
        """The files of a table, in the order of their rows."""
        parts = (name for name in self.names(table) if name.endswith(".parquet"))
        return [located(self.path, name) for name in parts]

    def label_columns(self, table: str) -> Sequence[str]:
        """The columns of a table's files that are copied from the matrix."""
        return self.manifest.labels.get(table, ())

    def blocks(self) -> list[Block]:
        """Where the rows of the finished runs are."""
        done = self.logged.done
        parts = [
            part_block(table, path)
            for folder, table in self._table_folders()
            for path in self.parts(folder)
        ]
        if done:
            parts = [part.only(part.keys - done) for part in parts]
        return parts + self.logged.blocks

    def tables(self) -> list[str]:
        """Names of the tables that have files."""
        return sorted({name.split("/")[0] for name in self.manifest.files if is_part(name)})

    def _table_folders(self) -> list[tuple[str, str]]:
        """Where rows are, and of which table; those of runs that the study has no more included."""
        unused = {name.split("/")[1] for name in self.names(UNUSED)}
        own = [(table, table) for table in self.tables() if table != RUNS]
        return own + [(f"{UNUSED}/{table}", table) for table in sorted(unused)]

    @cached_property
    def logged(self) -> Logged:
        """What was done since the tables were last written."""
        return read_journals(self.journals)

    @cached_property
    def history(self) -> list[Entry]:
        """What is known of each run that was tried, in the order of time."""
        path = self.file(HISTORY)
        earlier = history_entries(pl.read_parquet(path, memory_map=False)) if path else []
        return earlier + self.logged.entries

    def committed(self) -> set[str]:
        """Keys of the runs that are finished."""
        path = self.file(HISTORY)
        status: dict[str, str] = {}
        if path is not None:
            history = pl.read_parquet(path, columns=["run", "status"], memory_map=False)
            status = dict(history.filter(pl.col("status").is_in([DONE, LOST])).iter_rows())
        for entry in self.logged.entries:
            if entry["status"] in {DONE, LOST}:
                status[entry["run"]] = entry["status"]
        return {key for key, last in status.items() if last == DONE}

    def failed(self) -> set[str]:
        """Keys of the runs that failed when they were last tried."""
        last = {entry["run"]: entry["status"] for entry in self.history}
        return {key for key, status in last.items() if status == "failed"}


def is_part(name: str) -> bool:
    """Whether a file of a folder is a part of a table: `flows/00003.parquet`.

    Other results may lie below these ("networks/history.parquet" of an answer); they are not ours.
    """
    table, _, part = name.partition("/")
    stem, _, ending = part.partition(".")
    return table not in NO_TABLES and stem.isdigit() and ending == "parquet"


def journals_of(path: Path, first: int) -> list[Path]:
    """The journals of a folder from number `first` on, the oldest first."""
    return sorted(file for file in (path / JOURNALS).glob("*.log") if int(file.stem) >= first)


def _results_within(path: Path) -> Path | None:
    """A folder below `path` that holds results."""
    try:
        return next(
            (child for child in sorted(path.iterdir()) if (child / MANIFEST).exists()), None
        )
    except OSError:
        return None
