"""The study as its file has it: a base, the factors that vary it, and what is recorded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from cwndlab.schema.base import Model
from cwndlab.schema.host import HostOrText
from cwndlab.schema.link import LinkOrText
from cwndlab.schema.scenario import AlgorithmOn, Days, Distribution
from cwndlab.schema.sftp_clients import sftp_clients
from cwndlab.schema.types import DurationText, RateText, SamplesText, SizeText
from cwndlab.schema.written import word_as_kind

DEFAULT_STACK = "linux-6.1"
Direction = Literal["forward", "reverse", "downlink", "uplink"]
Whole = Annotated[int, Field(gt=0, le=2**63 - 1)]
MOST_FLOWS = 10_000
PERIOD = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
User = Annotated[int, Field(ge=1, le=2**16 - 1)] | Literal["each"]


class Bulk(Model):
    """As much as the connection takes."""

    kind: Literal["bulk"] = "bulk"


class Sized(Model):
    """One transfer."""

    kind: Literal["sized"] = "sized"
    bytes: SizeText


class OnOff(Model):
    """Bulk for a time, then silence for a time, in turn."""

    kind: Literal["on_off"] = "on_off"
    on: DurationText
    off: DurationText
    distribution: Distribution = "fixed"


class RequestResponse(Model):
    """The receiver of the data asks, their sender answers, the receiver thinks."""

    kind: Literal["request_response"] = "request_response"
    request: SizeText
    response: SizeText
    think: DurationText = 0
    count: Whole | None = None


class Paced(Model):
    """A write of the same size at equal distances."""

    kind: Literal["paced"] = "paced"
    rate: RateText
    write: SizeText


class WindowedFile(Model):
    """Blocks of a file, a limited number outstanding: how SFTP clients send."""

    kind: Literal["windowed_file"] = "windowed_file"
    request: SizeText
    outstanding: Whole
    total: SizeText | None = None


class Http(Model):
    """One file over HTTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["http"] = "http"
    bytes: SizeText
    chunk: SizeText | None = Field(
        default=None,
        description="of an upload, each answered before the next; all at once if absent",
    )


class Sftp(Model):
    """One file over SFTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["sftp"] = "sftp"
    bytes: SizeText
    client: str = Field(
        default="openssh", description=f"whose requests: {', '.join(sftp_clients())}"
    )


Application = Annotated[
    Annotated[
        Bulk | Sized | OnOff | RequestResponse | Paced | WindowedFile | Http | Sftp,
        Field(discriminator="kind"),
    ],
    BeforeValidator(word_as_kind),
]


class Flow(Model):
    """One connection, or several alike; what it does not say it has from the study."""

    algorithm: str | None = None
    stack: str | None = None
    receiver_algorithm: str | None = Field(default=None, description="the sender's, if absent")
    receiver_stack: str | None = Field(default=None, description="the sender's, if absent")
    direction: Direction | None = None
    user: User | None = Field(
        default=None, description='of a shared medium, from 1; "each": one after the other'
    )
    application: Application | None = None
    bytes: SizeText | None = Field(default=None, description="short for a sized application")
    start: DurationText = 0
    start_jitter: DurationText | None = Field(
        default=None,
        description="the start is later by up to this, drawn anew in each repetition; the study's, "
        "if absent",
    )
    stop: DurationText | None = None
    access_delay: DurationText = Field(default=0, description="its own, one way, beside the link")
    user_host: HostOrText | None = None
    server_host: HostOrText | None = None
    count: Annotated[int, Field(ge=1, le=MOST_FLOWS)] = Field(
        default=1, description="how many of them"
    )
    parameters: dict[str, int] = Field(default={}, description="of its algorithm")
    stack_overrides: dict[str, Any] = Field(default={})


class Record(Model):
    """What is kept of each run beside its summary."""

    samples: SamplesText = Field(default=100_000_000, description="interval of the time series")
    events: bool = True
    ack_trace: bool = Field(default=False, description="a row for each ACK")
    pcap: bool = Field(default=False, description="a capture at the data senders")


class Live(Model):
    """Where and when a study is measured on a real network (`cwndlab live`)."""

    place: str = Field(default="here", description="a name; measured where --place says the same")
    period: Annotated[str, Field(pattern=PERIOD)] | None = Field(
        default=None, description='of the day, by this machine\'s clock: "06:00-07:30"'
    )
    days: Days = "all"
    at_most: Whole | None = Field(
        default=None, description="runs of one combination in a period of a day"
    )
    pause: DurationText = Field(default=2 * 10**9, description="between two runs")
    algorithm_on: AlgorithmOn = Field(
        default="sender",
        description="which end is given the algorithm; the other keeps its machine's default, "
        "in a simulation cubic",
    )
    udp: RateText | None = Field(
        default=None, description="datagrams beside the data: what a call would lose of them"
    )


class StudyModel(Model):
    """Everything that a study file may say."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        default="study", description="names the results folder"
    )
    title: str = ""
    description: str = ""
    duration: DurationText = 60 * 10**9
    warm_up: DurationText = Field(default=0, description="left out of each flow's statistics")
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
    repetitions: Annotated[int, Field(ge=1, le=100_000)] = 1
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    algorithm: str | None = Field(default=None, description="of every flow that has none itself")
    rotation: tuple[str, ...] = Field(
        default=(),
        description="algorithms that took turns: a run comes after one of each of the others, in "
        "this order, as far as hosts remember of them",
    )
    stack: str = Field(default=DEFAULT_STACK, description="of every flow that has none itself")
    user_stack: str | None = Field(
        default=None, description="of the user's end, whichever way data go, if not the study's"
    )
    server_stack: str | None = Field(
        default=None, description="of the far end, whichever way data go, if not the study's"
    )
    direction: Direction = Field(
        default="forward", description="forward (downlink): data along [link]; reverse (uplink)"
    )
    user: User = Field(
        default=1, description='of a shared medium, from 1; "each": every flow has its own'
    )
    application: Application = Bulk()
    flows: Annotated[int, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None, description="how many flows alike, where no [[flow]] says more"
    )
    link: LinkOrText | None = None
    reverse_link: LinkOrText | None = None
    user_host: HostOrText | None = Field(
        default=None, description="between the user's sockets and the link: a name or a table"
    )
    server_host: HostOrText | None = Field(default=None, description="the same of the server")
    live: Live | None = None
    flow: tuple[Flow, ...] = ()
    parameters: dict[str, dict[str, int]] = Field(
        default={}, description="[parameters.ALGORITHM]: of every flow that runs it"
    )
    stack_overrides: dict[str, Any] = Field(default={})
    record: Record = Record()
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
