"""A wire as a study writes it: the keys of a stage of `[link]` and `[reverse_link]`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from cwndlab.schema.base import Model
from cwndlab.schema.scenario import AckFilter, OutageKind, Transition
from cwndlab.schema.types import DurationText, QueueText, RateText, ShareText, SizeText
from cwndlab.schema.written import word_as_kind


def _share_as_loss(value: object) -> object:
    return {"kind": "iid", "share": value} if isinstance(value, str) else value


def _time_as_jitter(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.startswith("wifi "):
        return {"kind": "wifi", "mean": value.removeprefix("wifi ")}
    return {"kind": "uniform", "most": value}


def _share_and_delay(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value == "jitter":
        return {"kind": value}
    share, comma, delay = (part.strip() for part in value.partition(","))
    if not comma:
        msg = 'write the share and how much later it comes, such as "1 %, 5 ms"; or "jitter"'
        raise ValueError(msg)
    return {"kind": "late", "share": share, "delay": delay}


def _rate_and_burst(value: object) -> object:
    if not isinstance(value, str):
        return value
    rate, comma, burst = (part.strip() for part in value.partition(","))
    if not comma:
        msg = 'write the rate and the burst, such as "20 Mbit/s, 100 kB"'
        raise ValueError(msg)
    return {"rate": rate, "burst": burst}


class Police(Model):
    """A policer: what comes faster than the rate, beyond the burst, is dropped and not queued."""

    rate: RateText = Field(description="rate that passes")
    burst: SizeText = Field(description="what passes at once after a pause")


class DropTail(Model):
    """What does not fit is dropped."""

    kind: Literal["drop_tail"] = "drop_tail"


class Codel(Model):
    """Controlled delay, RFC 8289."""

    kind: Literal["codel"] = "codel"
    target: DurationText = Field(default=5_000_000, description="acceptable standing delay")
    interval: DurationText = Field(default=100_000_000, description="time to react")
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")


class FqCodel(Model):
    """A queue for each flow, with CoDel in each: FQ-CoDel, RFC 8290."""

    kind: Literal["fq_codel"] = "fq_codel"
    queues: Annotated[int, Field(gt=0, le=65_536)] = Field(
        default=1024, description="how many queues flows are hashed into"
    )
    quantum: SizeText = Field(default=1514, description="what a queue may send in its turn")
    target: DurationText = Field(default=5_000_000, description="acceptable standing delay")
    interval: DurationText = Field(default=100_000_000, description="time to react")
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")


class Pie(Model):
    """Proportional integral controller enhanced: PIE, RFC 8033."""

    kind: Literal["pie"] = "pie"
    target: DurationText = Field(default=15_000_000, description="delay to which it controls")
    burst: DurationText = Field(
        default=150_000_000, description="how long a burst after calm is let in unhindered"
    )
    ecn: bool = Field(
        default=False, description="mark ECN-capable packets instead, below a probability of 10 %"
    )


class Red(Model):
    """Random early detection, Floyd and Jacobson 1993."""

    kind: Literal["red"] = "red"
    min: SizeText = Field(description="below this average nothing is marked")
    max: SizeText = Field(description="from this average on everything is, unless gentle")
    max_probability: ShareText = Field(default=100_000_000, description="probability at max")
    weight_shift: Annotated[int, Field(ge=0, le=31)] = Field(
        default=9, description="the average moves by 2^-shift of its distance with each arrival"
    )
    idle_packet: DurationText | None = Field(
        default=None, description="time of one packet, by which the average decays when idle"
    )
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")
    gentle: bool = Field(default=False, description="go on to probability 1 at twice max")
    hard_drop: bool = Field(default=False, description="drop where everything would be marked")


class StepMarking(Model):
    """Marks ECN-capable packets while more than a threshold is queued, RFC 8257 section 3.1."""

    kind: Literal["step"] = "step"
    mark: QueueText = Field(description="the threshold, in packets or bytes")


class IidLoss(Model):
    """Each packet is lost on its own."""

    kind: Literal["iid"] = "iid"
    share: ShareText = Field(description="probability that a packet is lost")


class GilbertElliottLoss(Model):
    """Two states, good and bad, between which each packet may move."""

    kind: Literal["gilbert_elliott"] = "gilbert_elliott"
    p: ShareText = Field(description="from good to bad")
    r: ShareText = Field(description="from bad to good")
    good: ShareText = Field(default=0, description="loss while good")
    bad: ShareText = Field(default=10**9, description="loss while bad")


class UniformJitter(Model):
    """From nothing to the most, all equally likely."""

    kind: Literal["uniform"] = "uniform"
    most: DurationText = Field(description="largest extra delay")


class NormalJitter(Model):
    """Normal around zero."""

    kind: Literal["normal"] = "normal"
    sigma: DurationText = Field(description="standard deviation of the delay")


class ExponentialJitter(Model):
    """Exponential."""

    kind: Literal["exponential"] = "exponential"
    mean: DurationText = Field(description="mean extra delay")


class WifiJitter(Model):
    """Spikes of a bad Wi-Fi channel, as in draft-huitema-ccwg-c4-test section 2.3."""

    kind: Literal["wifi"] = "wifi"
    mean: DurationText = Field(
        description="average; above 1 ms a share of packets is repeated, from 91 ms on every one"
    )


class LateReorder(Model):
    """Some packets take longer, so that those behind overtake them."""

    kind: Literal["late"] = "late"
    share: ShareText = Field(description="probability that a packet comes later")
    delay: DurationText = Field(description="how much later")
    gap: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=1, description="at most one packet in so many"
    )


class EarlyReorder(Model):
    """Some packets have no delay and overtake those before them, as in netem."""

    kind: Literal["early"] = "early"
    share: ShareText = Field(description="probability that a packet has no delay")
    gap: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=1, description="at most one packet in so many"
    )


class JitterReorder(Model):
    """Whatever has a shorter jitter overtakes what has a longer one."""

    kind: Literal["jitter"] = "jitter"


Aqm = Annotated[
    Annotated[DropTail | Codel | FqCodel | Pie | Red | StepMarking, Field(discriminator="kind")],
    BeforeValidator(word_as_kind),
]
Loss = Annotated[
    Annotated[IidLoss | GilbertElliottLoss, Field(discriminator="kind")],
    BeforeValidator(_share_as_loss),
]
PoliceOrText = Annotated[Police, BeforeValidator(_rate_and_burst)]
Jitter = Annotated[
    Annotated[
        UniformJitter | NormalJitter | ExponentialJitter | WifiJitter, Field(discriminator="kind")
    ],
    BeforeValidator(_time_as_jitter),
]
Reorder = Annotated[
    Annotated[LateReorder | EarlyReorder | JitterReorder, Field(discriminator="kind")],
    BeforeValidator(_share_and_delay),
]


class Outage(Model):
    """A time in which the link does not work."""

    start: DurationText = Field(description="when it begins")
    stop: DurationText = Field(description="when it ends")
    kind: OutageKind = Field(default="drop", description="drop what arrives, or hold what waits")

    @model_validator(mode="after")
    def _stops_after_it_starts(self) -> Self:
        if self.stop <= self.start:
            msg = "the outage stops before it starts"
            raise ValueError(msg)
        return self


class Step(Model):
    """A change at a given time; what it does not name stays."""

    at: DurationText = Field(description="when the change happens")
    rate: RateText | None = Field(default=None, description="new rate")
    delay: DurationText | None = Field(default=None, description="new propagation delay, one way")
    loss: Loss | None = Field(default=None, description="new loss")


class LinkStage(Model):
    """One wire: policer, loss and outages on arrival, then the queue, the rate, the delay."""

    rate: RateText | None = Field(default=None, description="unlimited if neither this nor a trace")
    burst: SizeText | None = Field(default=None, description="makes the rate a token bucket's")
    trace: str | None = Field(
        default=None,
        description="a recorded link that gives the rate: a file of Mahimahi, of seconds and "
        "Mbit/s, a table, a report of iperf3, a folder of CellReplay; any of them may be gzip",
    )
    column: str | None = Field(
        default=None, description="of a trace that is a table: the rate's column, name or number"
    )
    unit: str | None = Field(
        default=None, description="of a trace that is a table: the rate's unit, Mbit/s or bytes"
    )
    time_column: str | None = Field(
        default=None, description="of a trace that is a table: the times' column, name or number"
    )
    time_unit: str | None = Field(
        default=None, description="of a trace that is a table: the times' unit, s, ms or us"
    )
    hold: bool = Field(default=True, description="a trace's rate holds until its next row")
    queue: QueueText | None = Field(
        default=None,
        description="1 BDP if absent; of a trace at its mean rate, and at least 250 packets",
    )
    aqm: Aqm = Field(
        default=DropTail(),
        description="discipline of the queue: drop_tail, codel, fq_codel, pie, red or step",
    )
    delay: DurationText | None = Field(default=None, description="propagation, one way")
    jitter: Jitter | None = Field(
        default=None, description='a time is the most of a uniform one; "wifi 7 ms"'
    )
    reorder: Reorder | None = Field(
        default=None,
        description='packets out of order: "SHARE, DELAY" come so much later; "jitter" lets them '
        "overtake by their jitter",
    )
    ack_filter: AckFilter | None = Field(
        default=None,
        description="older ACKs leave the queue where newer ones say as much: conservative keeps "
        "two, aggressive one, as in CAKE",
    )
    police: PoliceOrText | None = Field(
        default=None, description='policer on arrival, "RATE, BURST": drops instead of queueing'
    )
    loss: Loss | None = Field(default=None, description="a share is lost independently")
    framing: SizeText | None = Field(
        default=None, description="added to each packet's IP length: Ethernet 14, Mahimahi 4"
    )
    outages: tuple[Outage, ...] = Field(
        default=(), description="times in which the link does not work"
    )
    schedule: tuple[Step, ...] = Field(default=(), description="changes at given times")
    transition: Transition = Field(
        default="retime", description='"keep": what is queued keeps its departure, as in netem'
    )

    @model_validator(mode="before")
    @classmethod
    def _takes_a_log_as_trace(cls, value: object) -> object:
        """What is called a log in older files is a trace."""
        if not isinstance(value, dict) or "log" not in value:
            return value
        if "trace" in value:
            msg = '"trace" and "log" both give the rate; keep one of them'
            raise ValueError(msg)
        return {("trace" if key == "log" else key): inner for key, inner in value.items()}

    @model_validator(mode="after")
    def _has_one_rate(self) -> Self:
        if self.rate is not None and self.trace is not None:
            msg = '"rate" and "trace" both give the rate; keep one of them'
            raise ValueError(msg)
        for key in ("column", "unit", "time_column", "time_unit"):
            if getattr(self, key) is not None and self.trace is None:
                msg = f'"{key}" needs a "trace", of which it tells'
                raise ValueError(msg)
        if self.burst is not None and self.rate is None:
            msg = '"burst" needs a "rate", at which its tokens arrive'
            raise ValueError(msg)
        return self
