"""A scenario's place, where the simulator refuses it, as a key of the study that it came from."""

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

_SHORT = {"adaptation": "mcs", "rate_control": "mcs"}
"""The short key (`crates/texts/src/short_keys.rs`) that sets what the core refuses by this name."""
_PART = re.compile(r"[^.\[\]]+")


def place_in_study(
    refused: ScenarioRefusedError, scenario: Scenario, document: Mapping[str, Any]
) -> tuple[KeyPath, str]:
    """The key of the study that is to blame, `()` where none is known, and what is wrong there."""
    head, *inner = _PART.findall(refused.path)
    kind = scenario.path.kind
    if head == "path" and kind in ("cell", "wifi"):
        return _written(document, ("link", kind, *inner)), refused.message
    if head == "path" and kind == "chain" and not isinstance(scenario.path, LivePath):
        return _written(document, _in_chain(scenario.path, document, inner)), refused.message
    if head in ("flows", "before") and inner[-1] == "stack_overrides":
        flows = document.get("flow", [])
        own = [("flow", n, inner[-1]) for n, flow in enumerate(flows) if inner[-1] in flow]
        return (own[0] if own else (inner[-1],)), refused.message
    return (), f"the simulator refuses it: {refused}"


def _in_chain(path: PathPart, document: Mapping[str, Any], inner: Sequence[str]) -> KeyPath:
    """The key of a chain's link, or of what is in it if that is a medium."""
    if len(inner) < 2:  # noqa: PLR2004  `links` and a number
        return ("link",)
    number, rest = int(inner[1]), inner[2:]
    kind = path.links[number].kind
    link = document.get("link")
    if isinstance(link, dict) and "stage" in link:
        stage: KeyPath = ("link", "stage", number)
        return stage if kind == "wire" else (*stage, kind, *rest)
    return ("link", "wire") if kind == "wire" else ("link", kind, *rest)


def _written(document: Mapping[str, Any], key: KeyPath) -> KeyPath:
    """As much of the key as the document has, or the short key that stands for it."""
    value: Any = document
    for depth, part in enumerate(key):
        if isinstance(value, str):
            value = parse_spec(value)
        has_part = (
            isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        ) or (isinstance(value, dict) and part in value)
        if not has_part:
            short = _short_key(value, key[depth:])
            return (*key[:depth], short) if short else key[:depth]
        value = value[part]
    return key


def _short_key(link: object, rest: KeyPath) -> str | None:
    """The key of a link's table that stands for one in its medium."""
    if not isinstance(link, dict):
        return None
    shorts = (_SHORT.get(str(part)) for part in rest)
    return next((short for short in shorts if short in link), None)
