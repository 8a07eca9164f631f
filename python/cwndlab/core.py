"""Call the compiled module `cwndlab._core` through typed functions."""

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
"""Problems in a document: for each problem, the key path of the wrong value, and a remedy."""
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
    """A congestion control algorithm that the simulator can run."""

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
    """A stack profile, which describes the behaviour of a release of a TCP stack."""

    name: str
    text: str
    sha256: str
    values: Mapping[str, Any]


@functools.cache
def module() -> ModuleType:
    """Return the compiled module `cwndlab._core`.

    Raises:
        CoreMissingError: the module has not been built.
    """
    try:
        return importlib.import_module("cwndlab._core")
    except ImportError as error:
        msg = f"cwndlab lacks its compiled part ({error}); in a clone of cwndlab, run: make setup"
        raise CoreMissingError(msg) from error


def version() -> str:
    """Return the version of the compiled module; the package has the same version."""
    return str(module().version)


def behaviour_epoch() -> int:
    """Return the behaviour epoch, a number that grows with each release that may change results."""
    return int(module().behaviour_epoch)


def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
) -> Columns:
    """Run a scenario, and return its tables; another thread can end the run with `stop`.

    The interpreter lock is released during the run. `objects` are algorithms compiled at run time.
    If `objects` is given, call this function in a separate process, because a fault in an
    algorithm ends the process.
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
    """Run scenarios one after another, until all are finished or the tables reach a size limit.

    The interpreter lock is released during the runs.

    Args:
        scenarios: the scenarios; at least the first one is run.
        traces: the content of each trace that the scenarios use; each key is a trace's name.
        objects: algorithms compiled at run time; see `run`.
        stop: flag that cancels the current run; the function then returns the finished runs.
        take: function that is called repeatedly during a long run. Its arguments are the run's
            position in `scenarios` and the tables recorded since the previous call.

    Returns:
        Tables over all runs. Their column `run` is the position of the run in `scenarios`. The
        list `errors` contains, for each attempted run, the reason why it failed, or None.
    """
    found = dict(objects) if objects else None
    tables: Columns = module().run_many(list(scenarios), dict(traces), found, stop=stop, take=take)
    return tables


def new_stop() -> Stop:
    """Return a flag with which another thread stops runs."""
    stop: Stop = module().Stop()
    return stop


def saturate(scenario_json: str, traces: Mapping[str, bytes], direction: str, user: int) -> Columns:
    """Saturate a path with packets; return their arrival times, delays and the queue length.

    The interpreter lock is released during the simulation.

    Raises:
        ValueError: the path is invalid, or its rate in `direction` is unlimited.
    """
    columns: Columns = module().saturate(scenario_json, dict(traces), direction, user)
    return columns


def choose_set(
    gain: Sequence[Sequence[float]],
    cost: Sequence[Sequence[float]],
    *,
    price: float,
    zone: float,
    sure: float,
) -> Chosen:
    """Choose the algorithms with nearly the best utility; `_core.pyi` explains the arguments."""
    chosen: Chosen = module().choose_set(gain, cost, price=price, zone=zone, sure=sure)
    return chosen


def relative_change(
    ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float | None, float | None] | None:
    """Return the mean relative change from `theirs` to `ours` (logarithms); see `_core.pyi`."""
    found: tuple[float, float | None, float | None] | None = module().relative_change(ours, theirs)
    return found


def logarithms(values: Sequence[float]) -> list[float]:
    """Return natural logarithms; the results are identical on all machines."""
    found: list[float] = module().logarithms(values)
    return found


def robustness(
    draws: Sequence[Sequence[float]],
    weights: Sequence[float],
    choice: int,
    noise: Sequence[float],
    zone: float,
) -> Robustness | None:
    """Assess algorithm `choice` on many networks (columns of `draws`); see `_core.pyi`."""
    found: Robustness | None = module().robustness(draws, weights, choice, noise, zone)
    return found


def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    """Return a scenario in the form in which the simulator reads it, including default values.

    If `traces` are given, also check that they contain every trace that the scenario names.

    Raises:
        ValueError: the scenario cannot be run; the message names the place of the error.
    """
    return str(module().check_scenario(scenario_json, traces and dict(traces)))


def parse_quantity(kind: str, value: object) -> int:
    """Parse a quantity, such as a rate, duration or size; return an integer in its smallest unit.

    Raises:
        QuantityError: the value is not a quantity of this kind.
    """
    return int(module().parse_quantity(kind, value))


def format_quantity(kind: str, count: int) -> str:
    """Format a quantity as text, which `parse_quantity` converts back to the same value."""
    return str(module().format_quantity(kind, count))


def parse_queue(value: object) -> tuple[QueueUnit, int]:
    """Parse the limit of a queue, such as "50 packets", into its unit and its number.

    Raises:
        QuantityError: the value is not the limit of a queue.
    """
    limit: tuple[QueueUnit, int] = module().parse_queue(value)
    return limit


def format_queue(unit: QueueUnit, count: int) -> str:
    """Format the limit of a queue as text, which `parse_queue` converts back to the same limit."""
    return str(module().format_queue(unit, count))


def parse_link_line(text: str) -> dict[str, Any]:
    """Parse a link written in one line, such as "rate=10 Mbit/s,delay=20 ms", into a table.

    Raises:
        QuantityError: the text is not a link, repeats a key, or omits the value of a key.
    """
    table: dict[str, Any] = module().parse_link_line(text)
    return table


def check_link(written: object) -> tuple[dict[str, Any], Problems]:
    """Return a link table in canonical form, and the problems found in its keys."""
    checked: tuple[dict[str, Any], Problems] = module().check_link(written)
    return checked


def expand_link(
    table: Mapping[str, Any], files: Files
) -> tuple[dict[str, Any], Mapping[str, int], Problems]:
    """Complete a link's table with the keys of its preset.

    Returns three values: the completed table; a mapping from the key path of each quantity in the
    table to its value in the smallest unit; and the problems found.
    """
    expanded, counts, problems = module().expand_link(table, files)
    return expanded, dict(counts), problems


def resolve_link(
    link: Mapping[str, Any] | None, reverse_link: Mapping[str, Any] | None, files: Files
) -> tuple[str | None, bool, int, Problems]:
    """Convert a link and its reverse link into the path of a scenario.

    Returns four values: the path as JSON, or None if there are errors; whether the reverse
    direction has its own rate and queue; the one-way delay between link and server in nanoseconds;
    and the problems found.
    """
    resolved: tuple[str | None, bool, int, Problems] = module().resolve_link(
        link, reverse_link, files
    )
    return resolved


def read_preset(name: str, folder: str, text: str) -> dict[str, Any]:
    """Parse the file of a preset, and convert the tables of its links to canonical form.

    Args:
        name: name of the file, used in error messages.
        folder: folder to which the paths of traces are relative.
        text: content of the file.

    Raises:
        ValueError: the text is not a valid preset; the message names the file, line and key.
    """
    document: dict[str, Any] = module().read_preset(name, folder, text)
    return document


def queue_size(
    stage_json: str, rtt_ns: int, server_ns: int, mean_bits_per_sec: Mapping[str, int]
) -> QueueSize | None:
    """Return the limit in packets of the drop-tail queue of a wired link in a scenario.

    The result is None if the queue has no limit in packets or is not a drop-tail queue, if the
    link's rate is unknown, or if `rtt_ns` is 0.

    Args:
        stage_json: the wired link, as JSON.
        rtt_ns: delay of the whole path, summed over both directions.
        server_ns: one-way delay between link and server; the default queue limit ignores it.
        mean_bits_per_sec: maps the name of each trace, as written in the link, to its mean rate.
    """
    rates = dict(mean_bits_per_sec)
    size: QueueSize | None = module().queue_size(stage_json, rtt_ns, server_ns, rates)
    return size


def medium_figures(path_json: str) -> list[tuple[str, str]]:
    """Return key path and text of each non-default value of a cellular or Wi-Fi link."""
    figures: list[tuple[str, str]] = module().medium_figures(path_json)
    return figures


def run_seed(cell_json: str | None, repetition: int, study_seed: int) -> int:
    """Return the random seed of a repetition.

    `cell_json` contains all settings that may influence the channel, as JSON: runs with equal
    settings have the same seed in a repetition. If it is None, the seed depends on the others only.
    """
    seed: int = module().run_seed(cell_json, repetition, study_seed)
    return seed


def drawn_ns(seed: int, name: str, most_ns: int) -> int:
    """Return a random duration in ns below `most_ns`; equal arguments give equal durations."""
    drawn: int = module().drawn_ns(seed, name, most_ns)
    return drawn


def without_defaults(path_json: str) -> dict[str, Any]:
    """Return a scenario's network path without its `kind` keys and its default values."""
    rest: dict[str, Any] = module().without_defaults(path_json)
    return rest


def link_definitions() -> dict[str, Any]:
    """Return the JSON Schema definitions of a link and of all its parts, by name."""
    definitions: dict[str, Any] = module().link_definitions()
    return definitions


@functools.cache
def algorithms() -> Mapping[str, Algorithm]:
    """Return all built-in algorithms by name."""
    found = (read_algorithm(entry) for entry in module().algorithms())
    return {algorithm.name: algorithm for algorithm in found}


def read_algorithm(entry: Mapping[str, Any]) -> Algorithm:
    """Convert an algorithm's description from the compiled module into an `Algorithm`."""
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
    """Return the algorithm with the given name or alias.

    `ours:cubic` is cwndlab's implementation on every backend, whereas `cubic` on the kernel
    backend is Linux's implementation.
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
    """Return the name, table, unit and type of every column that the simulator records."""
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
    """Return the stack profile with the given name."""
    if name not in stacks():
        raise UnknownNameError(name, stacks(), "cwndlab stack list", kind="stack")
    return stacks()[name]
