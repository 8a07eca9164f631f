"""Find the key of a study whose value the simulator refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cwndlab.schema.live import LivePath
from cwndlab.text.linkspec import parse_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.errors import ScenarioRefusedError
    from cwndlab.schema import Scenario
    from cwndlab.schema.path import PathPart
    from cwndlab.text.toml import KeyPath

_SHORT = {
    **dict.fromkeys(("adaptation", "rate_control"), "mcs"),
    **dict.fromkeys(("bandwidth", "resource_blocks", "channel"), "bandwidth"),
    **dict.fromkeys(("layers", "downlink_layers", "spatial_streams"), "layers"),
    **dict.fromkeys(("users", "stations"), "users"),
}
"""Maps keys of a scenario that the simulator may refuse, such as `stations`, to the short keys of a
link that set them, such as `users`."""
_PART = re.compile(r"[^.\[\]]+")


def place_in_study(
    refused: ScenarioRefusedError, scenario: Scenario, document: Mapping[str, Any]
) -> tuple[KeyPath, str]:
    """Return the study's key whose value was refused (`()` if unknown), and the problem as text."""
    head, *inner = _PART.findall(refused.path)
    kind = scenario.path.kind
    if head == "path" and kind in ("cell", "wifi"):
        return _with_key(document, ("link", kind, *inner), refused.message)
    if head == "path" and kind == "chain" and not isinstance(scenario.path, LivePath):
        key = _in_chain(scenario.path, document, inner)
        return _with_key(document, key, refused.message)
    if head in ("flows", "before") and inner[-1] == "stack_overrides":
        flows = document.get("flow", [])
        own = [("flow", n, inner[-1]) for n, flow in enumerate(flows) if inner[-1] in flow]
        return (own[0] if own else (inner[-1],)), refused.message
    return (), f"the simulator refuses the study: {refused}"


def _in_chain(path: PathPart, document: Mapping[str, Any], inner: Sequence[str]) -> KeyPath:
    """Return the key in the study for a value that was refused in a chain of links.

    `inner` is the path of the refused value in the chain. If the value belongs to a wired link,
    the returned key is that of the whole link. If the value belongs to a radio link, the returned
    key is that of the value.
    """
    if len(inner) < 2:  # noqa: PLR2004  the path is `links` and a number
        return ("link",)
    number, rest = int(inner[1]), inner[2:]
    kind = path.links[number].kind
    link = document.get("link")
    if isinstance(link, dict) and "stage" in link:
        stage: KeyPath = ("link", "stage", number)
        return stage if kind == "wire" else (*stage, kind, *rest)
    return ("link", "wire") if kind == "wire" else ("link", kind, *rest)


def _with_key(document: Mapping[str, Any], key: KeyPath, message: str) -> tuple[KeyPath, str]:
    """Return the part of a key path that the document contains, and the message to show there.

    If the document contains neither the whole path nor a short key for it (see `_SHORT`), the
    returned message begins with the path, without the path's first key. For example, if the
    document lacks `link.wifi.access_point.queue`, the message begins with
    `wifi.access_point.queue: `.
    """
    found = _written(document, key)
    is_short = found != key[: len(found)]
    rest = () if is_short else key[1:] if len(found) < len(key) else ()
    return found, f"{'.'.join(map(str, rest))}: {message}" if rest else message


def _written(document: Mapping[str, Any], key: KeyPath) -> KeyPath:
    """Return the part of a key path that the document contains.

    If the document instead contains a short key from `_SHORT`, such as `users`, return the path of
    the short key.
    """
    value: Any = document
    around: list[object] = []
    for depth, part in enumerate(key):
        if isinstance(value, str):
            value = parse_spec(value)
        has_part = (
            isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        ) or (isinstance(value, dict) and part in value)
        if not has_part:
            around.append(value)
            for outside, table in reversed(tuple(enumerate(around))):
                if short := _short_key(table, key[outside:]):
                    return (*key[:outside], short)
            return key[:depth]
        around.append(value)
        value = value[part]
    return key


def _short_key(link: object, rest: KeyPath) -> str | None:
    """Return the short key (see `_SHORT`) with which a link sets the value at the path `rest`.

    If the link contains no such key, return None.
    """
    if not isinstance(link, dict):
        return None
    shorts = (_SHORT.get(str(part)) for part in rest)
    return next((short for short in shorts if short in link), None)
