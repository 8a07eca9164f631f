"""A stand-in for the compiled core: the same functions and columns, with numbers from a hash.

With it, tests of the store and of campaigns run hundreds of simulations per second, let runs fail
on request, and set their duration.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import _core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

version = "0.0.0-fake"
# Decisions are computed by the real core.
choose_set = _core.choose_set
relative_change = _core.relative_change
logarithms = _core.logarithms
robustness = _core.robustness
columns = _core.columns
drawn_ns = _core.drawn_ns
run_seed = _core.run_seed
contract_files = _core.contract_files
run_compiler = _core.run_compiler
# Links and quantities are also handled by the real core.
check_link = _core.check_link
expand_link = _core.expand_link
format_quantity = _core.format_quantity
format_queue = _core.format_queue
link_definitions = _core.link_definitions
medium_figures = _core.medium_figures
parse_link_line = _core.parse_link_line
parse_quantity = _core.parse_quantity
parse_queue = _core.parse_queue
queue_size = _core.queue_size
read_preset = _core.read_preset
resolve_link = _core.resolve_link
without_defaults = _core.without_defaults
behaviour_epoch = 1
FAILING_ALGORITHM = "fails"
SLOW_ALGORITHM = "slow"

_NAMES = {
    "reno": [],
    "cubic": [],
    "highspeed": ["hstcp"],
    "westwood": ["westwood+"],
    FAILING_ALGORITHM: [],
    SLOW_ALGORITHM: [],
}
_BETA = {"name": "beta", "unit": "1/1024", "default": 717, "min": 1, "max": 1023, "doc": "cut"}


def install() -> None:
    """Replace the compiled core in this process."""
    sys.modules["cwndlab._core"] = sys.modules[__name__]


def algorithms() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "aliases": aliases,
            "description": f"{name}, not really",
            "parameters": [_BETA] if name == "cubic" else [],
            "phases": [],
            "hooks": ["ssthresh", "cong_avoid"],
            "source_file": f"algorithms/{name}.c",
            "source_sha256": hashlib.sha256(name.encode()).hexdigest(),
        }
        for name, aliases in _NAMES.items()
    ]


def stacks() -> list[dict[str, Any]]:
    return [
        {"name": name, "text": f"# {name}\n", "sha256": "0" * 64, "values": {"initial_window": 10}}
        for name in ("linux-6.1", "ns-2-packet")
    ]


def protections() -> list[tuple[str, bool]]:
    return [("Landlock", True), ("seccomp", True)]


def check_scenario(scenario_json: str, traces: Mapping[str, bytes] | None = None) -> str:
    del traces
    return scenario_json


def read_trace(content: bytes, name: str, **told: str | None) -> dict[str, Any]:
    del told
    lines = content.decode("ascii", "replace").split()
    if not lines:
        msg = f"{name}: line 1: the trace is empty"
        raise ValueError(msg)
    for n, line in enumerate(lines, start=1):
        if not line.isdigit():
            msg = f"{name}: line {n}: not a time in ms"
            raise ValueError(msg)
    count = len(lines)
    return {
        "kind": "mahimahi",
        "content": content,
        "opportunities": count,
        "duration_s": 1.0,
        "mean_rate_mbit_s": 1.0,
        "understood": f"Mahimahi trace: {count} delivery opportunities",
    }


class Stop:
    """Does nothing, because no run here lasts long enough to be stopped."""

    def set(self) -> None:
        pass


def run(
    scenario_json: str,
    traces: Mapping[str, bytes],
    objects: None = None,
    *,
    stop: Stop | None = None,
) -> dict[str, Any]:
    del objects, stop
    scenario = json.loads(scenario_json)
    draw = np.random.default_rng(
        list(hashlib.sha256(scenario_json.encode() + b"".join(traces.values())).digest())
    )
    names = [flow["sender"]["algorithm"] for flow in scenario["flows"]]
    if FAILING_ALGORITHM in names:
        msg = "the window of flow 0 became 0"
        raise RuntimeError(msg)
    if SLOW_ALGORITHM in names:
        time.sleep(0.02)
    flows = _flows(scenario, draw)
    links = {
        "link": ["forward.0", "reverse.0"],
        **{
            name: [int(value) for value in draw.integers(0, 1000, 2)]
            for name in (
                "arrived_pkts",
                "delivered_pkts",
                "dropped_pkts",
                "marked_pkts",
                "arrived_bytes",
                "delivered_bytes",
                "queue_max_pkts",
            )
        },
        "offered_bytes": [None, None],
        "queue_mean_pkts": [1.5, None],
    }
    record = scenario["record"]
    has_samples = "sample_interval_ns" in record
    return {
        "flows": flows,
        "links": links,
        "samples": _samples(len(names), draw) if has_samples else None,
        "events": {
            "flow": [0, None],
            "t_s": np.array([0.5, 0.75]),
            "event": ["recovery", "outage"],
            "value": np.array([np.nan, 1.0]),
        }
        if record.get("events")
        else None,
        "acks": None,
        "pcap": None,
        "behaviour_epoch": behaviour_epoch,
    }


def run_many(
    scenarios: Sequence[str],
    traces: Mapping[str, bytes],
    objects: None = None,
    *,
    stop: Stop | None = None,
    take: object = None,
) -> dict[str, Any]:
    del take
    runs: list[dict[str, Any] | None] = []
    errors: list[str | None] = []
    for text in scenarios:
        try:
            runs.append(run(text, traces, objects, stop=stop))
            errors.append(None)
        except RuntimeError as error:
            runs.append(None)
            errors.append(str(error))
    result: dict[str, Any] = {"errors": errors, "pcap": None}
    for table in ("flows", "links", "samples", "events", "acks"):
        found = [(n, each[table]) for n, each in enumerate(runs) if each and each[table]]
        names = found[0][1] if found else []
        result[table] = {
            name: [value for _, columns in found for value in columns[name]] for name in names
        } | {"run": [n for n, columns in found for _ in next(iter(columns.values()))]}
    return result


def _flows(scenario: dict[str, Any], draw: np.random.Generator) -> dict[str, Any]:
    flows = scenario["flows"]
    count = len(flows)
    duration_s = scenario["duration_ns"] / 1e9

    def floats() -> list[float]:
        return [float(value) for value in draw.uniform(1, 100, count)]

    def counts() -> list[int]:
        return [int(value) for value in draw.integers(0, 100, count)]

    return {
        "flow": [flow["id"] for flow in flows],
        "direction": [flow["direction"] for flow in flows],
        "user": [flow["user"] for flow in flows],
        "algorithm": [flow["sender"]["algorithm"] for flow in flows],
        "stack": [flow["sender"]["stack"] for flow in flows],
        "receiver_algorithm": [flow["receiver"]["algorithm"] for flow in flows],
        "receiver_stack": [flow["receiver"]["stack"] for flow in flows],
        "application": [flow["application"]["kind"] for flow in flows],
        "start_s": [flow["start_ns"] / 1e9 for flow in flows],
        "end_s": [duration_s] * count,
        "window_s": [duration_s] * count,
        "goodput_mbit_s": floats(),
        "throughput_mbit_s": floats(),
        "delivered_bytes": counts(),
        "rtt_mean_ms": floats(),
        "rtt_p50_ms": floats(),
        "rtt_p95_ms": floats(),
        "rtt_p99_ms": floats(),
        "rtt_base_ms": floats(),
        "srtt_mean_ms": floats(),
        "queueing_delay_mean_ms": floats(),
        "sent_pkts": [value + 100 for value in counts()],
        "retransmitted_pkts": counts(),
        "retransmitted_pct": floats(),
        "retransmission_bursts": counts(),
        "retransmission_burst_mean_pkts": [None] * count,
        "retransmission_burst_max_pkts": [None] * count,
        "timeouts": counts(),
        "spurious_timeouts": counts(),
        "recoveries": counts(),
        "tail_loss_probes": counts(),
        "host_refusals": [None] * count,
        "ecn_marked_pkts": counts(),
        "cwnd_mean_pkts": floats(),
        "cwnd_max_pkts": counts(),
        "completion_ms": [None] * count,
        "utilisation_pct": floats(),
        "busy_s": floats(),
        "rwnd_limited_s": floats(),
        "sndbuf_limited_s": floats(),
        "responses": [None] * count,
        "response_p50_ms": [None] * count,
        "response_p95_ms": [None] * count,
        "response_p99_ms": [None] * count,
        "response_geometric_mean_ms": [None] * count,
        "video_bitrate_mbit_s": [None] * count,
        "video_rebuffering_pct": [None] * count,
        "video_startup_ms": [None] * count,
        "datagram_loss_pct": [None] * count,
        "datagram_delay_p95_ms": [None] * count,
    }


def _samples(flows: int, draw: np.random.Generator) -> dict[str, Any]:
    rows = 20 * flows
    times = np.repeat(np.arange(20) / 10, flows)
    columns: dict[str, Any] = {
        "flow": np.tile(np.arange(flows, dtype=np.uint32), 20),
        "t_s": times,
    }
    for name in ("cwnd_pkts", "inflight_pkts", "queue_pkts"):
        columns[name] = draw.integers(0, 100, rows).astype(np.uint32)
    columns["queue_bytes"] = draw.integers(0, 10**6, rows).astype(np.uint64)
    columns["host_queue_pkts"] = np.full(rows, np.nan)
    columns["ca_state"] = draw.integers(0, 5, rows).astype(np.uint8)
    for name in (
        "ssthresh_pkts",
        "srtt_ms",
        "rtt_ms",
        "throughput_mbit_s",
        "goodput_mbit_s",
        "pacing_rate_mbit_s",
        "delivery_rate_mbit_s",
    ):
        columns[name] = np.where(draw.uniform(size=rows) < 0.1, np.nan, draw.uniform(size=rows))
    return columns
