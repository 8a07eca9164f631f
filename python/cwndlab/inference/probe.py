"""Compute summary statistics of a probe: a bulk phase, a pause, and a ramp of rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.schema.application import Probe
    from cwndlab.stats.bootstrap import Floats

LIGHT_LOAD, HALF_LOAD = 0.25, 0.5
"""Upper limits of the loads that are called light and medium.

A probe sends as fast as possible (bulk phase), pauses, and then sends at a rate that rises in steps
(ramp). The load of a step is its rate, divided by the goodput in the bulk phase. A load is light up
to `LIGHT_LOAD`, and medium from there up to `HALF_LOAD`.
"""
LATE_S = 0.02
"""Tolerance, in s, for late samples of programs that report at fixed intervals.

A sample that is at most this late belongs to the interval that has just ended.
"""
_FEWEST = 3


def bulk_samples(samples: Mapping[str, Floats], probe: Probe) -> dict[str, Floats]:
    """Return the samples of a probe's bulk phase, in which it always had data to send."""
    times = np.asarray(samples["t_s"], np.float64)
    kept = times <= probe.bulk_for_ns / 1e9 + LATE_S
    return {
        name: np.asarray(values)[kept]
        for name, values in samples.items()
        if len(values) == len(times)
    }


def of_ramp(samples: Mapping[str, Floats], probe: Probe) -> dict[str, float]:
    """Summarise the smoothed round-trip times in a probe's ramp: means and variation by load.

    The load of a step is its rate, as a fraction of the goodput in the bulk phase. The first step
    is left out, because the smoothed round-trip time still contains the queue of the bulk phase.
    """
    bulk_mbit_s = bulk_samples(samples, probe).get("goodput_mbit_s")
    times, trips_ms = samples["t_s"], samples.get("srtt_ms")
    if bulk_mbit_s is None or trips_ms is None or len(trips_ms) != len(times):
        return {}
    began_s = (probe.bulk_for_ns + probe.pause_ns) / 1e9 + LATE_S
    step = np.ceil((times - began_s) * 1e9 / probe.doubling_ns)
    load = probe.bits_per_sec / 1e6 * 2.0 ** (step - 1) / max(float(np.nanmean(bulk_mbit_s)), 1e-3)
    is_known = np.isfinite(trips_ms) & (trips_ms > 0) & (step > 1)
    found = {}
    for name, is_inside in (
        ("light", load <= LIGHT_LOAD),
        ("half", (load > LIGHT_LOAD) & (load <= HALF_LOAD)),
    ):
        logs = np.log(trips_ms[is_known & is_inside])
        if len(logs) >= _FEWEST:
            found[f"{name}_trip"] = float(logs.mean())
            found[f"{name}_spread"] = 0.5 * math.log(float(logs.std()) + 1e-2)
    return found
