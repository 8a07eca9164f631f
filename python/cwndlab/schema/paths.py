"""Functions that return the links, wired stages and delays of any kind of network path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.schema.direction import Direction
from cwndlab.schema.live import LivePath

if TYPE_CHECKING:
    from cwndlab.schema.path import PathPart


def links_of(path: PathPart | LivePath) -> list[PathPart]:
    """Return the links of a path: several for a chain, none for a real network, otherwise one."""
    if isinstance(path, LivePath):
        return []
    return list(path.links) if path.kind == "chain" else [path]


def has_medium(path: PathPart | LivePath) -> bool:
    """Return whether the path contains a cell or a Wi-Fi channel; both have a queue per user."""
    return any(link.kind in ("cell", "wifi") for link in links_of(path))


def wire_stages(path: PathPart | LivePath, direction: Direction) -> list[PathPart]:
    """Return the wired stages of a path in the order in which packets of `direction` pass them."""
    wires = [link for link in links_of(path) if link.kind == "wire"]
    if direction is Direction.DOWNLINK:
        return [stage for wire in wires for stage in wire.forward]
    return [stage for wire in reversed(wires) for stage in wire.reverse]


def propagation_ns(path: PathPart | LivePath, direction: Direction) -> int:
    """Return the delay of wires and core network in one direction; 0 for a real network."""
    return sum(_propagation_ns(link, direction) for link in links_of(path))


def _propagation_ns(link: PathPart, direction: Direction) -> int:
    match link.kind:
        case "cell":
            way = link.downlink if direction is Direction.DOWNLINK else link.uplink
            return int(way.core_delay_ns)
        case "wifi":
            return link.wire_delay_ns or 0
        case _:
            return sum(stage.delay_ns for stage in wire_stages(link, direction))


def base_rtt_ns(path: PathPart | LivePath) -> int:
    """Return the sum of the propagation delays of both directions."""
    return propagation_ns(path, Direction.DOWNLINK) + propagation_ns(path, Direction.UPLINK)
