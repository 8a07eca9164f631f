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
    """One connection, or several alike; what it does not say it has from the study."""

    algorithm: str | None = Field(
        default=None, description="congestion control of the sender; the study's if absent"
    )
    stack: str | None = Field(
        default=None, description="stack profile of the sender; the study's if absent"
    )
    receiver_algorithm: str | None = Field(default=None, description="the sender's, if absent")
    receiver_stack: str | None = Field(default=None, description="the sender's, if absent")
    direction: DirectionWord | None = Field(
        default=None, description="which way its data go; the study's if absent"
    )
    user: User | None = Field(
        default=None, description='of a shared medium, from 1; "each": one after the other'
    )
    application: WrittenApplication | None = Field(
        default=None, description="what it carries; the study's if absent"
    )
    bytes: SizeText | None = Field(
        default=None, description="size of a transfer; short for a sized application"
    )
    start: DurationText = Field(default=0, description="when it connects")
    start_jitter: DurationText | None = Field(
        default=None,
        description="the start is later by up to this, drawn anew in each repetition; the study's, "
        "if absent",
    )
    stop: DurationText | None = Field(
        default=None, description="when it is stopped; at its own end or the run's if absent"
    )
    access_delay: DurationText = Field(default=0, description="its own, one way, beside the link")
    user_host: HostOrText | None = Field(
        default=None, description="the user's device and its queue; the study's if absent"
    )
    server_host: HostOrText | None = Field(
        default=None, description="the server's device and its queue; the study's if absent"
    )
    count: Annotated[int, Field(ge=1, le=MOST_FLOWS)] = Field(
        default=1, description="how many of them"
    )
    parameters: dict[str, int] = Field(default={}, description="of its algorithm")
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings of the stack profile that are different, by name"
    )


class Record(Model):
    """The recordings of each run beside its summary."""

    samples: SamplesText = Field(default=100_000_000, description="interval of the time series")
    events: bool = Field(
        default=True, description="losses, recoveries, timeouts and the like, as they happen"
    )
    ack_trace: bool = Field(default=False, description="a row for each ACK")
    pcap: bool = Field(default=False, description="a capture at the data senders")


class StudyModel(Model):
    """Everything that a study file may say."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        default="study", description="names the results folder"
    )
    title: str = Field(default="", description="what reports call it; its id if empty")
    description: str = Field(default="", description="what it is for, in a few sentences")
    duration: DurationText = Field(default=60 * 10**9, description="simulated time of a run")
    warm_up: DurationText = Field(
        default=0, description="time at the beginning of each flow that its statistics leave out"
    )
    begin_within: DurationText = Field(
        default=0,
        description="a run begins later by up to this, drawn anew in each repetition: another part "
        "of a trace; the time before is not counted as duration",
    )
    start_jitter: DurationText = Field(
        default=0,
        description="each flow that has none itself starts later by up to this, drawn anew in each "
        "repetition: what repeats alike where nothing else is random does not",
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
        default=None, description="congestion control of every flow that names none itself"
    )
    rotation: tuple[str, ...] = Field(
        default=(),
        description="algorithms that took turns: a run comes after one of each of the others, in "
        "this order, as far as hosts remember of them",
    )
    stack: str = Field(
        default=DEFAULT_STACK,
        description="stack profile of every flow that names none itself (cwndlab stack list)",
    )
    user_stack: str | None = Field(
        default=None, description="of the user's end, whichever way data go, if not the study's"
    )
    server_stack: str | None = Field(
        default=None, description="of the far end, whichever way data go, if not the study's"
    )
    direction: DirectionWord = Field(
        default="downlink",
        description="direction of the data: along the link (downlink, forward), or along the "
        "reverse link (uplink, reverse)",
    )
    user: User = Field(
        default=1, description='of a shared medium, from 1; "each": every flow has its own'
    )
    application: WrittenApplication = Field(
        default="bulk",
        validate_default=True,
        description="what every flow carries that has none itself",
    )
    flows: Annotated[int, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None, description="number of flows alike, where no [[flow]] says more; 1 if absent"
    )
    link: Link | None = Field(
        default=None,
        description="path from the server to the user: a preset such as lte-typical, trace:FILE, a "
        'TOML file, keys as in "rate=10 Mbit/s,delay=20 ms", or in a file a table',
    )
    reverse_link: Link | None = Field(
        default=None, description="path back; as long as the link and without limits if absent"
    )
    user_host: HostOrText | None = Field(
        default=None, description="between the user's sockets and the link: a name or a table"
    )
    server_host: HostOrText | None = Field(default=None, description="the same of the server")
    live: Live | None = Field(
        default=None, description="where and when it is measured on a real network"
    )
    flow: tuple[Flow, ...] = Field(default=(), description="its flows, where they differ")
    parameters: dict[str, dict[str, int]] = Field(
        default={}, description="[parameters.ALGORITHM]: of every flow that runs it"
    )
    stack_overrides: dict[str, Any] = Field(
        default={}, description="settings of the stack profile that are different, by name"
    )
    record: Record = Field(
        default=Record(), description="what is kept of each run beside its summary"
    )
    factors: dict[str, Any] = Field(
        default={}, description='what varies: "link.rate" = ["1 Mbit/s", "2 Mbit/s"]'
    )
    quick: dict[str, Any] = Field(
        default={}, description="what --quick changes, written like the rest of the file"
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
"""Keys that are tables of their own in a file; the others stand in [study]."""

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
