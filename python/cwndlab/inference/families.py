"""List the families of links that may explain a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.inference import radio, wires

if TYPE_CHECKING:
    from cwndlab.inference.family import Family

KINDS = ("any", "wire", "cell", "wifi")
"""Values that the option `--family` accepts."""


def families(
    goodput_mbit_s: float, shortest_rtt_ms: float, kind: str = "any", *, is_smoothed: bool = False
) -> list[Family]:
    """Return the link families of one kind that permit a goodput and a minimum round-trip time.

    Args:
        goodput_mbit_s: goodput of the measured flow.
        shortest_rtt_ms: minimum round-trip time of the measured flow.
        kind: kind of links: `any`, `wire`, `cell` or `wifi`.
        is_smoothed: whether the minimum round-trip time is the minimum of smoothed samples. A
            smoothed sample also contains the queueing delays of earlier samples.
    """
    here = (goodput_mbit_s, shortest_rtt_ms)
    trip = wires.round_trip(shortest_rtt_ms, is_smoothed=is_smoothed)
    found = [
        *(
            family(goodput_mbit_s, trip)
            for family in (wires.wire, wires.policed, wires.managed, wires.shared)
        ),
        *radio.cells(*here),
        *radio.wifi(*here),
    ]
    return [each for each in found if kind in ("any", each.kind)]
