"""Devices and queues between a machine's sockets and the link, in SI units and as written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model

from cwndlab.schema.base import Count, Model, Packets
from cwndlab.schema.types import DurationText, RateText, SizeText
from cwndlab.schema.written import Written, written_form

NO_HOST = "none"
"""The preset that stands for nothing between the sockets and the link."""


class Host(Model):
    """A device: its queue, its own buffer and its rate."""

    queue_packets: Packets = Field(description="of the device's queue: txqueuelen")
    qdisc: Literal["pfifo", "fq", "fq_codel", "pie"] = Field(
        default="pfifo",
        description="the queue's discipline; fq serves flows in turn, and paces; fq_codel and pie "
        "drop early, with Linux's defaults",
    )
    buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0, description="of the device itself; it always takes one packet"
    )
    bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = Field(
        default=None, description="of the device; without one the link empties its buffer"
    )
    packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="that it takes for each packet, beside the rate"
    )
    gso_packets: Annotated[int, Field(ge=1, le=2**16)] = Field(
        default=1, description="segments that TCP hands over at once, at most; 1: no offload"
    )
    orphans: bool = Field(
        default=False,
        description="what the device has no longer counts as the socket's: no Small Queues",
    )
    gro_ns: Annotated[Count, Written(DurationText, "_ns")] | None = Field(
        default=None, description="what is received within this time is merged; absent: nothing"
    )
    wake_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="after which who waits for data reads what has come"
    )
    read_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="that reading takes; what has come by then is read right after"
    )
    receive_bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = (
        Field(default=None, description="at which it takes what the link brings, else at once")
    )
    receive_packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="that it takes for each of these packets, beside that rate"
    )
    receive_buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0, description="what waits for that at most; the rest is lost"
    )


def _text_as_preset(value: object) -> object:
    return {"preset": value} if isinstance(value, str) else value


if TYPE_CHECKING:  # what people write is made of the SI model at run time
    WrittenHost: TypeAlias = Model
else:
    WrittenHost = create_model(
        "Host",
        __base__=written_form(Host),
        __doc__=Host.__doc__,
        preset=(str | None, Field(default=None, description="a host by name; its keys may change")),
    )

HostOrText = Annotated[WrittenHost, BeforeValidator(_text_as_preset)]
