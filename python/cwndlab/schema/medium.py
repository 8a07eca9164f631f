"""Shared media as the simulator takes them: a cell, a Wi-Fi channel; in whole SI units.

What people write is derived from these models (`cwndlab.schema.written`): `core_delay_ns` is
`core_delay = "10 ms"` in a file. What each figure means is told where it is used, in the modules
`cellular`, `channel` and `wifi` of the simulator's links.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cwndlab.schema.base import Count, Model, Packets, Ppb
from cwndlab.schema.types import (
    DecibelText,
    DurationText,
    FrequencyText,
    LengthText,
    PowerText,
    RateText,
    ShareText,
    SizeText,
)
from cwndlab.schema.written import Several, Written

_MILLIHERTZ_PER_MHZ = 10**9
_MILLIHERTZ_PER_KHZ = 10**6

Nanoseconds = Annotated[Count, Written(DurationText, "_ns")]
Share = Annotated[Ppb, Written(ShareText, "_ppb")]
Size = Annotated[Count, Written(SizeText, "_bytes")]
Decibel = Annotated[int, Field(ge=-300_000, le=300_000), Written(DecibelText, "_mdb")]
Power = Annotated[int, Field(ge=-300_000, le=300_000), Written(PowerText, "_mdbm")]
Length = Annotated[int, Field(ge=-(10**9), le=10**9), Written(LengthText, "_mm")]
Megahertz = Annotated[Packets, Written(FrequencyText, "_mhz", scale=_MILLIHERTZ_PER_MHZ)]
Kilohertz = Annotated[Packets, Written(FrequencyText, "_khz", scale=_MILLIHERTZ_PER_KHZ)]
Millihertz = Annotated[Packets, Written(FrequencyText, "_mhz")]
Kilobits = Annotated[Packets, Written(RateText, "kbit_s", "rate", 1000)]
Small = Annotated[int, Field(ge=0, le=255)]


class FixedScheme(Model):
    """Always the same modulation and coding; with HSDPA the channel quality less 1."""

    kind: Literal["fixed"] = "fixed"
    scheme: Small = Field(description="number in the technology's table of schemes")


class OuterLoop(Model):
    """A margin that moves until blocks fail as often as they should."""

    target_ppb: Share = Field(description="share of first transmissions that are to fail")
    step_mdb: Decibel = Field(description="how far the margin moves after a failed block")


class Reports(Model):
    """The scheme follows reports of the channel's quality."""

    kind: Literal["reports"] = "reports"
    period_ns: Nanoseconds = Field(description="time between two reports")
    delay_ns: Nanoseconds = Field(description="age of a report when the scheme first follows it")
    outer_loop: OuterLoop | None = Field(
        default=None, description="corrects the reports by what failed; none if absent"
    )


Adaptation = Annotated[FixedScheme | Reports, Field(discriminator="kind")]


class Fading(Model):
    """Fast fading: the largest Doppler shift, and over how many branches powers are averaged."""

    doppler_mhz: Millihertz = Field(description="largest Doppler shift: speed over wavelength")
    branches: Small = Field(
        description="independent paths whose powers are averaged; more fade less"
    )
    rice_mdb: Decibel | None = Field(
        default=None,
        description="power of the direct path over the scattered ones; Rayleigh if absent",
    )


class Drift(Model):
    """A slow variation of the mean."""

    sigma_mdb: Decibel = Field(description="standard deviation of the variation")
    correlation_ns: Nanoseconds = Field(
        description="time after which it has lost 1/e of its memory"
    )


class Dedicated(Model):
    """A dedicated channel of UMTS, release 99."""

    kind: Literal["dedicated"] = "dedicated"
    kbit_s: Kilobits = Field(description="rate of the channel: 64, 128 or 384 kbit/s")


class Hsdpa(Model):
    """The shared downlink channel of HSPA."""

    kind: Literal["hsdpa"] = "hsdpa"
    category: Small = Field(description="category of the handset: 1 to 12, TS 25.306")


class Hsupa(Model):
    """The enhanced uplink channel of HSPA."""

    kind: Literal["hsupa"] = "hsupa"
    category: Small = Field(description="category of the handset: 3, 5 or 6, TS 25.306")
    ramp_ns: Nanoseconds = Field(
        default=0,
        description="time in which the grant grows from one unit to a whole block after a pause",
    )


class Umts(Model):
    """UMTS with what HSPA adds."""

    kind: Literal["umts"] = "umts"
    downlink: Annotated[Dedicated | Hsdpa, Field(discriminator="kind")] = Field(
        description="channel towards the user"
    )
    uplink: Annotated[Dedicated | Hsupa, Field(discriminator="kind")] = Field(
        description="channel from the user"
    )


class Lte(Model):
    """LTE, frequency-division duplex."""

    kind: Literal["lte"] = "lte"
    resource_blocks: Packets = Field(
        description="bandwidth: 6, 15, 25, 50, 75 or 100 resource blocks"
    )
    layers: Small = Field(description="spatial layers of the downlink: 1 or 2")
    category: Small = Field(description="category of the handset: 1 to 4, TS 36.306")


class Slot(Model):
    """One slot of a pattern: its symbols for data, of 14."""

    downlink_symbols: Small = Field(default=0, description="symbols for downlink data, of 14")
    uplink_symbols: Small = Field(default=0, description="symbols for uplink data, of 14")


class Nr(Model):
    """5G NR, time-division duplex."""

    kind: Literal["nr"] = "nr"
    subcarrier_khz: Kilohertz = Field(description="subcarrier spacing: 15, 30 or 120 kHz")
    bandwidth_mhz: Megahertz = Field(description="bandwidth of the carrier, as TS 38.101 has it")
    pattern: tuple[Slot, ...] = Field(
        description="the slots of the TDD pattern, in order; it repeats"
    )
    downlink_layers: Small = Field(description="spatial layers towards the user")
    uplink_layers: Small = Field(description="spatial layers from the user")
    is_256qam: bool = Field(
        description="schemes up to 256QAM instead of 64QAM (tables 2 and 1 of TS 38.214)"
    )
    overhead_elements: Packets = Field(
        description="resource elements of a resource block and slot that carry no data"
    )
    base_slots: Packets = Field(description="slots that the base station takes to answer")
    acknowledge_slots: Packets = Field(
        description="fewest slots from data to their acknowledgement (K1)"
    )
    grant_slots: Packets = Field(description="fewest slots from a grant to its block (K2)")


class Acknowledged(Model):
    """RLC sends again what HARQ did not deliver."""

    kind: Literal["acknowledged"] = "acknowledged"
    recovery_ns: Nanoseconds = Field(description="time until RLC has sent a lost block again")


class Unacknowledged(Model):
    """RLC waits for what HARQ did not deliver, and gives it up."""

    kind: Literal["unacknowledged"] = "unacknowledged"
    reordering_ns: Nanoseconds = Field(
        description="how long RLC waits for a missing block before it gives up"
    )


class Transparent(Model):
    """RLC does nothing."""

    kind: Literal["transparent"] = "transparent"


class RoundRobin(Model):
    """Users are served in turn."""

    kind: Literal["round_robin"] = "round_robin"


class MaxCi(Model):
    """Whoever has the best channel is served."""

    kind: Literal["max_ci"] = "max_ci"


class ProportionalFair(Model):
    """Whoever's rate is highest over its own average is served."""

    kind: Literal["proportional_fair"] = "proportional_fair"
    window: Packets = Field(description="intervals over which a user's rate is averaged")


class Curves(Model):
    """Blocks fail by the error curves of their scheme."""

    kind: Literal["curves"] = "curves"


class Given(Model):
    """Blocks fail by chance: of the first transmission, the second and so on."""

    kind: Literal["given"] = "given"
    ppb: tuple[Annotated[Ppb, Written(ShareText, "ppb", "shares")], ...] = Field(
        description="probability of failure by transmission: the first, the second and so on"
    )


class EarlyDiscard(Model):
    """Drops one packet at a time: the packet discard prevention counter of UMTS."""

    at_packets: Packets = Field(description="queue length from which packets are discarded")
    spacing_packets: Packets = Field(description="packets that pass between two discards")


class CellDirection(Model):
    """One direction of a cell."""

    core_delay_ns: Nanoseconds = Field(
        default=0, description="delay between the cell and the network's end of the link, one way"
    )
    core_jitter_ns: Nanoseconds = Field(
        default=0, description="largest addition to that delay, uniform from 0, order kept"
    )
    core_frame_ns: Nanoseconds = Field(
        default=0, description="packets leave the core at multiples of this time only; at once if 0"
    )
    queue_packets: Packets | None = Field(
        default=None, description="limit of each user's queue in packets; none if absent"
    )
    queue_bytes: Size | None = Field(
        default=None, description="limit of each user's queue in bytes; none if absent"
    )
    discard_ns: Nanoseconds | None = Field(
        default=None,
        description="packets that have waited longer than this are discarded; never if absent",
    )
    early_discard: EarlyDiscard | None = Field(
        default=None, description="discards single packets of a long queue; none if absent"
    )
    residual_loss_ppb: Share = Field(
        default=0, description="share lost before the queue, such as by a serial line"
    )
    rlc: Annotated[Acknowledged | Unacknowledged | Transparent, Field(discriminator="kind")] = (
        Field(
            default=Acknowledged(recovery_ns=80_000_000),
            description="what radio link control does about blocks that never arrive",
        )
    )
    scheduler: Annotated[RoundRobin | MaxCi | ProportionalFair, Field(discriminator="kind")] = (
        Field(default=RoundRobin(), description="which user is served")
    )
    adaptation: Adaptation = Field(
        description="how the modulation and coding scheme follows the channel"
    )
    block_errors: Annotated[Curves | Given, Field(discriminator="kind")] = Field(
        default=Curves(), description="which blocks fail"
    )
    transmissions: Small = Field(
        default=4, description="transmissions of a block by HARQ, the first included"
    )
    feedback_error_ppb: Share = Field(
        default=0, description="share of failed blocks that are taken for received, and left to RLC"
    )


class AccessReports(Model):
    """The timers of buffer status reports."""

    period_ns: Nanoseconds = Field(
        description="time after which a user that sends reports again (periodicBSR-Timer)"
    )
    repeat_ns: Nanoseconds = Field(
        description="time without a grant after which a user reports again (retxBSR-Timer)"
    )


class Access(Model):
    """How a user of LTE or NR gets leave to send."""

    request_period_ns: Nanoseconds = Field(
        description="time between two opportunities for a scheduling request"
    )
    first_grant_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = Field(
        default=None,
        description="size of the first grant after a request; room for all that waits if absent",
    )
    keep_alive_ns: Nanoseconds = Field(
        default=0, description="how long a user with an empty queue goes on being granted as much"
    )
    reports: AccessReports | None = Field(
        default=None,
        description="timers of buffer status reports; a report with every block if absent",
    )


class CellUser(Model):
    """A user with a port."""

    downlink_mdb: Decibel = Field(
        description="mean signal to interference and noise ratio towards the user"
    )
    uplink_mdb: Decibel = Field(
        description="mean signal to interference and noise ratio from the user"
    )
    fading: Fading | None = Field(
        default=None, description="fast fading, separate in each direction; none if absent"
    )
    drifts: tuple[Drift, ...] = Field(
        default=(), description="slow variations of the mean, the same in both directions"
    )


class Background(Model):
    """Users without a port, who want service always or now and then."""

    users: Annotated[int, Field(ge=1, le=65535)] = Field(description="number of users alike")
    way: Literal["down", "up"] = Field(description="direction of their data")
    lowest_mdb: Decibel = Field(
        description="ratio of signal to interference and noise of the worst user"
    )
    highest_mdb: Decibel = Field(
        description="ratio of signal to interference and noise of the best user"
    )
    fading: Fading | None = Field(
        default=None, description="fast fading of each user's channel; none if absent"
    )
    on_ns: Nanoseconds = Field(description="mean time for which a user wants service")
    off_ns: Nanoseconds = Field(
        default=0, description="mean time for which it does not; always wants service if 0"
    )


class Rrc(Model):
    """How a silent user goes to sleep and wakes up."""

    drx_after_ns: Nanoseconds | None = Field(
        default=None, description="silence after which the user listens in cycles; never if absent"
    )
    drx_cycle_ns: Nanoseconds = Field(default=0, description="time between two listening windows")
    inactivity_ns: Nanoseconds = Field(
        description="silence after which the user is no longer connected"
    )
    promotion_least_ns: Nanoseconds = Field(description="shortest time to wake from idle")
    promotion_most_ns: Nanoseconds = Field(description="longest time to wake from idle")
    paging_cycle_ns: Nanoseconds = Field(description="time between two pagings of an idle user")


class Handover(Model):
    """How users change from cell to cell."""

    interval_ns: Nanoseconds = Field(description="mean time between two handovers")
    interruption_ns: Nanoseconds = Field(description="time without service at each")
    is_lossless: bool = Field(
        description="what was under way is sent again afterwards instead of lost"
    )


class CellPath(Model):
    """A radio cell with its users and its core network."""

    kind: Literal["cell"] = "cell"
    radio: Annotated[Umts | Lte | Nr, Field(discriminator="kind")] = Field(
        description="technology and its carrier"
    )
    downlink: CellDirection = Field(description="direction towards the users")
    uplink: CellDirection = Field(description="direction from the users")
    access: Access | None = Field(
        default=None,
        description="scheduling requests and grants; LTE and NR need it, UMTS has none",
    )
    users: Annotated[tuple[CellUser, ...], Several("user")] = Field(
        description="users whose flows are measured, or their number"
    )
    background: tuple[Background, ...] = Field(
        default=(), description="users that only take capacity"
    )
    rrc: Rrc | None = Field(
        default=None, description="sleep and wake-up of silent users; always awake if absent"
    )
    handover: Handover | None = Field(default=None, description="changes of cell; none if absent")


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
    access_point: Node = Field(default=Node(), description="the access point's place and priority")
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
