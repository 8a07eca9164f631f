"""The study as its file has it: a base, the factors that vary it, and what is recorded."""

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
    """One or more equal connections; keys that are absent are taken from the study."""

    algorithm: str | None = Field(
        default=None, description="congestion control of the sender; the study's if absent"
    )
    stack: str | None = Field(
        default=None, description="stack profile of the sender; the study's if absent"
    )
    receiver_algorithm: str | None = Field(
        default=None, description="congestion control of the receiver; the sender's if absent"
    )
    receiver_stack: str | None = Field(
        default=None, description="stack profile of the receiver; the sender's if absent"
    )
    direction: DirectionWord | None = Field(
        default=None, description="direction of the data; the study's if absent"
    )
    user: User | None = Field(
        default=None, description='user of a shared medium, from 1; "each": one user for each flow'
    )
    application: WrittenApplication | None = Field(
        default=None, description="application of the flow; the study's if absent"
    )
    bytes: SizeText | None = Field(
        default=None, description="size of a transfer; short for a sized application"
    )
    start: DurationText = Field(default=0, description="time at which the flow connects")
    start_jitter: DurationText | None = Field(
        default=None,
        description="largest random start delay, drawn again in each repetition; the study's if "
        "absent",
    )
    stop: DurationText | None = Field(
        default=None,
        description="time at which the flow is stopped; if absent, the flow ends by itself or with "
        "the run",
    )
    access_delay: DurationText = Field(
        default=0, description="additional one-way delay of this flow"
    )
    user_host: HostOrText | None = Field(
        default=None, description="the user's device and its queue; the study's if absent"
    )
    server_host: HostOrText | None = Field(
        default=None, description="the server's device and its queue; the study's if absent"
    )
    count: Annotated[int, Field(ge=1, le=MOST_FLOWS)] = Field(
        default=1, description="number of equal connections"
    )
    parameters: dict[str, int] = Field(default={}, description="of its algorithm")
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings of the stack profile that are different, by name"
    )


class Record(Model):
    """Recordings of each run in addition to its summary."""

    samples: SamplesText = Field(default=100_000_000, description="interval of the time series")
    events: bool = Field(
        default=True, description="record losses, recoveries, timeouts and the like"
    )
    ack_trace: bool = Field(default=False, description="record a row for each ACK")
    pcap: bool = Field(default=False, description="capture packets at the senders of the data")


class StudyModel(Model):
    """The content of a study file."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        default="study", description="name of the study and of its results folder"
    )
    title: str = Field(default="", description="title in reports; the id if empty")
    description: str = Field(default="", description="purpose of the study, in a few sentences")
    duration: DurationText = Field(default=60 * 10**9, description="simulated time of a run")
    warm_up: DurationText = Field(
        default=0, description="time at the beginning of each flow that its statistics leave out"
    )
    begin_within: DurationText = Field(
        default=0,
        description="largest random delay of a run's beginning, so that each repetition has "
        "another part of a trace; the time before is not counted as duration",
    )
    start_jitter: DurationText = Field(
        default=0,
        description="largest random start delay of flows that set none themselves, drawn again in "
        "each repetition, so that repetitions differ even if nothing else is random",
    )
    repetitions: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1, description="runs of each combination, each with random draws of its own"
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="number from which all random draws follow"
    )
    common_seeds: bool = Field(
        default=False,
        description="all cells of a repetition share a seed, even if they differ in more than the "
        "algorithm, such as a flow alone and a flow beside others",
    )
    algorithm: str | None = Field(
        default=None, description="congestion control of all flows that do not name one"
    )
    rotation: tuple[str, ...] = Field(
        default=(),
        description="algorithms that took turns between the same hosts: before each run, hosts "
        "have seen one run of each other algorithm, in this order",
    )
    stack: str = Field(
        default=DEFAULT_STACK,
        description="stack profile of all flows that do not name one (cwndlab stack list)",
    )
    user_stack: str | None = Field(
        default=None,
        description="stack profile of the user's end, in both directions; the study's if absent",
    )
    server_stack: str | None = Field(
        default=None,
        description="stack profile of the server's end, in both directions; the study's if absent",
    )
    direction: DirectionWord = Field(
        default="downlink",
        description="direction of the data: along the link (downlink, forward), or along the "
        "reverse link (uplink, reverse)",
    )
    user: User = Field(
        default=1,
        description='user of a shared medium, from 1; "each": every flow has a user of its own',
    )
    application: WrittenApplication = Field(
        default="bulk",
        validate_default=True,
        description="application of all flows that do not have one",
    )
    flows: Annotated[int, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None, description="number of equal flows, without [[flow]] tables; 1 if absent"
    )
    link: Link | None = Field(
        default=None,
        description="path from the server to the user: a preset such as lte-typical, trace:FILE, a "
        'TOML file, keys as in "rate=10 Mbit/s,delay=20 ms", or in a file a table',
    )
    reverse_link: Link | None = Field(
        default=None,
        description="path from the user to the server; same delay and no limits if absent",
    )
    user_host: HostOrText | None = Field(
        default=None,
        description="host of the user, between its sockets and the link: a name or a table",
    )
    server_host: HostOrText | None = Field(
        default=None, description="host of the server: a name or a table"
    )
    live: Live | None = Field(
        default=None, description="where and when the study is measured on a real network"
    )
    flow: tuple[Flow, ...] = Field(default=(), description="the flows, if they are not all equal")
    parameters: dict[str, dict[str, int]] = Field(
        default={}, description="[parameters.ALGORITHM]: parameters of all flows that run it"
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings of the stack profile that are different, by name"
    )
    record: Record = Field(
        default=Record(), description="recordings of each run beside its summary"
    )
    factors: dict[str, Any] = Field(
        default={},
        description='factors, each with its levels: "link.rate" = ["1 Mbit/s", "2 Mbit/s"]',
    )
    quick: dict[str, Any] = Field(
        default={}, description="keys that --quick changes, written like the rest of the file"
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
"""Keys that are tables of their own in a file; the others are in [study]."""

RESERVED_FACTORS = ("zip", "include", "exclude")


def flatten_factors(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """`link.rate = [...]` and `"link.rate" = [...]` are the same factor."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        path = prefix + key
        if isinstance(value, dict):
            flat |= flatten_factors(value, f"{path}.")
        else:
            flat[path] = value
    return flat
