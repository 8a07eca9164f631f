"""List the families of links that may explain a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.inference import radio, wires

if TYPE_CHECKING:
    from cwndlab.inference.family import Family

KINDS = ("any", "wire", "cell", "wifi")
"""Values that the option `--family` accepts."""


def families(goodput_mbit_s: float, shortest_rtt_ms: float, kind: str = "any") -> list[Family]:
    """Return the families of one kind that suit a goodput and a minimum round-trip time."""
    here = (goodput_mbit_s, shortest_rtt_ms)
    found = [
        wires.wire(*here),
        wires.policed(*here),
        wires.managed(*here),
        wires.shared(*here),
        *radio.cells(*here),
        *radio.wifi(*here),
    ]
    return [each for each in found if kind in ("any", each.kind)]
