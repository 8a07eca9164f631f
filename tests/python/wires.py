"""Access to the path of a scenario with two directions of wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.schema.path import PathPart

if TYPE_CHECKING:
    from cwndlab.schema import scenario as si


def wires(scenario: si.Scenario) -> PathPart:
    """Return the path, which must consist of wires."""
    assert isinstance(scenario.path, PathPart)
    assert scenario.path.kind == "wire"
    return scenario.path
