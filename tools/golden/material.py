"""Parts of the golden scenarios, and functions that assemble them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

MS = 1_000_000
SECOND = 1_000 * MS
TRACES = {
    "mahimahi": "".join(f"{at}\n" for at in (1, 2, 2, 3, 5, 8, 13, 13, 13, 21, 34, 40)).encode(),
    "log": b"0 4\n1 12\n1.5 0\n1.7 7\n3 2\n",
    "light": b"0 20 0 0.4 0.4 3 3.2\n60.5 31.7 0\n130 22 0 1 1 1 8 8 9.125 9.125 15\n",
}
LIGHT = {
    "kind": "mahimahi",
    "path": "mahimahi",
    "light": {"path": "light", "after_ns": 10 * MS, "delay_ns": 20 * MS},
}
LIMIT = {"packets": 50}
QUEUES: Mapping[str, Json] = {
    "packets": {"kind": "drop_tail", "packets": 30},
    "bytes": {"kind": "drop_tail", "bytes": 40_000},
    "unlimited": {"kind": "drop_tail"},
    "codel": {"kind": "codel", **LIMIT},
    "codel-ecn": {"kind": "codel", "ecn": True, "target_ns": 2 * MS, "interval_ns": 40 * MS},
    "fq_codel": {"kind": "fq_codel", "ecn": False, **LIMIT},
    "fq_codel-ecn": {"kind": "fq_codel", "ecn": True, "queues": 4, "quantum_bytes": 300},
    "pie": {"kind": "pie", **LIMIT},
    "pie-ecn": {"kind": "pie", "ecn": True, "target_ns": 5 * MS, "burst_ns": 0, "packets": 200},
    "dualpi2": {"kind": "dualpi2", **LIMIT},
    "dualpi2-early": {"kind": "dualpi2", "target_ns": 5 * MS, "threshold_ns": MS // 2},
    "red": {"kind": "red", "min_bytes": 15_000, "max_bytes": 45_000, "limit_bytes": 75_000},
    "red-ecn": {
        "kind": "red",
        "min_bytes": 7_500,
        "max_bytes": 30_000,
        "max_probability_ppb": 100_000_000,
        "weight_shift": 6,
        "idle_packet_ns": MS,
        "ecn": True,
        "gentle": True,
        "hard_drop": True,
    },
    "step": {"kind": "step", "mark_packets": 10, **LIMIT},
    "step-bytes": {"kind": "step", "mark_bytes": 12_000, "bytes": 60_000},
}
WIRES: Mapping[str, Json] = {
    "iid": {"loss": {"kind": "iid", "ppb": 20_000_000}},
    "gilbert": {"loss": {"kind": "gilbert_elliott", "p_ppb": 4_000_000, "r_ppb": 200_000_000}},
    "periodic": {"loss": {"kind": "periodic", "every": 70}},
    "uniform-jitter": {"jitter": {"kind": "uniform", "max_ns": 6 * MS}},
    "normal-jitter": {"jitter": {"kind": "normal", "sigma_ns": 2 * MS}},
    "exponential-jitter": {"jitter": {"kind": "exponential", "mean_ns": MS}},
    "wifi-jitter": {"jitter": {"kind": "wifi", "mean_ns": 7 * MS}},
    "bunched-jitter": {"jitter": {"kind": "bunched", "period_ns": 5 * MS}},
    "late": {"reorder": {"kind": "late", "ppb": 10_000_000, "delay_ns": 5 * MS}},
    "ack-filter": {"ack_filter": "aggressive"},
    "policed": {"police": {"bits_per_sec": 4_000_000, "burst_bytes": 30_000}},
    "outage": {"outages": [{"start_ns": SECOND, "stop_ns": 1_900 * MS}]},
    "held-outage": {"outages": [{"start_ns": SECOND, "stop_ns": 2 * SECOND, "kind": "hold"}]},
    "farther": {"schedule": [{"at_ns": SECOND, "delay_ns": 60 * MS}]},
    "nearer": {"schedule": [{"at_ns": SECOND, "delay_ns": 3 * MS}], "transition": "keep"},
    "slower": {"schedule": [{"at_ns": SECOND, "bits_per_sec": 2_000_000}]},
    "lossy-later": {"schedule": [{"at_ns": SECOND, "loss": {"kind": "periodic", "every": 9}}]},
    "token-bucket": {
        "rate": {"kind": "token_bucket", "bits_per_sec": 8_000_000, "burst_bytes": 20_000}
    },
    "mahimahi": {"rate": {"kind": "mahimahi", "path": "mahimahi"}, "framing_bytes": 4},
    "light": {"rate": LIGHT, "framing_bytes": 4},
    "light-codel": {"rate": LIGHT, "framing_bytes": 4, "queue": QUEUES["codel"]},
    "light-outage": {
        "rate": LIGHT,
        "framing_bytes": 4,
        "outages": [{"start_ns": SECOND, "stop_ns": 2 * SECOND, "kind": "hold"}],
    },
    "log": {"rate": {"kind": "log", "path": "log"}},
    "held-log": {"rate": {"kind": "log", "path": "log", "hold": False}},
    "framed": {"framing_bytes": 38},
    "no-rate": {"rate": {"kind": "unlimited"}, "queue": {"kind": "drop_tail"}},
    "fast": {"rate": {"kind": "fixed", "bits_per_sec": 200_000_000}, "queue": QUEUES["unlimited"]},
    "slow": {"rate": {"kind": "fixed", "bits_per_sec": 64_000}, "queue": QUEUES["packets"]},
}
APPLICATIONS: Mapping[str, Json] = {
    "bulk": {"kind": "bulk"},
    "sized": {"kind": "sized", "bytes": 700_001},
    "sized-small": {"kind": "sized", "bytes": 1},
    "on-off": {"kind": "on_off", "on_ns": 300 * MS, "off_ns": 700 * MS},
    "on-off-exponential": {
        "kind": "on_off",
        "on_ns": 200 * MS,
        "off_ns": 200 * MS,
        "distribution": "exponential",
    },
    "on-off-pareto": {
        "kind": "on_off",
        "on_ns": 200 * MS,
        "off_ns": 200 * MS,
        "distribution": "pareto",
    },
    "request": {
        "kind": "request_response",
        "request_bytes": 300,
        "response_bytes": 30_000,
        "think_ns": 100 * MS,
    },
    "request-count": {
        "kind": "request_response",
        "request_bytes": 3_000,
        "response_bytes": 9,
        "count": 7,
    },
    "paced": {"kind": "paced", "bits_per_sec": 2_000_000, "write_bytes": 1_200},
    "paced-slow": {"kind": "paced", "bits_per_sec": 64_000, "write_bytes": 160},
    "windowed": {"kind": "windowed_file", "request_bytes": 32_768, "outstanding": 4},
    "windowed-total": {
        "kind": "windowed_file",
        "request_bytes": 16_384,
        "outstanding": 64,
        "total_bytes": 900_000,
    },
    "web": {
        "kind": "web",
        "document_bytes": 18_000,
        "objects": 9,
        "object_bytes": 35_000,
        "parse_ns": 50 * MS,
        "think_ns": 300 * MS,
    },
    "video": {
        "kind": "video",
        "rungs_bits_per_sec": [500_000, 2_000_000, 9_000_000],
        "chunk_ns": 200 * MS,
        "buffer_ns": 2_400 * MS,
    },
    "datagrams": {"kind": "datagrams", "bytes": 172, "interval_ns": 20 * MS},
    "http": {"kind": "http", "bytes": 400_000, "is_upload": False},
    "http-up": {"kind": "http", "bytes": 400_000, "is_upload": True},
    "http-chunks": {"kind": "http", "bytes": 400_000, "chunk_bytes": 65_536, "is_upload": True},
    "sftp": {
        "kind": "sftp",
        "bytes": 400_000,
        "request_bytes": 32_768,
        "outstanding": 8,
        "is_upload": False,
    },
    "sftp-up": {
        "kind": "sftp",
        "bytes": 400_000,
        "request_bytes": 32_768,
        "outstanding": 8,
        "is_upload": True,
    },
}
LINUX_OVERRIDES: tuple[Json, ...] = (
    {"sack": False},
    {"dsack": False},
    {"timestamps": False},
    {"timestamp_offsets": False},
    {"rack": False},
    {"rack": False, "forward_acknowledgement": True},
    {"rack": False, "early_retransmit": True},
    {"tail_loss_probe": False},
    {"window_reduction": "prr"},
    {"window_reduction": "rate-halving"},
    {"forward_rto_recovery": False},
    {"spurious_timeout_undo": False},
    {"growth_per_ack": True},
    {"ecn": "off"},
    {"ecn": "active"},
    {"slow_start_after_idle": False},
    {"cached_ssthresh": True},
    {"segmentation_offload": True},
    {"pacing": True},
    {"pacing": True, "segmentation_offload": True},
    {"small_queues": False},
    {"nagle": False},
    {"compressed_sack_limit": 0},
    {"compressed_sack_delay_us": 5_000, "compressed_sack_slack_us": 0},
    {"send_buffer_grows_at_full_window": False},
    {"initial_cwnd_pkts": 2},
    {"mtu_bytes": 576},
    {"mtu_bytes": 9_000},
    {"receive_buffer_max_bytes": 131_072},
    {"send_buffer_max_bytes": 65_536},
    {"rto_min_ms": 1_000},
    {"reordering_pkts": 8},
)
CLASSIC_OVERRIDES: tuple[Json, ...] = (
    *({"recovery": name} for name in ("tahoe", "reno", "newreno", "sack", "prr", "fack")),
    {"handshake": "three-way"},
    {"handshake": "first-packet"},
    {"limited_transmit": True},
    {"fine_retransmission": True},
    {"rtt_sampling": "one-segment"},
    {"rtt_sampling": "every-ack"},
    {"rtt_report": "smoothed"},
    {"ack_segments": 1},
    {"window_limit_pkts": 12},
    {"sack_blocks": 0},
)
ERRORS: Mapping[str, tuple[str, Any]] = {
    "version": ("version", 2),
    "no-duration": ("duration_ns", 0),
    "long-duration": ("duration_ns", 10**18),
    "no-flow": ("flows", []),
    "negative-id": ("flows.0.id", -1),
    "id-taken": ("flows.1.id", 0),
    "unknown-key": ("flows.0.colour", 1),
    "late-start": ("flows.0.start_ns", 100 * SECOND),
    "stop-before-start": ("flows.0.stop_ns", 0),
    "no-stack": ("flows.0.sender.stack", "minix"),
    "no-algorithm": ("flows.0.sender.algorithm", "quick"),
    "no-parameter": ("flows.0.sender.parameters", {"gamma": 1}),
    "bad-parameter": ("flows.0.sender.parameters", {"beta": -5}),
    "no-setting": ("flows.0.sender.stack_overrides", {"colour": 1}),
    "bad-setting": ("flows.0.receiver.stack_overrides", {"sack": 3}),
    "no-application": ("flows.0.application", {"kind": "gopher"}),
    "empty-transfer": ("flows.0.application", {"kind": "sized", "bytes": 0}),
    "no-path": ("path", {"kind": "pigeon"}),
    "no-trace": ("path.forward.0.rate", {"kind": "mahimahi", "path": "nowhere"}),
    "probability": ("path.forward.0.loss", {"kind": "iid", "ppb": 2_000_000_000}),
    "no-queue": ("path.forward.0.queue", {"kind": "bag"}),
    "red-order": ("path.forward.0.queue", {"kind": "red", "min_bytes": 9, "max_bytes": 3}),
    "short-samples": ("record.sample_interval_ns", 1),
    "no-station": ("path", {"kind": "wifi", "standard": "802.11n", "stations": []}),
    "host-without-rate": ("flows.0.sender.host", {"queue_packets": 10}),
    "before-without-flows": ("before", [[]]),
    "phase": ("jiffies_phase_ns", -1),
}


def make_stage(bits_per_sec: int = 10_000_000, **changes: Any) -> Json:  # noqa: ANN401  keys
    """Return a stage with a delay of 20 ms and a queue of 40 packets; `changes` replaces keys."""
    stage = {
        "rate": {"kind": "fixed", "bits_per_sec": bits_per_sec},
        "queue": {"kind": "drop_tail", "packets": 40},
        "delay_ns": 20 * MS,
    }
    return {**stage, **changes}


def make_wire(forward: Json, reverse: Json | None = None) -> Json:
    """Return a wire of one stage each way; by default, the reverse direction is only a delay."""
    return {"kind": "wire", "forward": [forward], "reverse": [reverse or {"delay_ns": 20 * MS}]}


def make_flow(  # noqa: PLR0913  each is a key of a flow
    stack: str,
    algorithm: str,
    id: int = 0,  # noqa: A002  the scenario's word
    *,
    overrides: Json | None = None,
    host: Json | None = None,
    receiver_host: Json | None = None,
    receiver_stack: str | None = None,
    **keys: Any,  # noqa: ANN401  keys of a flow
) -> Json:
    """Return a flow; by default, both ends run the same stack and algorithm."""
    sender = {"stack": stack, "algorithm": algorithm, "stack_overrides": overrides or {}}
    receiver = {**sender, "stack": receiver_stack or stack}
    if host:
        sender = {**sender, "host": host}
    if receiver_host:
        receiver = {**receiver, "host": receiver_host}
    return {"id": id, "sender": sender, "receiver": receiver, **keys}


def make_scenario(path: Json, flows: list[Json], seconds: int = 4) -> Json:
    """Return a scenario that records samples and events."""
    return {
        "version": 1,
        "seed": 7,
        "duration_ns": seconds * SECOND,
        "warm_up_ns": SECOND // 2,
        "path": path,
        "flows": flows,
        "record": {"sample_interval_ns": 100 * MS, "events": True},
    }
