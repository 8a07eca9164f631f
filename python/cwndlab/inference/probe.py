"""Compute summary statistics of a probe: a bulk phase, a pause, and a ramp of rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.schema.application import Probe
    from cwndlab.stats.bootstrap import Floats

LATE_S = 0.02
"""Tolerance, in s, for late samples of programs that report at fixed intervals.

A sample that is at most this late belongs to the interval that has just ended.
"""
_FEWEST = 3
_FIRST_STEP = 2
"""First step of the ramp that has statistics. In the step before it, the smoothed round-trip time
still contains the queue of the bulk phase."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """A probe, and the step of its ramp that is taken as medium load."""

    probe: Probe
    half_step: int
    """Number of the last step, from 1, whose rate is at most half of the measured goodput.

    Simulated flows use the step of the measured flow, so that all have the same statistics.
    """

    @classmethod
    def of(cls, probe: Probe, goodput_mbit_s: float, duration_s: float) -> Ramp:
        """Return a probe's ramp, with `half_step` for the measured goodput.

        `half_step` is one of the steps that end within `duration_s`, the duration of the flow. It
        is below 1 if no step is suitable.
        """
        steps = int((duration_s - _begin_s(probe)) * 1e9 / probe.doubling_ns)
        if not goodput_mbit_s > 0:
            return cls(probe, 0)
        doublings = math.log2(goodput_mbit_s * 1e6 / 2 / probe.bits_per_sec)
        return cls(probe, min(math.floor(doublings) + 1, steps))


def bulk_samples(samples: Mapping[str, Floats], probe: Probe) -> dict[str, Floats]:
    """Return the samples of a probe's bulk phase, in which it always had data to send."""
    times = np.asarray(samples.get("t_s", ()), np.float64)
    kept = times <= probe.bulk_for_ns / 1e9 + LATE_S
    return {
        name: np.asarray(values)[kept]
        for name, values in samples.items()
        if len(values) == len(times)
    }


def of_ramp(samples: Mapping[str, Floats], ramp: Ramp) -> dict[str, float]:
    """Summarise the smoothed round-trip times in a probe's ramp: means and variation by load."""
    times = np.asarray(samples.get("t_s", ()), np.float64)
    trips_ms = np.asarray(samples.get("srtt_ms", ()), np.float64)
    if len(trips_ms) != len(times):
        return {}
    since_s = times - _begin_s(ramp.probe) - LATE_S
    step = np.ceil(since_s * 1e9 / ramp.probe.doubling_ns)
    is_known = np.isfinite(trips_ms) & (trips_ms > 0) & (step >= _FIRST_STEP)
    found = {}
    for name, is_inside in (("light", step < ramp.half_step), ("half", step == ramp.half_step)):
        logs = np.log(trips_ms[is_known & is_inside])
        if len(logs) >= _FEWEST:
            found[f"{name}_trip"] = float(logs.mean())
            found[f"{name}_spread"] = 0.5 * math.log(float(logs.std()) + 1e-2)
    return found


def _begin_s(probe: Probe) -> float:
    """Return when the ramp begins, in s from the beginning of the flow."""
    return (probe.bulk_for_ns + probe.pause_ns) / 1e9
