"""Encode tables as Parquet files whose bytes depend only on the content of the tables.

The module `cwndlab.results.columns` defines the types of columns. Therefore a column without
values has the same type as in other files, and all files of a table can be read together.
"""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from cwndlab.results.columns import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

TABLES = ("flows", "links", "samples", "events", "acks")
MEASURED_TABLES = ("tcp_info", "probes", "flags", "radio", "datagrams")
"""Further tables that a measurement on a kernel or a real network can have besides `TABLES`."""

ROWS_AT_ONCE = 1 << 14
"""Number of rows of a large file that are read or written at a time."""

Table = tuple[bytes, "Sequence[tuple[str, int]]"]
"""A table as Parquet bytes, with the key and the row count of each run in the table."""

_TYPES = {Kind.TEXT: pl.String, Kind.INTEGER: pl.Int64, Kind.REAL: pl.Float64}


def encode_result(key: str, result: Mapping[str, Any]) -> dict[str, bytes]:
    """Map file names to the contents of a run's tables and of its packet capture, if any.

    Each row of the tables contains the run's key.
    """
    files = {
        f"{table}.parquet": to_parquet(_frame(key, result[table]))
        for table in TABLES
        if result.get(table) is not None
    }
    if result.get("pcap") is not None:
        files["capture.pcap"] = bytes(result["pcap"])
    return files


def encode_batch(keys: Sequence[str], result: Mapping[str, Any]) -> dict[str, Table]:
    """Return the tables of several runs as files, with the runs' keys and row counts.

    Args:
        keys: keys of the runs.
        result: result of `core.run_many`, whose column `run` contains positions in `keys`.
    """
    named = pl.Series("run", keys, dtype=pl.String)
    tables: dict[str, Table] = {}
    for table in TABLES:
        columns = dict(result.get(table) or {})
        positions = pl.Series(columns.pop("run", []), dtype=pl.UInt32)
        if positions.is_empty():
            continue
        counts = positions.rle().struct.unnest()
        runs = zip(named.gather(counts["value"]), counts["len"], strict=True)
        frame = _typed(columns, named.gather(positions))
        tables[table] = (to_parquet(frame), list(runs))
    return tables


def split_files(key: str, files: Mapping[str, bytes]) -> tuple[dict[str, Table], dict[str, bytes]]:
    """Split a run's files into tables and other files.

    The returned tables include the number of rows. The name of each other file becomes KEY/NAME,
    where KEY is the key of the run.
    """
    tables: dict[str, Table] = {}
    beside = {}
    for name, content in files.items():
        stem, is_table, _ = name.partition(".parquet")
        if is_table:
            rows = pl.read_parquet(io.BytesIO(content), columns=["run"]).height
            tables[stem] = (content, [(key, rows)])
        else:
            beside[f"{key}/{name}"] = content
    return tables, beside


def to_parquet(frame: pl.DataFrame, rows_at_once: int | None = None) -> bytes:
    """Return a table as Parquet bytes, which do not depend on the number of threads.

    Args:
        frame: the table.
        rows_at_once: number of rows in a Parquet row group; readers keep a whole row group in
            memory. If None, one row group contains all rows.
    """
    file = io.BytesIO()
    frame.write_parquet(
        file,
        compression="zstd",
        compression_level=3,
        statistics=False,
        row_group_size=rows_at_once or max(frame.height, 1),
    )
    return file.getvalue()


def write_pieces(path: Path, frames: Iterable[pl.DataFrame]) -> None:
    """Write data frames with equal columns into one file, a few thousand rows at a time.

    The bytes depend only on the rows, not on the division of the rows into frames.
    """
    left = iter(frames)
    first: list[pl.DataFrame] = []
    while (
        sum(frame.height for frame in first) <= ROWS_AT_ONCE
        and (frame := next(left, None)) is not None
    ):
        first.append(frame)
    whole = pl.concat(first, rechunk=True)
    if whole.height <= ROWS_AT_ONCE:
        path.write_bytes(to_parquet(whole))
        return

    def pieces(
        columns: list[str] | None, predicate: pl.Expr | None, most: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        del columns, predicate, most, size  # a file needs all rows and columns
        yield from itertools.chain([whole], left)

    register_io_source(pieces, schema=whole.schema).sink_parquet(
        path.absolute(),
        compression="zstd",
        compression_level=3,
        statistics=False,
        row_group_size=ROWS_AT_ONCE,
    )


def scan_parquet(paths: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of Parquet files as a lazy frame.

    File names are taken literally: the function prevents Polars from expanding `*`, `?` and `[` in
    a path, and `~` and `file:` at the beginning of a path.
    """
    return pl.scan_parquet([path.absolute() for path in paths], glob=False)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return some columns (None: all) of a Parquet file; wildcards in its path are not expanded."""
    wanted = None if columns is None else list(columns)
    return pl.read_parquet(path.absolute(), columns=wanted, memory_map=False, glob=False)


def read_pieces(path: Path, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file, a few thousand rows at a time."""
    lazy = scan_parquet([path])
    lazy = lazy.select(columns) if columns else lazy
    first = 0
    while not (piece := lazy.slice(first, ROWS_AT_ONCE).collect()).is_empty():
        yield piece
        first += piece.height


def _frame(key: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table of one run: the run's key, then `columns`, each cast to its type."""
    return _typed(columns, pl.lit(key, dtype=pl.String).alias("run"))


def _typed(columns: Mapping[str, Any], run: pl.Expr | pl.Series) -> pl.DataFrame:
    """Return a table of `run` and `columns`; cast each column to its type, and NaN to null."""
    raw = pl.DataFrame(dict(columns))
    typed = []
    for name, kind in raw.schema.items():
        defined = pl.col(name).fill_nan(None) if kind.is_float() else pl.col(name)
        typed.append(defined.cast(_TYPES[kind_of(name)]))
    return raw.select(run, *typed)
