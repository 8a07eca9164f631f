"""A radio cell as the simulator takes it, in whole SI units.

What people write is derived from these models (`cwndlab.schema.written`): `core_delay_ns` is
`core_delay = "10 ms"` in a file. Sources stand in the module `cellular` of the simulator's links.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cwndlab.schema.base import Count, Model, Packets, Ppb
from cwndlab.schema.figures import Decibel, Millihertz, Nanoseconds, Share, Size, Small
from cwndlab.schema.radio import Lte, Nr, Umts
from cwndlab.schema.types import RateText, ShareText, SizeText
from cwndlab.schema.written import Several, Written


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


class CellCodel(Model):
    """Controlled delay, RFC 8289."""

    kind: Literal["codel"] = "codel"
    target_ns: Nanoseconds = Field(default=5_000_000, description="acceptable standing delay")
    interval_ns: Nanoseconds = Field(
        default=100_000_000, description="time that senders are given to react"
    )
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")


class CellFqCodel(Model):
    """A queue for each flow of a user, with CoDel in each: FQ-CoDel, RFC 8290."""

    kind: Literal["fq_codel"] = "fq_codel"
    queues: Annotated[int, Field(gt=0, le=65_536)] = Field(
        default=1024, description="how many queues flows are hashed into"
    )
    quantum_bytes: Size = Field(default=1514, description="what a queue may send in its turn")
    target_ns: Nanoseconds = Field(default=5_000_000, description="acceptable standing delay")
    interval_ns: Nanoseconds = Field(
        default=100_000_000, description="time that senders are given to react"
    )
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")


class CellPie(Model):
    """Proportional integral controller enhanced: PIE, RFC 8033."""

    kind: Literal["pie"] = "pie"
    target_ns: Nanoseconds = Field(
        default=15_000_000, description="delay to which the queue is controlled"
    )
    burst_ns: Nanoseconds = Field(
        default=150_000_000, description="how long a burst after calm is let in unhindered"
    )
    ecn: bool = Field(
        default=False, description="mark ECN-capable packets instead, below a probability of 10 %"
    )


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
    aqm: Annotated[CellCodel | CellFqCodel | CellPie, Field(discriminator="kind")] | None = Field(
        default=None,
        description="management of each user's queue: codel, fq_codel or pie; drop-tail if absent",
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


class CellPolice(Model):
    """A policer: what comes faster than the rate, beyond the burst, is dropped and not queued."""

    bits_per_sec: Annotated[Count, Written(RateText, "bits_per_sec", "rate")] = Field(
        description="rate that passes"
    )
    burst_bytes: Annotated[Count, Written(SizeText, "_bytes")] = Field(
        description="what passes at once after a pause"
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
    police: CellPolice | None = Field(
        default=None,
        description="what each user may receive: the rest is dropped where it enters the network",
    )
