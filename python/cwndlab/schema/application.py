"""Applications of a flow, in whole SI units and as written."""

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
    word_as_kind,
    written_form,
)

if TYPE_CHECKING:
    from pydantic import ValidationInfo

Distribution = Literal["fixed", "exponential", "pareto"]
MOST_DATAGRAM_BYTES = 1_472
"""Payload of an Ethernet frame behind the headers of IPv4 and UDP."""
_LEAST_CHUNKS_BUFFERED = 10

_Positive = Annotated[Count, Field(gt=0)]
_Size = Annotated[_Positive, Written(SizeText, "_bytes")]
_Time = Annotated[_Positive, Written(DurationText, "_ns")]
_Pause = Annotated[Count, Written(DurationText, "_ns")]
_Rate = Annotated[_Positive, Written(RateText, "bits_per_sec", "rate")]
_Whole = Annotated[_Positive, Written(SizeText, "")]


class Bulk(Model):
    """As much as the connection takes, until the end."""

    kind: Literal["bulk"] = "bulk"


class Sized(Model):
    """One transfer of a given size."""

    kind: Literal["sized"] = "sized"
    bytes: _Whole = Field(description="size of the transfer")


class OnOff(Model):
    """Bulk for a time, then silence for a time, in turn."""

    kind: Literal["on_off"] = "on_off"
    on_ns: _Time = Field(description="time of sending")
    off_ns: _Time = Field(description="time of silence")
    distribution: Distribution = Field(default="fixed", description="how both times are drawn")


class RequestResponse(Model):
    """The receiver of the data asks, their sender answers, the receiver thinks."""

    kind: Literal["request_response"] = "request_response"
    request_bytes: _Size = Field(description="size of a request")
    response_bytes: _Size = Field(description="size of a response")
    think_ns: _Pause = Field(default=0, description="pause between a response and the next request")
    count: _Positive | None = Field(
        default=None, description="number of requests; as many as fit if absent"
    )


class Paced(Model):
    """A write of the same size at equal intervals."""

    kind: Literal["paced"] = "paced"
    bits_per_sec: _Rate = Field(description="rate of the writes together")
    write_bytes: _Size = Field(description="size of a write")


class WindowedFile(Model):
    """Blocks of a file, each acknowledged by the application, a limited number outstanding."""

    kind: Literal["windowed_file"] = "windowed_file"
    request_bytes: _Size = Field(description="size of a block")
    outstanding: _Positive = Field(description="blocks that may be unanswered at once")
    total_bytes: _Size | None = Field(
        default=None, description="size of the file; without end if absent"
    )


class Http(Model):
    """One file over HTTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["http"] = "http"
    bytes: _Whole = Field(description="size of the file")
    chunk_bytes: _Size | None = Field(
        default=None,
        description="of an upload, each answered before the next; all at once if absent",
    )
    is_upload: Annotated[bool, Inferred()] = Field(description="whether the client sends the file")


class Sftp(Model):
    """One file over SFTP: the client is at the user's end, and uploads what goes up."""

    kind: Literal["sftp"] = "sftp"
    bytes: _Whole = Field(description="size of the file")
    request_bytes: Annotated[_Positive, Inferred()] = Field(description="size of a block")
    outstanding: Annotated[_Positive, Inferred()] = Field(
        description="blocks that may be unanswered at once"
    )
    is_upload: Annotated[bool, Inferred()] = Field(description="whether the client sends the file")


class Web(Model):
    """Web pages over one connection: a document, then all its objects at once.

    The default is the median page on a phone: 18 kB of HTML, 66 requests and 2,311 kB in all
    (HTTP Archive, Web Almanac 2024, chapter Page Weight). The times are ours.
    """

    kind: Literal["web"] = "web"
    document_bytes: Annotated[_Size, IfAbsent(18_000)] = Field(
        description="size of the document of a page, which is read first"
    )
    objects: Annotated[Count, IfAbsent(65)] = Field(
        description="number of objects that the document refers to"
    )
    object_bytes: Annotated[_Size, IfAbsent(35_000)] = Field(description="size of each object")
    parse_ns: Annotated[_Pause, IfAbsent(50_000_000)] = Field(
        default=0, description="from the document's end to the requests for its objects"
    )
    think_ns: Annotated[_Pause, IfAbsent(2_000_000_000)] = Field(
        default=0, description="from a page's end to the next"
    )
    count: _Positive | None = Field(default=None, description="pages; without end if absent")


class Video(Model):
    """A video in chunks, whose client chooses the rate of each by what it has buffered.

    The default ladder is that of Apple's HLS Authoring Specification for H.264. Chunks of 2 s and a
    buffer of 24 s keep the reservoir's and the cushion's shares of the 240 s that Huang and others
    (SIGCOMM 2014) have, in a tenth of the time.
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
    ] = Field(description="rates at which it is encoded, the lowest first")
    chunk_ns: Annotated[_Time, IfAbsent(2_000_000_000)] = Field(
        description="playing time of a chunk"
    )
    buffer_ns: Annotated[_Time, IfAbsent(24_000_000_000)] = Field(
        description="playing time that is buffered at most: ten chunks or more"
    )

    @field_validator("rungs_bits_per_sec")
    @classmethod
    def _rises(cls, rates: tuple[int, ...]) -> tuple[int, ...]:
        if list(rates) != sorted(rates):
            msg = "the rates must rise"
            raise ValueError(msg)
        return rates

    @field_validator("buffer_ns")
    @classmethod
    def _holds_chunks(cls, buffer_ns: int, info: ValidationInfo) -> int:
        if buffer_ns < _LEAST_CHUNKS_BUFFERED * info.data.get("chunk_ns", 0):
            msg = "it must hold ten chunks or more"
            raise ValueError(msg)
        return buffer_ns


class Datagrams(Model):
    """Datagrams of one size at equal intervals, without TCP: a call.

    The default is G.711: 64 kbit/s in frames of 20 ms (RFC 3551 section 4.5.14), each behind the 12
    bytes of RTP (RFC 3550 section 5.1).
    """

    kind: Literal["datagrams"] = "datagrams"
    bytes: Annotated[_Whole, IfAbsent(172)] = Field(
        description="payload of each, at most 1,472 bytes"
    )
    interval_ns: Annotated[_Time, IfAbsent(20_000_000)] = Field(
        description="time from one to the next"
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
    | WindowedFile
    | Http
    | Sftp
    | Web
    | Video
    | Datagrams,
    Field(discriminator="kind"),
]
APPLICATIONS = {model.model_fields["kind"].default: model for model in models_in(Application)}
"""The models by kind."""


def _written(model: type[Model]) -> type[Model]:
    """An application as files give it."""
    form = written_form(model, is_whole=True)
    if model is not Sftp:
        return form
    description = f"whose requests: {', '.join(sftp_clients())}"
    client = (str, Field(default="openssh", description=description))
    return create_model(model.__name__, __base__=form, __doc__=model.__doc__, client=client)


if TYPE_CHECKING:  # what people write is made of the SI models at run time
    WrittenApplication: TypeAlias = Model
else:
    _forms = [_written(model) for model in APPLICATIONS.values()]
    WrittenApplication = Annotated[
        Annotated[
            functools.reduce(lambda one, other: one | other, _forms), Field(discriminator="kind")
        ],
        BeforeValidator(word_as_kind),
    ]
