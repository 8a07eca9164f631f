# ruff: noqa: PYI021  the core is compiled: this is the only place for its documentation
"""The compiled core: simulations, algorithms, stack profiles and traces. Private to cwndlab.

It only converts: JSON and bytes come in, columns go out. Columns of `flows` and `links` are lists.
In other tables, columns are NumPy arrays, except columns of text and columns of integers that can
be undefined, which are lists. An undefined value is None in a list, NaN in an array, never 0.

Bad input raises ValueError, whose message names the place of the error; for a scenario, this is
`cwndlab.errors.ScenarioRefusedError`. Other failures raise RuntimeError, unless a docstring names
another exception.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "algorithms",
    "analyse_capture",
    "behaviour_epoch",
    "call_layout",
    "check_link",
    "check_object",
    "check_scenario",
    "columns",
    "confine_worker",
    "contract_files",
    "describe_object",
    "expand_link",
    "format_quantity",
    "format_queue",
    "link_definitions",
    "medium_figures",
    "parse_link_line",
    "parse_quantity",
    "parse_queue",
    "probe",
    "protections",
    "queue_size",
    "read_packet_trains",
    "read_preset",
    "read_trace",
    "read_trace_folder",
    "resolve_link",
    "run",
    "run_compiler",
    "saturate",
    "stacks",
    "version",
    "without_defaults",
]

version: str
"""Version of the core."""

behaviour_epoch: int
"""A number that increases when the results of the same scenario and seed may change."""

def analyse_capture(
    path: str | PathLike[str], *, warm_up_ns: int = 0, sample_interval_ns: int = ...
) -> list[dict[str, Any]]:
    """Analyse the TCP connections in a pcap or pcapng file.

    Args:
        path: path of the file, which is read as a stream.
        warm_up_ns: time at the start of each flow that its means and rates leave out.
        sample_interval_ns: interval of the time series, 100 ms by default; 0 disables the series.

    Returns:
        A dictionary for each direction of a connection that carried data. Its keys are the fields
        of `Flow` in `crates/capture`; `samples` and `events` are dictionaries of columns.

    Raises:
        ValueError: the file is not a capture, or is damaged before its end.
        OSError: the file cannot be read.
    """

# ---- tables, by tools/make_stub.py
@type_check_only
class Flows(TypedDict):
    """One entry for each flow, in the order of the scenario."""

    flow: list[int]
    direction: list[str]
    user: list[int]
    algorithm: list[str]
    stack: list[str]
    receiver_algorithm: list[str]
    receiver_stack: list[str]
    application: list[str]
    start_s: list[float]
    end_s: list[float]
    window_s: list[float | None]
    goodput_mbit_s: list[float | None]
    throughput_mbit_s: list[float | None]
    delivered_bytes: list[int]
    rtt_mean_ms: list[float | None]
    rtt_p50_ms: list[float | None]
    rtt_p95_ms: list[float | None]
    rtt_p99_ms: list[float | None]
    rtt_base_ms: list[float | None]
    srtt_mean_ms: list[float | None]
    queueing_delay_mean_ms: list[float | None]
    sent_pkts: list[int]
    retransmitted_pkts: list[int]
    retransmitted_pct: list[float | None]
    retransmission_bursts: list[int]
    retransmission_burst_mean_pkts: list[float | None]
    retransmission_burst_max_pkts: list[int | None]
    timeouts: list[int | None]
    spurious_timeouts: list[int | None]
    recoveries: list[int | None]
    tail_loss_probes: list[int | None]
    host_refusals: list[int | None]
    ecn_marked_pkts: list[int]
    cwnd_mean_pkts: list[float | None]
    cwnd_max_pkts: list[int | None]
    completion_ms: list[float | None]
    utilisation_pct: list[float | None]
    busy_s: list[float]
    rwnd_limited_s: list[float]
    sndbuf_limited_s: list[float]
    responses: list[int | None]
    response_p50_ms: list[float | None]
    response_p95_ms: list[float | None]
    response_p99_ms: list[float | None]
    response_geometric_mean_ms: list[float | None]
    video_bitrate_mbit_s: list[float | None]
    video_rebuffering_pct: list[float | None]
    video_startup_ms: list[float | None]
    datagram_loss_pct: list[float | None]
    datagram_delay_p95_ms: list[float | None]

@type_check_only
class Links(TypedDict):
    """One entry for each stage of the path, beginning with `forward.0`."""

    link: list[str]
    arrived_pkts: list[int]
    delivered_pkts: list[int]
    dropped_pkts: list[int]
    marked_pkts: list[int]
    arrived_bytes: list[int]
    delivered_bytes: list[int]
    offered_bytes: list[int | None]
    queue_mean_pkts: list[float | None]
    queue_max_pkts: list[int]

@type_check_only
class Samples(TypedDict):
    """Samples of each flow at equal intervals. NaN: ssthresh is infinite, or no RTT yet."""

    flow: NDArray[np.uint32]
    t_s: NDArray[np.float64]
    cwnd_pkts: NDArray[np.uint32]
    ssthresh_pkts: NDArray[np.float64]
    srtt_ms: NDArray[np.float64]
    rtt_ms: NDArray[np.float64]
    throughput_mbit_s: NDArray[np.float64]
    goodput_mbit_s: NDArray[np.float64]
    inflight_pkts: NDArray[np.uint32]
    queue_pkts: NDArray[np.uint32]
    queue_bytes: NDArray[np.uint64]
    host_queue_pkts: NDArray[np.float64]
    pacing_rate_mbit_s: NDArray[np.float64]
    delivery_rate_mbit_s: NDArray[np.float64]
    ca_state: NDArray[np.uint8]

@type_check_only
class Events(TypedDict):
    """Events of a run. `flow` is None if an event concerns all flows; NaN means no value."""

    flow: list[int | None]
    t_s: NDArray[np.float64]
    event: list[str]
    value: NDArray[np.float64]

@type_check_only
class Acks(TypedDict):
    """State of the sender before each ACK; sequence numbers count from the first byte."""

    flow: NDArray[np.uint32]
    t_s: NDArray[np.float64]
    snd_una: NDArray[np.uint64]
    snd_nxt: NDArray[np.uint64]
    cwnd_pkts: NDArray[np.uint32]
    ssthresh_pkts: NDArray[np.float64]
    snd_wnd_bytes: NDArray[np.uint32]
    srtt_ms: NDArray[np.float64]

@type_check_only
class Saturation(TypedDict):
    """Recording of a saturated link: arrivals, queue length per ms, blocks of a cell."""

    at_ns: NDArray[np.uint64]
    delay_ns: NDArray[np.uint64]
    queue_pkts: NDArray[np.uint32]
    queue_bytes: NDArray[np.uint64]
    block_at_ns: NDArray[np.uint64]
    block_sinr_db: NDArray[np.float64]

# ---- end of the tables

@type_check_only
class Result(TypedDict):
    """Result of a run; tables that the scenario's `record` does not request are None."""

    flows: Flows
    links: Links
    samples: Samples | None
    events: Events | None
    acks: Acks | None
    pcap: bytes | None
    behaviour_epoch: int
    calls: NotRequired[bytes]

@type_check_only
class Batch(TypedDict):
    """Result of `run_many`; every table also has the array `run`."""

    flows: Flows
    links: Links
    samples: Samples | None
    events: Events | None
    acks: Acks | None
    pcap: bytes | None
    errors: list[str | None]

@type_check_only
class Parameter(TypedDict):
    """A parameter of an algorithm."""

    name: str
    unit: str
    default: int
    min: int
    max: int
    doc: str

@type_check_only
class Algorithm(TypedDict):
    """A built-in or loaded congestion control algorithm."""

    name: str
    aliases: list[str]
    description: str
    parameters: list[Parameter]
    phases: list[str]
    hooks: list[str]
    source_file: str
    source_text: str
    source_sha256: str

@type_check_only
class Violation(TypedDict):
    """A rule that an algorithm violates: the hook, the rule, and a short example."""

    hook: str
    rule: str
    example: str

@type_check_only
class CallLayout(TypedDict):
    """Layout of a recorded call: hook names by number, total length in bytes, and its fields.

    A field is its name, its offset and length in bytes, and whether it is signed.
    """

    hooks: list[str]
    bytes: int
    fields: list[tuple[str, int, int, bool]]

@type_check_only
class Stack(TypedDict):
    """A stack profile: the text of its file, and the values in it."""

    name: str
    text: str
    sha256: str
    values: dict[str, Any]

@type_check_only
class Trace(TypedDict):
    """A trace file: `kind` is `mahimahi` or `log`, `content` the trace in this format."""

    kind: str
    content: bytes
    opportunities: int | None
    duration_s: float
    mean_rate_mbit_s: float
    understood: str

@type_check_only
class PacketTrains(TypedDict):
    """Packet trains recorded on an idle link; `kind` is `light`, `content` the trains in UTF-8."""

    kind: str
    content: bytes
    duration_s: float
    shortest_delay_ns: int
    understood: str

@type_check_only
class RecordedPacketTrains(PacketTrains):
    """Packet trains from a file of a folder."""

    file: str

@type_check_only
class RecordedDirection(Trace):
    """One direction of a recorded network: its trace, and its packet trains if recorded."""

    file: str
    light: RecordedPacketTrains | None

@type_check_only
class RecordedPath(TypedDict):
    """Both directions of a recorded network."""

    down: RecordedDirection
    up: RecordedDirection

@type_check_only
class Column(TypedDict):
    """A column of one of the core's tables.

    `type` is `text`, `integer` or `real`; `array` is the element type of the NumPy array, or None
    if the column is a list; `meaning` is the documentation of the column's field in the core.
    """

    table: str
    name: str
    unit: str
    type: str
    can_be_undefined: bool
    array: str | None
    meaning: str

def columns() -> list[Column]:
    """List every column of every table of the core."""

class Stop:
    """A flag that cancels runs from another thread."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """Cancel the runs within a few milliseconds.

        `run` then raises RuntimeError; `run_many` returns the runs completed before.
        """

def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[PathLike[str] | str, str]] | None = None,
    *,
    record_calls: bool = False,
    stop: Stop | None = None,
) -> Result:
    """Run a scenario, releasing the GIL meanwhile.

    Args:
        scenario_json: the scenario.
        traces: contents of the trace files that the scenario names, by these names.
        objects: algorithms compiled at run time, by their names in the scenario: the shared
            object, and the name of its source in messages. The process must then be dedicated to
            this run: a fault in an algorithm ends the process, after a line on standard error.
        record_calls: whether to return each call of the algorithms' hooks, in the format of
            `call_layout`.
        stop: cancels the run when it is set.

    Raises:
        ValueError: the scenario, a trace or an object is invalid; the message begins with the
            place of the error.
        RuntimeError: the run was cancelled.
    """

def run_many(
    scenarios: Sequence[str],
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[PathLike[str] | str, str]] | None = None,
    *,
    stop: Stop | None = None,
    take: Callable[[int, Result], None] | None = None,
) -> Batch:
    """Run scenarios one after the other, releasing the GIL meanwhile.

    The batch ends early once it contains 65,536 recorded rows or more, and after a run with a
    capture. Unless the batch is cancelled, it contains at least the first scenario.

    Args:
        scenarios: the scenarios.
        traces: contents of the trace files that the scenarios name.
        objects: as for `run`.
        stop: cancels the current run; the result contains the earlier runs.
        take: receives, during a long run, the run's position and the rows recorded since the
            previous call; the result contains only the remaining rows. Without `take`, the result
            contains all rows.

    Returns:
        Tables like those of `run`, whose column `run` is the position of the row's scenario, and
        `errors`: for each scenario that was run, the reason for its failure, or None.

    Raises:
        ValueError: an object is invalid.
    """

def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    """Check a scenario without running it, and return its canonical form.

    Args:
        scenario_json: the scenario.
        traces: as for `run`; without them, only the scenario's form is checked, not whether the
            algorithms, settings and traces that it names exist.

    Raises:
        ValueError: the scenario or a trace is invalid; the message begins with the place of the
            error.
    """

def run_seed(cell_json: str | None, repetition: int, study_seed: int) -> int:
    """Return the seed of a repetition, below 2^53, which depends only on the arguments.

    Args:
        cell_json: the settings that the channel's randomness may depend on, as canonical JSON
            within a JSON string, or None if all cells of a study share their seeds.
        repetition: counted from 0.
        study_seed: the seed of the study.
    """

def drawn_ns(seed: int, name: str, most_ns: int) -> int:
    """Return a random time below `most_ns` for a seed and a name; 0 if `most_ns` is 0."""

def saturate(
    scenario_json: str, traces: Mapping[str, bytes], direction: str, user: int
) -> Saturation:
    """Saturate one direction of a scenario's path, `forward` or `reverse`, for one user.

    The scenario's flows are ignored, packets have 1500 bytes, and the GIL is released.

    Raises:
        ValueError: an argument is invalid, or nothing limits the rate.
    """

def probe(
    scenario_json: str,
    traces: Mapping[str, bytes],
    direction: str,
    user: int,
    sent: list[tuple[int, int]],
) -> list[int | None]:
    """Send packets over a scenario's path in one direction, for one user.

    `sent` contains the time in nanoseconds and the size in bytes of each packet, including its IP
    header. The scenario's flows are ignored, and the GIL is released.

    Returns:
        The delay of each packet in nanoseconds; None if it is lost.

    Raises:
        ValueError: an argument is invalid.
    """

@type_check_only
class ChosenScore(TypedDict):
    """Score of a compared algorithm; utilities are natural logarithms, so 0.03 is 3 %."""

    score: float
    low: float | None
    high: float | None
    behind: float
    margin: float
    is_good: bool

@type_check_only
class Chosen(TypedDict):
    """The set of recommended algorithms, each given by the number of its row."""

    order: list[int]
    good: list[int]
    candidates: list[int]
    scores: list[ChosenScore | None]
    is_settled: bool
    leader_stays: float | None
    same_set: float | None
    leader_is_good: float | None
    is_random: bool
    spans: list[tuple[float, float] | None]
    undominated: list[int]

@type_check_only
class Robustness(TypedDict):
    """Quality of a recommended algorithm over a population of networks."""

    is_good: float
    by_draw: list[float]
    regret: float
    leader: int

def choose_set(
    gain: Sequence[Sequence[float]],
    cost: Sequence[Sequence[float]],
    *,
    price: float,
    zone: float,
    sure: float,
) -> Chosen:
    """Choose the set of recommended algorithms.

    Args:
        gain: logarithms of the benefit, one row per algorithm, one column per repetition; NaN marks
            a missing run.
        cost: logarithms of the cost, in the same shape.
        price: weight of the cost: utility is gain - price x cost.
        zone: the largest difference of utility that does not matter.
        sure: if `leader_stays` is lower, `good` contains only what is probably nearly the best.

    Returns:
        `order` begins with the algorithm with the highest mean, the leader; `good` is the set in
        this order, and `candidates` the set of all algorithms that may well be the best. `low` and
        `high` are the ends of 95 % intervals (Student's t). `behind` is the mean distance to the
        leader over pairs, `margin` the largest distance within the set. `is_settled`: whether each
        algorithm is certainly inside or outside the set, even if the data are evaluated repeatedly.
        `is_random`: whether runs differ. `leader_stays`, `same_set`: probabilities that the same
        number of new repetitions gives candidates that contain the leader, and the same set `good`.
        `leader_is_good`: probability that the leader is within the zone of the best. These three
        probabilities are None with fewer than six pairs that differ.
        `spans`: prices at which an algorithm is within the zone of the best.
    """

def relative_change(
    ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float | None, float | None] | None:
    """Relative change from `theirs` to `ours`, with the ends of its 95 % interval (Student's t).

    Both arguments contain natural logarithms. The change is computed from the mean difference over
    all pairs of finite values: -0.04 means 4 % less. The result is None if there is no such pair.
    """

def logarithms(values: Sequence[float]) -> list[float]:
    """Return natural logarithms, the same on every machine; the logarithm of 0 is -infinity."""

def robustness(
    draws: Sequence[Sequence[float]],
    weights: Sequence[float],
    choice: int,
    noise: Sequence[float],
    zone: float,
) -> Robustness | None:
    """Assess an algorithm over a population of networks; None if every network lacks a run.

    Args:
        draws: utilities, one row per algorithm, one column per network.
        weights: weights of the networks.
        choice: the row of the assessed algorithm.
        noise: for each row, the standard deviation, due to chance, of the distance to the row
            `choice` in one draw.
        zone: the largest difference of utility that does not matter.
    """

def algorithms() -> list[Algorithm]:
    """Return the built-in congestion control algorithms."""

def contract_files() -> dict[str, str]:
    """Return the files needed to compile algorithms: texts, by path below `algorithms/`."""

def protections() -> list[tuple[str, bool]]:
    """List the kernel's means to confine a process, and whether each is available."""

def confine_worker(readable: Sequence[str]) -> None:
    """Confine this process permanently: it may only compute, and read files below `readable`.

    Raises:
        OSError: the kernel has a protection but fails to apply it.
    """

def run_compiler(
    command: Sequence[str],
    environment: Sequence[tuple[str, str]],
    readable: Sequence[str],
    writable: Sequence[str],
    time_limit_s: int,
) -> tuple[int, bytes, bytes]:
    """Run a command that may only read below `readable`, and only write below `writable`.

    Returns:
        The command's status (minus the number of the signal that ended it), standard output and
        standard error.

    Raises:
        OSError: the command cannot be started, or a protection cannot be applied.
        TimeoutError: the command exceeded the time limit, or printed too much.
    """

def describe_object(object: PathLike[str] | str, file: str) -> Algorithm:  # noqa: A002  its name
    """Load a shared object into this process, as `run` does, and describe it.

    Raises:
        ValueError: the object is not an algorithm, or violates the contract.
    """

def check_object(
    object: PathLike[str] | str,  # noqa: A002  its name
    file: str,
    examples: int,
    seed: int,
    is_module: bool,
) -> Violation | None:
    """Run the conformance suite on a shared object, in this process.

    Args:
        object: the shared object.
        file: name of the source file in messages.
        examples: number of sequences of operations to try.
        seed: seed of these sequences.
        is_module: whether the object is a kernel module: then only default parameters are tried,
            and the algorithm may limit its window.

    Returns:
        The first violation, or None.

    Raises:
        ValueError: the object is not an algorithm, or violates the contract.
    """

def call_layout() -> CallLayout:
    """Return the layout of a recorded call."""

def stacks() -> list[Stack]:
    """Return the stack profiles."""

def read_trace(
    content: bytes,
    name: str,
    *,
    column: str | None = None,
    unit: str | None = None,
    time_column: str | None = None,
    time_unit: str | None = None,
) -> Trace:
    """Read a trace in any supported format, which is detected from its content.

    Args:
        content: the file, which may be compressed with gzip.
        name: name of the file in messages.
        column: column of the rates, by name or by number from 1.
        unit: unit of the rates, such as `Mbit/s` or `bytes`.
        time_column: column of the times.
        time_unit: unit of the times, such as `ms`.

    Raises:
        ValueError: the file is not a trace, or is ambiguous; the message begins with `name` and the
            line, and names the columns and the argument that resolves the ambiguity.
    """

def read_packet_trains(content: bytes, name: str) -> PacketTrains:
    """Read packet trains that were recorded on an idle link.

    Args:
        content: the file, which may be compressed with gzip.
        name: name of the file in messages.

    Raises:
        ValueError: the file does not contain packet trains; the message begins with `name` and the
            line.
    """

def read_trace_folder(files: list[tuple[str, bytes]], name: str) -> RecordedPath:
    """Read the files of a CellReplay folder, given as pairs of name and content.

    Raises:
        ValueError: this is not a CellReplay folder, or one of its files is invalid.
    """

@type_check_only
class Files(Protocol):
    """Opens files that links name; errors that users can fix are `CwndlabError`s."""

    def preset(self, name: str) -> tuple[str, str, str]:
        """Return a preset's file name, the folder of its relative paths, and its text."""

    def recording(
        self,
        path: str,
        column: str | None,
        unit: str | None,
        time_column: str | None,
        time_unit: str | None,
        way: str,
    ) -> tuple[str, bool, int, bool, tuple[str, int] | None]:
        """Read a recorded link from a file, or one direction from a folder: `down` or `up`.

        Returns:
            Its name in scenarios, whether it is a Mahimahi trace, its mean rate in bits per second,
            whether it is from a folder, and the folder's packet trains as `packet_trains` returns
            them, if it contains any.
        """

    def packet_trains(self, path: str) -> tuple[str, int]:
        """Read packet trains.

        Returns:
            Their name in scenarios, and the shortest delay of a train in nanoseconds.
        """

_Problems: TypeAlias = list[tuple[tuple[str | int, ...], str]]

def check_link(written: object) -> tuple[dict[str, Any], _Problems]:
    """Check the keys of a link and the form of their values.

    Args:
        written: the link's table, or a link in one line.

    Returns:
        The table in canonical form, and the problems found, each with the path to the value.
    """

def expand_link(
    link: Mapping[str, Any], files: Files
) -> tuple[dict[str, Any], list[tuple[str, int]], _Problems]:
    """Add the keys of the preset to a checked link, and expand short keys.

    Returns:
        The table, the path of each figure in it with its value in the smallest unit, and the
        problems found.
    """

def format_quantity(kind: str, count: int) -> str:
    """Format a number of a quantity's smallest unit."""

def format_queue(unit: str, count: int) -> str:
    """Format the limit of a queue."""

def link_definitions() -> dict[str, Any]:
    """Return the JSON Schema definitions of a link and of all its parts, by name."""

def medium_figures(path_json: str) -> list[tuple[str, str]]:
    """Return path and text of each value of a cell or Wi-Fi channel that is not a default."""

def parse_link_line(text: str) -> dict[str, Any]:
    """Parse a link in one line into its table; the values are not checked.

    Raises:
        QuantityError: the line is empty, or names a key twice or without a value.
    """

def parse_quantity(kind: str, value: object) -> int:
    """Read a quantity as a whole number of its smallest unit.

    Args:
        kind: `rate`, `duration`, `size`, `share`, `decibel`, `power`, `length` or `frequency`.
        value: the value to read.

    Raises:
        QuantityError: the value is not such a quantity; the message names a remedy.
    """

def parse_queue(
    value: object,
) -> tuple[Literal["packets", "bytes", "milli_bdp", "unlimited"], int]:
    """Read the limit of a queue: its unit and its number.

    Raises:
        QuantityError: the value is not a limit of a queue; the message says what to write.
    """

@type_check_only
class QueueSize(TypedDict):
    """Size of a drop-tail queue in front of a link with a limited rate."""

    packets: int
    bdp: float
    rate_bits_per_sec: int
    rtt_ns: int
    is_trace: bool
    is_default: bool

def queue_size(
    stage_json: str, rtt_ns: int, server_ns: int, mean_bits_per_sec: dict[str, int]
) -> QueueSize | None:
    """Return the size of a wire's queue on a path with the round-trip time `rtt_ns`.

    `server_ns` is the one-way delay between the link and the server. The result is None if the
    queue is managed or has no limit in packets, if the wire has no rate, or if `rtt_ns` is 0.
    """

def read_preset(name: str, folder: str, text: str) -> dict[str, Any]:
    """Read a preset's file; the tables of its links are in canonical form.

    Raises:
        ValueError: the file is not a preset; the message names file, line and key.
    """

def resolve_link(
    link: Mapping[str, Any] | None, reverse_link: Mapping[str, Any] | None, files: Files
) -> tuple[str | None, bool, int, _Problems]:
    """Create the path of a scenario from checked links, with presets and defaults filled in.

    Returns:
        The path's JSON, whether its reverse direction has a rate and a queue, the delay to the
        server in nanoseconds, and the problems found.
    """

def without_defaults(path_json: str) -> dict[str, Any]:
    """Return a scenario's path without default values, and without `kind` keys."""
