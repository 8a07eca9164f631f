"""Blocks: rows of one table, run after run, in a file of their own or within a journal."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.results.journal import read_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

DONE, LOST = "done", "lost"
"""The status of a run that is finished, and of one whose rows were damaged after that; others are
`failed` and `set aside`."""

_HISTORY_COLUMNS = {
    "run": pl.String,
    "status": pl.String,
    "began": pl.String,
    "duration_s": pl.Float64,
    "host": pl.String,
    "kernel": pl.String,
    "backend": pl.String,
    "cwndlab": pl.String,
    "behaviour_epoch": pl.Int64,
    "facts": pl.String,
}

Entry = dict[str, Any]
"""What is known of the making of a run: its key, status, time, host and what else there is."""


@dataclass(frozen=True, slots=True)
class Block:
    """Where some rows of a table are, and whose they are."""

    table: str
    path: Path
    runs: tuple[tuple[str, int], ...]
    """Keys of runs, each with its number of rows, in the order of the rows; rows of `""` do not
    count."""
    at: int | None = None
    """Where it begins in a journal; None if it is a file of its own."""
    length: int = 0

    @property
    def keys(self) -> set[str]:
        """The runs whose rows count."""
        return {key for key, _ in self.runs if key}

    def only(self, keys: Collection[str]) -> Block:
        """The same block, of which only the rows of these runs count."""
        runs = tuple((key if key in keys else "", rows) for key, rows in self.runs)
        return replace(self, runs=runs)

    def content(self) -> bytes:
        """The block as Parquet."""
        if self.at is None:
            return self.path.read_bytes()
        with self.path.open("rb") as file:
            file.seek(self.at)
            return file.read(self.length)

    def read(self) -> pl.DataFrame:
        """All rows of the block, those that do not count included."""
        return pl.read_parquet(io.BytesIO(self.content()))


def part_block(table: str, path: Path) -> Block:
    """The block that is the file `path`, a part of a table."""
    keys = pl.read_parquet(path, columns=["run"], memory_map=False)["run"].rle()
    runs = zip(keys.struct.field("value"), keys.struct.field("len"), strict=True)
    return Block(table, path, tuple(runs))


@dataclass(slots=True)
class Logged:
    """The content of journals: work since the tables were last written."""

    entries: list[Entry] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the files of single runs, by name."""
    done: set[str] = field(default_factory=set)
    """Runs whose rows are here, and nowhere else that counts."""


def read_journals(paths: Iterable[Path]) -> Logged:
    """The runs that journals say are finished, with their rows, and what was tried beside them.

    Rows of a run that was never finished do not count, and of one that was made again the last.
    """
    logged = Logged()
    journal_of: dict[str, Path] = {}
    for path in paths:
        for record in read_records(path):
            at = record.body_at
            for table, length, runs in record.head.get("blocks", ()):
                logged.blocks.append(Block(table, path, tuple(map(tuple, runs)), at, length))
                at += length
            for entry in record.head.get("entries", ()):
                logged.entries.append(entry)
                if entry["status"] == DONE:
                    journal_of[entry["run"]] = path
                elif entry["status"] == LOST:
                    journal_of.pop(entry["run"], None)
            logged.files.update(record.head.get("files", {}))
    logged.done = set(journal_of)
    counting = (
        block.only({key for key, _ in block.runs if journal_of.get(key) == block.path})
        for block in logged.blocks
    )
    logged.blocks = [block for block in counting if block.keys]
    return logged


def history_frame(entries: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Entries as a table; what has no column of its own is JSON in `facts`."""
    columns: dict[str, list[Any]] = {name: [] for name in _HISTORY_COLUMNS}
    for entry in entries:
        facts = {name: value for name, value in entry.items() if name not in columns}
        for name, values in columns.items():
            values.append(entry.get(name))
        columns["facts"][-1] = json.dumps(facts, ensure_ascii=False) if facts else None
    return pl.DataFrame(columns, schema=_HISTORY_COLUMNS)


def history_entries(frame: pl.DataFrame) -> list[Entry]:
    """The entries of a table that `history_frame` made."""
    entries = []
    for row in frame.iter_rows(named=True):
        facts = json.loads(row.pop("facts") or "{}")
        entries.append({name: value for name, value in row.items() if value is not None} | facts)
    return entries
