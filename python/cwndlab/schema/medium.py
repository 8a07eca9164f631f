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
    scheme: Small


class OuterLoop(Model):
    """A margin that moves until blocks fail as often as they should."""

    target_ppb: Share
    step_mdb: Decibel


class Reports(Model):
    """The scheme follows reports of the channel's quality."""

    kind: Literal["reports"] = "reports"
    period_ns: Nanoseconds
    delay_ns: Nanoseconds
    outer_loop: OuterLoop | None = None


Adaptation = Annotated[FixedScheme | Reports, Field(discriminator="kind")]


class Fading(Model):
    """Fast fading: the largest Doppler shift, and over how many branches powers are averaged."""

    doppler_mhz: Millihertz
    branches: Small
    rice_mdb: Decibel | None = None


class Drift(Model):
    """A slow variation of the mean."""

    sigma_mdb: Decibel
    correlation_ns: Nanoseconds


class Dedicated(Model):
    """A dedicated channel of UMTS, release 99."""

    kind: Literal["dedicated"] = "dedicated"
    kbit_s: Kilobits


class Hsdpa(Model):
    """The shared downlink channel of HSPA."""

    kind: Literal["hsdpa"] = "hsdpa"
    category: Small


class Hsupa(Model):
    """The enhanced uplink channel of HSPA."""

    kind: Literal["hsupa"] = "hsupa"
    category: Small
    ramp_ns: Nanoseconds = 0


class Umts(Model):
    """UMTS with what HSPA adds."""

    kind: Literal["umts"] = "umts"
    downlink: Annotated[Dedicated | Hsdpa, Field(discriminator="kind")]
    uplink: Annotated[Dedicated | Hsupa, Field(discriminator="kind")]


class Lte(Model):
    """LTE, frequency-division duplex."""

    kind: Literal["lte"] = "lte"
    resource_blocks: Packets
    layers: Small
    category: Small


class Slot(Model):
    """One slot of a pattern: its symbols for data, of 14."""

    downlink_symbols: Small = 0
    uplink_symbols: Small = 0


class Nr(Model):
    """5G NR, time-division duplex."""

    kind: Literal["nr"] = "nr"
    subcarrier_khz: Kilohertz
    bandwidth_mhz: Megahertz
    pattern: tuple[Slot, ...]
    downlink_layers: Small
    uplink_layers: Small
    is_256qam: bool
    overhead_elements: Packets
    base_slots: Packets
    acknowledge_slots: Packets
    grant_slots: Packets


class Acknowledged(Model):
    """RLC sends again what HARQ did not deliver."""

    kind: Literal["acknowledged"] = "acknowledged"
    recovery_ns: Nanoseconds


class Unacknowledged(Model):
    """RLC waits for what HARQ did not deliver, and gives it up."""

    kind: Literal["unacknowledged"] = "unacknowledged"
    reordering_ns: Nanoseconds


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
    window: Packets


class Curves(Model):
    """Blocks fail by the error curves of their scheme."""

    kind: Literal["curves"] = "curves"


class Given(Model):
    """Blocks fail by chance: of the first transmission, the second and so on."""

    kind: Literal["given"] = "given"
    ppb: tuple[Annotated[Ppb, Written(ShareText, "ppb", "shares")], ...]


class EarlyDiscard(Model):
    """Drops one packet at a time: the packet discard prevention counter of UMTS."""

    at_packets: Packets
    spacing_packets: Packets


class CellDirection(Model):
    """One direction of a cell."""

    core_delay_ns: Nanoseconds = 0
    core_jitter_ns: Nanoseconds = 0
    core_frame_ns: Nanoseconds = 0
    queue_packets: Packets | None = None
    queue_bytes: Size | None = None
    discard_ns: Nanoseconds | None = None
    early_discard: EarlyDiscard | None = None
    residual_loss_ppb: Share = 0
    rlc: Annotated[Acknowledged | Unacknowledged | Transparent, Field(discriminator="kind")] = (
        Acknowledged(recovery_ns=80_000_000)
    )
    scheduler: Annotated[RoundRobin | MaxCi | ProportionalFair, Field(discriminator="kind")] = (
        RoundRobin()
    )
    adaptation: Adaptation
    block_errors: Annotated[Curves | Given, Field(discriminator="kind")] = Curves()
    transmissions: Small = 4
    feedback_error_ppb: Share = 0


class AccessReports(Model):
    """The timers of buffer status reports."""

    period_ns: Nanoseconds
    repeat_ns: Nanoseconds


class Access(Model):
    """How a user of LTE or NR gets leave to send."""

    request_period_ns: Nanoseconds
    first_grant_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = None
    keep_alive_ns: Nanoseconds = 0
    reports: AccessReports | None = None


class CellUser(Model):
    """A user with a port."""

    downlink_mdb: Decibel
    uplink_mdb: Decibel
    fading: Fading | None = None
    drifts: tuple[Drift, ...] = ()


class Background(Model):
    """Users without a port, who want service always or now and then."""

    users: Annotated[int, Field(ge=1, le=65535)]
    way: Literal["down", "up"]
    lowest_mdb: Decibel
    highest_mdb: Decibel
    fading: Fading | None = None
    on_ns: Nanoseconds
    off_ns: Nanoseconds = 0


class Rrc(Model):
    """How a silent user goes to sleep and wakes up."""

    drx_after_ns: Nanoseconds | None = None
    drx_cycle_ns: Nanoseconds = 0
    inactivity_ns: Nanoseconds
    promotion_least_ns: Nanoseconds
    promotion_most_ns: Nanoseconds
    paging_cycle_ns: Nanoseconds


class Handover(Model):
    """How users change from cell to cell."""

    interval_ns: Nanoseconds
    interruption_ns: Nanoseconds
    is_lossless: bool


class CellPath(Model):
    """A radio cell with its users and its core network."""

    kind: Literal["cell"] = "cell"
    radio: Annotated[Umts | Lte | Nr, Field(discriminator="kind")]
    downlink: CellDirection
    uplink: CellDirection
    access: Access | None = None
    users: Annotated[tuple[CellUser, ...], Several("user")]
    background: tuple[Background, ...] = ()
    rrc: Rrc | None = None
    handover: Handover | None = None


class FixedIndex(Model):
    """Always the same rate, by its index in the standard's table."""

    kind: Literal["fixed"] = "fixed"
    index: Small


class IdealRate(Model):
    """The fastest rate that loses less than a tenth, as if the sender knew the channel."""

    kind: Literal["ideal"] = "ideal"


class Minstrel(Model):
    """By what was acknowledged, as Linux does."""

    kind: Literal["minstrel"] = "minstrel"


class Aggregation(Model):
    """How large a frame of several packets gets (A-MPDU)."""

    max_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = None
    max_packets: Packets = 64
    max_time_ns: Nanoseconds = 5_484_000


class Beacons(Model):
    """The access point's beacons."""

    interval_ns: Nanoseconds
    bytes: Packets


class Node(Model):
    """The access point or a station."""

    x_mm: Length = 0
    y_mm: Length = 0
    access: Literal["background", "best_effort", "video", "voice", "legacy"] | None = None


class WifiRadio(Model):
    """Powers and losses between the nodes."""

    power_mdbm: Power
    noise_figure_mdb: Decibel = 7_000
    path_loss_exponent_milli: Packets = 3_000


class Interference(Model):
    """Another network on the channel."""

    kind: Literal["heard", "hidden"]
    mean_burst_ns: Nanoseconds
    share_ppb: Share


class WifiPath(Model):
    """A Wi-Fi channel with its access point and stations."""

    kind: Literal["wifi"] = "wifi"
    standard: Literal["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac"]
    band: Literal["2.4 GHz", "5 GHz"] | None = None
    channel_mhz: Megahertz = 20
    spatial_streams: Small = 1
    short_guard_interval: bool = False
    rate_control: Annotated[FixedIndex | IdealRate | Minstrel, Field(discriminator="kind")] = (
        IdealRate()
    )
    aggregation: Aggregation | None = None
    rts_threshold_bytes: Annotated[Packets, Written(SizeText, "_bytes")] | None = None
    attempts: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = None
    eifs: bool = True
    asks_before_repeating: bool = False
    beacons: Beacons | None = None
    queue_packets: Packets = 500
    queue_time_ns: Nanoseconds | None = None
    access_point: Node = Node()
    stations: Annotated[tuple[Node, ...], Several("station")]
    radio: WifiRadio | None = None
    interference: Interference | None = None
    wire_delay_ns: Nanoseconds | None = None
