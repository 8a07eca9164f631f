"""Compute when an application that limits its own rate writes data, and how many bytes.

Times are in seconds since the end of the application's bulk phase.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cwndlab.schema.application import Paced, Probe

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAMP_WRITE_BYTES = 1448
"""Bytes of a write in a slow step of a probe's ramp: the data of a full segment."""
_SHORTEST_NS = 1_000_000
"""Shortest time between two writes of a probe's ramp."""
_MOST_DOUBLINGS = 20
_NS_BITS = 8_000_000_000
"""Factor from bytes to bits times nanoseconds per second."""


def after_bulk(application: Paced | Probe) -> Iterator[tuple[float, int]]:
    """Yield the time of each write after the bulk phase, and its number of bytes, without end."""
    if isinstance(application, Paced):
        step_s = application.write_bytes * 8 / application.bits_per_sec
        return ((n * step_s, application.write_bytes) for n in itertools.count())
    return (
        ((application.pause_ns + at_ns) / 1e9, size) for at_ns, size in ramp_writes(application)
    )


def ramp_writes(probe: Probe) -> Iterator[tuple[int, int]]:
    """Yield the writes of a probe's ramp: time in ns since the end of the pause, and bytes.

    The simulator's probe (crates/scenario) writes at the same times.
    """
    at_ns, written = 0, 0
    while True:
        began_ns, rate, earlier = _step_at(probe, at_ns)
        offered = (earlier + (at_ns - began_ns) * rate) // _NS_BITS
        due = offered // _RAMP_WRITE_BYTES * _RAMP_WRITE_BYTES
        if due > written:
            yield at_ns, due - written
            written = due
        missing = (written + _RAMP_WRITE_BYTES) * _NS_BITS - earlier
        next_ns = began_ns + min(-(-missing // rate), probe.doubling_ns)
        at_ns = max(at_ns + _SHORTEST_NS, next_ns)


def _step_at(probe: Probe, at_ns: int) -> tuple[int, int, int]:
    """Return the start of the present step in ns, its rate in bit/s, and the data of earlier steps.

    The unit of the data is bit/s times ns, which is 1e-9 bit.
    """
    step = min(at_ns // probe.doubling_ns, _MOST_DOUBLINGS)
    earlier = probe.bits_per_sec * probe.doubling_ns * ((1 << step) - 1)
    return step * probe.doubling_ns, probe.bits_per_sec << step, earlier
