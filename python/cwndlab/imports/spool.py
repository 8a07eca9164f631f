"""Store rows on disk while they are collected, so that a long log needs little memory."""

from __future__ import annotations

import heapq
import math
import os
import tempfile
import weakref
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import MeasurementError
from cwndlab.imports.series import COUNTERS, Series
from cwndlab.imports.statistics import flow_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import polars as pl

PIECE_ROWS = 1 << 16
_ROWS_TO_MERGE = 1 << 14
_BYTES = 8


class Spool:
    """A temporary file for the rows of several flows."""

    def __init__(self) -> None:
        """Create an empty file, which is deleted when this object is no longer in use."""
        self._file, path = tempfile.mkstemp()
        Path(path).unlink()
        weakref.finalize(self, os.close, self._file)
        self._end = 0
        self._logs: list[Log] = []
        self.waiting = 0
        """Number of rows that are in memory and not yet in the file."""

    def log(self) -> Log:
        """Return a new log, to which the rows of another flow can be added."""
        log = Log(self)
        self._logs.append(log)
        return log

    def write(self, values: bytes) -> int:
        """Append bytes to the file, and return the offset at which they begin."""
        begin = self._end
        view = memoryview(values)
        while view:
            written = os.pwrite(self._file, view, self._end)
            self._end += written
            view = view[written:]
        return begin

    def read(self, begin: int, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Read `count` numbers from the file, starting at the offset `begin`."""
        return np.frombuffer(os.pread(self._file, count * _BYTES, begin))

    def make_room(self) -> None:
        """Move the rows of all flows to disk."""
        for log in self._logs:
            log.put_away()
        self.waiting = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive rows of one flow in a file, stored column by column."""

    begin: int
    rows: int
    names: tuple[str, ...]


class Log:
    """Rows of one flow, which are added one by one."""

    def __init__(self, spool: Spool) -> None:
        """Create an empty log, whose rows will be stored in the file of `spool`."""
        self.spool = spool
        self.count = 0
        self.names: set[str] = set()
        self.most: dict[str, float] = {}
        """Largest value of each column that contains values."""
        self.begin_s = math.inf
        self._columns: dict[str, array[float]] = {}
        self._rows = 0
        self._pieces: list[_Piece] = []
        self._last_s = -math.inf
        self._is_in_order = True

    def add(self, row: Mapping[str, float | None]) -> None:
        """Add a row, which must contain `t_s`; missing values become NaN."""
        for name, value in row.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = array("d", [math.nan]) * self._rows
                self.names.add(name)
            column.append(math.nan if value is None else value)
            if value is not None and value > self.most.get(name, -math.inf):
                self.most[name] = value
        self.count += 1
        self._rows += 1
        for column in self._columns.values():
            if len(column) < self._rows:
                column.append(math.nan)
        t_s = row["t_s"] or 0.0
        self._is_in_order &= t_s >= self._last_s
        self._last_s = t_s
        self.begin_s = min(self.begin_s, t_s)
        self.spool.waiting += 1
        if self.spool.waiting >= PIECE_ROWS:
            self.spool.make_room()

    def put_away(self) -> None:
        """Move the rows of this flow from memory to disk, sorted by time."""
        if not self._rows:
            return
        piece = self._in_memory().in_order()
        names = ("t_s", *piece.columns)
        values = b"".join(each.tobytes() for each in (piece.t_s, *piece.columns.values()))
        self._pieces.append(_Piece(self.spool.write(values), self._rows, names))
        self._columns, self._rows = {}, 0

    def last(self, name: str) -> float:
        """Return the value of a column in the last row; NaN if the last row has no value."""
        if self._rows:
            return self._columns[name][-1] if name in self._columns else math.nan
        piece = self._pieces[-1]
        series = self._read(piece, 0, piece.rows)
        return float(series.columns[name][-1]) if name in series.columns else math.nan

    def in_order(self) -> Log:
        """Return the logged rows in order of time."""
        if self._is_in_order or not self._pieces:
            return self
        self.put_away()
        at_once = max(_ROWS_TO_MERGE // len(self._pieces), 1)
        ordered = Log(self.spool)
        rows = (self._rows_of(piece, at_once) for piece in self._pieces)
        for row in heapq.merge(*rows, key=lambda row: row["t_s"]):
            ordered.add(row)
            if ordered._rows >= PIECE_ROWS:
                ordered.put_away()
        return ordered

    def renamed(self, names: Mapping[str, str]) -> LongSeries:
        """Return the columns in `names` as a time series; `names` maps each to its new name."""
        return LongSeries(self.in_order(), dict(names))

    def series(self) -> LongSeries:
        """Return all columns of the flow as a time series."""
        return LongSeries(self.in_order(), {name: name for name in self.names if name != "t_s"})

    def pieces(self) -> Iterator[Series]:
        """Yield all logged rows, at most `PIECE_ROWS` at a time."""
        for piece in self._pieces:
            yield self._read(piece, 0, piece.rows)
        if self._rows:
            yield self._in_memory().in_order()

    def _in_memory(self) -> Series:
        columns = {name: np.array(own, np.float64) for name, own in self._columns.items()}
        return Series(columns.pop("t_s"), columns)

    def _read(self, piece: _Piece, first: int, rows: int) -> Series:
        columns = {
            name: self.spool.read(piece.begin + (n * piece.rows + first) * _BYTES, rows)
            for n, name in enumerate(piece.names)
        }
        return Series(columns.pop("t_s"), columns)

    def _rows_of(self, piece: _Piece, at_once: int) -> Iterator[dict[str, float]]:
        for first in range(0, piece.rows, at_once):
            series = self._read(piece, first, min(at_once, piece.rows - first))
            for n, t_s in enumerate(series.t_s):
                yield {"t_s": t_s, **{name: own[n] for name, own in series.columns.items()}}


@dataclass(frozen=True, slots=True)
class LongSeries:
    """A flow's time series on disk, which is read piece by piece; each piece is a `Series`."""

    log: Log
    names: Mapping[str, str]
    """Maps the name of each column in the log to the name of the column in results."""

    def flow(self, warm_up_s: float) -> dict[str, Any]:
        """Return the flow's row of the table `flows`.

        Counts include the warm-up; rates and means do not.
        """
        return flow_row(self._pieces, warm_up_s)

    def check(self) -> None:
        """Check that no counter falls.

        Raises:
            MeasurementError: a counter falls.
        """
        for piece in self._pieces():
            for name in COUNTERS:
                values = piece.columns.get(name, np.empty(0))
                falls = np.flatnonzero(np.diff(values) < 0)
                if falls.size:
                    at = int(falls[0])
                    msg = (
                        f"{name} falls from {values[at]:.0f} to {values[at + 1]:.0f} after "
                        f"{piece.t_s[at + 1] - self.log.begin_s:.3f} s, but a counter must not "
                        "fall: either the clock of the log was changed, or the counter overflowed "
                        "(use counters of 64 bits, such as HCThruOctetsAcked)"
                    )
                    raise MeasurementError(msg)

    def tables(self, flow: int) -> Iterator[tuple[pl.DataFrame, list[dict[str, Any]]]]:
        """Yield the rows of the tables `samples` and `events`, piece by piece."""
        begin_s = self.log.begin_s
        for n, piece in enumerate(self._pieces()):
            yield piece.samples(flow, begin_s)[int(n > 0) :], piece.events(flow, begin_s)

    def _pieces(self) -> Iterator[Series]:
        """Yield the rows in pieces; each piece begins with the last row of the previous piece."""
        before: Series | None = None
        for each in self.log.pieces():
            nothing = np.full(each.t_s.size, math.nan)
            named = {new: each.columns.get(old, nothing) for old, new in self.names.items()}
            piece = Series(each.t_s, named)
            if before is not None:
                piece = Series(
                    np.concatenate([before.t_s, piece.t_s]),
                    {
                        name: np.concatenate([before.columns[name], piece.columns[name]])
                        for name in named
                    },
                )
            yield piece
            before = piece.at(slice(-1, None))
