"""What a path consists of, whatever kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.schema.cell import CellPath
from cwndlab.schema.direction import Direction
from cwndlab.schema.scenario import ChainPath, WirePath
from cwndlab.schema.wifi import WifiPath

if TYPE_CHECKING:
    from cwndlab.schema.scenario import Path, Stage


def links_of(path: Path) -> tuple[Path, ...]:
    """The links of a chain; any other path is one."""
    return path.links if isinstance(path, ChainPath) else (path,)


def has_medium(path: Path) -> bool:
    """Whether users have queues of their own somewhere on the path."""
    return any(isinstance(link, CellPath | WifiPath) for link in links_of(path))


def wire_stages(path: Path, direction: Direction) -> tuple[Stage, ...]:
    """The wires that packets pass in a direction, in their order."""
    wires = [link for link in links_of(path) if isinstance(link, WirePath)]
    if direction is Direction.DOWNLINK:
        return tuple(stage for wire in wires for stage in wire.forward)
    return tuple(stage for wire in reversed(wires) for stage in wire.reverse)


def propagation_ns(path: Path, direction: Direction) -> int:
    """The delay that every packet has in a direction, whatever it waits for."""
    match path:
        case ChainPath():
            return sum(propagation_ns(link, direction) for link in path.links)
        case WirePath():
            return sum(stage.delay_ns for stage in wire_stages(path, direction))
        case CellPath():
            way = path.downlink if direction is Direction.DOWNLINK else path.uplink
            return way.core_delay_ns
        case WifiPath():
            return path.wire_delay_ns or 0
        case _:
            return 0


def base_rtt_ns(path: Path) -> int:
    """The delay of both directions together."""
    return propagation_ns(path, Direction.DOWNLINK) + propagation_ns(path, Direction.UPLINK)
