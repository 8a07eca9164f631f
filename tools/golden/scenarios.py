"""The golden scenarios, which cover as many parts of the simulator as short runs can.

Each scenario has a name, and all of it is built here: `cwndlab` resolves the presets; everything
else is written as the core's JSON. Names are keys of `hashes.txt`. Do not change a scenario without
need: afterwards, its hashes cannot show the effect of the change that is being tested.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from material import (
    APPLICATIONS,
    CLASSIC_OVERRIDES,
    ERRORS,
    LINUX_OVERRIDES,
    MS,
    QUEUES,
    SECOND,
    TRACES,
    WIRES,
    make_flow,
    make_scenario,
    make_stage,
    make_wire,
)

from cwndlab import _core
from cwndlab.resolve import resolve_link
from cwndlab.resolve.hosts import hosts, load_host
from cwndlab.resolve.presets import presets
from cwndlab.schema.host import Host
from cwndlab.schema.link import Link
from cwndlab.schema.written import to_si

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from material import Json


@dataclass(frozen=True, slots=True)
class Golden:
    """A scenario, and the function of the core that computes its result."""

    name: str
    scenario: Json
    call: str = "run"  # or "saturate", "capture"
    direction: str = "forward"
    records_calls: bool = False
    traces: Mapping[str, bytes] = field(default_factory=lambda: TRACES)


def scenarios() -> list[Golden]:
    """Return all golden scenarios.

    Raises:
        ValueError: two scenarios have the same name.
    """
    parts = (
        _algorithms(),
        _parameters(),
        _presets(),
        _queues(),
        _accurate_ecn(),
        _wires(),
        _media(),
        _applications(),
        _hosts(),
        _overrides(),
        _many_flows(),
        _recordings(),
        _before(),
        _errors(),
    )
    found = list(itertools.chain.from_iterable(parts))
    names = {golden.name for golden in found}
    if len(names) < len(found):
        msg = "two scenarios of the same name"
        raise ValueError(msg)
    return found


def _algorithms() -> Iterator[Golden]:
    """Yield every algorithm on every stack, with losses, timeouts and an increase of the delay."""
    end_of_reverse = {"delay_ns": 20 * MS, "loss": {"kind": "iid", "ppb": 5_000_000}}
    for stack, algorithm in itertools.product(_stacks(), _algorithm_names()):
        bottleneck = make_stage(
            schedule=[
                {"at_ns": 9 * SECOND, "loss": {"kind": "iid", "ppb": 10_000_000}},
                {"at_ns": 12 * SECOND, "delay_ns": 35 * MS},
            ],
            outages=[{"start_ns": 14 * SECOND, "stop_ns": 14_800 * MS}],
        )
        path = make_wire(bottleneck, end_of_reverse)
        flows = [
            make_flow(stack, algorithm),
            make_flow(stack, algorithm, id=1, start_ns=700 * MS, access_delay_ns=9 * MS),
        ]
        yield Golden(f"algorithm/{stack}/{algorithm}", make_scenario(path, flows, 18))


def _parameters() -> Iterator[Golden]:
    """Yield every parameter of every algorithm at both ends of its range."""
    path = make_wire(make_stage(loss={"kind": "periodic", "every": 211}))
    for algorithm in _core.algorithms():
        for parameter, end in itertools.product(algorithm["parameters"], ("min", "max")):
            value = parameter[end]
            if value == parameter["default"]:
                continue
            flow = make_flow("linux-6.1", algorithm["name"])
            flow["sender"] = {**flow["sender"], "parameters": {parameter["name"]: value}}
            label = f"parameter/{algorithm['name']}/{parameter['name']}={value}"
            yield Golden(label, make_scenario(path, [flow], 8))


def _presets() -> Iterator[Golden]:
    for name in sorted(presets()):
        resolved = resolve_link(Link.read(name), Path())
        traces = {each.content_name: each.content for each in resolved.traces.values()}
        path = resolved.path
        for algorithm, direction in itertools.product(("cubic", "bbr"), ("forward", "reverse")):
            flows = [make_flow("linux-6.1", algorithm, direction=direction)]
            scenario = make_scenario(path, flows, 10)
            label = f"preset/{name}/{algorithm}-{direction}"
            yield Golden(label, scenario, traces=traces)
        if path["kind"] != "wire" or "rate" in path["forward"][0]:
            flows = [make_flow("linux-6.1", "cubic")]
            for direction in ("forward", "reverse"):
                label = f"saturated/{name}/{direction}"
                scenario = make_scenario(path, flows, 2)
                yield Golden(label, scenario, "saturate", direction, traces=traces)


def _queues() -> Iterator[Golden]:
    for name, queue in QUEUES.items():
        for algorithm in ("cubic", "dctcp", "vegas"):
            ecn = {"ecn": "active"}
            flows = [
                make_flow("linux-6.1", algorithm, id=n, start_ns=n * 300 * MS, overrides=ecn)
                for n in range(3)
            ]
            path = make_wire(make_stage(queue=queue))
            yield Golden(f"queue/{name}/{algorithm}", make_scenario(path, flows, 8))
        path = make_wire(make_stage(queue=queue), {"delay_ns": 20 * MS})
        yield Golden(
            f"queue/{name}/ns-3",
            make_scenario(path, [make_flow("ns-3", "reno"), make_flow("ns-3", "bic", 1)]),
        )


def _accurate_ecn() -> Iterator[Golden]:
    """Yield queues that mark packets, in both directions, and parameters that need marks."""
    accurate = {"ecn": "accurate"}
    for name in ("codel-ecn", "fq_codel-ecn", "pie-ecn", "dualpi2", "dualpi2-early", "red-ecn"):
        flows = [
            make_flow("linux-6.1", "prague"),
            make_flow("linux-6.18", "cubic", 1, start_ns=300 * MS, overrides=accurate),
            make_flow("linux-6.1", "reno", 2, direction="reverse", overrides=accurate),
        ]
        stage = make_stage(queue=QUEUES[name])
        yield Golden(f"accecn/{name}", make_scenario(make_wire(stage, stage), flows, 8))
    path = make_wire(make_stage(queue=QUEUES["dualpi2"]))
    [prague] = (each for each in _core.algorithms() if each["name"] == "prague")
    for parameter, end in itertools.product(prague["parameters"], ("min", "max")):
        flow = make_flow("linux-6.1", "prague")
        flow["sender"] = {
            **flow["sender"],
            "parameters": {"rtt_virt_rounds": 20, parameter["name"]: parameter[end]},
        }
        label = f"accecn/prague/{parameter['name']}={parameter[end]}"
        yield Golden(label, make_scenario(path, [flow], 8))
    thinned = make_wire(make_stage(queue=QUEUES["dualpi2"]), make_stage(60_000, ack_thinning=16))
    yield Golden("accecn/acks-thinned", make_scenario(thinned, [make_flow("linux-6.1", "prague")]))


def _wires() -> Iterator[Golden]:
    for name, changes in WIRES.items():
        for stack in ("linux-6.1", "linux-2.6.24", "ns-2-full"):
            path = make_wire(make_stage(**changes))
            yield Golden(
                f"wire/{name}/{stack}", make_scenario(path, [make_flow(stack, "cubic")], 8)
            )
    jitter = {"kind": "uniform", "max_ns": MS}
    chain = {
        "kind": "wire",
        "forward": [
            make_stage(),
            {"delay_ns": 5 * MS},
            make_stage(5_000_000, queue=QUEUES["codel"]),
        ],
        "reverse": [make_stage(1_000_000), {"delay_ns": 3 * MS, "jitter": jitter}],
    }
    both = [make_flow("linux-6.1", "cubic"), make_flow("linux-6.1", "reno", 1, direction="reverse")]
    yield Golden("wire/chain", make_scenario(chain, both))
    for name, change in {
        "filtered": {"ack_filter": "conservative"},
        "thinned": {"ack_thinning": 4},
    }.items():
        path = make_wire(make_stage(), make_stage(60_000, **change))
        yield Golden(f"wire/acks/{name}", make_scenario(path, [make_flow("linux-6.1", "cubic")], 8))
    for name, path in {
        "nothing": {"kind": "wire", "forward": [], "reverse": []},
        "delay": {"kind": "wire", "forward": [{"delay_ns": MS}], "reverse": []},
    }.items():
        flow = make_flow("linux-6.1", "cubic", application=APPLICATIONS["sized"])
        yield Golden(f"wire/{name}", make_scenario(path, [flow]))


def _media() -> Iterator[Golden]:
    """Yield Wi-Fi channels that no preset has; `_presets` covers the cells."""
    changes: Mapping[str, Json] = {
        "a": {"standard": "802.11a"},
        "b": {"standard": "802.11b"},
        "g": {"standard": "802.11g", "rts_threshold_bytes": 500},
        "n": {"standard": "802.11n", "aggregation": {}},
        "n-wide": {
            "standard": "802.11n",
            "aggregation": {"max_packets": 8},
            "channel_mhz": 40,
            "spatial_streams": 2,
            "short_guard_interval": True,
        },
        "ac": {"standard": "802.11ac", "aggregation": {}, "channel_mhz": 80},
        "minstrel": {
            "standard": "802.11n",
            "aggregation": {},
            "rate_control": {"kind": "minstrel"},
            "radio": {"power_mdbm": 14_000},
        },
        "hidden": {
            "standard": "802.11g",
            "interference": {"kind": "hidden", "mean_burst_ns": MS, "share_ppb": 150_000_000},
        },
        "beacons": {
            "standard": "802.11n",
            "beacons": {"interval_ns": 102_400_000, "bytes": 200},
            "queue_packets": 40,
            "attempts": 3,
        },
        "fifo": {"standard": "802.11n", "aggregation": {}, "access_point": _queue("fifo")},
        "fq-codel": {
            "standard": "802.11n",
            "aggregation": {},
            "rate_control": {"kind": "minstrel"},
            "radio": {"power_mdbm": 14_000},
            "access_point": _queue("fq_codel", packets=60),
        },
        "airtime": {
            "standard": "802.11ac",
            "aggregation": {},
            "radio": {"power_mdbm": 14_000},
            "access_point": _queue("airtime", aql={}),
        },
        "dualpi2": {
            "standard": "802.11n",
            "aggregation": {},
            "radio": {"power_mdbm": 14_000},
            "access_point": _queue("dualpi2", packets=60),
        },
        "expiry": {
            "standard": "802.11n",
            "aggregation": {},
            "rate_control": {"kind": "fixed", "index": 0},
            "queue_time_ns": 100 * MS,
            "asks_before_repeating": True,
            "asks_after_expiry": True,
        },
        "ack-filter": {
            "standard": "802.11n",
            "aggregation": {},
            "access_point": _queue("fq_codel") | {"ack_filter": "aggressive", "ack_thinning": 3},
        },
        "yans": {
            "standard": "802.11n",
            "aggregation": {},
            "rate_control": {"kind": "minstrel"},
            "radio": {
                "power_mdbm": 14_000,
                "error_curve": "yans",
                "implementation_loss_mdb": 3_000,
            },
        },
    }
    for name, change in changes.items():
        stations = [{"x_mm": 4_000 * (n + 1), "y_mm": 1_000 * n} for n in range(3)]
        path = {"kind": "wifi", "stations": stations, **change}
        for direction in ("forward", "reverse"):
            flows = [
                make_flow("linux-6.1", "cubic", n, user=n + 1, direction=direction)
                for n in range(3)
            ]
            yield Golden(f"wifi/{name}/{direction}", make_scenario(path, flows, 2))
    # Minstrel counts the time from its first frame, not from the start of the run.
    far = {"kind": "wifi", "stations": [{"x_mm": 40_000}], **changes["yans"]}
    late = make_flow("linux-6.1", "cubic", start_ns=150 * MS)
    yield Golden("wifi/late-first-frame/forward", make_scenario(far, [late], 2))


def _queue(kind: str, **keys: object) -> dict[str, object]:
    return {"queue": {"kind": kind, **keys}}


def _applications() -> Iterator[Golden]:
    for name, application in APPLICATIONS.items():
        for stack in ("linux-6.1", "windows-7", "ns-3"):
            flows = [
                make_flow(stack, "cubic", application=application, stop_ns=2_500 * MS),
                make_flow(stack, "reno", 1, direction="reverse", application=application),
            ]
            yield Golden(
                f"application/{name}/{stack}",
                make_scenario(make_wire(make_stage(), make_stage()), flows),
            )


def _hosts() -> Iterator[Golden]:
    wifi = {"kind": "wifi", "standard": "802.11n", "aggregation": {}, "stations": [{}]}
    wire = make_wire(make_stage(), make_stage())
    for name, algorithm in itertools.product(sorted(hosts()), ("cubic", "bbr")):
        written = load_host(name).host
        host = to_si(written, Host, ("host",)).model_dump(mode="json")
        for place, path in (("wire", wire), ("wifi", wifi)):
            if place == "wire" and host["bits_per_sec"] is None:
                continue
            flows = [
                make_flow("linux-6.1", algorithm, host=host),
                make_flow("linux-6.18", algorithm, 1, host=host, direction="reverse"),
                make_flow("ns-3", "reno", 2, receiver_host=host),
            ]
            yield Golden(f"host/{name}/{algorithm}-{place}", make_scenario(path, flows, 2))
    base = {"queue_packets": 20, "bits_per_sec": 20_000_000, "buffer_bytes": 6_000}
    further: Mapping[str, Json] = {
        "fq": {"qdisc": "fq", "gso_packets": 16},
        "dualpi2": {"qdisc": "dualpi2", "queue_packets": 200},
        "orphans": {"orphans": True, "packet_ns": 30_000},
        "gro": {"gro_ns": 200_000},
        "wake": {"wake_ns": 2 * MS, "read_ns": 300_000},
        "receive": {"receive_bits_per_sec": 9_000_000, "receive_packet_ns": 5_000,
                    "receive_buffer_bytes": 30_000},
    }  # fmt: skip
    for name, change in further.items():
        host = {**base, **change}
        for stack in ("linux-6.1", "linux-3.5", "ns-2-linux"):
            flows = [make_flow(stack, "bbr", host=host, receiver_host=host)]
            yield Golden(f"host/{name}/{stack}", make_scenario(wire, flows, 3))


def _overrides() -> Iterator[Golden]:
    path = make_wire(
        make_stage(
            loss={"kind": "periodic", "every": 83},
            jitter={"kind": "uniform", "max_ns": 3 * MS},
            schedule=[{"at_ns": 2 * SECOND, "delay_ns": 120 * MS}],
        )
    )
    tables = {"linux-6.1": LINUX_OVERRIDES, "ns-3": CLASSIC_OVERRIDES}
    for stack, table in tables.items():
        for change in table:
            label = ",".join(f"{key}={value}" for key, value in change.items()).lower()
            flows = [
                make_flow(stack, "cubic", overrides=change, application=APPLICATIONS["on-off"]),
                make_flow(stack, "reno", 1, overrides=change),
            ]
            yield Golden(f"setting/{stack}/{label}", make_scenario(path, flows, 10))
    mixed = [
        make_flow(one, "cubic", n, receiver_stack=other)
        for n, (one, other) in enumerate(itertools.pairwise((*_stacks(), "linux-6.18")))
    ]
    yield Golden("setting/mixed-stacks", make_scenario(make_wire(make_stage(50_000_000)), mixed))


def _many_flows() -> Iterator[Golden]:
    for count, stack in itertools.product((16, 64), ("linux-6.1", "ns-2-packet")):
        flows = [
            make_flow(stack, ("cubic", "vegas", "bbr")[n % 3], n, start_ns=n * 11 * MS,
                  access_delay_ns=n % 5 * 2 * MS, direction=("forward", "reverse")[n % 7 == 0])
            for n in range(count)
        ]  # fmt: skip
        path = make_wire(
            make_stage(50_000_000, queue={"kind": "drop_tail", "packets": 150}), make_stage()
        )
        yield Golden(f"flows/{count}-{stack}", make_scenario(path, flows, 3))


def _recordings() -> Iterator[Golden]:
    path = make_wire(make_stage())
    records: Mapping[str, Json] = {
        "nothing": {},
        "samples": {"sample_interval_ns": 10 * MS},
        "events": {"events": True},
        "acks": {"ack_trace": True},
        "pcap": {"pcap": "capture.pcap"},
    }
    for (name, record), stack in itertools.product(records.items(), ("linux-6.1", "ns-2-full")):
        flows = [make_flow(stack, "cubic"), make_flow(stack, "bbr", 1)]
        scenario = {**make_scenario(path, flows), "record": record, "warm_up_ns": SECOND}
        yield Golden(f"record/{name}/{stack}", scenario)
    for algorithm in _algorithm_names():
        flows = [make_flow("linux-6.1", algorithm)]
        yield Golden(f"calls/{algorithm}", make_scenario(path, flows, 1), records_calls=True)
    flows = [make_flow("linux-6.1", "cubic"), make_flow("ns-3", "reno", 1)]
    scenario = {**make_scenario(path, flows, 3), "record": {"pcap": "capture.pcap"}}
    yield Golden("capture/analysed", scenario, "capture")


def _before() -> Iterator[Golden]:
    for stack, algorithm in itertools.product(_stacks(), ("cubic", "bbr")):
        settings = {"cached_ssthresh": True} if stack.startswith("linux") else {}
        flows = [make_flow(stack, algorithm, overrides=settings)]
        others = [[make_flow(stack, name, overrides=settings)] for name in ("reno", "vegas")]
        scenario = make_scenario(make_wire(make_stage()), flows, 3) | {"before": others}
        yield Golden(f"before/{stack}/{algorithm}", scenario)


def _errors() -> Iterator[Golden]:
    for name, (place, value) in ERRORS.items():
        flows = [make_flow("linux-6.1", "cubic"), make_flow("linux-6.1", "cubic", 1)]
        scenario = make_scenario(make_wire(make_stage()), flows)
        *outer, last = place.split(".")
        table: Any = scenario
        for key in outer:
            table = table[int(key) if key.isdigit() else key]
        table[last] = value
        yield Golden(f"error/{name}", scenario)


def _algorithm_names() -> list[str]:
    return sorted(each["name"] for each in _core.algorithms())


def _stacks() -> list[str]:
    return sorted(each["name"] for each in _core.stacks())
