"""Define the content of a study file: settings, factors that vary them, and data to record."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from cwndlab.schema.application import WrittenApplication
from cwndlab.schema.base import Model, TrueOrFalse, Whole
from cwndlab.schema.forms import ID
from cwndlab.schema.host import HostOrText
from cwndlab.schema.link import Link
from cwndlab.schema.live import Live
from cwndlab.schema.types import DurationText, SamplesText, SizeText

DEFAULT_STACK = "linux-6.1"
DirectionWord = Literal["forward", "reverse", "downlink", "uplink"]
MOST_FLOWS = 10_000
User = Annotated[Whole, Field(ge=1, le=2**16 - 1)] | Literal["each"]


class Flow(Model):
    """One or more connections with the same settings."""

    algorithm: str | None = Field(
        default=None,
        description="congestion control algorithm of the sender; if absent, the "
        "algorithm of the study",
    )
    stack: str | None = Field(
        default=None,
        description="TCP stack profile of both ends of the flow; if absent, the user_stack and "
        "server_stack of the study or, without these, the stack of the study",
    )
    receiver_algorithm: str | None = Field(
        default=None,
        description="congestion control algorithm of the receiver; if absent, the "
        "algorithm of the sender",
    )
    receiver_stack: str | None = Field(
        default=None,
        description="TCP stack profile of the receiver; if absent, `stack` or its default applies "
        "to the receiver too",
    )
    direction: DirectionWord | None = Field(
        default=None, description="direction of the data; if absent, the direction of the study"
    )
    user: User | None = Field(
        default=None,
        description="number of the user of the cell or Wi-Fi channel to whom the flow belongs, "
        'counted from 1; "each" assigns a different user to each flow',
    )
    application: WrittenApplication | None = Field(
        default=None, description="application of the flow; if absent, the application of the study"
    )
    bytes: SizeText | None = Field(
        default=None,
        description='size of a single transfer; short form of application = { kind = "sized", '
        "bytes = ... }",
    )
    start: DurationText = Field(
        default=0,
        description="time at which the flow opens its connection, counted from the start of the "
        "run; the random start delay is added",
    )
    start_jitter: DurationText | None = Field(
        default=None,
        description="upper limit of the flow's random start delay, which each repetition draws "
        "anew; if absent, the start_jitter of the study",
    )
    stop: DurationText | None = Field(
        default=None,
        description="time, counted from the start of the run, after which the application of the "
        "flow writes no more data; if absent, the flow ends when all its data have been sent, at "
        "the latest at the end of the run",
    )
    access_delay: DurationText = Field(
        default=0,
        description="delay of this flow in each direction, in addition to the delay of the link",
    )
    user_host: HostOrText | None = Field(
        default=None,
        description="network device and transmit queue of the user's machine; if "
        "absent, the user_host of the study",
    )
    server_host: HostOrText | None = Field(
        default=None,
        description="network device and transmit queue of the server; if absent, "
        "the server_host of the study",
    )
    count: Annotated[Whole, Field(ge=1, le=MOST_FLOWS)] = Field(
        default=1, description="number of connections with these settings"
    )
    parameters: dict[str, Whole] = Field(
        default={},
        description="parameters of the flow's congestion control algorithm, as NAME = VALUE",
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings that override the TCP stack profile, as NAME = VALUE"
    )


class Record(Model):
    """Data that each run records in addition to its summary."""

    samples: SamplesText = Field(
        default=100_000_000,
        description="sampling interval of the time series that each run records",
    )
    events: TrueOrFalse = Field(
        default=True, description="whether to record events such as losses, recoveries and timeouts"
    )
    ack_trace: TrueOrFalse = Field(
        default=False, description="whether to record one row for each ACK that the sender receives"
    )
    pcap: TrueOrFalse = Field(
        default=False,
        description="whether to record the headers of the packets that each sender of data sends "
        "and receives, in the file capture.pcap of the run",
    )


class StudyModel(Model):
    """The content of a study file."""

    id: Annotated[str, Field(pattern=ID)] = Field(
        default="study", description="name of the study and of its results folder"
    )
    title: str = Field(
        default="", description="title of the study in reports; if empty, reports show the id"
    )
    description: str = Field(default="", description="purpose of the study, in a few sentences")
    duration: DurationText = Field(default=60 * 10**9, description="simulated time of a run")
    warm_up: DurationText = Field(
        default=0,
        description="length of the warm-up at the start of each flow; statistics exclude it",
    )
    begin_within: DurationText = Field(
        default=0,
        description="upper limit of the random position in the link's trace at which a repetition "
        "begins, so that repetitions use different parts of the trace; the duration of a run "
        "counts from this position",
    )
    start_jitter: DurationText = Field(
        default=0,
        description="upper limit of the random start delay of each flow that does not set "
        "start_jitter; each repetition draws a new delay, so repetitions differ even if nothing "
        "else is random",
    )
    repetitions: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        default=1,
        description="number of runs of each combination of factor levels; each run has "
        "different random numbers",
    )
    seed: Annotated[Whole, Field(ge=0, le=2**63 - 1)] = Field(
        default=1,
        description="random seed of the study, from which the seed of each run is derived",
    )
    common_seeds: TrueOrFalse = Field(
        default=False,
        description="whether all runs of a repetition have the same seed, even if they differ, for "
        "example, in the number of flows; if false, only runs that differ in nothing but the "
        "algorithm have the same seed",
    )
    algorithm: str | None = Field(
        default=None,
        description="congestion control algorithm of all flows that do not set an algorithm",
    )
    rotation: tuple[str, ...] = Field(
        default=(),
        description="algorithms that take turns, in this order, between the same hosts, which "
        "remember values from earlier connections; in simulations, one run with each of the "
        "other algorithms precedes each measured run",
    )
    stack: str = Field(
        default=DEFAULT_STACK,
        description="TCP stack profile of all flows that do not set a stack; `cwndlab stack "
        "list` lists the profiles",
    )
    user_stack: str | None = Field(
        default=None,
        description="TCP stack profile of the user's machine, for sending and receiving; if "
        "absent, the stack of the study",
    )
    server_stack: str | None = Field(
        default=None,
        description="TCP stack profile of the server, for sending and receiving; if absent, the "
        "stack of the study",
    )
    direction: DirectionWord = Field(
        default="downlink",
        description="direction of the data: with downlink (or forward), the server sends to the "
        "user over the link; with uplink (or reverse), the user sends to the server over the "
        "reverse link",
    )
    user: User = Field(
        default=1,
        description="number of the user of the cell or Wi-Fi channel to whom the flow belongs, "
        'counted from 1; "each" assigns a different user to each flow',
    )
    application: WrittenApplication = Field(
        default="bulk",
        validate_default=True,
        description="application of all flows that do not set an application",
    )
    flows: Annotated[Whole, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None,
        description="number of identical flows, in a study without [[flow]] tables; if absent, 1",
    )
    link: Link | None = Field(
        default=None,
        description="path from the server to the user: a preset such as lte-typical, a TOML file, "
        'a recording as trace:FILE, or keys such as "rate=10 Mbit/s,delay=20 ms"; a study file may '
        "also contain a table [link]",
    )
    reverse_link: Link | None = Field(
        default=None,
        description="path from the user to the server, for a link that covers only one direction; "
        "if absent, this path is the reverse link of the preset or of the recording; if neither "
        "has a reverse link, the path has the delay of the link, an unlimited rate and an "
        "unlimited queue",
    )
    user_host: HostOrText | None = Field(
        default=None,
        description="network device and transmit queue of the user's machine: the name of a "
        "host preset, or a table",
    )
    server_host: HostOrText | None = Field(
        default=None,
        description="network device and transmit queue of the server: the name of a host "
        "preset, or a table",
    )
    live: Live | None = Field(
        default=None, description="place and time of the study's measurements on a real network"
    )
    flow: tuple[Flow, ...] = Field(
        default=(),
        description="flows of the study; needed only if the flows have different settings",
    )
    parameters: dict[str, dict[str, Whole]] = Field(
        default={},
        description="parameters of congestion control algorithms, for all flows; each algorithm "
        "has a table [parameters.ALGORITHM]",
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings that override the TCP stack profile, as NAME = VALUE"
    )
    record: Record = Field(
        default=Record(), description="data that each run records in addition to its summary"
    )
    factors: dict[str, Any] = Field(
        default={},
        description="settings to vary (factors), each with a list of values (levels): "
        '"link.rate" = ["1 Mbit/s", "2 Mbit/s"]; the study runs all combinations',
    )
    quick: dict[str, Any] = Field(
        default={},
        description="settings that the option --quick uses instead of the values of the same keys "
        "in the rest of the file",
    )

    @field_validator("factors", mode="before")
    @classmethod
    def _flatten(cls, value: object) -> object:
        return flatten_factors(value) if isinstance(value, dict) else value


TABLES = (
    "link",
    "reverse_link",
    "user_host",
    "server_host",
    "live",
    "flow",
    "application",
    "parameters",
    "stack_overrides",
    "record",
    "factors",
    "quick",
)
"""Keys that have their own table in a study file; all other keys are in [study]."""

RESERVED_FACTORS = ("zip", "include", "exclude")


def flatten_factors(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten the table of factors: `link.rate = [...]` becomes `"link.rate" = [...]`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        path = prefix + key
        if isinstance(value, dict):
            flat |= flatten_factors(value, f"{path}.")
        else:
            flat[path] = value
    return flat
