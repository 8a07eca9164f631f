"""The canonical scenario: everything that determines a run, in whole SI units.

The simulator, and later the kernel helper and the live server, take its JSON. A field that is
absent has its default; an unknown one is an error on both sides. The types that Rust reads it into
are checked against these by a test.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cwndlab.schema.application import Application, Bulk
from cwndlab.schema.base import Count, Model, Packets, Ppb, canonical_json
from cwndlab.schema.cell import CellPath
from cwndlab.schema.direction import WireDirection
from cwndlab.schema.host import Host
from cwndlab.schema.live import LivePath
from cwndlab.schema.wifi import WifiPath

SCENARIO_VERSION: Literal[1] = 1


class UnlimitedRate(Model):
    """Service takes no time."""

    kind: Literal["unlimited"] = "unlimited"


class FixedRate(Model):
    """A packet takes its length divided by the rate."""

    kind: Literal["fixed"] = "fixed"
    bits_per_sec: Count


class TokenBucketRate(Model):
    """Tokens arrive at the rate; at most a burst of them is kept."""

    kind: Literal["token_bucket"] = "token_bucket"
    bits_per_sec: Count
    burst_bytes: Count


class MahimahiRate(Model):
    """Delivery opportunities of a Mahimahi trace, named by the hash of its content."""

    kind: Literal["mahimahi"] = "mahimahi"
    path: str


class LogRate(Model):
    """A log of throughput over time, named by the hash of its content."""

    kind: Literal["log"] = "log"
    path: str
    hold: bool = True


class DropTailQueue(Model):
    """What does not fit is dropped; without a limit everything fits."""

    kind: Literal["drop_tail"] = "drop_tail"
    packets: Packets | None = None
    bytes: Count | None = None


class CodelQueue(Model):
    """Controlled delay, RFC 8289."""

    kind: Literal["codel"] = "codel"
    target_ns: Count = 5_000_000
    interval_ns: Count = 100_000_000
    ecn: bool = False
    packets: Packets | None = None
    bytes: Count | None = None


class FqCodelQueue(Model):
    """A queue for each flow, with CoDel in each: FQ-CoDel, RFC 8290."""

    kind: Literal["fq_codel"] = "fq_codel"
    queues: Annotated[int, Field(gt=0)] = 1024
    quantum_bytes: Count = 1514
    target_ns: Count = 5_000_000
    interval_ns: Count = 100_000_000
    ecn: bool = False
    packets: Packets | None = None
    bytes: Count | None = None


class PieQueue(Model):
    """Proportional integral controller enhanced: PIE, RFC 8033."""

    kind: Literal["pie"] = "pie"
    target_ns: Count = 15_000_000
    burst_ns: Count = 150_000_000
    ecn: bool = False
    packets: Packets | None = None
    bytes: Count | None = None


class RedQueue(Model):
    """Random early detection, Floyd and Jacobson 1993."""

    kind: Literal["red"] = "red"
    min_bytes: Count
    max_bytes: Count
    limit_bytes: Count | None = None
    max_probability_ppb: Ppb = 100_000_000
    weight_shift: Annotated[int, Field(ge=0, le=31)] = 9
    idle_packet_ns: Count | None = None
    ecn: bool = False
    gentle: bool = False
    hard_drop: bool = False


class StepQueue(Model):
    """Marks while more than a threshold is queued, RFC 8257 section 3.1."""

    kind: Literal["step"] = "step"
    mark_packets: Packets | None = None
    mark_bytes: Count | None = None
    packets: Packets | None = None
    bytes: Count | None = None


class IidLoss(Model):
    """Each packet is lost on its own."""

    kind: Literal["iid"] = "iid"
    ppb: Ppb


class GilbertElliottLoss(Model):
    """A chain of two states that moves with each packet."""

    kind: Literal["gilbert_elliott"] = "gilbert_elliott"
    p_ppb: Ppb
    r_ppb: Ppb
    loss_good_ppb: Ppb = 0
    loss_bad_ppb: Ppb = 10**9


class UniformJitter(Model):
    """From nothing to the most, all equally likely."""

    kind: Literal["uniform"] = "uniform"
    max_ns: Count


class NormalJitter(Model):
    """Normal around zero."""

    kind: Literal["normal"] = "normal"
    sigma_ns: Count


class ExponentialJitter(Model):
    """Exponential."""

    kind: Literal["exponential"] = "exponential"
    mean_ns: Count


class WifiJitter(Model):
    """Spikes of a Wi-Fi channel with hidden nodes: draft-huitema-ccwg-c4-test section 2.3."""

    kind: Literal["wifi"] = "wifi"
    mean_ns: Count


class LateReorder(Model):
    """Some packets take longer, so that those behind overtake them."""

    kind: Literal["late"] = "late"
    ppb: Ppb
    delay_ns: Count
    gap: Annotated[int, Field(ge=1, le=2**32 - 1)] = 1


class EarlyReorder(Model):
    """Some packets have no delay and overtake those before them: netem's own form."""

    kind: Literal["early"] = "early"
    ppb: Ppb
    gap: Annotated[int, Field(ge=1, le=2**32 - 1)] = 1


class JitterReorder(Model):
    """Whatever has a shorter jitter overtakes what has a longer one."""

    kind: Literal["jitter"] = "jitter"


Rate = Annotated[
    UnlimitedRate | FixedRate | TokenBucketRate | MahimahiRate | LogRate,
    Field(discriminator="kind"),
]
Queue = Annotated[
    DropTailQueue | CodelQueue | FqCodelQueue | PieQueue | RedQueue | StepQueue,
    Field(discriminator="kind"),
]
Loss = Annotated[IidLoss | GilbertElliottLoss, Field(discriminator="kind")]
Jitter = Annotated[
    UniformJitter | NormalJitter | ExponentialJitter | WifiJitter, Field(discriminator="kind")
]
Reorder = Annotated[LateReorder | EarlyReorder | JitterReorder, Field(discriminator="kind")]
Transition = Literal["retime", "keep"]
AckFilter = Literal["conservative", "aggressive"]
OutageKind = Literal["drop", "hold"]


class Outage(Model):
    """A time in which the link does not work."""

    start_ns: Count
    stop_ns: Count
    kind: OutageKind = "drop"


class Step(Model):
    """A change at a given time; what is absent stays."""

    at_ns: Count
    bits_per_sec: Count | None = None
    delay_ns: Count | None = None
    loss: Loss | None = None


class PoliceRate(Model):
    """What comes faster than this, beyond the burst, is dropped."""

    bits_per_sec: Count
    burst_bytes: Count


class Stage(Model):
    """One wire of a chain: policer, loss and outages, then the queue, the rate, the delay."""

    rate: Rate = UnlimitedRate()
    queue: Queue = DropTailQueue()
    delay_ns: Count = 0
    jitter: Jitter | None = None
    police: PoliceRate | None = None
    loss: Loss | None = None
    framing_bytes: Packets = 0
    outages: tuple[Outage, ...] = ()
    schedule: tuple[Step, ...] = ()
    ack_filter: AckFilter | None = None
    reorder: Reorder | None = None
    transition: Transition = "retime"


class WirePath(Model):
    """Two independent directions, each a chain of stages."""

    kind: Literal["wire"] = "wire"
    forward: tuple[Stage, ...]
    reverse: tuple[Stage, ...] = ()


class ChainPath(Model):
    """Links one behind the other, those at the network's side first; all users pass all of them."""

    kind: Literal["chain"] = "chain"
    links: Annotated[
        tuple[Annotated[WirePath | CellPath | WifiPath, Field(discriminator="kind")], ...],
        Field(min_length=1),
    ]


Path = Annotated[WirePath | CellPath | WifiPath | ChainPath | LivePath, Field(discriminator="kind")]


class End(Model):
    """One end's TCP stack."""

    stack: str
    algorithm: str
    parameters: dict[str, int] = Field(default={})
    stack_overrides: dict[str, Any] = Field(default={})
    host: Host | None = None


class ScenarioFlow(Model):
    """One connection."""

    id: Annotated[int, Field(ge=0, le=2**32 - 1)]
    direction: WireDirection = "forward"
    user: Annotated[int, Field(ge=1, le=2**16 - 1)] = 1
    start_ns: Count = 0
    stop_ns: Count | None = None
    application: Application = Bulk()
    sender: End
    receiver: End
    access_delay_ns: Count = 0


class ScenarioRecord(Model):
    """What is recorded beyond the summary."""

    sample_interval_ns: Count | None = None
    events: bool = False
    ack_trace: bool = False
    pcap: str | None = None


class Scenario(Model):
    """Everything that determines a run, but the contents of traces."""

    version: Literal[1] = SCENARIO_VERSION
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)]
    duration_ns: Annotated[Count, Field(gt=0)]
    warm_up_ns: Count = 0
    path: Path
    flows: Annotated[tuple[ScenarioFlow, ...], Field(min_length=1)]
    before: tuple[Annotated[tuple[ScenarioFlow, ...], Field(min_length=1)], ...] = ()
    record: ScenarioRecord = ScenarioRecord()
    jiffies_phase_ns: Count | None = None

    def to_json(self) -> str:
        """The canonical JSON: sorted keys, no spaces, nothing that is null."""
        return canonical_json(self.model_dump(mode="json", exclude_none=True))
