"""The runs in which every kernel file stands beside ours: what makes each hook work.

Both sides of a comparison get the very same scenario and seed, so that any difference in what an
algorithm does is the first thing that differs between the two runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NAME = "under test"
MS = 1_000_000
S = 1_000 * MS
MBIT = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """A run, but for its algorithm."""

    name: str
    what: str
    forward: dict[str, Any]
    duration_s: int = 15
    reverse: dict[str, Any] | None = None
    flows: tuple[dict[str, Any], ...] = ({},)
    overrides: dict[str, Any] = field(default_factory=dict)
    seed: int = 1

    def document(self) -> dict[str, Any]:
        """The scenario, in which both ends of every flow run the algorithm under test."""
        end = {"stack": "linux-6.1", "algorithm": NAME, "stack_overrides": self.overrides}
        reverse = self.reverse or {"delay_ns": self.forward["delay_ns"]}
        return {
            "version": 1,
            "seed": self.seed,
            "duration_ns": self.duration_s * S,
            "path": {"kind": "wire", "forward": [self.forward], "reverse": [reverse]},
            "flows": [
                {"id": n, "sender": end, "receiver": end, **flow}
                for n, flow in enumerate(self.flows)
            ],
        }


def wire(rate_mbit_s: float, delay_ms: int, packets: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401  keys of a stage
    """A bottleneck."""
    return {
        "rate": {"kind": "fixed", "bits_per_sec": int(rate_mbit_s * MBIT)},
        "queue": {"kind": "drop_tail", "packets": packets},
        "delay_ns": delay_ms * MS,
        "framing_bytes": 14,
        **more,
    }


def _iid(percent: float) -> dict[str, Any]:
    return {"kind": "iid", "ppb": int(percent * 10_000_000)}


def _outages(kind: str, *spans_ms: tuple[int, int]) -> list[dict[str, Any]]:
    return [
        {"start_ns": start * MS, "stop_ns": stop * MS, "kind": kind} for start, stop in spans_ms
    ]


def _step_marking(packets: int) -> dict[str, Any]:
    return {"kind": "step", "mark_packets": packets, "packets": 200}


_ECN = {"ecn": "active"}
_LATER = ({}, {"start_ns": 3 * S + 7 * MS})

SCENARIOS = (
    Scenario("loss", "a queue that overflows", wire(10, 20, 50), duration_s=30),
    Scenario("shallow", "a queue of a quarter of the path", wire(20, 40, 30), duration_s=30),
    Scenario("deep", "a queue of four times the path", wire(10, 20, 250), duration_s=30),
    Scenario("random loss", "0.5 % of the packets", wire(20, 20, 100, loss=_iid(0.5))),
    Scenario(
        "heavy loss",
        "5 % of the packets and 2 % of the ACKs",
        wire(10, 20, 50, loss=_iid(5)),
        reverse={"delay_ns": 20 * MS, "loss": _iid(2)},
        duration_s=20,
    ),
    Scenario(
        "bursts of loss",
        "a channel with a bad state",
        wire(
            10,
            30,
            60,
            loss={
                "kind": "gilbert_elliott",
                "p_ppb": 2_000_000,
                "r_ppb": 200_000_000,
                "loss_bad_ppb": 700_000_000,
                "loss_good_ppb": 0,
            },
        ),
        duration_s=20,
    ),
    Scenario(
        "timeout",
        "the link is gone for a while, three times",
        wire(10, 20, 50, outages=_outages("drop", (3000, 3900), (8000, 10500), (15000, 15250))),
        duration_s=25,
    ),
    Scenario(
        "spurious timeout",
        "the link holds packets back, and delivers them",
        wire(10, 20, 200, outages=_outages("hold", (3000, 3600), (8000, 9500), (14000, 14350))),
        duration_s=20,
    ),
    Scenario(
        "reordering",
        "the path gets shorter while packets are under way",
        wire(
            10,
            60,
            100,
            transition="keep",
            schedule=[
                {"at_ns": (2000 + 1700 * n) * MS, "delay_ns": (30 if n % 2 == 0 else 60) * MS}
                for n in range(9)
            ],
        ),
        duration_s=18,
    ),
    Scenario(
        "reductions that prove wrong",
        "the link holds packets back, and there is room for all of them",
        wire(5, 30, 3000, outages=_outages("hold", (900, 1700), (4000, 4900), (9000, 9450))),
        flows=(
            {"application": {"kind": "paced", "bits_per_sec": 4 * MBIT, "write_bytes": 4000}},
            {"application": {"kind": "paced", "bits_per_sec": MBIT // 4, "write_bytes": 1000}},
        ),
    ),
    Scenario(
        "ecn",
        "marks above 20 packets, ECN agreed on",
        wire(10, 20, 0) | {"queue": _step_marking(20)},
        overrides=_ECN,
        duration_s=20,
    ),
    Scenario(
        "ecn and delayed ACKs",
        "marks above 3 packets at two flows and data both ways",
        wire(10, 10, 0) | {"queue": _step_marking(3)},
        reverse=wire(10, 10, 0) | {"queue": _step_marking(3)},
        flows=(*_LATER, {"direction": "reverse", "start_ns": S}),
        overrides=_ECN,
    ),
    Scenario(
        "no ecn",
        "the peer does not agree to ECN",
        wire(10, 20, 40),
        overrides={"ecn": "off"},
        duration_s=10,
    ),
    Scenario(
        "idle",
        "data for a while, then silence, in turn",
        wire(10, 20, 50),
        flows=(
            {"application": {"kind": "on_off", "on_ns": 900 * MS, "off_ns": 700 * MS}},
            {
                "application": {"kind": "on_off", "on_ns": 150 * MS, "off_ns": 90 * MS},
                "start_ns": 3 * S,
            },
        ),
        duration_s=20,
    ),
    Scenario(
        "limited by the application",
        "less than the link would take, then requests and responses",
        wire(10, 30, 60),
        flows=(
            {"application": {"kind": "paced", "bits_per_sec": 3 * MBIT, "write_bytes": 9000}},
            {
                "application": {
                    "kind": "request_response",
                    "request_bytes": 300,
                    "response_bytes": 120_000,
                    "think_ns": 230 * MS,
                }
            },
        ),
        duration_s=20,
    ),
    Scenario(
        "short transfers",
        "one after the other, to the end of each connection",
        wire(5, 40, 30),
        flows=tuple(
            {
                "application": {"kind": "sized", "bytes": 40_000 * (n + 1)},
                "start_ns": n * 1_300 * MS,
            }
            for n in range(8)
        ),
    ),
    Scenario(
        "changing rate",
        "20, 2, 40 and 8 Mbit/s",
        wire(
            20,
            20,
            120,
            schedule=[
                {"at_ns": at * S, "bits_per_sec": rate * MBIT}
                for at, rate in ((4, 2), (9, 40), (14, 8))
            ],
        ),
        duration_s=20,
    ),
    Scenario(
        "changing delay",
        "a path that gets longer, then shorter",
        wire(
            10,
            15,
            100,
            schedule=[
                {"at_ns": at * S, "delay_ns": delay * MS} for at, delay in ((5, 60), (15, 20))
            ],
        ),
        duration_s=30,
    ),
    Scenario(
        "jitter",
        "up to 15 ms more for each packet, in order",
        wire(20, 20, 150, jitter={"kind": "uniform", "max_ns": 15 * MS}),
    ),
    Scenario(
        "competition",
        "two flows, then a third one the other way",
        wire(10, 20, 80),
        reverse=wire(10, 20, 80),
        flows=(*_LATER, {"direction": "reverse", "start_ns": 6 * S}),
        duration_s=25,
    ),
    Scenario("long path", "an RTT of 300 ms", wire(10, 150, 250), duration_s=40),
    Scenario(
        "fast",
        "a window of 500 packets and more, rare loss",
        wire(60, 50, 500, loss=_iid(0.005)),
        duration_s=20,
    ),
    Scenario("near", "an RTT of 1 ms", wire(30, 0, 40, delay_ns=MS // 2), duration_s=5),
    Scenario(
        "clocks that agree",
        "timestamps without a random offset, by which LP reads one-way delays; two flows",
        wire(10, 20, 50),
        flows=_LATER,
        overrides={"timestamp_offsets": False},
    ),
)
