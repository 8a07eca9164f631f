"""Describe a study or a link as text, with all default values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cwndlab import core
from cwndlab.errors import ScenarioRefusedError, StudyError, plural
from cwndlab.resolve import ResolvedLink, resolve_link
from cwndlab.resolve.presets import load_preset
from cwndlab.resolve.queues import QueueSize, size_of
from cwndlab.schema.live import LivePath
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.study import StudyModel
from cwndlab.schema.written import texts
from cwndlab.study.places import Arguments
from cwndlab.study.refusals import place_in_study
from cwndlab.text.quantity import format_duration, format_rate, format_share, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cwndlab.resolve.traces import Trace
    from cwndlab.schema import scenario as si
    from cwndlab.schema.link import Link
    from cwndlab.schema.path import PathPart
    from cwndlab.schema.ranges import Range
    from cwndlab.study.definition import StudyDefinition
    from cwndlab.study.runs import Cell

_NS_PER_S = 10**9


@dataclass(frozen=True, slots=True)
class Fact:
    """Name and settings of one part of a scenario, such as a stage of the path, as text."""

    name: str
    text: str


def path_lines(facts: Sequence[Fact]) -> list[str]:
    """Return one line of text for each part of a scenario: its name, then its settings."""
    width = max(len(fact.name) for fact in facts)
    return [f"{fact.name:{width}}  {fact.text}" for fact in facts]


def describe_study(study: StudyDefinition) -> list[str]:
    """Return lines that describe a study.

    Each distinct path, and each distinct list of flows, is described only once.
    """
    model = study.model
    runs = len(study.cells) * study.repetitions
    combinations = plural(len(study.cells), "combination")
    lines = [
        study.title,
        f"  {plural(runs, 'run')}: {combinations} x {plural(study.repetitions, 'repetition')}",
        f"  duration {format_duration(model.duration)}, warm-up {format_duration(model.warm_up)}",
        f"  seed {model.seed}",
        f"  results: results/{study.id}",
    ]
    for name, labels in study.factors.items():
        lines.append(f"  {name}: {', '.join(str(label) for label in labels)}")
    for describe in (_path_of, _flows_of):
        lines += ["", *_grouped(study, describe)]
    return lines


def _path_of(cell: Cell) -> list[str]:
    resolved = cell.resolved
    return path_lines(describe_path(resolved.scenario.path, resolved.traces, resolved.server_ns))


def _flows_of(cell: Cell) -> list[str]:
    found = describe_flows(cell.resolved.scenario)
    return [f"{fact.name}: {fact.text}" for fact in found]


def _grouped(study: StudyDefinition, describe: Callable[[Cell], list[str]]) -> list[str]:
    """Apply `describe` to all combinations of levels, and list equal descriptions only once."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in study.cells:
        groups.setdefault(tuple(describe(cell)), []).append(cell)
    lines = []
    for sentences, cells in groups.items():
        if len(groups) > 1:
            names = ("/".join(str(label) for label in cell.labels.values()) for cell in cells)
            lines.append(f"  {', '.join(names)}:")
        indent = "    " if len(groups) > 1 else "  "
        lines += [f"{indent}{text}" for text in sentences]
    return lines


def describe_link(spec: str) -> list[str]:
    """Describe the link `spec` (one line of text), including all default values."""
    link, resolved = read_link(spec)
    preset = load_preset(link.preset, Path()) if link.preset else None
    lines = [preset.title if preset else spec]
    if preset and preset.description:
        lines += [f"  {line}" for line in preset.description.strip().split("\n")]
    if preset and (changes := list(_changes(link.table))):
        lines += ["", "  changes to the preset", *(f"    {change}" for change in changes)]
    path = path_lines(describe_path(resolved.path, resolved.traces, resolved.server_ns))
    lines += ["", *(f"  {line}" for line in path)]
    for trace in resolved.traces.values():
        lines += ["", f"  {trace.path}: {_describe_trace(trace)}"]
    if preset and preset.sources:
        lines += ["", "  origin of the values"]
        lines += [
            f"    {key}: {mark.kind.replace('_', ' ')}: {mark.text}"
            for key, mark in preset.sources.items()
        ]
    if preset and preset.ranges:
        lines += ["", "  ranges of the assumed values in similar networks"]
        lines += [
            f"    {name}: {_describe_range(span)}: {span.basis}"
            for name, span in preset.ranges.items()
        ]
        lines += [f"    {key}: fixed: {reason}" for key, reason in preset.fixed.items()]
    return lines


def _changes(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _changes(value, f"{prefix}{key}.")
        elif prefix or key not in {"preset", "period"}:
            yield f"{prefix}{key} = {value}"


def _describe_range(span: Range) -> str:
    if span.choices:
        return " or ".join(choice.name for choice in span.choices)
    return f"{span.low} to {span.high} {span.unit}".rstrip()


def link_facts(spec: str) -> list[dict[str, Any]]:
    """Return rows for JSON and CSV: the stages of a wired link, or the settings of a radio link."""
    _, resolved = read_link(spec)
    rows: list[dict[str, Any]] = []
    if resolved.path.kind != "wire":
        return [
            {"key": key, "value": text}
            for key, text in core.medium_figures(json.dumps(resolved.path))
        ]
    for name, stage in _stages(resolved.path):
        row: dict[str, Any] = {"link": name}
        for key, value in stage.items():
            row |= _flat(key, value)
        rows.append(row)
    keys = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key) for key in keys} for row in rows]


def _flat(key: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        return {key: value}
    inner = (_flat(f"{key}_{name}", each) for name, each in value.items())
    return {name: each for row in inner for name, each in row.items()}


def read_link(spec: str) -> tuple[Link, ResolvedLink]:
    """Parse a link given as one line of text; file paths are relative to the current folder.

    Raises:
        StudyError: the text is not a valid link; the message describes each problem.
    """
    source = Arguments({"link": spec})
    try:
        link = StudyModel.model_validate({"link": spec}).link
        if link is None:
            raise StudyError([f'"{spec}" is not a link'])
        resolved = resolve_link(link, Path())
    except ValidationError as error:
        problems = field_errors(error, StudyModel, {"link": spec})
        raise StudyError([source.problem(p.key, p.message) for p in problems]) from None
    except FieldError as error:
        raise StudyError([source.problem(error.key, error.message)]) from None
    _check(resolved, source, spec)
    return link, resolved


def _check(resolved: ResolvedLink, source: Arguments, spec: str) -> None:
    """Check that the simulator accepts a scenario with one flow over the link."""
    scenario = resolved.scenario(_NS_PER_S)
    try:
        core.check_scenario(scenario.to_json(), resolved.contents)
    except ScenarioRefusedError as error:
        key, message = place_in_study(error, scenario, {"link": spec})
        raise StudyError([source.problem(key, message)]) from None


def describe_path(
    path: PathPart | LivePath, traces: Mapping[str, Trace], server_ns: int = 0
) -> list[Fact]:
    """Return one `Fact` for each stage of a wired link and each settings table of a radio link."""
    if isinstance(path, LivePath):
        return [Fact("live", _describe_live(path))]
    if path.kind != "chain":
        return _describe_part(path, path, traces, server_ns)
    return [
        Fact(f"{n}.{fact.name}", fact.text)
        for n, link in enumerate(path.links)
        for fact in _describe_part(link, path, traces, server_ns)
    ]


def _describe_part(
    link: PathPart, path: PathPart, traces: Mapping[str, Trace], server_ns: int
) -> list[Fact]:
    """Describe one link: the stages of a wired link, or the settings of a radio link."""
    if link.kind != "wire":
        return _describe_medium(link)
    return [
        Fact(name, _describe_stage(stage, traces, size_of(stage, path, traces, server_ns)))
        for name, stage in _stages(link)
    ]


def _describe_live(path: LivePath) -> str:
    when = f", {path.period}" if path.period else ""
    days = "" if path.days == "all" else f", {path.days} days"
    ends = (
        ""
        if path.algorithm_on == "sender"
        else f", the {path.algorithm_on} uses the study's algorithm"
    )
    udp = (
        ""
        if path.udp_bits_per_sec is None
        else f", {format_rate(path.udp_bits_per_sec)} of datagrams in parallel"
    )
    return f"the network at {path.place}{when}{days}{ends}{udp}"


def _describe_medium(path: PathPart) -> list[Fact]:
    """Describe the settings of a radio link, table by table."""
    tables: dict[str, list[str]] = {}
    for name, text in core.medium_figures(json.dumps(path)):
        table, _, key = name.rpartition(".")
        tables.setdefault(table, []).append(f"{key} {text}")
    return [
        Fact(f"{path.kind}.{table}" if table else path.kind, ", ".join(parts))
        for table, parts in tables.items()
    ]


def _stages(path: PathPart) -> Iterator[tuple[str, PathPart]]:
    for direction, stages in (("forward", path.forward), ("reverse", path.reverse)):
        for n, stage in enumerate(stages):
            yield f"{direction}.{n}", stage


def _describe_stage(
    stage: PathPart, traces: Mapping[str, Trace], queue_size: QueueSize | None
) -> str:
    default = "" if queue_size is None or not queue_size.is_default else _default(queue_size)
    parts = [
        _rate(stage.rate, traces),
        f"delay {format_duration(stage.delay_ns)}",
        f"queue {_queue(stage.queue)}{default}",
    ]
    if stage.jitter is not None:
        (value,) = (value for key, value in stage.jitter.items() if key != "kind")
        parts.append(f"jitter {stage.jitter.kind} {format_duration(value)}")
    if stage.ack_filter is not None:
        parts.append(f"{stage.ack_filter} ACK filter")
    if stage.ack_thinning is not None:
        parts.append(f"one ACK in {stage.ack_thinning}")
    if stage.reorder is not None:
        parts.append(_reorder(stage.reorder))
    if stage.police is not None:
        rate, burst = stage.police.bits_per_sec, stage.police.burst_bytes
        parts.append(f"policed to {format_rate(rate)}, burst {format_size(burst)}")
    if stage.loss is not None:
        parts.append(f"loss {_loss(stage.loss)}")
    if stage.framing_bytes:
        parts.append(f"framing {format_size(stage.framing_bytes)}")
    for outage in stage.outages:
        begin, end = format_duration(outage.start_ns), format_duration(outage.stop_ns)
        parts.append(f"outage {begin} to {end} ({outage.kind})")
    if stage.schedule:
        parts.append(f"{plural(len(stage.schedule), 'change')} scheduled ({stage.transition})")
    return ", ".join(parts)


def _reorder(reorder: PathPart) -> str:
    match reorder.kind:
        case "late":
            delay = format_duration(reorder.delay_ns)
            return f"{_reordered(reorder)} have an additional delay of {delay}"
        case "early":
            return f"{_reordered(reorder)} have no delay"
        case _:
            return "jitter changes the order of packets"


def _reordered(reorder: PathPart) -> str:
    spacing = f" (at most one of {reorder.gap} consecutive packets)" if reorder.gap > 1 else ""
    return f"{format_share(reorder.ppb)} of packets{spacing}"


def _default(size: QueueSize) -> str:
    """Return a note with the default size of a queue, in bandwidth-delay products."""
    return f" (by default, {size.bdp:.2g} BDP)"


def _rate(rate: PathPart, traces: Mapping[str, Trace]) -> str:
    if rate.path is not None:
        trace = f"trace {traces[rate.path].path.name}"
        if rate.light is None:
            return trace
        trains, after = traces[rate.light.path].path.name, format_duration(rate.light.after_ns)
        return f"{trace} (bursts after an idle time of {after} follow packet trains in {trains})"
    if rate.bits_per_sec is None:
        return "unlimited rate"
    burst = "" if rate.burst_bytes is None else f", burst {format_size(rate.burst_bytes)}"
    return f"{format_rate(rate.bits_per_sec)}{burst}"


def _queue(queue: PathPart) -> str:
    limit = "unlimited"
    limit_bytes = queue.limit_bytes if queue.kind == "red" else queue.bytes
    if queue.packets is not None:
        limit = plural(queue.packets, "packet")
    elif limit_bytes is not None:
        limit = format_size(limit_bytes)
    return limit if queue.kind == "drop_tail" else f"{limit}, {queue.kind}"


def _loss(loss: PathPart) -> str:
    if loss.kind == "iid":
        return format_share(loss.ppb)
    return (
        f"Gilbert-Elliott p {format_share(loss.p_ppb)}, r {format_share(loss.r_ppb)}, "
        f"good {format_share(loss.loss_good_ppb)}, bad {format_share(loss.loss_bad_ppb)}"
    )


def describe_flows(scenario: si.Scenario) -> list[Fact]:
    """Return one `Fact` for each group of flows with equal settings.

    If the study sets the key `rotation`, each measured run is preceded by runs that are not
    measured. One more `Fact`, at the end, lists the algorithms of these preceding runs.
    """
    counted: dict[str, int] = {}
    for flow in scenario.flows:
        text = f"{flow.sender.algorithm} on {flow.sender.stack}, {flow.application.kind}"
        if (flow.receiver.algorithm, flow.receiver.stack) != (
            flow.sender.algorithm,
            flow.sender.stack,
        ):
            text += f", to {flow.receiver.algorithm} on {flow.receiver.stack}"
        if flow.sender.parameters:
            text += f", {_pairs(flow.sender.parameters)}"
        if flow.sender.stack_overrides:
            text += f", {_pairs(flow.sender.stack_overrides)}"
        for name, host in (("sent", flow.sender.host), ("acknowledged", flow.receiver.host)):
            if host is not None:
                settings = ", ".join(f"{key} {value}" for key, value in texts(host))
                text += f", {name} through a network device with {settings}"
        text += f", {flow.direction}, from {format_duration(flow.start_ns)}"
        if flow.stop_ns is not None:
            text += f" to {format_duration(flow.stop_ns)}"
        counted[text] = counted.get(text, 0) + 1
    facts = [Fact(plural(count, "flow"), text) for text, count in counted.items()]
    if scenario.before:
        turns = (" and ".join(_algorithms(flows)) for flows in scenario.before)
        name = "algorithms in unmeasured runs before each measured run"
        facts.append(Fact(name, ", ".join(turns)))
    return facts


def _algorithms(flows: tuple[si.ScenarioFlow, ...]) -> list[str]:
    return list(dict.fromkeys(flow.sender.algorithm for flow in flows))


def _pairs(table: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in table.items())


def _describe_trace(trace: Trace) -> str:
    if trace.kind == "light":
        return str(trace.info["understood"])
    return f"{trace.info['understood']}, {trace.info['mean_rate_mbit_s']:.3f} Mbit/s on average"
