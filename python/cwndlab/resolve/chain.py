"""A chain of wires, cells and Wi-Fi channels, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.resolve.presets import expand_preset
from cwndlab.resolve.wire import farther, resolve_stage
from cwndlab.schema import link as human
from cwndlab.schema import scenario as si
from cwndlab.schema.cell import CellPath
from cwndlab.schema.paths import base_rtt_ns
from cwndlab.schema.problems import FieldError
from cwndlab.schema.stage import LinkStage
from cwndlab.schema.wifi import WifiPath
from cwndlab.schema.written import to_si

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.resolve.trace_reader import TraceReader
    from cwndlab.schema.base import Model
    from cwndlab.text.toml import KeyPath


@dataclass(frozen=True, slots=True)
class ChainPart:
    """A link of a chain, and where it is written."""

    key: KeyPath
    link: LinkStage
    reverse: LinkStage | None = None

    @property
    def medium(self) -> tuple[str, Model] | None:
        """The cell or Wi-Fi channel that it is, by its key."""
        return self.link.medium if isinstance(self.link, human.LinkOrMedium) else None


def chain_parts(link: human.Link, table: str, folder: Path) -> list[ChainPart]:
    """The links of the chain that stands in `table`, in order; of a wire or a medium alone nothing.

    Raises:
        FieldError: a key of the chain does not go with its links.
    """
    if link.stage:
        return [_expanded(stage, (table, "stage", n), folder) for n, stage in enumerate(link.stage)]
    if link.medium is None:
        if link.wire is not None:
            message = (
                "this link is a wire itself, and only a cell or a Wi-Fi channel has one before it; "
                "write both as [[link.stage]]"
            )
            raise FieldError((table, "wire"), message)
        return []
    before = []
    if link.wire is not None:
        before.append(ChainPart((table, "wire"), link.wire, link.wire.reverse))
    if link.police is not None:  # a cell has one of its own, which it has become by now
        before.append(ChainPart((table,), LinkStage(police=link.police)))
    return [*before, ChainPart((table,), link)] if before else []


def _expanded(stage: human.ChainStage, key: KeyPath, folder: Path) -> ChainPart:
    """A stage with its preset's keys where it has none itself."""
    own = {name: getattr(stage, name) for name in stage.model_fields_set - {"reverse"}}
    link, preset_reverse = expand_preset(human.Link.model_construct(**own), key, folder)
    if link.stage or link.wire is not None:
        message = f"{link.preset} is a chain itself; write its links as stages"
        raise FieldError((*key, "preset"), message)
    if link.medium is not None and link.police is not None:
        message = "a Wi-Fi channel in a chain has none; write it in a stage of its own before this"
        raise FieldError((*key, "police"), message)
    reverse = stage.reverse or preset_reverse
    if link.medium is not None and stage.reverse is not None:
        message = f"a {link.medium[0]} is both directions; leave this out"
        raise FieldError((*key, "reverse"), message)
    return ChainPart(key, link, reverse)


def resolve_chain(
    parts: Sequence[ChainPart], server_ns: int | None, traces: TraceReader
) -> si.ChainPath:
    """The path of a chain that has a cell or a Wi-Fi channel in it.

    Raises:
        FieldError: something is missing, unknown or out of range; names the key.
    """
    parts = [part if part.medium else _recorded(part, traces) for part in parts]
    media = [part.medium and medium_path(*part.medium, None, part.key) for part in parts]
    rtt_ns = sum(
        base_rtt_ns(medium) if medium else sum(_delays_ns(part))
        for part, medium in zip(parts, media, strict=True)
    )
    links = [
        medium or _wire(part, rtt_ns, traces) for part, medium in zip(parts, media, strict=True)
    ]
    if server_ns is not None:
        links[0] = _nearer_end_at(links[0], server_ns, parts[0])
    return si.ChainPath(links=tuple(links))


def _recorded(part: ChainPart, traces: TraceReader) -> ChainPart:
    link, reverse = with_recorded(part.link, part.reverse, traces)
    return ChainPart(part.key, link, reverse)


def with_recorded(
    link: LinkStage, reverse: LinkStage | None, traces: TraceReader
) -> tuple[LinkStage, LinkStage | None]:
    """A folder of recordings gives the reverse direction and the delays that nothing else does."""
    delays_ns = traces.delays_ns(link)
    if not delays_ns:
        return link, reverse
    if reverse is None:
        reverse = human.Link.model_construct(trace=link.trace, delay=delays_ns["up"])
    if link.delay is None:
        link = link.model_copy(update={"delay": delays_ns["down"]})
    return link, reverse


def _delays_ns(part: ChainPart) -> tuple[int, int]:
    """A wire's delays both ways; that of the way up is the other's if nothing is said."""
    down = part.link.delay or 0
    up = part.reverse.delay if part.reverse is not None else None
    return down, down if up is None else up


def _wire(part: ChainPart, rtt_ns: int, traces: TraceReader) -> si.WirePath:
    down_ns, up_ns = _delays_ns(part)
    forward = resolve_stage(part.link, down_ns, rtt_ns, part.key, traces)
    reverse = si.Stage(delay_ns=up_ns)
    if part.reverse is not None:
        reverse = resolve_stage(part.reverse, up_ns, rtt_ns, (*part.key, "reverse"), traces)
    return si.WirePath(forward=(forward,), reverse=(reverse,))


def _nearer_end_at(
    link: si.WirePath | CellPath | WifiPath, server_ns: int, part: ChainPart
) -> si.WirePath | CellPath | WifiPath:
    """The first link with the server so far before it."""
    if isinstance(link, si.WirePath):
        forward, reverse = farther(link.forward[0], server_ns), farther(link.reverse[0], server_ns)
        return si.WirePath(forward=(forward,), reverse=(reverse,))
    key, written = part.medium or ("", None)
    if written is None:
        return link
    return medium_path(key, written, server_ns, part.key)


def medium_path(
    kind: str, written: Model, server_ns: int | None, key: KeyPath
) -> CellPath | WifiPath:
    """A cell or a Wi-Fi channel, whose server is so far away if that is said.

    Raises:
        FieldError: something is missing or out of range; names the key.
    """
    if kind == "wifi":
        wifi = to_si(written, WifiPath, (*key, kind))
        changes = {} if server_ns is None else {"wire_delay_ns": server_ns}
        return wifi.model_copy(update=changes)
    cell = to_si(written, CellPath, (*key, kind))
    if server_ns is None:
        return cell
    downlink, uplink = (
        way.model_copy(update={"core_delay_ns": server_ns}) for way in (cell.downlink, cell.uplink)
    )
    return cell.model_copy(update={"downlink": downlink, "uplink": uplink})
