"""A scenario's place, where the simulator refuses it, as a key of the study that it came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.errors import ScenarioRefusedError
    from cwndlab.schema import Scenario
    from cwndlab.text.toml import KeyPath

_PART = re.compile(r"[^.\[\]]+")


def place_in_study(
    refused: ScenarioRefusedError, scenario: Scenario, document: Mapping[str, Any]
) -> tuple[KeyPath, str]:
    """The key of the study that is to blame, `()` where none is known, and what is wrong there."""
    head, *inner = _PART.findall(refused.path)
    kind = scenario.path.kind
    if head == "path" and kind in ("cell", "wifi"):
        return _written(document, ("link", kind, *inner)), refused.message
    if head in ("flows", "before") and inner[-1] == "stack_overrides":
        flows = document.get("flow", [])
        own = [("flow", n, inner[-1]) for n, flow in enumerate(flows) if inner[-1] in flow]
        return (own[0] if own else (inner[-1],)), refused.message
    return (), f"the simulator refuses it: {refused}"


def _written(document: Mapping[str, Any], key: Sequence[str]) -> KeyPath:
    """As much of the key as the document has."""
    value: object = document
    for depth, part in enumerate(key):
        if not isinstance(value, dict) or part not in value:
            return tuple(key[:depth])
        value = value[part]
    return tuple(key)
