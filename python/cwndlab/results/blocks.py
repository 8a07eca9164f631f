"""Read blocks of rows; a block is a part of a table, in a file or in a journal (log of runs)."""

from __future__ import annotations

import io
import itertools
import json
from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from cwndlab.results.journal import read_records
from cwndlab.results.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cwndlab.results.numbering import Numbering

DONE, LOST, FAILED, SET_ASIDE = "done", "lost", "failed", "set aside"
"""Status of an attempt at a run. Only rows of done runs are valid.

The rows of a run that was disturbed and therefore repeated are set aside.
"""

_HISTORY_COLUMNS = {
    "run": pl.String,
    "status": pl.Categorical,
    "began": pl.Categorical,
    "duration_s": pl.Float64,
    "host": pl.Categorical,
    "kernel": pl.Categorical,
    "backend": pl.Categorical,
    "cwndlab": pl.Categorical,
    "behaviour_epoch": pl.Int64,
    "facts": pl.String,
}

_ENTRIES_AT_ONCE = 1 << 12
_NOT_HERE, _LOST_HERE = -1, -2  # in place of a journal's number

Entry = dict[str, Any]
"""Record of one attempt at a run: its key, status, time, computer and other facts."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the rows of a table, stored in a separate file or in a journal."""

    table: str
    path: Path
    at: int | None = None
    """Offset in bytes of the block in its journal; None if the block is a separate file."""
    length: int = 0

    def read(self) -> pl.DataFrame:
        """Return all rows of this block, including invalid rows, e.g. of unfinished runs."""
        if self.at is None:
            return read_parquet(self.path)
        with self.path.open("rb") as file:
            file.seek(self.at)
            return pl.read_parquet(io.BytesIO(file.read(self.length)))


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of rows, and the position of each run's valid rows in the blocks."""

    files: tuple[Block, ...]
    runs: pl.DataFrame
    """Each row locates consecutive valid rows of one run within one block.

    The columns are `block` (index of the block in `files`), `number` (number of the run), `start`
    (position of the first of these rows in the block), and `rows` (how many there are).
    """

    @property
    def tables(self) -> set[str]:
        """Names of the tables that have valid rows."""
        return {self.files[n].table for n in self.runs["block"].unique()}

    def of(self, table: str) -> pl.DataFrame:
        """Return the rows of the attribute `runs` that refer to blocks of one table."""
        own = [n for n, block in enumerate(self.files) if block.table == table]
        return self.runs.filter(pl.col("block").is_in(own))

    def frames(self, table: str, numbering: Numbering) -> Iterator[pl.DataFrame]:
        """Yield the valid rows of a table, block by block."""
        for (n,), own in self.of(table).group_by("block", maintain_order=True):
            keys = numbering.keys(own["number"].to_numpy())
            yield self.files[cast("int", n)].read().filter(pl.col("run").is_in(keys.implode()))

    def where(self, does_count: NDArray[np.bool_]) -> Blocks:
        """Return the blocks, but keep run number n only if `does_count[n]` is true."""
        return replace(self, runs=self.runs.filter(does_count[self.runs["number"].to_numpy()]))

    def and_then(self, more: Blocks) -> Blocks:
        """Return the blocks of this object, followed by the blocks of `more`."""
        behind = more.runs.with_columns(pl.col("block") + len(self.files))
        return Blocks(self.files + more.files, pl.concat([self.runs, behind]))


def parts_of(table: str, paths: Iterable[Path], numbering: Numbering) -> Blocks:
    """Return a table that is stored in the files `paths`, with one block for each file."""
    files = tuple(Block(table, path) for path in paths)
    rows = _RunRows()
    for n, block in enumerate(files):
        keys = read_parquet(block.path, ["run"])["run"].rle()
        lengths = keys.struct.field("len").to_list()
        rows.add(n, numbering.numbers(keys.struct.field("value").to_list()), lengths)
    return Blocks(files, rows.frame())


class _RunRows:
    """Collects the rows of the table `Blocks.runs`."""

    def __init__(self) -> None:
        self._columns = {name: array("I") for name in ("block", "number", "start", "rows")}

    def add(self, block: int, numbers: NDArray[np.uint32], lengths: Sequence[int]) -> None:
        """Add a block that contains `lengths[i]` rows of the run `numbers[i]`, for each i."""
        starts = itertools.accumulate(lengths, initial=0)
        for own in zip(itertools.repeat(block), numbers, starts, lengths, strict=False):
            for values, value in zip(self._columns.values(), own, strict=True):
                values.append(value)

    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {name: np.frombuffer(own, np.uint32) for name, own in self._columns.items()}
        )


@dataclass(frozen=True, slots=True)
class Logged:
    """Content of the journals: runs that finished after the tables were last written."""

    done: NDArray[np.bool_]
    """Array with an entry for each run: whether the journals contain valid rows of the run."""
    lost: NDArray[np.bool_]
    """Array with an entry for each run: whether its rows were lost and not computed again."""
    blocks: Blocks
    """Blocks with the valid rows of the runs for which `done` is true."""
    files: dict[str, str]
    """Maps the name of each file that belongs to a single run to the file's SHA-256."""


def read_journals(paths: Sequence[Path], numbering: Numbering) -> Logged:
    """Return the runs that the journals record as finished, with their rows.

    The rows of unfinished runs are not returned. If a run finished several times, only the rows of
    the last time are returned.
    """
    blocks: list[Block] = []
    journal_of = array("i")
    files: dict[str, str] = {}
    rows = _RunRows()
    ended = array("i")
    for journal, path in enumerate(paths):
        for record in read_records(path):
            at = record.body_at
            for table, length, runs in record.head.get("blocks", ()):
                numbers = numbering.numbers([key for key, _ in runs])
                rows.add(len(blocks), numbers, [count for _, count in runs])
                blocks.append(Block(table, path, at, length))
                journal_of.append(journal)
                at += length
            own = [e for e in record.head.get("entries", ()) if e["status"] in {DONE, LOST}]
            numbers = numbering.numbers([entry["run"] for entry in own])
            ended += array("i", [_NOT_HERE]) * (len(numbering) - len(ended))
            for number, entry in zip(numbers, own, strict=True):
                ended[number] = journal if entry["status"] == DONE else _LOST_HERE
            files.update(record.head.get("files", {}))
    state = np.full(len(numbering), _NOT_HERE, np.int32)
    state[: len(ended)] = ended
    found = rows.frame()
    of_rows = np.array(journal_of, np.int32)[found["block"].to_numpy()]
    does_count = state[found["number"].to_numpy()] == of_rows
    counting = found if does_count.all() else found.filter(does_count)
    is_done = state >= 0
    return Logged(is_done, state == _LOST_HERE, Blocks(tuple(blocks), counting), files)


def read_history(paths: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """Yield the attempts at runs that the journals record, as tables in order of time."""
    entries: list[Entry] = []
    for path in paths:
        for record in read_records(path):
            entries += record.head.get("entries", ())
            if len(entries) >= _ENTRIES_AT_ONCE:
                yield history_frame(entries)
                entries = []
    yield history_frame(entries)


def history_frame(entries: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return history entries as a table; facts without their own column are JSON in `facts`."""
    columns: dict[str, list[Any]] = {name: [] for name in _HISTORY_COLUMNS}
    for entry in entries:
        facts = {name: value for name, value in entry.items() if name not in columns}
        for name, values in columns.items():
            values.append(entry.get(name))
        columns["facts"][-1] = json.dumps(facts, ensure_ascii=False) if facts else None
    return pl.DataFrame(columns, schema=_HISTORY_COLUMNS)


def history_entries(frame: pl.DataFrame) -> list[Entry]:
    """Convert a table into history entries; this function is the inverse of `history_frame`."""
    entries = []
    for row in frame.iter_rows(named=True):
        facts = json.loads(row.pop("facts") or "{}")
        entries.append({name: value for name, value in row.items() if value is not None} | facts)
    return entries
