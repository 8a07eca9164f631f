"""A link as a study writes it: the keys of `[link]`, `[reverse_link]` and `[[link.stage]]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from cwndlab.schema.base import Model
from cwndlab.schema.cell import CellPath
from cwndlab.schema.scenario import OutageKind, Transition
from cwndlab.schema.types import DecibelText, DurationText, QueueText, RateText, ShareText, SizeText
from cwndlab.schema.wifi import WifiPath
from cwndlab.schema.written import word_as_kind, written_form
from cwndlab.text.linkspec import parse_spec

if TYPE_CHECKING:  # what people write is made of the SI models at run time
    Cell: TypeAlias = Model
    Wifi: TypeAlias = Model
else:
    Cell = written_form(CellPath)
    Wifi = written_form(WifiPath)


def _share_as_loss(value: object) -> object:
    return {"kind": "iid", "share": value} if isinstance(value, str) else value


def _time_as_jitter(value: object) -> object:
    return {"kind": "uniform", "most": value} if isinstance(value, str) else value


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
    Annotated[UniformJitter | NormalJitter | ExponentialJitter, Field(discriminator="kind")],
    BeforeValidator(_time_as_jitter),
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
    jitter: Jitter | None = Field(default=None, description="a time is the most of a uniform one")
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


class ChainWire(LinkStage):
    """A wire beside a cell or a Wi-Fi channel, both ways."""

    reverse: LinkStage | None = Field(
        default=None,
        description="of a wire beside a cell or a Wi-Fi channel: its keys the other way; nothing "
        "but the same delay if absent",
    )


class LinkOrMedium(LinkStage):
    """A wire, a cell or a Wi-Fi channel, or a preset with changes."""

    preset: str | None = Field(
        default=None, description="name of a preset or TOML file whose keys hold where none is here"
    )
    period: str | None = Field(
        default=None, description="of the day, of a preset that knows several: its figures then"
    )
    bandwidth: str | None = Field(
        default=None, description='of a cell or a Wi-Fi channel: its width, "60 MHz"'
    )
    layers: Annotated[int, Field(ge=1, le=8)] | None = Field(
        default=None, description="of a cell or a Wi-Fi channel: spatial layers towards the user"
    )
    mcs: Annotated[int, Field(ge=0, le=31)] | None = Field(
        default=None,
        description="of a cell or a Wi-Fi channel: always this modulation and coding scheme",
    )
    users: Annotated[int, Field(ge=1, le=2007)] | None = Field(
        default=None, description="of a cell or a Wi-Fi channel: how many users or stations"
    )
    coverage: DecibelText | None = Field(
        default=None,
        description="of a cell: mean signal to interference and noise ratio towards the users; "
        "the one from them moves along",
    )
    speed: str | None = Field(
        default=None,
        description='of a cell\'s users, "120 km/h": sets Doppler shift and the pace of shadowing',
    )
    handover: str | None = Field(
        default=None, description='of a cell: interval and interruption, "every 30 s, 40 ms"'
    )
    drx: str | None = Field(
        default=None,
        description='of a cell: silence until users sleep, and cycle, "after 100 ms, every 40 ms"',
    )
    cell: Cell | None = Field(default=None, description="a radio cell: both directions")
    wifi: Wifi | None = Field(default=None, description="a Wi-Fi channel: both directions")

    @model_validator(mode="after")
    def _is_one_link(self) -> Self:
        if self.cell is not None and self.wifi is not None:
            msg = '"cell" and "wifi" both say what the link is; keep one of them'
            raise ValueError(msg)
        # A policer is of every link.
        beside = sorted(self.model_fields_set & LinkStage.model_fields.keys() - {"police"})
        if self.medium and beside:
            msg = (
                f'"{beside[0]}" is a wire\'s; this link is a {self.medium[0]}, with keys of its own'
            )
            raise ValueError(msg)
        return self

    @property
    def medium(self) -> tuple[str, Model] | None:
        """The cell or Wi-Fi channel that the link is, by its key."""
        for key in ("cell", "wifi"):
            if getattr(self, key) is not None:
                return key, getattr(self, key)
        return None


class ChainStage(LinkOrMedium, ChainWire):
    """One link of a chain."""

    @model_validator(mode="after")
    def _has_two_ways(self) -> Self:
        if self.medium and self.reverse is not None:
            msg = f'"reverse" is a wire\'s; a {self.medium[0]} is both directions'
            raise ValueError(msg)
        return self


class Link(LinkOrMedium):
    """One direction of a path: a wire, a chain of stages, or a preset with changes.

    A cell or a Wi-Fi channel is both directions at once, and so is a chain with one of them.
    """

    name: str | None = Field(default=None, description="what results call it")
    server: DurationText | None = Field(
        default=None,
        description="delay between the link and the server, one way: behind an access point or a "
        "wire, of a cell in place of its core_delay",
    )
    wire: ChainWire | None = Field(
        default=None,
        description="between the server and a cell or a Wi-Fi channel: the keys of a wire there",
    )
    stage: tuple[ChainStage, ...] = Field(
        default=(), description="the links of a chain, the server's end first"
    )

    @model_validator(mode="after")
    def _has_no_wire_beside_its_stages(self) -> Self:
        beside = sorted(self.model_fields_set & LinkStage.model_fields.keys())
        if self.stage and beside:
            msg = f'"{beside[0]}" stands beside [[link.stage]]; move it into one of the stages'
            raise ValueError(msg)
        for key in ("cell", "wifi", "wire"):
            if self.stage and getattr(self, key) is not None:
                msg = f'"stage" and "{key}" both say what the link is; keep one of them'
                raise ValueError(msg)
        return self


SHORT_KEYS = ("bandwidth", "layers", "mcs", "users", "coverage", "speed", "handover", "drx")
"""Keys of a link that stand for several of a cell's or a Wi-Fi channel's."""


def _text_as_link(value: object) -> object:
    return parse_spec(value) if isinstance(value, str) else value


LinkOrText = Annotated[Link, BeforeValidator(_text_as_link)]
