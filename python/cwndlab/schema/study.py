"""The content of a study file: base settings, factors that vary them, and recordings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from cwndlab.schema.application import WrittenApplication
from cwndlab.schema.base import Model
from cwndlab.schema.host import HostOrText
from cwndlab.schema.link import Link
from cwndlab.schema.live import Live
from cwndlab.schema.types import DurationText, SamplesText, SizeText

DEFAULT_STACK = "linux-6.1"
DirectionWord = Literal["forward", "reverse", "downlink", "uplink"]
Whole = Annotated[int, Field(gt=0, le=2**63 - 1)]
MOST_FLOWS = 10_000
User = Annotated[int, Field(ge=1, le=2**16 - 1)] | Literal["each"]


class Flow(Model):
    """One or more connections with the same settings; keys that are absent are the study's."""

    algorithm: str | None = Field(
        default=None, description="congestion control of the sender; if absent, the study's"
    )
    stack: str | None = Field(
        default=None, description="stack profile of the sender; if absent, the study's"
    )
    receiver_algorithm: str | None = Field(
        default=None, description="congestion control of the receiver; if absent, the sender's"
    )
    receiver_stack: str | None = Field(
        default=None, description="stack profile of the receiver; if absent, the sender's"
    )
    direction: DirectionWord | None = Field(
        default=None, description="direction of the data; if absent, the study's"
    )
    user: User | None = Field(
        default=None,
        description='number of the user on a shared medium, from 1; "each" gives each flow its '
        "own user",
    )
    application: WrittenApplication | None = Field(
        default=None, description="application of the flow; if absent, the study's"
    )
    bytes: SizeText | None = Field(
        default=None,
        description="number of bytes to transfer; short form of an application of kind sized",
    )
    start: DurationText = Field(default=0, description="time at which the flow connects")
    start_jitter: DurationText | None = Field(
        default=None,
        description="largest random start delay, drawn anew in each repetition; if absent, the "
        "study's",
    )
    stop: DurationText | None = Field(
        default=None,
        description="time at which the flow is stopped; if absent, the flow ends when its data "
        "are sent or when the run ends",
    )
    access_delay: DurationText = Field(
        default=0, description="additional one-way delay of this flow"
    )
    user_host: HostOrText | None = Field(
        default=None, description="the user's device and its queue; if absent, the study's"
    )
    server_host: HostOrText | None = Field(
        default=None, description="the server's device and its queue; if absent, the study's"
    )
    count: Annotated[int, Field(ge=1, le=MOST_FLOWS)] = Field(
        default=1, description="number of connections with these settings"
    )
    parameters: dict[str, int] = Field(
        default={}, description="parameters of the flow's algorithm, by name"
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="values that replace settings of the stack profile, by name"
    )


class Record(Model):
    """Data to record for each run in addition to its summary."""

    samples: SamplesText = Field(default=100_000_000, description="interval of the time series")
    events: bool = Field(
        default=True, description="record events such as losses, recoveries and timeouts"
    )
    ack_trace: bool = Field(default=False, description="record a row for each ACK")
    pcap: bool = Field(
        default=False, description="capture the packets at each sender of data in a pcap file"
    )


class StudyModel(Model):
    """The content of a study file."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        default="study", description="name of the study and of its results folder"
    )
    title: str = Field(default="", description="title in reports; if empty, the id")
    description: str = Field(default="", description="purpose of the study, in a few sentences")
    duration: DurationText = Field(default=60 * 10**9, description="simulated time of a run")
    warm_up: DurationText = Field(
        default=0,
        description="time at the start of each flow that is excluded from its statistics",
    )
    begin_within: DurationText = Field(
        default=0,
        description="largest random offset at which a run begins, so each repetition uses a "
        "different part of a trace; the time before the run begins does not count as duration",
    )
    start_jitter: DurationText = Field(
        default=0,
        description="largest random start delay of flows that do not set start_jitter themselves; "
        "drawn anew in each repetition, so repetitions differ even if nothing else is random",
    )
    repetitions: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1,
        description="number of runs of each combination of levels, each with different random "
        "numbers",
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1,
        description="random seed of the study, from which the seed of each run is derived",
    )
    common_seeds: bool = Field(
        default=False,
        description="use the same seed for all cells (combinations of levels) in a repetition, "
        "even if they differ in more than the algorithm, such as in the number of flows",
    )
    algorithm: str | None = Field(
        default=None, description="congestion control of all flows that do not name one"
    )
    rotation: tuple[str, ...] = Field(
        default=(),
        description="algorithms that take turns between the same hosts; before each run, the "
        "hosts have already done one run of each other algorithm, in this order",
    )
    stack: str = Field(
        default=DEFAULT_STACK,
        description="stack profile of all flows that do not name one (cwndlab stack list)",
    )
    user_stack: str | None = Field(
        default=None,
        description="stack profile of the user's end, for sending and receiving; if absent, the "
        "study's stack",
    )
    server_stack: str | None = Field(
        default=None,
        description="stack profile of the server's end, for sending and receiving; if absent, the "
        "study's stack",
    )
    direction: DirectionWord = Field(
        default="downlink",
        description="direction of the data: along the link (downlink, forward), or along the "
        "reverse link (uplink, reverse)",
    )
    user: User = Field(
        default=1,
        description='number of the user on a shared medium, from 1; "each" gives each flow its '
        "own user",
    )
    application: WrittenApplication = Field(
        default="bulk",
        validate_default=True,
        description="application of all flows that do not name one",
    )
    flows: Annotated[int, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None,
        description="number of flows with the same settings, instead of [[flow]] tables; if "
        "absent, 1",
    )
    link: Link | None = Field(
        default=None,
        description="path from the server to the user: a preset such as lte-typical, trace:FILE, "
        'the name of a TOML file, keys as in "rate=10 Mbit/s,delay=20 ms", or, in a study file, a '
        "table",
    )
    reverse_link: Link | None = Field(
        default=None,
        description="path from the user to the server; if absent, it has the delay of the link "
        "and neither a rate limit nor a queue limit",
    )
    user_host: HostOrText | None = Field(
        default=None,
        description="device and queue between the user's sockets and the link: the name of a host "
        "or a table",
    )
    server_host: HostOrText | None = Field(
        default=None,
        description="device and queue between the server's sockets and the link: the name of a "
        "host or a table",
    )
    live: Live | None = Field(
        default=None, description="where and when the study is measured on a real network"
    )
    flow: tuple[Flow, ...] = Field(
        default=(), description="the flows, if their settings are not all the same"
    )
    parameters: dict[str, dict[str, int]] = Field(
        default={}, description="parameters of an algorithm in all flows: [parameters.ALGORITHM]"
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="values that replace settings of the stack profile, by name"
    )
    record: Record = Field(
        default=Record(), description="data to record for each run in addition to its summary"
    )
    factors: dict[str, Any] = Field(
        default={},
        description='factors with their levels: "link.rate" = ["1 Mbit/s", "2 Mbit/s"]',
    )
    quick: dict[str, Any] = Field(
        default={},
        description="values that --quick uses instead, written as in the rest of the file",
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
    """Flatten the table of factors, so `link.rate = [...]` equals `"link.rate" = [...]`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        path = prefix + key
        if isinstance(value, dict):
            flat |= flatten_factors(value, f"{path}.")
        else:
            flat[path] = value
    return flat
