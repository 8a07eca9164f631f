"""The path of a scenario: both directions, with what a study leaves unsaid filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cwndlab.resolve.chain import chain_parts, medium_path, resolve_chain, with_recorded
from cwndlab.resolve.presets import expand_preset
from cwndlab.resolve.wire import check_takes_time, farther, resolve_stage
from cwndlab.schema import link as human
from cwndlab.schema import scenario as si
from cwndlab.schema.problems import FieldError
from cwndlab.schema.stage import LinkStage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.resolve.chain import ChainPart
    from cwndlab.resolve.trace_reader import TraceReader
    from cwndlab.text.toml import KeyPath

    Wires: TypeAlias = list[tuple[KeyPath, LinkStage]]


def resolve_path(
    link: human.Link | None, reverse_link: human.Link | None, traces: TraceReader
) -> tuple[si.Path, bool]:
    """Both directions, and whether the reverse one is a link with a rate and a queue.

    Raises:
        FieldError: something is missing, unknown or out of range; names the key.
    """
    if link is None:
        raise FieldError(("link",), "there is no link; add a [link] table with a rate or a trace")
    link, preset_reverse = expand_preset(link, ("link",), traces.folder)
    parts = chain_parts(link, "link", traces.folder)
    if any(part.medium for part in parts):
        if reverse_link is not None:
            message = (
                "a chain with a cell or a Wi-Fi channel is both directions; leave out the reverse "
                'link, and write the other direction of each wire as its "reverse"'
            )
            raise FieldError(("reverse_link",), message)
        return resolve_chain(parts, link.server, traces), True
    if link.medium is not None:
        if reverse_link is not None:
            message = f"a {link.medium[0]} is both directions; leave out the reverse link"
            raise FieldError(("reverse_link",), message)
        return medium_path(*link.medium, link.server, ("link",)), True
    if reverse_link is None:
        reverse_link = preset_reverse
    else:
        reverse_link, _ = expand_preset(reverse_link, ("reverse_link",), traces.folder)
        _check_is_one_way(reverse_link)
    forward: Wires = [(part.key, part.link) for part in parts]
    if not forward:
        recorded, recorded_reverse = with_recorded(link, reverse_link, traces)
        forward = [(("link",), recorded)]
        if reverse_link is None and recorded_reverse is not None:
            return _wires(forward, [(("reverse_link",), recorded_reverse)], link.server, traces)
    return _wires(forward, _reverse_wires(reverse_link, parts, traces.folder), link.server, traces)


def _check_is_one_way(reverse_link: human.Link) -> None:
    if reverse_link.medium is not None:
        message = f"a {reverse_link.medium[0]} is both directions; write it as the link"
        raise FieldError(("reverse_link",), message)
    if reverse_link.server is not None:
        message = "the server is as far away both ways; write it in the link"
        raise FieldError(("reverse_link", "server"), message)


def _wires(
    forward: Wires, reverse: Wires, server_ns: int | None, traces: TraceReader
) -> tuple[si.WirePath, bool]:
    """The path of wires with their keys, and whether those of the way up are links."""
    forward_delays = [wire.delay or 0 for _, wire in forward]
    reverse_delays = [wire.delay or 0 for _, wire in reverse]
    if all(wire.delay is None for _, wire in reverse):
        reverse_delays = [0] * (len(reverse) - 1) + [sum(forward_delays)]
    rtt_ns = sum(forward_delays) + sum(reverse_delays)
    check_takes_time([wire for _, wire in (*forward, *reverse)], rtt_ns + (server_ns or 0))
    down = tuple(
        resolve_stage(wire, delay_ns, rtt_ns, key, traces)
        for (key, wire), delay_ns in zip(forward, forward_delays, strict=True)
    )
    up: tuple[si.Stage, ...] = (si.Stage(delay_ns=reverse_delays[0]),)
    if reverse:
        up = tuple(
            resolve_stage(wire, delay_ns, rtt_ns, key, traces)
            for (key, wire), delay_ns in zip(reverse, reverse_delays, strict=True)
        )
    if server_ns is not None:  # it stands before the first wire down and after the last one up
        down = (farther(down[0], server_ns), *down[1:])
        up = (*up[:-1], farther(up[-1], server_ns))
    return si.WirePath(forward=down, reverse=up), bool(reverse)


def _reverse_wires(
    reverse_link: human.Link | None, parts: Sequence[ChainPart], folder: Path
) -> Wires:
    """The wires of the way up with their keys, if it has a rate or anything else of its own."""
    both_ways = [part for part in parts if part.reverse is not None]
    if both_ways and reverse_link is not None:
        message = "there is a reverse link beside this; keep one of them"
        raise FieldError((*both_ways[0].key, "reverse"), message)
    if both_ways:
        return [((*part.key, "reverse"), _reverse_of(part)) for part in reversed(parts)]
    if reverse_link is None:
        return []
    parts = chain_parts(reverse_link, "reverse_link", folder)
    for part in parts:
        if part.medium is not None:
            message = f"a {part.medium[0]} is both directions; write it as a stage of the link"
            raise FieldError(part.key, message)
        if part.reverse is not None:
            raise FieldError(part.key, "this is the reverse link; leave its reverse out")
    return [(part.key, part.link) for part in parts] or [(("reverse_link",), reverse_link)]


def _reverse_of(part: ChainPart) -> LinkStage:
    """A wire's other direction; its delay is the same if it says none."""
    reverse = part.reverse or LinkStage()
    delay = part.link.delay if reverse.delay is None else reverse.delay
    return reverse.model_copy(update={"delay": delay})
