"""Trace files: capacity over time as Mahimahi traces, logs of rates and drive tests have it."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.errors import TraceError, read_failure
from cwndlab.resolve import drive_test

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file, and the name of its content by which scenarios call it."""

    path: Path
    original: bytes  # the file
    content: bytes  # what the simulator reads
    sha256: str
    kind: str
    info: Mapping[str, Any]

    @property
    def content_name(self) -> str:
        """The same wherever the file lies."""
        return f"sha256:{self.sha256}"


_FORMATS_TRIED = """
  tried: a Mahimahi trace (a time in ms on each line), a log (time in s and rate in Mbit/s on each
  line), a drive test (CSV with Timestamp and DL_bitrate)"""


def read_trace(path: Path, column: str | None = None) -> Trace:
    """Read and check a trace; what it is, is seen from its content.

    Args:
        path: the file.
        column: of a drive test, the name of the column that is the rate.

    Raises:
        TraceError: it cannot be read, or is no trace; names the line.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    return _read_trace(path, column, (stat.st_mtime_ns, stat.st_size, stat.st_ino))


@functools.lru_cache(maxsize=64)
def _read_trace(path: Path, column: str | None, _state: tuple[int, ...]) -> Trace:
    try:
        original = content = path.read_bytes()
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    is_drive_test = drive_test.is_drive_test(original)
    try:
        if is_drive_test or column:
            content = drive_test.to_log(original, column or drive_test.DEFAULT_COLUMN)
        info = core.module().parse_trace(content, path.name)
    except ValueError as error:
        reason = str(error).removeprefix(f"{path.name}: ")
        msg = f"{path}: {reason}{'' if is_drive_test or column else _FORMATS_TRIED}"
        raise TraceError(msg) from None
    return Trace(path, original, content, hashlib.sha256(content).hexdigest(), info["kind"], info)
