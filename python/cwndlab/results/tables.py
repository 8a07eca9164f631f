"""Tables of a run as Parquet bytes that depend on nothing but their content.

Column types are fixed here, so that a column without a single value has the type that it has
elsewhere, and every file of a table can be read together with the others.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TABLES = ("flows", "links", "samples", "events", "acks")
LIVE_TABLES = ("tcp_info", "probes", "flags", "radio", "datagrams")
"""What runs on a real network have beside them."""

_TEXT = frozenset(
    {
        "run",
        "direction",
        "algorithm",
        "sent_by",
        "stack",
        "receiver_algorithm",
        "receiver_stack",
        "application",
        "link",
        "event",
    }
)
# Whole numbers; every other column is a float or a text.
_COUNTS = frozenset(
    {
        "flow",
        "user",
        "delivered_bytes",
        "sent_pkts",
        "retransmitted_pkts",
        "retransmission_bursts",
        "retransmission_burst_max_pkts",
        "timeouts",
        "spurious_timeouts",
        "recoveries",
        "tail_loss_probes",
        "host_refusals",
        "host_queue_pkts",
        "ecn_marked_pkts",
        "responses",
        "cwnd_max_pkts",
        "arrived_pkts",
        "delivered_pkts",
        "dropped_pkts",
        "marked_pkts",
        "arrived_bytes",
        "offered_bytes",
        "queue_max_pkts",
        "cwnd_pkts",
        "inflight_pkts",
        "queue_pkts",
        "queue_bytes",
        "ca_state",
        "snd_una",
        "snd_nxt",
        "snd_wnd_bytes",
        "ssthresh_pkts",
    }
)


def is_text(column: str) -> bool:
    """Whether the values of a column are texts."""
    return column in _TEXT


def is_count(column: str) -> bool:
    """Whether the values of a column are whole numbers."""
    return column in _COUNTS


def encode_result(key: str, result: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a run: one per table that it has, each row with the run's key."""
    files = {
        f"{table}.parquet": to_parquet(_frame(key, result[table]))
        for table in TABLES
        if result.get(table) is not None
    }
    if result.get("pcap") is not None:
        files["capture.pcap"] = bytes(result["pcap"])
    return files


def encode_batch(
    keys: Sequence[str], result: Mapping[str, Any]
) -> dict[str, tuple[bytes, list[tuple[str, int]]]]:
    """The tables of several runs, each with the runs' keys and their numbers of rows.

    Args:
        keys: of the runs.
        result: of `core.run_many`, whose column `run` is a position in `keys`.
    """
    named = pl.Series("run", keys, dtype=pl.String)
    tables = {}
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


def split_files(
    key: str, files: Mapping[str, bytes]
) -> tuple[dict[str, tuple[bytes, list[tuple[str, int]]]], dict[str, bytes]]:
    """The files of a run as tables, with their numbers of rows, and the others by KEY/NAME."""
    tables = {}
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
    """Parquet bytes; the same frame gives the same bytes with any number of threads.

    Args:
        frame: the table.
        rows_at_once: of a row group, which is in memory at once; all if None.
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


def _frame(key: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """The columns of a table of one run."""
    return _typed(columns, pl.lit(key, dtype=pl.String).alias("run"))


def _typed(columns: Mapping[str, Any], run: pl.Expr | pl.Series) -> pl.DataFrame:
    """Columns with their types; NaN, which stands for undefined, becomes null."""
    raw = pl.DataFrame(dict(columns))
    typed = []
    for name, kind in raw.schema.items():
        defined = pl.col(name).fill_nan(None) if kind.is_float() else pl.col(name)
        typed.append(defined.cast(_type_of(name)))
    return raw.select(run, *typed)


def _type_of(name: str) -> type[pl.DataType]:
    if name in _TEXT:
        return pl.String
    return pl.Int64 if name in _COUNTS else pl.Float64
