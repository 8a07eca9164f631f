"""Read recorded links (traces) from files in many formats, and from CellReplay folders."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab import core
from cwndlab.errors import TraceError, read_failure
from cwndlab.text.files import MOST_TRACE_BYTES, read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_FILES = 100  # in a folder; a CellReplay folder contains six


class Told(NamedTuple):
    """Settings that say how to read the file of a trace; a study sets them in `[link]`."""

    column: str | None = None
    unit: str | None = None
    time_column: str | None = None
    time_unit: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file that has been read; scenarios refer to it by a hash of its content."""

    path: Path
    original: bytes  # content of the file
    content: bytes  # the trace in the form that the simulator reads
    sha256: str
    kind: str  # mahimahi, log, or light: packet trains recorded on the idle link
    info: Mapping[str, Any]

    @property
    def content_name(self) -> str:
        """Name of the trace in scenarios: a hash of the trace's content, not its path."""
        return f"sha256:{self.sha256}"


@dataclass(frozen=True, slots=True)
class FolderTrace:
    """One direction of a CellReplay recording; `light` is None if it has no packet trains."""

    trace: Trace
    light: Trace | None


NOTHING_TOLD = Told()


def read_trace(path: Path, told: Told = NOTHING_TOLD) -> Trace:
    """Read and check a trace; its format is recognised by the content of the file.

    Args:
        path: the file.
        told: settings of the study that say how to read the file, such as the column of the rates.

    Raises:
        TraceError: the file cannot be read, or is not a trace; the message names the line.
    """
    return _read_trace(path, told, _state(path))


def read_packet_trains(path: Path) -> Trace:
    """Read and check packet trains, which were recorded on an idle link.

    Raises:
        TraceError: the file cannot be read, or does not contain packet trains; the message names
            the line.
    """
    return _read_packet_trains(path, _state(path))


def read_folder(path: Path) -> Mapping[str, FolderTrace]:
    """Read both directions (`down` and `up`) of a recorded network from a CellReplay folder.

    Raises:
        TraceError: the folder cannot be read, or is not a CellReplay folder.
    """
    try:
        files = tuple(file for file in sorted(path.iterdir())[:_MOST_FILES] if file.is_file())
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    return _read_folder(path, tuple((file, *_state(file)) for file in files))


def _state(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


@functools.lru_cache(maxsize=64)
def _read_trace(path: Path, told: Told, _state: tuple[int, ...]) -> Trace:
    try:
        original = read_bytes(path, MOST_TRACE_BYTES)
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    try:
        read = core.module().read_trace(original, path.name, **told._asdict())
    except ValueError as error:
        raise _refused(path, error) from None
    return _trace(path, original, read)


@functools.lru_cache(maxsize=64)
def _read_packet_trains(path: Path, _state: tuple[int, ...]) -> Trace:
    try:
        original = read_bytes(path, MOST_TRACE_BYTES)
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    try:
        read = core.module().read_packet_trains(original, path.name)
    except ValueError as error:
        raise _refused(path, error) from None
    return _trace(path, original, read)


@functools.lru_cache(maxsize=8)
def _read_folder(
    path: Path, states: tuple[tuple[Path, int, int, int], ...]
) -> Mapping[str, FolderTrace]:
    try:
        contents = {
            file.name: file.read_bytes()
            for file, _, size_bytes, _ in states
            if size_bytes <= MOST_TRACE_BYTES
        }
    except OSError as error:
        raise TraceError(read_failure(path, error)) from None
    try:
        read = core.module().read_trace_folder(list(contents.items()), path.name)
    except ValueError as error:
        raise _refused(path, error) from None
    directions = {}
    for name in ("down", "up"):
        heavy: dict[str, Any] = dict(read[name])
        light = heavy.pop("light")
        directions[name] = FolderTrace(
            _of_folder(path, heavy, contents),
            None if light is None else _of_folder(path, dict(light), contents),
        )
    return directions


def _of_folder(folder: Path, facts: dict[str, Any], contents: Mapping[str, bytes]) -> Trace:
    file = facts.pop("file")
    return _trace(folder / file, contents[file], facts)


def _trace(path: Path, original: bytes, read: Mapping[str, Any]) -> Trace:
    info = dict(read)
    content = info.pop("content")
    return Trace(path, original, content, hashlib.sha256(content).hexdigest(), info["kind"], info)


def mean_rate_bits_per_sec(trace: Trace) -> int:
    """Return the mean rate of a trace over its whole duration."""
    mean_rate_mbit_s: float = trace.info["mean_rate_mbit_s"]
    return max(1, round(mean_rate_mbit_s * 1e6))


def _refused(path: Path, error: ValueError) -> TraceError:
    return TraceError(f"{path}{str(error).removeprefix(path.name)}")
