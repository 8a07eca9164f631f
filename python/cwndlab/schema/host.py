"""Devices and queues between a machine's sockets and the link, in SI units and as written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model

from cwndlab.schema.base import Count, Model, Packets
from cwndlab.schema.types import DurationText, RateText, SizeText
from cwndlab.schema.written import Written, written_form

NO_HOST = "none"
"""The preset without any device between the sockets and the link."""


class Host(Model):
    """A device: its queue, its own buffer and its rate."""

    queue_packets: Packets = Field(description="limit of the device's queue (txqueuelen)")
    qdisc: Literal["pfifo", "fq", "fq_codel", "pie", "dualpi2"] = Field(
        default="pfifo",
        description="queueing discipline: fq serves flows in turn and paces them; fq_codel, "
        "pie and dualpi2 drop or mark early, with their defaults",
    )
    buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0, description="limit of the device's own buffer; it always takes one packet"
    )
    bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = Field(
        default=None,
        description="sending rate of the device; if absent the link empties its buffer",
    )
    packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="time that the device takes for each packet, in addition to the rate"
    )
    gso_packets: Annotated[int, Field(ge=1, le=2**16)] = Field(
        default=1, description="most segments that TCP hands over at once; 1: no offload"
    )
    orphans: bool = Field(
        default=False,
        description="packets in the device do not count against the socket (no TCP Small Queues)",
    )
    gro_ns: Annotated[Count, Written(DurationText, "_ns")] | None = Field(
        default=None,
        description="segments received within this time are merged; none are if absent",
    )
    wake_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="delay until a waiting application reads the data that have arrived"
    )
    read_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0, description="duration of a read; data that arrive during it are read right after"
    )
    receive_bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = (
        Field(
            default=None,
            description="rate at which the host takes packets from the link; at once if absent",
        )
    )
    receive_packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time that the host takes for each received packet, in addition to that rate",
    )
    receive_buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0, description="limit of the queue of received packets; packets beyond it are lost"
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
        preset=(
            str | None,
            Field(default=None, description="name of a host, which the other keys modify"),
        ),
    )

HostOrText = Annotated[WrittenHost, BeforeValidator(_text_as_preset)]
