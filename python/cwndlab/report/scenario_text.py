"""A resolved scenario in words: the path, the queue, the flows and their stacks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.quantity import format_duration, format_rate, format_share, format_size
from cwndlab.tables.formatting import join_words


def facts(scenario: Mapping[str, Any]) -> str:
    """Return one line that says what was run: the path, the flows, how long."""
    forward = scenario["path"].get("forward", [])
    parts = [stage_text(stage) for stage in forward]
    parts += [
        flows_text(scenario["flows"]),
        f"{format_duration(scenario['duration_ns'])} simulated",
    ]
    return " \N{MIDDLE DOT} ".join(part for part in parts if part)


def details(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return titles and texts of everything that determines a run, for the end of a report."""
    path = scenario["path"]
    rows: list[tuple[str, str]] = []
    for direction, title in (("forward", "link, data"), ("reverse", "link, acknowledgements")):
        rows += [(title, stage_text(stage)) for stage in path.get(direction, [])]
    rows.append(("flows", flows_text(scenario["flows"])))
    rows.append(("stack profile, sender", _ends(scenario["flows"], "sender")))
    rows.append(("stack profile, receiver", _ends(scenario["flows"], "receiver")))
    rows.append(("duration", format_duration(scenario["duration_ns"])))
    warm_up = scenario.get("warm_up_ns", 0)
    if warm_up:
        rows.append(("left out at the start", format_duration(warm_up)))
    return rows


def stage_text(stage: Mapping[str, Any]) -> str:
    """Return a wire in words: rate, delay, queue, and whatever else it does."""
    parts = [_rate(stage.get("rate") or {"kind": "unlimited"})]
    if stage.get("delay_ns"):
        parts.append(f"{format_duration(stage['delay_ns'])} one way")
    parts.append(_queue(stage.get("queue") or {"kind": "drop_tail"}))
    parts += [text for text in (_loss(stage.get("loss")), _jitter(stage.get("jitter"))) if text]
    if stage.get("outages"):
        parts.append(f"{len(stage['outages'])} outages")
    if stage.get("schedule"):
        parts.append(f"{len(stage['schedule'])} scheduled changes")
    if stage.get("framing_bytes"):
        parts.append(f"{stage['framing_bytes']} bytes of framing a packet")
    return ", ".join(parts)


def flows_text(flows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many flows there are and what they carry, by direction."""
    groups = Counter(
        (flow.get("direction", "forward"), str(flow.get("application", {}).get("kind", "bulk")))
        for flow in flows
    )
    texts = []
    for (direction, kind), count in groups.items():
        way = "" if direction == "forward" else " the other way"
        texts.append(f"{count} {kind.replace('_', '-')} flow{'s' if count > 1 else ''}{way}")
    return join_words(texts)


def bdp_pkts(scenario: Mapping[str, Any]) -> tuple[float, float | None] | None:
    """Return bandwidth-delay product and queue limit in packets of 1500 bytes on the wire.

    None where the slowest link has no fixed rate: then there is no one such product.
    """
    path = scenario["path"]
    forward, reverse = path.get("forward", []), path.get("reverse", [])
    fixed = [s for s in forward if (s.get("rate") or {}).get("bits_per_sec")]
    if not fixed or len([s for s in forward if _varies(s)]) > 0:
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


def _rate(rate: Mapping[str, Any]) -> str:
    kind = rate["kind"]
    if kind == "fixed":
        return format_rate(rate["bits_per_sec"])
    if kind == "token_bucket":
        burst = format_size(rate["burst_bytes"])
        return f"{format_rate(rate['bits_per_sec'])} with bursts of {burst}"
    if kind == "unlimited":
        return "no limit to the rate"
    name = str(rate["path"]).rpartition("/")[2]
    return f"rate of the recorded trace {name}"


def _queue(queue: Mapping[str, Any]) -> str:
    names = {"drop_tail": "queue", "codel": "CoDel queue", "red": "RED queue", "step": "queue"}
    name = names.get(queue["kind"], f"{queue['kind']} queue")
    limits = []
    if queue.get("packets") is not None:
        limits.append(f"{queue['packets']} packets")
    sizes = [queue[key] for key in ("bytes", "limit_bytes") if queue.get(key) is not None]
    limits += [format_size(size) for size in sizes]
    text = f"{name} of {' and '.join(limits)}" if limits else f"{name} without limit"
    if queue.get("ecn") or queue["kind"] == "step":
        text += " that marks (ECN)"
    return text


def _loss(loss: Mapping[str, Any] | None) -> str:
    if loss is None:
        return ""
    if loss["kind"] == "iid":
        return f"{format_share(loss['ppb'])} random loss"
    return "bursty loss (Gilbert-Elliott)"


def _jitter(jitter: Mapping[str, Any] | None) -> str:
    if jitter is None:
        return ""
    sizes = [value for key, value in jitter.items() if key.endswith("_ns")]
    return f"{jitter['kind']} jitter of {format_duration(sizes[0])}" if sizes else "jitter"


def _ends(flows: Sequence[Mapping[str, Any]], end: str) -> str:
    stacks = Counter(str(flow[end]["stack"]) for flow in flows)
    changed = any(flow[end].get("stack_overrides") for flow in flows)
    return f"{join_words(list(stacks))}{' with changes' if changed else ''}"
