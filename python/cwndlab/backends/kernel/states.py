"""Read the `TCP_INFO` values that the helper process recorded at both ends of each flow."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.results import tcp_info
from cwndlab.results.tcp_info_table import state_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORD = struct.Struct("<QIHH")  # as in crates/testbed/src/states.rs
_ENDS = ("sender", "receiver")
_NS_PER_S = 10**9


def state_table(run: str, records: bytes) -> pl.DataFrame | None:
    """Return the table `tcp_info` of a run, or None if the helper process has no records."""
    at_ns: dict[tuple[int, int], list[int]] = {}
    answers_of: dict[tuple[int, int], list[bytes]] = {}
    for at, flow, end, answer in _read(records):
        at_ns.setdefault((flow, end), []).append(at)
        answers_of.setdefault((flow, end), []).append(answer)
    frames = [
        state_frame(
            run,
            flow,
            _ENDS[end],
            np.asarray(at_ns[flow, end]) / _NS_PER_S,
            tcp_info.columns(answers_of[flow, end]),
        )
        for flow, end in sorted(answers_of)
    ]
    return pl.concat(frames, how="diagonal") if frames else None


def _read(records: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    position = 0
    while position < len(records):
        at, flow, end, length = _RECORD.unpack_from(records, position)
        position += _RECORD.size
        yield at, flow, end, records[position : position + length]
        position += length
