"""Runs rows of the reference in the simulator and takes the same statistics of them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cwndlab import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rows import Link, Row

# The reference's hosts take about this long for a packet and its ACK: the RTT of its SYN is D +
# 101 us, of which 59 us are the SYN's transmission. It passes before the receiver's clock is read:
# the milliseconds in which its windows grow tell so.
ROUND_TRIP_CPU_NS = 42_000
# Two runs of the reference differ by microseconds from the start: the ACKs of a full queue come 0
# to 2 us off the beat of its packets. Equal RTTs and nearly equal ones lead to different windows
# (cdg), so that each of our runs has such a noise of its own where random numbers are drawn anyway.
HOST_NOISE_NS = 2_000
# The reference's connect() is called this long after the whole second.
CONNECT_NS = 38_800
# Its repetitions move the start by this much against the kernel's ticks of 4 ms.
REPETITION_NS = {"short": 730_000}
REPETITION_DEFAULT_NS = 1_370_000
# The sysctls that were not left at their defaults: the last numbers of tcp_rmem and tcp_wmem.
BUFFERS = {"receive_buffer_max_bytes": 16_777_216, "send_buffer_max_bytes": 16_777_216}
FRAMING_BYTES = 14
SAMPLE_NS = 10_000_000
SECOND_NS = 10**9


@dataclass(frozen=True)
class Variation:
    """What distinguishes one of our runs of a row from another."""

    seed: int = 1
    later_start_ns: int = 0
    phase_ns: int = 0


@dataclass(frozen=True)
class Measured:
    """The statistics of one flow as the reference takes them, by its columns' names."""

    values: dict[str, float]
    rto_at_s: tuple[float, ...]


def scenario(
    rows: list[Row], variation: Variation, *, stack: str = "linux-6.1", ack_trace: bool = False
) -> dict[str, Any]:
    """The scenario of one run: the rows of its flows, some of which may be missing."""
    row = rows[0]
    starts_ns = [start + CONNECT_NS for start in row.starts_ns]
    starts_ns[1:] = [start + variation.later_start_ns for start in starts_ns[1:]]
    step_ns = REPETITION_NS.get(row.scenario, REPETITION_DEFAULT_NS)
    overrides = BUFFERS | ({"ecn": "active"} if row.link.ecn_pkts is not None else {})
    flows = []
    for index, start_ns in enumerate(starts_ns):
        end = {"stack": stack, "algorithm": algorithm(rows, index), "stack_overrides": overrides}
        application: dict[str, Any] = {"kind": "bulk"}
        if row.size_bytes is not None:
            application = {"kind": "sized", "bytes": row.size_bytes}
        flow = {"id": index, "start_ns": start_ns, "sender": end, "receiver": end}
        flows.append(flow | {"application": application})
    return {
        "version": 1,
        "seed": variation.seed,
        "duration_ns": duration_ns(rows),
        "jiffies_phase_ns": ((row.rep - 1) * step_ns + variation.phase_ns) % 4_000_000,
        "path": {"kind": "wire"} | path(row.link, HOST_NOISE_NS if row.is_random else 0),
        "flows": flows,
        "record": {"sample_interval_ns": SAMPLE_NS, "events": True, "ack_trace": ack_trace},
    }


def algorithm(rows: list[Row], index: int) -> str:
    """Which algorithm a flow of the run has.

    Rows of two algorithms either say the flow's own in `cc`, or the first flow's in `cc` and the
    second's in `competitor` in both rows.
    """
    row = rows[0]
    other = row.competitor or row.cc
    if len({r.cc for r in rows}) > 1 or other == row.cc or len(rows) == 1:
        own = next((r.cc for r in rows if r.flow == index), None)
        return own if own is not None else other
    return row.cc if index == 0 else other


def duration_ns(rows: list[Row]) -> int:
    """When the run ends."""
    row = min(rows, key=lambda row: row.flow)
    if row.duration_s is None:
        return 120 * SECOND_NS
    return row.starts_ns[row.flow] + round(row.duration_s * 1e9)


def path(link: Link, noise_ns: int = 0) -> dict[str, Any]:
    """Both directions: the bottleneck, and the whole delay on the way of the ACKs."""
    rate: dict[str, Any] = {"kind": "fixed", "bits_per_sec": link.rate_bit_s}
    queue: dict[str, Any] = {"kind": "drop_tail", "packets": link.limit_pkts}
    if link.ecn_pkts is not None:
        # tbf with red below it: min and max one byte apart, weight 1/2 (burst 20).
        full_bytes = 1514
        rate = {"kind": "token_bucket", "bits_per_sec": link.rate_bit_s, "burst_bytes": 1600}
        queue = {
            "kind": "red",
            "min_bytes": link.ecn_pkts * full_bytes,
            "max_bytes": link.ecn_pkts * full_bytes + 1,
            "limit_bytes": None if link.limit_pkts is None else link.limit_pkts * full_bytes,
            "max_probability_ppb": 10**9,
            "weight_shift": 1,
            "ecn": True,
        }
    bottleneck = {
        "rate": rate,
        "queue": queue,
        "loss": {"kind": "iid", "ppb": link.loss_ppb} if link.loss_ppb else None,
        "framing_bytes": FRAMING_BYTES,
        "outages": [
            {"start_ns": start, "stop_ns": stop, "kind": "drop"} for start, stop in link.blackouts
        ],
        "schedule": [{"at_ns": at, "bits_per_sec": bits} for at, bits in link.rate_steps],
        "transition": "keep",
    }
    delay = {
        "delay_ns": link.delay_ns,
        "jitter": {"kind": "uniform", "max_ns": noise_ns} if noise_ns else None,
        "framing_bytes": FRAMING_BYTES,
        "schedule": [{"at_ns": at, "delay_ns": delay_ns} for at, delay_ns in link.delay_steps],
        "transition": "keep",
    }
    return {"forward": [{"delay_ns": ROUND_TRIP_CPU_NS}, bottleneck], "reverse": [delay]}


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one scenario."""
    return dict(_core.run(json.dumps(spec), {}))


def run_all(specs: Iterable[dict[str, Any]], jobs: int) -> list[dict[str, Any]]:
    """Run scenarios on several cores, in their order."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(run, specs))


def window_start_s(row: Row) -> float:
    """From when on the reference's means are taken."""
    if row.window_s is not None and row.duration_s is not None:
        return row.starts_ns[row.flow] / SECOND_NS + row.duration_s - row.window_s
    if len(row.starts_ns) > 1:
        return max(row.starts_ns) / SECOND_NS + 2
    return row.starts_ns[0] / SECOND_NS + 1


def measure(row: Row, result: dict[str, Any]) -> Measured:
    """The reference's statistics of one flow of a run."""
    summary = {name: values[row.flow] for name, values in result["flows"].items()}
    samples = result["samples"]
    counted = (samples["flow"] == row.flow) & (samples["t_s"] > window_start_s(row) - 0.001)
    events = result["events"]
    timeouts = [
        float(t_s)
        for flow, t_s, event in zip(events["flow"], events["t_s"], events["event"], strict=True)
        if flow == row.flow and event == "timeout"
    ]
    values = {
        "retrans_packets": float(summary["retransmitted_pkts"]),
        "ns_TCPTimeouts": float(summary["timeouts"]),
        "max_backoff": float(_longest_backoff(timeouts)),
    }
    if counted.any():
        srtt_ms = samples["srtt_ms"][counted]
        # The first of them says what was read before the window.
        values["goodput_mbps"] = float(samples["goodput_mbit_s"][counted][1:].mean())
        values["mean_rtt_ms"] = float(srtt_ms[srtt_ms > 0].mean())
        values["mean_cwnd"] = float(samples["cwnd_pkts"][counted].mean())
    if summary["completion_ms"] is not None:
        values["last_rx_ms"] = float(summary["completion_ms"])
    return Measured(values, tuple(timeouts))


def _longest_backoff(timeouts: list[float]) -> int:
    """How many timeouts in a row doubled the last one's distance, at most."""
    longest = current = min(1, len(timeouts))
    gap_s = 0.0
    for before, after in pairwise(timeouts):
        # Doubled, give or take a tick and the timer's slack; the first distance may be anything.
        doubled = gap_s == 0.0 or after - before > 1.5 * gap_s
        current = current + 1 if doubled and after - before < 130 else 1
        gap_s = after - before
        longest = max(longest, current)
    return longest
