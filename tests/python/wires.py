"""The path of a scenario that has two directions of wires."""

from __future__ import annotations

from cwndlab.schema import scenario as si


def wires(scenario: si.Scenario) -> si.WirePath:
    """The path, which is none of a medium."""
    assert isinstance(scenario.path, si.WirePath)
    return scenario.path
