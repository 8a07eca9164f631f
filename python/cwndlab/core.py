"""The compiled part, `cwndlab._core`, with types, and what it knows about names."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab import drive_test
from cwndlab.errors import CoreMissingError, TraceError, UnknownNameError, read_failure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from cwndlab._core import Stop

Tables = dict[str, Any]
OURS = "ours:"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that an algorithm takes."""

    name: str
    unit: str
    default: int
    min: int
    max: int
    doc: str


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A congestion control that the simulator can run."""

    name: str
    aliases: tuple[str, ...]
    description: str
    parameters: tuple[Parameter, ...]
    hooks: tuple[str, ...]
    phases: tuple[str, ...]
    source_sha256: str
    source_text: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack profile: what a release of a TCP stack does."""

    name: str
    text: str
    sha256: str
    values: Mapping[str, Any]


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


@functools.cache
def module() -> ModuleType:
    """The compiled module.

    Raises:
        CoreMissingError: it has not been built.
    """
    try:
        return importlib.import_module("cwndlab._core")
    except ImportError as error:
        msg = f"the compiled part of cwndlab is missing ({error}); in a clone, run: make setup"
        raise CoreMissingError(msg) from error


def version() -> str:
    """Version of the compiled part, which is that of the package."""
    return str(module().version)


def behaviour_epoch() -> int:
    """Counts the changes after which the same scenario may give other numbers."""
    return int(module().behaviour_epoch)


def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
) -> Tables:
    """Run a scenario; other threads go on meanwhile, and may break it off by `stop`.

    With `objects`, algorithms compiled at run time, the process belongs to this run: what they
    break ends it.
    """
    found = dict(objects) if objects else None
    tables: Tables = module().run(scenario_json, dict(traces), found, stop=stop)
    return tables


def new_stop() -> Stop:
    """What breaks runs off once it is set."""
    stop: Stop = module().Stop()
    return stop


def saturate(scenario_json: str, traces: Mapping[str, bytes], direction: str, user: int) -> Tables:
    """Arrivals, delays and queue of a source that always sends; other threads go on meanwhile.

    Raises:
        ValueError: the path is wrong, or nothing limits its rate in this direction.
    """
    columns: Tables = module().saturate(scenario_json, dict(traces), direction, user)
    return columns


def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    """The scenario as the simulator understood it; with its traces, all that it names exists.

    Raises:
        ValueError: it cannot be run; names the place.
    """
    return str(module().check_scenario(scenario_json, traces and dict(traces)))


@functools.cache
def algorithms() -> Mapping[str, Algorithm]:
    """All algorithms by name."""
    found = (read_algorithm(entry) for entry in module().algorithms())
    return {algorithm.name: algorithm for algorithm in found}


def read_algorithm(entry: Mapping[str, Any]) -> Algorithm:
    """An algorithm as the compiled part describes it."""
    return Algorithm(
        name=entry["name"],
        aliases=tuple(entry.get("aliases", ())),
        description=entry["description"],
        parameters=tuple(
            Parameter(**{key: item[key] for key in Parameter.__slots__})
            for item in entry["parameters"]
        ),
        hooks=tuple(entry["hooks"]),
        phases=tuple(entry["phases"]),
        source_sha256=entry["source_sha256"],
        source_text=entry.get("source_text", ""),
    )


def algorithm(name: str) -> Algorithm:
    """The algorithm of this name or alias.

    `ours:cubic` is cwndlab's on the kernel too, where `cubic` is the kernel's own.
    """
    if name.startswith(OURS):
        ours = algorithm(name.removeprefix(OURS))
        return dataclasses.replace(ours, name=f"{OURS}{ours.name}")
    by_name = {
        known: entry for entry in algorithms().values() for known in (entry.name, *entry.aliases)
    }
    if name not in by_name:
        raise UnknownNameError(name, by_name, "cwndlab algorithm list", kind="algorithm")
    return by_name[name]


@functools.cache
def stacks() -> Mapping[str, Stack]:
    """All stack profiles by name."""
    found = (
        Stack(entry["name"], entry["text"], entry["sha256"], entry["values"])
        for entry in module().stacks()
    )
    return {stack.name: stack for stack in found}


def stack(name: str) -> Stack:
    """The stack profile of this name."""
    if name not in stacks():
        raise UnknownNameError(name, stacks(), "cwndlab stack list", kind="stack")
    return stacks()[name]


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
        info = module().parse_trace(content, path.name)
    except ValueError as error:
        reason = str(error).removeprefix(f"{path.name}: ")
        msg = f"{path}: {reason}{'' if is_drive_test or column else _FORMATS_TRIED}"
        raise TraceError(msg) from None
    return Trace(path, original, content, hashlib.sha256(content).hexdigest(), info["kind"], info)
