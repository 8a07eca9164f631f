"""Define a flow's applications twice: with values in SI units, and as written in study files."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model, field_validator

from cwndlab.schema.base import Count, Model
from cwndlab.schema.sftp_clients import sftp_clients
from cwndlab.schema.types import DurationText, RateText, SizeText
from cwndlab.schema.written import (
    IfAbsent,
    Inferred,
    Written,
    models_in,
    values_if_absent,
    word_as_kind,
    written_form,
)

if TYPE_CHECKING:
    from pydantic import ValidationInfo

Distribution = Literal["fixed", "exponential", "pareto"]
MOST_DATAGRAM_BYTES = 1_472
"""Largest UDP payload that fits into an Ethernet frame with IPv4."""
_LEAST_CHUNKS_BUFFERED = 10

_Positive = Annotated[Count, Field(gt=0)]
_Size = Annotated[_Positive, Written(SizeText, "_bytes")]
_Time = Annotated[_Positive, Written(DurationText, "_ns")]
_Pause = Annotated[Count, Written(DurationText, "_ns")]
_Rate = Annotated[_Positive, Written(RateText, "bits_per_sec", "rate")]
_Whole = Annotated[_Positive, Written(SizeText, "")]


class Bulk(Model):
    """Unlimited data: the sender always has data to send until the flow ends."""

    kind: Literal["bulk"] = "bulk"


class Sized(Model):
    """One transfer of a given size."""

    kind: Literal["sized"] = "sized"
    bytes: _Whole = Field(description="size of the transfer")


class OnOff(Model):
    """Alternating periods of bulk data and silence."""

    kind: Literal["on_off"] = "on_off"
    on_ns: _Time = Field(
        description="mean duration of a period in which the application sends data"
    )
    off_ns: _Time = Field(
        description="mean duration of a period in which the application sends nothing"
    )
    distribution: Distribution = Field(
        default="fixed",
        description="probability distribution of the durations of sending (`on`) and of silence "
        "(`off`)",
    )


class RequestResponse(Model):
    """Repeatedly, the receiver requests data, the sender responds, and the receiver pauses."""

    kind: Literal["request_response"] = "request_response"
    request_bytes: _Size = Field(description="size of each request")
    response_bytes: _Size = Field(description="size of each response")
    think_ns: _Pause = Field(
        default=0, description="pause between the end of a response and the next request"
    )
    count: _Positive | None = Field(
        default=None,
        description="number of requests; if absent, the receiver sends requests until the run ends",
    )


class Paced(Model):
    """An optional bulk transfer, then equal amounts of data that are written at equal intervals."""

    kind: Literal["paced"] = "paced"
    bits_per_sec: _Rate = Field(description="mean rate at which the application writes data")
    write_bytes: _Size = Field(description="amount of data in each write")
    bulk_for_ns: _Pause = Field(
        default=0, description="duration of the bulk transfer that precedes the writes"
    )


class Probe(Model):
    """Unlimited data, a pause, and data at a rate that doubles again and again."""

    kind: Literal["probe"] = "probe"
    bulk_for_ns: Annotated[_Pause, IfAbsent(18_000_000_000)] = Field(
        description="duration of the unlimited transfer before the pause"
    )
    pause_ns: Annotated[_Pause, IfAbsent(2_000_000_000)] = Field(
        description="duration of the pause, in which the application writes no data"
    )
    bits_per_sec: Annotated[_Rate, IfAbsent(125_000)] = Field(
        description="rate at which the application writes data in the first step after the pause"
    )
    doubling_ns: Annotated[_Time, IfAbsent(1_000_000_000)] = Field(
        description="duration of each step after the pause; the rate doubles from step to step"
    )


STANDARD_PROBE = Probe(**values_if_absent(Probe))
"""The probe that `cwndlab live --probe` measures."""


class WindowedFile(Model):
    """A file sent in blocks; a limited number of blocks may be unacknowledged at any time."""

    kind: Literal["windowed_file"] = "windowed_file"
    request_bytes: _Size = Field(description="size of each block of the file")
    outstanding: _Positive = Field(
        description="maximum number of blocks that have been sent and not yet acknowledged by "
        "the receiving application"
    )
    total_bytes: _Size | None = Field(
        default=None, description="size of the file; if absent, the file has no end"
    )


class Http(Model):
    """A transfer of one file over HTTP by a client on the user's device.

    The client downloads the file, or uploads it if the direction of the flow is uplink.
    """

    kind: Literal["http"] = "http"
    bytes: _Whole = Field(description="size of the file")
    chunk_bytes: _Size | None = Field(
        default=None,
        description="size of the chunks of an upload; the client sends a chunk after the server "
        "has answered the previous chunk; if absent, the file is sent as a single chunk",
    )
    is_upload: Annotated[bool, Inferred()] = Field(
        description="whether the client uploads the file instead of downloading it"
    )


class Sftp(Model):
    """A transfer of one file over SFTP by a client on the user's device.

    The client downloads the file, or uploads it if the direction of the flow is uplink.
    """

    kind: Literal["sftp"] = "sftp"
    bytes: _Whole = Field(description="size of the file")
    request_bytes: Annotated[_Positive, Inferred()] = Field(
        description="size of each block of the file"
    )
    outstanding: Annotated[_Positive, Inferred()] = Field(
        description="maximum number of blocks that have been requested and not yet answered"
    )
    is_upload: Annotated[bool, Inferred()] = Field(
        description="whether the client uploads the file instead of downloading it"
    )


class Web(Model):
    """Web pages over one connection: a client loads a document, then all its objects in parallel.

    The default values describe the median page on a phone: 18 kB of HTML, 66 requests and 2,311 kB
    in total (HTTP Archive, Web Almanac 2024, chapter Page Weight). The default times are
    assumptions of cwndlab.
    """

    kind: Literal["web"] = "web"
    document_bytes: Annotated[_Size, IfAbsent(18_000)] = Field(
        description="size of the HTML document of a page, which the client loads before the "
        "objects of the page"
    )
    objects: Annotated[Count, IfAbsent(65)] = Field(
        description="number of objects on a page, such as images and scripts, that load after "
        "the document"
    )
    object_bytes: Annotated[_Size, IfAbsent(35_000)] = Field(
        description="size of each object of a page"
    )
    parse_ns: Annotated[_Pause, IfAbsent(50_000_000)] = Field(
        default=0,
        description="time between the arrival of the whole document and the requests for the "
        "objects of the page",
    )
    think_ns: Annotated[_Pause, IfAbsent(2_000_000_000)] = Field(
        default=0,
        description="pause between the last byte of a page and the request for the next page",
    )
    count: _Positive | None = Field(
        default=None,
        description="number of pages; if absent, the client loads pages until the run ends",
    )


class Video(Model):
    """A video sent in chunks; the client chooses encoding rates by the amount of buffered video.

    The default encoding rates come from Apple's HLS Authoring Specification for H.264. The choice
    of the rate follows Huang and others (SIGCOMM 2014): its thresholds (reservoir and cushion) are
    the same fractions of the buffer as in that paper. The default buffer, 24 s, is a tenth of the
    paper's buffer.
    """

    kind: Literal["video"] = "video"
    rungs_bits_per_sec: Annotated[
        tuple[Annotated[_Positive, Written(RateText, "rungs_bits_per_sec", "ladder")], ...],
        Field(min_length=1),
        IfAbsent(
            (
                145_000,
                365_000,
                730_000,
                1_100_000,
                2_000_000,
                3_000_000,
                4_500_000,
                6_000_000,
                7_800_000,
            )
        ),
    ] = Field(description="encoding rates that the client can choose from, in ascending order")
    chunk_ns: Annotated[_Time, IfAbsent(2_000_000_000)] = Field(
        description="playing time of one chunk of the video"
    )
    buffer_ns: Annotated[_Time, IfAbsent(24_000_000_000)] = Field(
        description="size of the client's buffer in playing time, at least ten times `chunk`"
    )

    @field_validator("rungs_bits_per_sec")
    @classmethod
    def _rises(cls, rates: tuple[int, ...]) -> tuple[int, ...]:
        if list(rates) != sorted(rates):
            msg = "the rates must be in ascending order"
            raise ValueError(msg)
        return rates

    @field_validator("buffer_ns")
    @classmethod
    def _holds_chunks(cls, buffer_ns: int, info: ValidationInfo) -> int:
        if buffer_ns < _LEAST_CHUNKS_BUFFERED * info.data.get("chunk_ns", 0):
            msg = "the buffer must hold at least ten chunks"
            raise ValueError(msg)
        return buffer_ns


class Datagrams(Model):
    """UDP datagrams of equal size at equal intervals, as in a voice call.

    The default values describe a G.711 call: 64 kbit/s in frames of 20 ms (RFC 3551 section
    4.5.14), each with 12 bytes of RTP header (RFC 3550 section 5.1).
    """

    kind: Literal["datagrams"] = "datagrams"
    bytes: Annotated[_Whole, IfAbsent(172)] = Field(
        description="payload of each UDP datagram, at most 1,472 bytes"
    )
    interval_ns: Annotated[_Time, IfAbsent(20_000_000)] = Field(
        description="time between two UDP datagrams"
    )

    @field_validator("bytes")
    @classmethod
    def _fits_a_packet(cls, size_bytes: int) -> int:
        if size_bytes > MOST_DATAGRAM_BYTES:
            msg = f"a packet carries {MOST_DATAGRAM_BYTES:,} bytes at most"
            raise ValueError(msg)
        return size_bytes


Application = Annotated[
    Bulk
    | Sized
    | OnOff
    | RequestResponse
    | Paced
    | Probe
    | WindowedFile
    | Http
    | Sftp
    | Web
    | Video
    | Datagrams,
    Field(discriminator="kind"),
]
APPLICATIONS = {model.model_fields["kind"].default: model for model in models_in(Application)}
"""Maps the name of each kind of application, such as `bulk`, to its Pydantic model."""


def _written(model: type[Model]) -> type[Model]:
    """Return the Pydantic model of the table that describes an application in study files."""
    form = written_form(model, is_whole=True)
    if model is not Sftp:
        return form
    description = (
        f"SFTP client ({', '.join(sftp_clients())}), which determines the size of a request and "
        "the maximum number of outstanding requests"
    )
    client = (str, Field(default="openssh", description=description))
    return create_model(model.__name__, __base__=form, __doc__=model.__doc__, client=client)


if TYPE_CHECKING:  # the written forms are derived from the SI models at run time
    WrittenApplication: TypeAlias = Model
else:
    _forms = [_written(model) for model in APPLICATIONS.values()]
    WrittenApplication = Annotated[
        Annotated[
            functools.reduce(lambda one, other: one | other, _forms), Field(discriminator="kind")
        ],
        BeforeValidator(word_as_kind),
    ]
