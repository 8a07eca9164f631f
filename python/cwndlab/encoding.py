"""Tables of a run as Parquet bytes that depend on nothing but their content.

Column types are fixed here, so that a column without a single value has the type that it has
elsewhere, and every file of a table can be read together with the others.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TABLES = ("flows", "links", "samples", "events", "acks")

_TEXT = frozenset(
    {
        "run",
        "direction",
        "algorithm",
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
        "delivered_bytes",
        "sent_pkts",
        "retransmitted_pkts",
        "retransmission_bursts",
        "retransmission_burst_max_pkts",
        "timeouts",
        "spurious_timeouts",
        "recoveries",
        "tail_loss_probes",
        "ecn_marked_pkts",
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


def to_parquet(frame: pl.DataFrame) -> bytes:
    """Parquet bytes; the same frame gives the same bytes with any number of threads."""
    file = io.BytesIO()
    frame.write_parquet(
        file,
        compression="zstd",
        compression_level=3,
        statistics=False,
        row_group_size=max(frame.height, 1),
    )
    return file.getvalue()


def _frame(key: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    series = [_series(name, values) for name, values in columns.items()]
    frame = pl.DataFrame(series)
    return frame.select(pl.lit(key, dtype=pl.String).alias("run"), *frame.columns)


def _series(name: str, values: Iterable[Any]) -> pl.Series:
    if name in _TEXT:
        return pl.Series(name, values, dtype=pl.String)
    series = pl.Series(name, values)
    if series.dtype == pl.Null:
        series = series.cast(pl.Float64)
    if series.dtype.is_float():
        series = series.fill_nan(None)  # undefined
    return series.cast(pl.Int64 if name in _COUNTS else pl.Float64)
