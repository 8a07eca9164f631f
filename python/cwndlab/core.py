"""Typed access to the compiled part, `cwndlab._core`, and to the names defined there."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cwndlab.errors import CoreMissingError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from cwndlab._core import Chosen, Column, Files, QueueSize, Robustness, Stop

Columns = dict[str, Any]
Problems = list[tuple[tuple[str | int, ...], str]]
"""A problem in a document: the path of the value, and a message with the remedy."""
QueueUnit = Literal["packets", "bytes", "milli_bdp", "unlimited"]
OURS = "ours:"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A numeric parameter of an algorithm."""

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
    """A stack profile: the behaviour of a release of a TCP stack."""

    name: str
    text: str
    sha256: str
    values: Mapping[str, Any]


@functools.cache
def module() -> ModuleType:
    """Return the compiled module.

    Raises:
        CoreMissingError: the module has not been built.
    """
    try:
        return importlib.import_module("cwndlab._core")
    except ImportError as error:
        msg = f"the compiled part of cwndlab is missing ({error}); in a clone, run: make setup"
        raise CoreMissingError(msg) from error


def version() -> str:
    """Return the version of the compiled part, which equals the version of the package."""
    return str(module().version)


def behaviour_epoch() -> int:
    """Return a counter that increases when the same scenario may give different results."""
    return int(module().behaviour_epoch)


def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
) -> Columns:
    """Run a scenario; other threads can run meanwhile, and can end the run with `stop`.

    With `objects`, which are algorithms compiled at run time, use a separate process for each run:
    a fault in an algorithm ends the process.
    """
    found = dict(objects) if objects else None
    tables: Columns = module().run(scenario_json, dict(traces), found, stop=stop)
    return tables


def run_many(
    scenarios: Sequence[str],
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
    take: Callable[[int, Columns], None] | None = None,
) -> Columns:
    """Run scenarios one after another until the batch is full; other threads can run meanwhile.

    Args:
        scenarios: the scenarios; at least the first scenario is run.
        traces: the traces that the scenarios name.
        objects: as for `run`.
        stop: cancels the batch once set; the runs finished before are returned.
        take: called with the position of a long run and the tables that it has recorded so far.

    Returns:
        Tables over all runs, whose column `run` is the run's position, and `errors`: for each
        attempted run, the reason for its failure, or None.
    """
    found = dict(objects) if objects else None
    tables: Columns = module().run_many(list(scenarios), dict(traces), found, stop=stop, take=take)
    return tables


def new_stop() -> Stop:
    """Return a flag that stops runs once it is set."""
    stop: Stop = module().Stop()
    return stop


def saturate(scenario_json: str, traces: Mapping[str, bytes], direction: str, user: int) -> Columns:
    """Simulate a source that always sends; return its arrivals, delays and queue.

    Other threads can run meanwhile.

    Raises:
        ValueError: the path is invalid, or nothing limits its rate in this direction.
    """
    columns: Columns = module().saturate(scenario_json, dict(traces), direction, user)
    return columns


def choose_set(
    gain: Sequence[Sequence[float]],
    cost: Sequence[Sequence[float]],
    *,
    price: float,
    zone: float,
) -> Chosen:
    """Choose the set of good contestants; `_core.pyi` describes arguments and result."""
    chosen: Chosen = module().choose_set(gain, cost, price=price, zone=zone)
    return chosen


def relative_change(
    ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float | None, float | None] | None:
    """Return the relative excess of `ours` over `theirs`, both logarithms, with a 95 % interval."""
    found: tuple[float, float | None, float | None] | None = module().relative_change(ours, theirs)
    return found


def logarithms(values: Sequence[float]) -> list[float]:
    """Return natural logarithms, which are identical on all machines."""
    found: list[float] = module().logarithms(values)
    return found


def robustness(
    draws: Sequence[Sequence[float]],
    weights: Sequence[float],
    choice: int,
    noise: Sequence[float],
    zone: float,
) -> Robustness | None:
    """Return the quality of a choice over a population of networks."""
    found: Robustness | None = module().robustness(draws, weights, choice, noise, zone)
    return found


def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    """Return the scenario as the simulator interprets it; with `traces`, also check its names.

    Raises:
        ValueError: the scenario cannot be run; the message names the place of the error.
    """
    return str(module().check_scenario(scenario_json, traces and dict(traces)))


def parse_quantity(kind: str, value: object) -> int:
    """Parse a quantity, such as a rate, duration or size, as a whole number of its smallest unit.

    Raises:
        QuantityError: the text is not such a quantity.
    """
    return int(module().parse_quantity(kind, value))


def format_quantity(kind: str, count: int) -> str:
    """Return the quantity as text that `parse_quantity` reads as the same value."""
    return str(module().format_quantity(kind, count))


def parse_queue(value: object) -> tuple[QueueUnit, int]:
    """Parse the limit of a queue.

    Raises:
        QuantityError: the text is not such a quantity.
    """
    limit: tuple[QueueUnit, int] = module().parse_queue(value)
    return limit


def format_queue(unit: QueueUnit, count: int) -> str:
    """Return the limit as text that `parse_queue` reads as the same limit."""
    return str(module().format_queue(unit, count))


def parse_link_line(text: str) -> dict[str, Any]:
    """Return the table described by a link in one line.

    Raises:
        QuantityError: the text is not a link, or names a key twice or without a value.
    """
    table: dict[str, Any] = module().parse_link_line(text)
    return table


def check_link(written: object) -> tuple[dict[str, Any], Problems]:
    """Return a link's table in its canonical form, and its problems by key."""
    checked: tuple[dict[str, Any], Problems] = module().check_link(written)
    return checked


def expand_link(
    table: Mapping[str, Any], files: Files
) -> tuple[dict[str, Any], Mapping[str, int], Problems]:
    """Return a checked link with its preset's keys, and each quantity in its smallest unit."""
    expanded, counts, problems = module().expand_link(table, files)
    return expanded, dict(counts), problems


def resolve_link(
    link: Mapping[str, Any] | None, reverse_link: Mapping[str, Any] | None, files: Files
) -> tuple[str | None, bool, int, Problems]:
    """Return the path, whether its reverse direction has a limit, the server's delay, and problems.

    The path is JSON as in a scenario; the one-way delay between link and server is in nanoseconds.
    """
    resolved: tuple[str | None, bool, int, Problems] = module().resolve_link(
        link, reverse_link, files
    )
    return resolved


def read_preset(name: str, folder: str, text: str) -> dict[str, Any]:
    """Return the document of a preset's file, with its links' tables in canonical form.

    Args:
        name: name of the file, used in messages.
        folder: the folder to which the paths of traces are relative.
        text: content of the file.

    Raises:
        ValueError: the text is not a preset; the message names file, line and key.
    """
    document: dict[str, Any] = module().read_preset(name, folder, text)
    return document


def queue_size(
    stage_json: str, rtt_ns: int, server_ns: int, mean_bits_per_sec: Mapping[str, int]
) -> QueueSize | None:
    """Return the queue limit of a scenario's wire, or None if the wire has no queue limit.

    Args:
        stage_json: the wire.
        rtt_ns: delay of the whole path, summed over both directions.
        server_ns: one-way part of the delay on which defaults do not depend.
        mean_bits_per_sec: mean rates of the traces that the wire may name.
    """
    rates = dict(mean_bits_per_sec)
    size: QueueSize | None = module().queue_size(stage_json, rtt_ns, server_ns, rates)
    return size


def medium_figures(path_json: str) -> list[tuple[str, str]]:
    """Return path and text of each value of a cell or channel that differs from its default."""
    figures: list[tuple[str, str]] = module().medium_figures(path_json)
    return figures


def run_seed(cell_json: str | None, repetition: int, study_seed: int) -> int:
    """Return the seed of a repetition.

    `cell_json` is a JSON string with everything that may influence the channel. Without
    `cell_json`, all cells of a study share the seed.
    """
    seed: int = module().run_seed(cell_json, repetition, study_seed)
    return seed


def drawn_ns(seed: int, name: str, most_ns: int) -> int:
    """Return a random number of nanoseconds below `most_ns`; seed and name determine it."""
    drawn: int = module().drawn_ns(seed, name, most_ns)
    return drawn


def without_defaults(path_json: str) -> dict[str, Any]:
    """Return a scenario's path without default values and without its kinds."""
    rest: dict[str, Any] = module().without_defaults(path_json)
    return rest


def link_definitions() -> dict[str, Any]:
    """Return the JSON Schema's definitions of a link and of all its parts, by name."""
    definitions: dict[str, Any] = module().link_definitions()
    return definitions


@functools.cache
def algorithms() -> Mapping[str, Algorithm]:
    """Return all algorithms by name."""
    found = (read_algorithm(entry) for entry in module().algorithms())
    return {algorithm.name: algorithm for algorithm in found}


def read_algorithm(entry: Mapping[str, Any]) -> Algorithm:
    """Return an algorithm from the description in the compiled part."""
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
    """Return the algorithm with this name or alias.

    `ours:cubic` is cwndlab's algorithm on every backend; on the kernel, `cubic` is Linux's own.
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


def columns() -> list[Column]:
    """Return every column of the core's tables: name, table, unit and type."""
    found: list[Column] = module().columns()
    return found


@functools.cache
def stacks() -> Mapping[str, Stack]:
    """Return all stack profiles by name."""
    found = (
        Stack(entry["name"], entry["text"], entry["sha256"], entry["values"])
        for entry in module().stacks()
    )
    return {stack.name: stack for stack in found}


def stack(name: str) -> Stack:
    """Return the stack profile with this name."""
    if name not in stacks():
        raise UnknownNameError(name, stacks(), "cwndlab stack list", kind="stack")
    return stacks()[name]
