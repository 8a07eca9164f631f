# ruff: noqa: PYI021  the core is compiled: this is the only place for its documentation
"""The compiled core: simulations, algorithms, stack profiles and traces. Private to cwndlab.

Conversion only: JSON and bytes go in, columns come out. Columns are numpy arrays where every value
is defined or where the column is of floats, in which NaN stands for undefined; otherwise they are
lists in which None stands for undefined. Undefined is never 0.

Bad input raises ValueError, whose message names the place: of a scenario
`cwndlab.errors.ScenarioRefusedError`. Anything else is RuntimeError.
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
    "protections",
    "queue_size",
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
"""Grows when the same scenario and seed may give another result than before."""

def analyse_capture(
    path: str | PathLike[str], *, warm_up_ns: int = 0, sample_interval_ns: int = ...
) -> list[dict[str, Any]]:
    """Tell what the packets of a pcap or pcapng file tell of its TCP connections.

    Args:
        path: of the file, which is read as a stream.
        warm_up_ns: left out of each flow's means and rates at its beginning.
        sample_interval_ns: of the time series, 100 ms if not said; 0 for none.

    Returns:
        A dictionary for each direction of a connection that carried data; its keys are the fields
        of `Flow` in `crates/capture`, `samples` and `events` are columns.

    Raises:
        ValueError: it is no capture, or damaged elsewhere than at its end.
        OSError: it cannot be read.
    """

# ---- tables, by tools/make_stub.py
@type_check_only
class Flows(TypedDict):
    """One entry per flow, in the scenario's order."""

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
    """One entry per stage of the path, `forward.0` first."""

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
    """The flows at an interval, while they live. NaN: an infinite ssthresh, no RTT yet."""

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
    """What happened. `flow` is None for an event that concerns every flow; NaN: no value."""

    flow: list[int | None]
    t_s: NDArray[np.float64]
    event: list[str]
    value: NDArray[np.float64]

@type_check_only
class Acks(TypedDict):
    """The state in which each ACK found its sender; positions count from the first byte."""

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
    """What a source got that always sends: arrivals, the queue each ms, a cell's blocks."""

    at_ns: NDArray[np.uint64]
    delay_ns: NDArray[np.uint64]
    queue_pkts: NDArray[np.uint32]
    queue_bytes: NDArray[np.uint64]
    block_at_ns: NDArray[np.uint64]
    block_sinr_db: NDArray[np.float64]

# ---- end of the tables

@type_check_only
class Result(TypedDict):
    """What a run answers; what the scenario's `record` does not ask for is None."""

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
    """What `run_many` answers; every table has a column `run` beside its own."""

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
    """A congestion control algorithm that is built in."""

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
    """A rule that an algorithm broke: the hook, the rule, and a short example of it."""

    hook: str
    rule: str
    example: str

@type_check_only
class CallLayout(TypedDict):
    """Hooks by their numbers, the length of a call, and each field's name, offset, length, sign."""

    hooks: list[str]
    bytes: int
    fields: list[tuple[str, int, int, bool]]

@type_check_only
class Stack(TypedDict):
    """A stack profile: its file and what the file says."""

    name: str
    text: str
    sha256: str
    values: dict[str, Any]

@type_check_only
class Trace(TypedDict):
    """What a trace file holds. The kind is `mahimahi` or `log`, `content` the file as that kind."""

    kind: str
    content: bytes
    opportunities: int | None
    duration_s: float
    mean_rate_mbit_s: float
    understood: str

@type_check_only
class RecordedDirection(Trace):
    """One direction of a recorded network: its trace, and its delay without load if known."""

    delay_ns: int | None

@type_check_only
class RecordedPath(TypedDict):
    """Both directions of a recorded network."""

    down: RecordedDirection
    up: RecordedDirection

@type_check_only
class Column(TypedDict):
    """A column of a table that the core answers.

    `type` is `text`, `integer` or `real`; `array` the type of the array that it comes as, or None
    for a list; `meaning` the comment of its field in the core.
    """

    table: str
    name: str
    unit: str
    type: str
    can_be_undefined: bool
    array: str | None
    meaning: str

def columns() -> list[Column]:
    """List every column of every table that the core answers."""

class Stop:
    """Breaks off runs that were given it, from another thread."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """Let them end within some milliseconds, with an error."""

def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[PathLike[str] | str, str]] | None = None,
    *,
    record_calls: bool = False,
    stop: Stop | None = None,
) -> Result:
    """Run a scenario; other threads go on meanwhile.

    Args:
        scenario_json: the scenario.
        traces: contents of the trace files that the scenario names, by its names.
        objects: algorithms that were compiled at run time, by the names that the scenario uses: the
            shared object, and what messages call its source. With these the process belongs to the
            run: what they break ends it, after a line on standard error.
        record_calls: whether to give each call of their hooks, as `call_layout` says.
        stop: breaks it off when it is set.

    Raises:
        ValueError: the scenario, a trace or an object is wrong; the message begins with the place.
        RuntimeError: it was broken off.
    """

def run_many(
    scenarios: Sequence[str],
    traces: Mapping[str, bytes],
    objects: Mapping[str, tuple[PathLike[str] | str, str]] | None = None,
    *,
    stop: Stop | None = None,
    take: Callable[[int, Result], None] | None = None,
) -> Batch:
    """Run scenarios one after the other; other threads go on meanwhile.

    A batch ends early where much is recorded: at least the first scenario is run, unless it is
    stopped, and a capture is of the last.

    Args:
        scenarios: the scenarios.
        traces: contents of the trace files that they name.
        objects: as for `run`.
        stop: breaks off the run that goes on; those before it are answered.
        take: is given what a long run has recorded so far, and its position; the rest is in the
            answer. Without it all is in the answer.

    Returns:
        Tables as of `run`, whose column `run` is the position of each row's scenario, and `errors`:
        for each scenario that was tried why it failed, or None.

    Raises:
        ValueError: an object is wrong.
    """

def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    """Check a scenario without running it, and answer it in canonical form.

    Args:
        scenario_json: the scenario.
        traces: as for `run`; without them only the scenario's form is checked, not whether the
            algorithms, settings and traces that it names exist.

    Raises:
        ValueError: the scenario is wrong; the message begins with the place.
    """

def run_seed(cell_json: str | None, repetition: int, study_seed: int) -> int:
    """Give the seed of a repetition, below 2^53, the same for equal arguments.

    Args:
        cell_json: what the channel's randomness may depend on, as canonical JSON within a JSON
            string, or None where all cells of a study share their seeds.
        repetition: counted from 0.
        study_seed: the seed of the study.
    """

def drawn_ns(seed: int, name: str, most_ns: int) -> int:
    """Give a number of nanoseconds that a run draws: below `most_ns`, or 0 if that is 0."""

def saturate(
    scenario_json: str, traces: Mapping[str, bytes], direction: str, user: int
) -> Saturation:
    """Saturate one direction of a scenario's path, `forward` or `reverse`, for one user.

    The scenario's flows do nothing; packets have 1500 bytes. Other threads go on meanwhile.

    Raises:
        ValueError: the scenario or a trace is wrong, or nothing limits the rate.
    """

@type_check_only
class ChosenScore(TypedDict):
    """A contestant's score; utilities are natural logarithms, 0.03 is 3 %."""

    score: float
    low: float | None
    high: float | None
    behind: float
    margin: float
    is_good: bool

@type_check_only
class Chosen(TypedDict):
    """The set of good contestants; contestants are numbers of rows."""

    order: list[int]
    good: list[int]
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
    """How good a choice is over a population of networks."""

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
) -> Chosen:
    """Choose the set of good contestants.

    Args:
        gain: logarithms of what is good, one row a contestant, one column a repetition; NaN where
            a run is missing.
        cost: logarithms of what is bad, of the same shape.
        price: of cost: utility is gain - price x cost.
        zone: differences of utility that nobody cares about.

    Returns:
        `order` has the highest mean first; `good` is the set in that order. `low` and `high` are
        95 % intervals (Student's t). `behind` is the mean difference to the first over pairs,
        `margin` how much of it keeps a contestant in the set. `is_settled`: everyone is known to
        be in the set or not, however often one looked. `is_random`: runs differ. `leader_stays`:
        the probability that as many fresh repetitions give a set that holds the first; `same_set`:
        that they give the same set; `leader_is_good`: that the first is within the zone of the
        best; None with fewer than six pairs that differ. `spans`: prices at which each is within
        the zone of the best.
    """

def relative_change(
    ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float | None, float | None] | None:
    """By what share `ours` is more than `theirs`, both logarithms, and its 95 % interval.

    It is of the mean difference over whole pairs (Student's t); None without any.
    """

def logarithms(values: Sequence[float]) -> list[float]:
    """Natural logarithms, the same on every machine; that of 0 is minus infinity."""

def robustness(
    draws: Sequence[Sequence[float]],
    weights: Sequence[float],
    choice: int,
    noise: Sequence[float],
    zone: float,
) -> Robustness | None:
    """Say how good a choice is over a population of networks.

    Args:
        draws: utilities, one row a contestant, one column a network.
        weights: one of each network.
        choice: the row that is judged.
        noise: standard deviation of each row's distance to the choice in one draw, by chance.
        zone: differences of utility that nobody cares about.
    """

def algorithms() -> list[Algorithm]:
    """The built-in congestion control algorithms."""

def contract_files() -> dict[str, str]:
    """The files that an algorithm is compiled with at run time: texts by path."""

def protections() -> list[tuple[str, bool]]:
    """Name what the kernel offers to confine a process, and whether it is there."""

def confine_worker(readable: Sequence[str]) -> None:
    """Confine this process for good: it may read below `readable`, and compute.

    Raises:
        OSError: the kernel has a protection and refuses to apply it.
    """

def run_compiler(
    command: Sequence[str],
    environment: Sequence[tuple[str, str]],
    readable: Sequence[str],
    writable: Sequence[str],
    time_limit_s: int,
) -> tuple[int, bytes, bytes]:
    """Run a command that reads below some folders and writes below others; all else is denied.

    Returns:
        Its status (minus the signal that ended it), standard output, standard error.

    Raises:
        OSError: it cannot be started.
        TimeoutError: it had not ended in time, or printed too much.
    """

def describe_object(object: PathLike[str] | str, file: str) -> Algorithm:  # noqa: A002  its name
    """Load a shared object into this process, as `run` does, and tell what it is.

    Raises:
        ValueError: it is no algorithm, or does not keep to the contract.
    """

def check_object(
    object: PathLike[str] | str,  # noqa: A002  its name
    file: str,
    examples: int,
    seed: int,
    is_module: bool,
) -> Violation | None:
    """Run the conformance suite over a shared object, in this process.

    Args:
        object: the shared object.
        file: what messages call its source.
        examples: how many sequences of operations to try.
        seed: the same one gives the same sequences.
        is_module: a kernel's own; its parameters stay, and it may bound its window.

    Returns:
        The first rule that it broke.

    Raises:
        ValueError: it is no algorithm, or does not keep to the contract.
    """

def call_layout() -> CallLayout:
    """What a recorded call consists of."""

def stacks() -> list[Stack]:
    """The stack profiles."""

def read_trace(
    content: bytes,
    name: str,
    *,
    column: str | None = None,
    unit: str | None = None,
    time_column: str | None = None,
    time_unit: str | None = None,
) -> Trace:
    """Read a trace of any form; what it is, is seen from its content.

    Args:
        content: the file, which may be gzip.
        name: what messages call it.
        column: the rate's column, by name or by number from 1.
        unit: the rate's unit, such as `Mbit/s` or `bytes`.
        time_column: the times' column.
        time_unit: the times' unit, such as `ms`.

    Raises:
        ValueError: it is no trace, or does not say enough; the message begins with `name` and the
            line, and names the columns and the argument that would settle it.
    """

def read_trace_folder(files: list[tuple[str, bytes]], name: str) -> RecordedPath:
    """Read the files of a folder of CellReplay, each with its name.

    Raises:
        ValueError: the folder is none, or one of its files is wrong.
    """

@type_check_only
class Files(Protocol):
    """Opens what links name; what the user can mend is raised as `cwndlab.errors.CwndlabError`."""

    def preset(self, name: str) -> tuple[str, str, str]:
        """The file of a preset, what paths in it are relative to, and what it says."""

    def recording(
        self,
        path: str,
        column: str | None,
        unit: str | None,
        time_column: str | None,
        time_unit: str | None,
        way: str,
    ) -> tuple[str, bool, int, bool, int | None]:
        """A recorded link; of a folder, that of one direction, `down` or `up`.

        Returns:
            Its name in scenarios, whether it is a Mahimahi trace, its mean rate in bits a second,
            whether it is of a folder, and its delay in nanoseconds if the folder has that.
        """

_Problems: TypeAlias = list[tuple[tuple[str | int, ...], str]]

def check_link(written: object) -> tuple[dict[str, Any], _Problems]:
    """See whether a link's keys are known and their values of the right form.

    Args:
        written: the table, or the line that is short for one.

    Returns:
        The table, each table in it in its one form, and what is wrong, by the way to the value.
    """

def expand_link(
    link: Mapping[str, Any], files: Files
) -> tuple[dict[str, Any], list[tuple[str, int]], _Problems]:
    """Add its preset's keys to a checked link, and put long keys in the place of short ones.

    Returns:
        The table, each of its figures in its smallest unit by its path, and what is wrong.
    """

def format_quantity(kind: str, count: int) -> str:
    """Write so many of a quantity's smallest unit."""

def format_queue(unit: str, count: int) -> str:
    """Write the limit of a queue."""

def link_definitions() -> dict[str, Any]:
    """The JSON Schema's definitions of a link and of all that may stand in it, by name."""

def medium_figures(path_json: str) -> list[tuple[str, str]]:
    """Each figure of a cell or a channel that differs from its default: its path and its text."""

def parse_link_line(text: str) -> dict[str, Any]:
    """Read a link in one line as the table that it stands for.

    Raises:
        QuantityError: it is none, or names a key twice or without a value.
    """

def parse_quantity(kind: str, value: object) -> int:
    """Read a quantity as a whole number of its smallest unit.

    Args:
        kind: `rate`, `duration`, `size`, `share`, `decibel`, `power`, `length` or `frequency`.
        value: what was written.

    Raises:
        QuantityError: it is none; says what to write.
    """

def parse_queue(
    value: object,
) -> tuple[Literal["packets", "bytes", "milli_bdp", "unlimited"], int]:
    """Read the limit of a queue: its unit, and how many.

    Raises:
        QuantityError: it is none; says what to write.
    """

@type_check_only
class QueueSize(TypedDict):
    """How much a drop-tail queue behind a rate holds."""

    packets: int
    bdp: float
    rate_bits_per_sec: int
    rtt_ns: int
    is_trace: bool
    is_default: bool

def queue_size(
    stage_json: str, rtt_ns: int, server_ns: int, mean_bits_per_sec: dict[str, int]
) -> QueueSize | None:
    """How much the queue of a wire holds on a path of this round trip.

    Of the round trip, `server_ns` one way is between the link and the server. None where it is
    managed, endless, in bytes or without a rate.
    """

def read_preset(name: str, folder: str, text: str) -> dict[str, Any]:
    """Read a preset's file; its links' tables come in their one form.

    Raises:
        ValueError: it is none; names file, line and key.
    """

def resolve_link(
    link: Mapping[str, Any] | None, reverse_link: Mapping[str, Any] | None, files: Files
) -> tuple[str | None, bool, int, _Problems]:
    """Make the path of a scenario of checked links, with presets and defaults put in.

    Returns:
        The path's JSON, whether its reverse direction has a rate and a queue, and what is wrong.
    """

def without_defaults(path_json: str) -> dict[str, Any]:
    """A scenario's path without what is as it usually is, and without its kinds."""
