"""A Wi-Fi channel as the simulator takes it, in whole SI units.

What people write is derived from these models (`cwndlab.schema.written`). Sources stand in the
module `wifi` of the simulator's links.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cwndlab.schema.base import Model, Packets
from cwndlab.schema.figures import Decibel, Length, Megahertz, Nanoseconds, Power, Share, Small
from cwndlab.schema.types import SizeText
from cwndlab.schema.written import Several, Written

AtLeastOne = Annotated[int, Field(ge=1, le=2**32 - 1)]


class FixedIndex(Model):
    """Always the same rate, by its index in the standard's table."""

    kind: Literal["fixed"] = "fixed"
    index: Small = Field(description="index in the standard's table of rates, per stream")


class IdealRate(Model):
    """The fastest rate that loses less than a tenth, as if the sender knew the channel."""

    kind: Literal["ideal"] = "ideal"


class Minstrel(Model):
    """By what was acknowledged, as Linux does."""

    kind: Literal["minstrel"] = "minstrel"


class Aggregation(Model):
    """How large a frame of several packets gets (A-MPDU)."""

    max_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = Field(
        default=None, description="largest frame; the standard's limit if absent"
    )
    max_packets: Packets = Field(default=64, description="most packets in a frame")
    max_time_ns: Nanoseconds = Field(
        default=5_484_000, description="longest time of a frame on the air"
    )


class Beacons(Model):
    """The access point's beacons."""

    interval_ns: Nanoseconds = Field(description="time between two beacons")
    bytes: Packets = Field(description="size of a beacon")


class Node(Model):
    """The access point or a station."""

    x_mm: Length = Field(default=0, description="position along one axis")
    y_mm: Length = Field(default=0, description="position along the other axis")
    access: Literal["background", "best_effort", "video", "voice", "legacy"] | None = Field(
        default=None,
        description="priority for the channel; best effort if absent, legacy with 802.11a, b and g",
    )


class AirtimeLimits(Model):
    """Airtime queue limits (AQL): what the card holds of each station, in time on the air."""

    low_ns: Nanoseconds = Field(
        default=5_000_000, description="limit of a station while the card holds more than threshold"
    )
    high_ns: Nanoseconds = Field(default=12_000_000, description="limit of a station otherwise")
    threshold_ns: Nanoseconds = Field(
        default=24_000_000, description="airtime of all stations from which on the low limit holds"
    )


class DownlinkFifo(Model):
    """One queue above a driver that serves stations in turn, as in Linux before 4.11."""

    kind: Literal["fifo"] = "fifo"
    packets: AtLeastOne = Field(default=1000, description="limit of the queue")
    driver_packets: AtLeastOne = Field(
        default=123, description="packets that the driver holds for all stations"
    )


class DownlinkFqCodel(Model):
    """FQ-CoDel for each station; stations are served in turn, a frame each."""

    kind: Literal["fq_codel"] = "fq_codel"
    packets: AtLeastOne = Field(
        default=8192, description="limit of all queues; the longest loses packets beyond it"
    )
    queues: Annotated[int, Field(gt=0, le=65_536)] = Field(
        default=4096, description="how many queues a station's flows are hashed into"
    )
    quantum_bytes: Annotated[Packets, Written(SizeText, "_bytes")] = Field(
        default=300, description="what a flow may send in its turn"
    )
    target_ns: Nanoseconds = Field(default=20_000_000, description="acceptable standing delay")
    interval_ns: Nanoseconds = Field(
        default=100_000_000, description="time that senders are given to react"
    )
    ecn: bool = Field(default=True, description="mark ECN-capable packets instead of dropping")
    aql: AirtimeLimits | None = Field(
        default=None,
        description="airtime queue limits; if absent the card holds the frame on the air only",
    )


class DownlinkAirtime(DownlinkFqCodel):
    """FQ-CoDel for each station; stations are served by the airtime that they have used."""

    kind: Literal["airtime"] = "airtime"  # type: ignore[assignment]  # another word of the union


class AccessPoint(Node):
    """The access point."""

    queue: (
        Annotated[DownlinkFifo | DownlinkFqCodel | DownlinkAirtime, Field(discriminator="kind")]
        | None
    ) = Field(
        default=None,
        description="where packets wait for stations, as Linux does it: fifo, fq_codel or airtime;"
        " if absent one queue of queue_packets, as in ns-3",
    )


class WifiRadio(Model):
    """Powers and losses between the nodes."""

    power_mdbm: Power = Field(description="power of every node, antennas included")
    noise_figure_mdb: Decibel = Field(default=7_000, description="noise figure of every receiver")
    path_loss_exponent_milli: Packets = Field(
        default=3_000,
        description="path loss exponent in thousandths: 3000 loses 30 dB for each tenfold distance",
    )


class Interference(Model):
    """Another network on the channel."""

    kind: Literal["heard", "hidden"] = Field(
        description="heard: both wait for each other; hidden: neither does, and frames collide"
    )
    mean_burst_ns: Nanoseconds = Field(description="mean length of a burst")
    share_ppb: Share = Field(description="share of the time that it is on the air if left alone")


class WifiPath(Model):
    """A Wi-Fi channel with its access point and stations."""

    kind: Literal["wifi"] = "wifi"
    standard: Literal["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac"] = Field(
        description="amendment of IEEE 802.11"
    )
    band: Literal["2.4 GHz", "5 GHz"] | None = Field(
        default=None, description="frequency band of 802.11n, 5 GHz if absent; the others have one"
    )
    channel_mhz: Megahertz = Field(default=20, description="width of the channel")
    spatial_streams: Small = Field(default=1, description="spatial streams of each frame")
    short_guard_interval: bool = Field(
        default=False, description="guard interval of 400 ns instead of 800 ns"
    )
    rate_control: Annotated[FixedIndex | IdealRate | Minstrel, Field(discriminator="kind")] = Field(
        default=IdealRate(), description="how senders choose among the standard's rates"
    )
    aggregation: Aggregation | None = Field(
        default=None, description="frames of several packets (A-MPDU); none if absent"
    )
    rts_threshold_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = Field(
        default=None, description="frames from this size on begin with RTS and CTS; none if absent"
    )
    attempts: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = Field(
        default=None,
        description="sendings before a packet is dropped; if absent 7, with aggregation no limit",
    )
    eifs: bool = Field(
        default=True,
        description="the channel rests after a collision as long as a response takes (EIFS)",
    )
    asks_before_repeating: bool = Field(
        default=False,
        description="a sender asks what has arrived before it repeats an unanswered aggregate",
    )
    beacons: Beacons | None = Field(
        default=None, description="the access point's beacons; none if absent"
    )
    queue_packets: Packets = Field(default=500, description="limit of each node's queue")
    queue_time_ns: Nanoseconds | None = Field(
        default=None, description="longest time of a packet in the queue"
    )
    access_point: AccessPoint = Field(
        default=AccessPoint(), description="the access point's place, priority and queue"
    )
    stations: Annotated[tuple[Node, ...], Several("station")] = Field(
        description="stations, one for each user, or their number"
    )
    radio: WifiRadio | None = Field(
        default=None,
        description="powers and losses; if absent, whatever does not collide is received",
    )
    interference: Interference | None = Field(
        default=None, description="another network on the channel; none if absent"
    )
    wire_delay_ns: Nanoseconds | None = Field(
        default=None,
        description="delay between access point and server, one way; one machine if absent",
    )
