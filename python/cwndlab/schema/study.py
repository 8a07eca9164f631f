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
DirectionWord = Literal["forward", "reverse", "downlink", "uplink"]
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
    bytes: SizeText = Field(description="size of the transfer")


class OnOff(Model):
    """Bulk for a time, then silence for a time, in turn."""

    kind: Literal["on_off"] = "on_off"
    on: DurationText = Field(description="time of sending")
    off: DurationText = Field(description="time of silence")
    distribution: Distribution = Field(default="fixed", description="how both times are drawn")


class RequestResponse(Model):
    """The receiver of the data asks, their sender answers, the receiver thinks."""

    kind: Literal["request_response"] = "request_response"
    request: SizeText = Field(description="size of a request")
    response: SizeText = Field(description="size of a response")
    think: DurationText = Field(
        default=0, description="pause between a response and the next request"
    )
    count: Whole | None = Field(
        default=None, description="number of requests; as many as fit if absent"
    )


class Paced(Model):
    """A write of the same size at equal distances."""

    kind: Literal["paced"] = "paced"
    rate: RateText = Field(description="rate of the writes together")
    write: SizeText = Field(description="size of a write")


class WindowedFile(Model):
    """Blocks of a file, a limited number outstanding: how SFTP clients send."""

    kind: Literal["windowed_file"] = "windowed_file"
    request: SizeText = Field(description="size of a block")
    outstanding: Whole = Field(description="blocks that may be unanswered at once")
    total: SizeText | None = Field(
        default=None, description="size of the file; without end if absent"
    )


class Http(Model):
    """One file over HTTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["http"] = "http"
    bytes: SizeText = Field(description="size of the file")
    chunk: SizeText | None = Field(
        default=None,
        description="of an upload, each answered before the next; all at once if absent",
    )


class Sftp(Model):
    """One file over SFTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["sftp"] = "sftp"
    bytes: SizeText = Field(description="size of the file")
    client: str = Field(
        default="openssh", description=f"whose requests: {', '.join(sftp_clients())}"
    )


class Web(Model):
    """Web pages over one connection: a document, then all its objects at once.

    The default is the median page on a phone: 18 kB of HTML, 66 requests and 2,311 kB in all
    (HTTP Archive, Web Almanac 2024, chapter Page Weight). The times are ours.
    """

    kind: Literal["web"] = "web"
    document: SizeText = Field(default=18_000, description="of a page, and read first")
    objects: Annotated[int, Field(ge=0)] = Field(
        default=65, description="that the document refers to"
    )
    object: SizeText = Field(default=35_000, description="the size of each of them")
    parse: DurationText = Field(
        default=50_000_000, description="from the document's end to the requests for its objects"
    )
    think: DurationText = Field(default=2_000_000_000, description="from a page's end to the next")
    count: Whole | None = Field(default=None, description="pages; without end if absent")


class Video(Model):
    """A video in chunks, whose client chooses the rate of each by what it has buffered.

    The default ladder is that of Apple's HLS Authoring Specification for H.264. Chunks of 2 s and a
    buffer of 24 s keep the reservoir's and the cushion's shares of the 240 s that Huang and others
    (SIGCOMM 2014) have, in a tenth of the time.
    """

    kind: Literal["video"] = "video"
    ladder: tuple[RateText, ...] = Field(
        default=(
            145_000,
            365_000,
            730_000,
            1_100_000,
            2_000_000,
            3_000_000,
            4_500_000,
            6_000_000,
            7_800_000,
        ),
        min_length=1,
        description="the rates at which it is encoded, the lowest first",
    )
    chunk: DurationText = Field(default=2_000_000_000, description="what a chunk plays")
    buffer: DurationText = Field(
        default=24_000_000_000, description="the most that is buffered: at least ten chunks"
    )


class Datagrams(Model):
    """Datagrams of one size at equal distances, without TCP: a call.

    The default is G.711: 64 kbit/s in frames of 20 ms (RFC 3551 section 4.5.14), each behind the 12
    bytes of RTP (RFC 3550 section 5.1).
    """

    kind: Literal["datagrams"] = "datagrams"
    bytes: SizeText = Field(default=172, description="the payload of each, at most 1,472 bytes")
    interval: DurationText = Field(default=20_000_000, description="from one to the next")


Application = Annotated[
    Annotated[
        Bulk
        | Sized
        | OnOff
        | RequestResponse
        | Paced
        | WindowedFile
        | Http
        | Sftp
        | Web
        | Video
        | Datagrams,
        Field(discriminator="kind"),
    ],
    BeforeValidator(word_as_kind),
]


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
    application: Application | None = Field(
        default=None, description="what it carries; the study's if absent"
    )
    bytes: SizeText | None = Field(default=None, description="short for a sized application")
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
    """What is kept of each run beside its summary."""

    samples: SamplesText = Field(default=100_000_000, description="interval of the time series")
    events: bool = Field(
        default=True, description="losses, recoveries, timeouts and the like, as they happen"
    )
    ack_trace: bool = Field(default=False, description="a row for each ACK")
    pcap: bool = Field(default=False, description="a capture at the data senders")


class Live(Model):
    """Where and when a study is measured on a real network (`cwndlab live`)."""

    place: str = Field(default="here", description="a name; measured where --place says the same")
    period: Annotated[str, Field(pattern=PERIOD)] | None = Field(
        default=None, description='of the day, by this machine\'s clock: "06:00-07:30"'
    )
    days: Days = Field(default="all", description="days of the week on which it is measured")
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
    title: str = Field(default="", description="what reports call it; its id if empty")
    description: str = Field(default="", description="what it is for, in a few sentences")
    duration: DurationText = Field(default=60 * 10**9, description="length of a run")
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
    repetitions: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1, description="runs of each combination, each with random draws of its own"
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="from which all random draws follow"
    )
    common_seeds: bool = Field(
        default=False,
        description="all cells of a repetition have one seed, also those that differ in more than "
        "algorithms, as where flows alone are compared with flows beside others",
    )
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
    direction: DirectionWord = Field(
        default="forward", description="forward (downlink): data along [link]; reverse (uplink)"
    )
    user: User = Field(
        default=1, description='of a shared medium, from 1; "each": every flow has its own'
    )
    application: Application = Field(
        default=Bulk(), description="what every flow carries that has none itself"
    )
    flows: Annotated[int, Field(ge=1, le=MOST_FLOWS)] | None = Field(
        default=None, description="how many flows alike, where no [[flow]] says more"
    )
    link: LinkOrText | None = Field(
        default=None, description="the path, forward: a table, or a line such as lte-typical"
    )
    reverse_link: LinkOrText | None = Field(
        default=None, description="the path back; that of the link's acknowledgements if absent"
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
