"""Write the tables of a study; each table contains the rows of all finished runs in order.

The same runs always result in files with the same bytes: the bytes depend neither on the order in
which the runs finish nor on the number of machines and sessions. Rows are read and written in
pieces, so that memory use does not grow with the size of the study.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.results.folder import RUNS, UNUSED
from cwndlab.results.metrics import run_metrics
from cwndlab.results.tables import scan_parquet, to_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cwndlab.results.blocks import Blocks

PART_VALUES = 1 << 19
"""Approximate number of values in one file of a table; a file with this number of values has a size
of some megabytes."""

_RUNS_AT_ONCE = 1 << 12
_NOWHERE = -1

Write = Callable[[str, bytes], None]
"""Function that writes a file, given the name and the content of the file."""


class Rows:
    """Rows of one table, collected from all blocks in the order of the runs."""

    def __init__(self, table: str, order: NDArray[np.integer], blocks: Blocks) -> None:
        """Find the rows of the runs whose numbers are listed in `order`."""
        self._blocks = blocks.files
        self._read: OrderedDict[int, pl.DataFrame] = OrderedDict()
        self._values = 0
        self._slices = blocks.runs
        numbers = self._slices["number"].to_numpy()
        most = max(order.max(initial=0), numbers.max(initial=0))
        places = np.full(most + 1, _NOWHERE, np.int32)
        places[order] = np.arange(order.size, dtype=np.int32)
        self._places = places[numbers]
        is_own = np.array([block.table == table for block in blocks.files], np.bool_)
        self._places[~is_own[self._slices["block"].to_numpy()]] = _NOWHERE

    def between(self, first: int, last: int) -> Iterator[pl.DataFrame]:
        """Yield the rows of the runs `order[first:last]`, in pieces that fit into memory."""
        at = np.flatnonzero((self._places >= first) & (self._places < last))
        found = self._slices[at].with_columns(order=self._places[at])
        wanted = found.sort("order", "block", "start")
        is_new = (pl.col("block") != pl.col("block").shift()) | (
            pl.col("start") != (pl.col("start") + pl.col("rows")).shift()
        )
        piece = is_new.fill_null(value=True).cum_sum().alias("piece")
        pieces = wanted.group_by(piece, maintain_order=True).agg(
            pl.col("block").first(), pl.col("start").first(), pl.col("rows").sum()
        )
        for _, block, start, rows in pieces.iter_rows():
            yield self._frame(block).slice(start, rows)

    def _frame(self, block: int) -> pl.DataFrame:
        if block not in self._read:
            while self._read and self._values > PART_VALUES:
                _, oldest = self._read.popitem(last=False)
                self._values -= oldest.height * oldest.width
            found = self._read[block] = self._blocks[block].read()
            self._values += found.height * found.width
        self._read.move_to_end(block)
        return self._read[block]


class _Parts:
    """Splits the rows of a table into files, and adds to each row the run's factor values."""

    def __init__(self, table: str, write: Write) -> None:
        self._table = table
        self._runs: list[pl.DataFrame] = []  # matrix rows of the waiting rows
        self._write = write
        self._waiting: list[pl.DataFrame] = []
        self._rows = 0
        self._count = 0
        self.labels: list[str] = []

    def add(self, frame: pl.DataFrame, runs: pl.DataFrame) -> None:
        """Add rows to the table; `runs` is the part of the run list that describes their runs."""
        if not (self._runs and self._runs[-1] is runs):
            self._runs.append(runs)
        self._waiting.append(frame)
        self._rows += frame.height
        while self._rows >= (most := PART_VALUES // frame.width):
            whole = joined(self._waiting)
            self._emit(whole.head(most))
            self._waiting = [whole.slice(most)]
            self._runs = [runs]
            self._rows -= most

    def end(self) -> list[str]:
        whole = joined(self._waiting)
        if not whole.is_empty():
            self._emit(whole)
        return self.labels

    def _emit(self, own: pl.DataFrame) -> None:
        shown, self.labels = labelled(pl.concat(self._runs), own)
        self._write(f"{self._table}/{self._count:05}.parquet", to_parquet(shown.rechunk()))
        self._count += 1


def write_tables(
    matrix: Path,
    order: NDArray[np.integer],
    blocks: Blocks,
    labels: Mapping[str, list[str]],
    write: Write,
) -> dict[str, list[str]]:
    """Write every table of the finished runs, with the factors of the run in each row.

    Args:
        matrix: file with one row for each run: factors, repetition and seed.
        order: numbers of the finished runs; the number of a run is its position in the matrix.
        blocks: blocks that contain the rows of the runs.
        labels: for each table, the columns that an earlier call copied from its matrix into the
            stored rows (the result of that call). The columns of `matrix` replace these columns.
        write: function that is called with the name and content of each file.

    Returns:
        For each table, the columns that are copied from the matrix.
    """
    tables = sorted(blocks.tables)
    written = {}
    for table in tables:
        rows, parts = Rows(table, order, blocks), _Parts(table, write)
        for first, last, runs in _steps(matrix, order):
            for frame in rows.between(first, last):
                parts.add(frame.drop(labels.get(table, []), strict=False), runs)
        written[table] = parts.end()
    if "flows" in tables:
        parts = _Parts(RUNS, write)
        rows_of = {table: Rows(table, order, blocks) for table in {"flows", "links"} & set(tables)}
        for first, last, runs in _steps(matrix, order):
            flows, links = (
                joined(
                    [
                        frame.drop(labels.get(table, []), strict=False)
                        for frame in rows_of[table].between(first, last)
                    ]
                )
                if table in rows_of
                else pl.DataFrame()
                for table in ("flows", "links")
            )
            metrics = run_metrics(flows, links)
            parts.add(metrics.drop("algorithm") if "algorithm" in runs.columns else metrics, runs)
        written[RUNS] = parts.end()
    return written


def _steps(matrix: Path, order: NDArray[np.integer]) -> Iterator[tuple[int, int, pl.DataFrame]]:
    """Split `order` into pieces; yield each piece's start, end and part of the run list."""
    lazy = scan_parquet([matrix])
    for first, last in pairwise([*range(0, order.size, _RUNS_AT_ONCE), order.size]):
        begin, end = int(order[first]), int(order[last - 1]) + 1
        runs = lazy.slice(begin, end - begin).collect().drop("cell")
        yield first, last, runs


def write_unused(
    keys: pl.Series,
    numbers: NDArray[np.integer],
    blocks: Blocks,
    labels: Mapping[str, list[str]],
    write: Write,
) -> None:
    """Write the rows of finished runs that are no longer in the study, without factor columns."""
    names = pl.DataFrame({"run": keys})
    for table in sorted(blocks.tables):
        parts = _Parts(f"{UNUSED}/{table}", write)
        rows = Rows(table, numbers, blocks)
        for frame in rows.between(0, numbers.size):
            parts.add(frame.drop(labels.get(table, []), strict=False), names)
        parts.end()


def labelled(matrix: pl.DataFrame, own: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Add columns of the run list `matrix` to the rows `own`.

    Return the rows with the added columns, and the names of the added columns.
    """
    names = shown_labels(matrix.columns, own.columns)
    shown = list(names.values())
    matrix = matrix.filter(pl.col("run").is_in(own["run"].unique().implode()))
    rest = [name for name in own.columns if name != "run"]
    rows = own.join(matrix.rename(names), on="run", how="left", maintain_order="left")
    return rows.select("run", *shown, *rest), shown


def shown_labels(labels: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """Map the run list's columns to names in results; a name in `own` gets the prefix `factor_`."""
    return {name: f"factor_{name}" if name in own else name for name in labels if name != "run"}


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate data frames; where a frame lacks a column, its rows contain null."""
    whole = [frame for frame in frames if not frame.is_empty()]
    if not whole:
        return frames[0] if frames else pl.DataFrame(schema={"run": pl.String})
    return pl.concat(whole, how="diagonal_relaxed")
