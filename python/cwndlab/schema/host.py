"""Define the devices and queues between a machine's sockets and the link.

Values are in SI units. The form used in study files is derived from these definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model

from cwndlab.schema.base import Count, Model, Packets, TrueOrFalse, Whole
from cwndlab.schema.types import DurationText, RateText, SizeText
from cwndlab.schema.written import Written, written_form

NO_HOST = "none"
"""Name of the host preset without a network device: the sockets send directly to the link."""


class Host(Model):
    """The network device of a machine, with its transmit queue, its buffer and its rates."""

    queue_packets: Packets = Field(
        description="maximum number of packets in the transmit queue "
        "of the device (txqueuelen in Linux)"
    )
    qdisc: Literal["pfifo", "fq", "fq_codel", "pie", "dualpi2"] = Field(
        default="pfifo",
        description="queueing discipline of the transmit queue: pfifo is a first-in, first-out "
        "queue; fq serves the flows in turn and paces them; fq_codel, pie and dualpi2 are AQMs "
        "with default parameters",
    )
    buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0,
        description="size of the buffer in the device, behind the transmit queue; a buffer that is "
        "smaller than a packet still holds one packet",
    )
    bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = Field(
        default=None,
        description="sending rate of the device; if rate and packet_time are absent, the link "
        "determines when packets leave the buffer of the device",
    )
    packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time that the device needs to send each packet, in addition to the "
        "transmission time at the device's rate",
    )
    gso_packets: Annotated[Whole, Field(ge=1, le=2**16)] = Field(
        default=1,
        description="maximum number of segments that TCP passes to the device as one packet "
        "(GSO); 1 disables segmentation offload",
    )
    orphans: TrueOrFalse = Field(
        default=False,
        description="whether packets in the device do not count towards the TCP Small Queues limit "
        "of their socket, so that this limit has no effect",
    )
    separate_buffers: TrueOrFalse = Field(
        default=False,
        description="whether each received segment occupies a separate buffer in the memory of its "
        "socket, as segments from a TUN interface do; otherwise, adjacent segments share buffers",
    )
    one_processor: TrueOrFalse = Field(
        default=False,
        description="whether the machine has only one processor, so that the application reads "
        "only after the device has processed all received packets",
    )
    gro_ns: Annotated[Count, Written(DurationText, "_ns")] | None = Field(
        default=None,
        description="time for which the host waits for more segments before it merges those "
        "that it received (GRO); if absent, the host does not merge segments",
    )
    wake_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time between the arrival of data and the moment at which a waiting "
        "application starts to read these data",
    )
    read_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="duration of a read by the application; the next read follows immediately if "
        "data arrive during a read",
    )
    receive_bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] | None = (
        Field(
            default=None,
            description="rate at which the host processes received packets; if absent, "
            "the processing time does not depend on the packet size",
        )
    )
    receive_packet_ns: Annotated[Count, Written(DurationText, "ns", "time")] = Field(
        default=0,
        description="time that the host needs to process each received packet, in addition to "
        "the time that results from receive_rate",
    )
    receive_buffer_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        default=0,
        description="size of the queue of received packets that wait for processing; packets "
        "that do not fit are dropped",
    )


def _text_as_preset(value: object) -> object:
    return {"preset": value} if isinstance(value, str) else value


if TYPE_CHECKING:  # the written form is derived from the SI model at run time
    WrittenHost: TypeAlias = Model
else:
    WrittenHost = create_model(
        "Host",
        __base__=written_form(Host),
        __doc__=Host.__doc__,
        preset=(
            str | None,
            Field(
                default=None,
                description="name of a host preset; the other keys of this "
                "table override the values of the preset",
            ),
        ),
    )

HostOrText = Annotated[WrittenHost, BeforeValidator(_text_as_preset)]
