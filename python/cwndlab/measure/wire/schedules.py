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
_SHORTEST_S = 0.001
"""Shortest time between two writes of a probe's ramp."""
_MOST_DOUBLINGS = 40


def after_bulk(application: Paced | Probe) -> Iterator[tuple[float, int]]:
    """Yield the time of each write after the bulk phase, and its number of bytes, without end."""
    if isinstance(application, Paced):
        step_s = application.write_bytes * 8 / application.bits_per_sec
        return ((n * step_s, application.write_bytes) for n in itertools.count())
    pause_s = application.pause_ns / 1e9
    return ((pause_s + at_s, size) for at_s, size in _ramp(application))


def _ramp(probe: Probe) -> Iterator[tuple[float, int]]:
    """Yield the writes of a probe's ramp: time since the pause, and bytes.

    The simulator's probe (crates/scenario) writes at the same times.
    """
    at_s, written = 0.0, 0
    while True:
        due = int(_bytes_after(probe, at_s)) // _RAMP_WRITE_BYTES * _RAMP_WRITE_BYTES
        if due > written:
            yield at_s, due - written
            written = due
        at_s = max(at_s + _SHORTEST_S, _time_of(probe, written + _RAMP_WRITE_BYTES, at_s))


def _bytes_after(probe: Probe, at_s: float) -> float:
    """Return how many bytes the ramp has offered by this time."""
    doubling_s, bytes_per_s = probe.doubling_ns / 1e9, probe.bits_per_sec / 8
    step = min(int(at_s / doubling_s), _MOST_DOUBLINGS)
    earlier = bytes_per_s * doubling_s * ((1 << step) - 1)
    return earlier + bytes_per_s * (1 << step) * (at_s - step * doubling_s)


def _time_of(probe: Probe, size: int, at_s: float) -> float:
    """Return when the ramp has offered this many bytes, or the end of the step, if earlier."""
    doubling_s, bytes_per_s = probe.doubling_ns / 1e9, probe.bits_per_sec / 8
    step = min(int(at_s / doubling_s), _MOST_DOUBLINGS)
    earlier = bytes_per_s * doubling_s * ((1 << step) - 1)
    return step * doubling_s + min((size - earlier) / (bytes_per_s * (1 << step)), doubling_s)
