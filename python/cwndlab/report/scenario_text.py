"""Describe a scenario: in one line for the top of the report, and as a list for its end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.report.origin import SetUp
from cwndlab.text.quantity import format_duration
from cwndlab.text.wording import join_words


def facts(set_up: SetUp) -> str:
    """Return one line that describes the runs: forward path, flows and duration."""
    scenario = set_up.scenario
    forward = [fact.text for fact in set_up.path if fact.name.startswith("forward")]
    if medium := _medium(scenario["path"]):
        forward = [medium, *forward]
    how = "measured" if scenario["path"].get("kind") == "live" else "simulated"
    parts = [
        *forward,
        flows_text(scenario["flows"]),
        f"{format_duration(scenario['duration_ns'])} {how}",
    ]
    return " \N{MIDDLE DOT} ".join(parts)


_RADIOS = {"lte": "LTE cell", "nr": "5G NR cell", "umts": "HSPA cell"}


def _medium(path: Mapping[str, Any]) -> str:
    """Return the radio technology of a Wi-Fi or cellular path; return "" for other paths."""
    if path["kind"] == "wifi":
        return "Wi-Fi"
    return _RADIOS.get(path["radio"]["kind"], "cell") if path["kind"] == "cell" else ""


def details(set_ups: Sequence[SetUp]) -> list[tuple[str, str]]:
    """Describe the path, flows and duration of runs: return each title with its text."""
    rows: dict[tuple[str, str], None] = {}
    for set_up in set_ups:
        rows |= {(fact.name, fact.text): None for fact in set_up.path}
    for set_up in set_ups:
        rows |= {(fact.name, fact.text): None for fact in set_up.flows}
    scenario = set_ups[0].scenario
    rows["duration", format_duration(scenario["duration_ns"])] = None
    if warm_up := scenario.get("warm_up_ns", 0):
        rows["warm-up (not evaluated)", format_duration(warm_up)] = None
    return list(rows)


def flows_text(flows: Sequence[Mapping[str, Any]]) -> str:
    """Return the number and the kind of the flows in each direction, as text."""
    groups = Counter(
        (flow.get("direction", "forward"), str(flow.get("application", {}).get("kind", "bulk")))
        for flow in flows
    )
    texts = []
    for (direction, kind), count in groups.items():
        way = "" if direction == "forward" else " in the reverse direction"
        texts.append(f"{count} {kind.replace('_', '-')} flow{'s' if count > 1 else ''}{way}")
    return join_words(texts)


def bdp_pkts(scenario: Mapping[str, Any]) -> tuple[float, float | None] | None:
    """Return the bandwidth-delay product and the queue limit in packets of 1500 bytes.

    Return None if the rate of a forward link varies, or if all forward links have unlimited rates.
    Return None if the path is a cell, a Wi-Fi network or a real network. Also return None if there
    are several flows: they fill the path together, so the data in flight of one flow cannot be
    compared with the bandwidth-delay product.
    """
    path = scenario["path"]
    if len(scenario["flows"]) > 1:
        return None
    forward, reverse = path.get("forward", []), path.get("reverse", [])
    if any(_varies(stage) for stage in forward):
        return None
    fixed = [stage for stage in forward if (stage.get("rate") or {}).get("bits_per_sec")]
    if not fixed:
        return None
    slowest = min(fixed, key=lambda stage: stage["rate"]["bits_per_sec"])
    rate = slowest["rate"]["bits_per_sec"]
    delay_ns = sum(stage.get("delay_ns", 0) for stage in [*forward, *reverse])
    delay_ns += 2 * int(scenario["flows"][0].get("access_delay_ns", 0))
    wire_bits = 8 * (1500 + slowest.get("framing_bytes", 0))
    queue = slowest.get("queue") or {}
    limit: float | None = queue.get("packets")
    if limit is None and queue.get("bytes") is not None:
        limit = queue["bytes"] * 8 / wire_bits
    return rate * delay_ns / 1e9 / wire_bits, limit


def _varies(stage: Mapping[str, Any]) -> bool:
    kind = (stage.get("rate") or {}).get("kind")
    return kind in {"mahimahi", "log"} or bool(stage.get("schedule"))
