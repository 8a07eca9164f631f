"""Devices and queues between a machine's sockets and the link.

They are defined in SI units; the form used in study files is derived from that definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model

from cwndlab.schema.base import Count, Model, Packets
from cwndlab.schema.types import DurationText, RateText, SizeText
from cwndlab.schema.written import Written, written_form

NO_HOST = "none"
"""Name of the preset without a device between the sockets and the link."""


class Host(Model):
    """A network device of a host: its queue, its buffer and its rate."""

    queue_packets: Packets = Field(description="limit of the device's queue (txqueuelen)")
    qdisc: Literal["pfifo", "fq", "fq_codel", "pie", "dualpi2"] = Field(
        default="pfifo",
        description="queueing discipline: fq serves flows in turn and paces them; fq_codel, pie "
        "and dualpi2 drop or mark packets early, with default parameters",
    )
    buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0,
        description="size of the device's own buffer, which always has room for one packet",
    )
    bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = Field(
        default=None,
        description="sending rate of the device; if absent, the link determines when packets "
        "leave its buffer",
    )
    packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time that the device needs for each packet, in addition to the transmission "
        "time at its rate",
    )
    gso_packets: Annotated[int, Field(ge=1, le=2**16)] = Field(
        default=1,
        description="largest number of segments that TCP passes down as one packet (GSO); 1 "
        "disables segmentation offload",
    )
    orphans: bool = Field(
        default=False,
        description="whether packets in the device do not count towards the socket's limit, so "
        "TCP Small Queues has no effect",
    )
    gro_ns: Annotated[Count, Written(DurationText, "_ns")] | None = Field(
        default=None,
        description="segments received within this time are merged (GRO); if absent, none are",
    )
    wake_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="delay from the arrival of data until a waiting application starts to read",
    )
    read_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="duration of a read; data that arrive during a read are read right after it",
    )
    receive_bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = (
        Field(
            default=None,
            description="rate at which the host processes packets from the link; if absent, "
            "without delay",
        )
    )
    receive_packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time that the host needs for each received packet, in addition to the time "
        "at the receive rate",
    )
    receive_buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0,
        description="size of the queue of received packets; packets that do not fit are dropped",
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
