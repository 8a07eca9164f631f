"""Compute summary statistics of a flow, in the same way for measurements and simulations.

Most statistics are logarithms, some of them multiplied by 0.25 or 0.5.  The fit leaves out
statistics that are missing from the measurement.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.inference.probe import LATE_S, bulk_samples, of_ramp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cwndlab.inference.probe import Ramp
    from cwndlab.stats.bootstrap import Floats

TITLES = {
    "goodput": "the goodput",
    "rtt_base": "the minimum round-trip time",
    "rtt_p50": "the median round-trip time",
    "rtt_p95": "the 95th percentile of the round-trip time",
    "rtt_p99": "the 99th percentile of the round-trip time",
    "srtt_least": "the minimum of the smoothed round-trip time",
    "srtt_low": "the 10th percentile of the smoothed round-trip time",
    "srtt_mid": "the median of the smoothed round-trip time",
    "srtt_high": "the 95th percentile of the smoothed round-trip time",
    "retransmitted": "the share of retransmitted packets",
    "recoveries": "the number of loss recoveries per minute",
    "timeouts": "the number of timeouts per minute",
    "disorders": "the number of times per minute that packets seemed reordered",
    "burst_mean": "the mean length of retransmission bursts",
    "burst_max": "the longest burst of retransmissions",
    "loss_seconds": "the number of seconds with losses",
    "loss_gap": "the median time between losses",
    "loss_regularity": "the variation in the time between losses",
    "first_loss": "the time of the first loss",
    "cwnd_low": "the 10th percentile of the congestion window",
    "cwnd_mid": "the median congestion window",
    "cwnd_high": "the 95th percentile of the congestion window",
    "variation": "the variation in goodput from second to second",
    "low_second": "the 10th percentile of the goodput in one-second intervals",
    "high_second": "the 95th percentile of the goodput in one-second intervals",
    "goodput_step": "the median change in goodput from one second to the next",
    "srtt_step": "the median change in the smoothed round-trip time from one second to the next",
    "srtt_jump": "the largest change in the smoothed round-trip time from one second to the next",
    "floor_change": "the change in the minimum smoothed round-trip time from the first to the "
    "second half of the run",
    "memory": "the correlation between the goodputs of consecutive seconds",
    "lowest_second": "the lowest goodput in a one-second interval",
    "goodput_and_rtt": "the correlation between the goodput and the round-trip time",
    "quarter_1": "the goodput in the first quarter of the run",
    "quarter_2": "the goodput in the second quarter of the run",
    "quarter_3": "the goodput in the third quarter of the run",
    "quarter_4": "the goodput in the last quarter of the run",
    "window_and_rtt": "the correlation between the congestion window and the round-trip time",
    "growth": "the growth of the round-trip time with the congestion window",
    "start": "the goodput in the first seconds",
    "start_trip": "the round-trip time in the first seconds",
    "trend": "the ratio of the goodput in the second half to the goodput in the first half",
    "delivery_high": "the 95th percentile of the delivery rate",
    "delivery_low": "the 10th percentile of the delivery rate",
    "light_trip": "the round-trip time at light load",
    "light_spread": "the variation in the round-trip time at light load",
    "half_trip": "the round-trip time at medium load",
    "half_spread": "the variation in the round-trip time at medium load",
}
"""Maps the name of each summary statistic to a noun phrase for use in sentences."""

_LEAST_CHANCE = 0.02
_CHANCE = {
    "timeouts": 0.2,
    **dict.fromkeys(
        (
            "recoveries",
            "disorders",
            "burst_mean",
            "burst_max",
            "loss_seconds",
            "loss_gap",
            "loss_regularity",
            "first_loss",
            "srtt_jump",
            "lowest_second",
        ),
        0.1,
    ),
    **dict.fromkeys(
        (
            "variation",
            "memory",
            "goodput_and_rtt",
            "window_and_rtt",
            "growth",
            "goodput_step",
            "srtt_step",
        ),
        0.05,
    ),
}
"""Maps the name of a statistic to the least standard deviation that is assumed for it.

Some statistics depend on a few rare events, such as a single timeout. A measurement with such an
event is not surprising, even if the event happens in none of a hundred simulations.
"""

LOSSES = ("recovery", "timeout")
"""Events by which a sender detects a loss."""
DISORDER = "disorder"
"""Event in which a first duplicate ACK reaches the sender, a sign of loss or reordering."""
LEAST_SECONDS = 8
_SETTLED_S = 2.0
_FEWEST_PAIRS = 3
_FIRST_S = 3.0
_LEAST_SPREAD = 1e-4
_NOISE = 0.01
"""Noise that the measuring computers cause: standard deviation of the logarithms of measured
values."""
_LEAST_STEP = 0.05
"""Amount added to the median (or the largest) change from one second to the next.

A change is the absolute difference of two logarithms, such as those of the goodput. The median
change and the largest change each yield one statistic: half the logarithm of the sum of the change
and `_LEAST_STEP`. A change far below `_LEAST_STEP` therefore hardly affects the statistic.
"""
_STALLED = 0.1
"""If the goodput in a one-second interval is at most this fraction of the median goodput, the flow
is treated as stalled in this interval."""
_LEAST_SHARE = 0.05
"""Lower limit of the goodput in a quarter of the run, relative to the mean goodput.

A lower goodput is replaced by this limit.
"""


def title(name: str) -> str:
    """Return the noun phrase for a statistic; a prefix such as `1/` (flow 1) is ignored."""
    return TITLES[name.rpartition("/")[2]]


def least_chance(name: str) -> float:
    """Return the lower limit of a statistic's standard deviation over runs on one link."""
    return _CHANCE.get(name.rpartition("/")[2], _LEAST_CHANCE)


def summarize(
    flow: Mapping[str, Any],
    samples: Mapping[str, Floats],
    losses_s: Floats | None = None,
    ramp: Ramp | None = None,
) -> dict[str, float]:
    """Return the summary statistics of a flow.

    Args:
        flow: the flow's row in the table `flows`. If the states of the sender were recorded, the
            entry `disorders` contains the number of `DISORDER` events.
        samples: columns of the table `samples` with only the rows of this flow, recorded at least
            once a second and sorted by `t_s`.
        losses_s: times of the flow's recoveries and timeouts; None if they were not recorded.
        ramp: if the flow was a probe, the schedule of its increasing rates.
    """
    found: dict[str, float] = {}

    def put(name: str, value: float | None) -> None:
        if value is not None and math.isfinite(value):
            found[name] = float(value)

    put("goodput", _log(flow.get("goodput_mbit_s")))
    for name in ("rtt_base", "rtt_p50", "rtt_p95", "rtt_p99"):
        put(name, _log(flow.get(f"{name}_ms")))
    share = flow.get("retransmitted_pct")
    put("retransmitted", None if share is None else 0.25 * math.log(max(share, 1e-3)))
    minutes = max(flow.get("window_s") or 0.0, 1.0) / 60
    for name in ("recoveries", "timeouts", "disorders"):
        count = flow.get(name)
        put(name, None if count is None else 0.25 * math.log1p(count / minutes))
    for name in ("mean", "max"):
        burst = flow.get(f"retransmission_burst_{name}_pkts")
        if flow.get("retransmission_bursts") is not None:
            put(f"burst_{name}", 0.5 * math.log1p(burst or 0.0))
    if losses_s is not None:
        _put_losses(put, losses_s, 60 * minutes)
    put("srtt_least", _log(least_srtt_ms(samples)))
    if ramp is not None:
        found.update(of_ramp(samples, ramp))
        samples = bulk_samples(samples, ramp.probe)
    _put_start(put, samples)
    _put_quarters(put, samples)
    seconds = by_second(samples)
    _put_seconds(put, seconds)
    _put_steps(put, seconds)
    return found


def least_srtt_ms(samples: Mapping[str, Floats]) -> float | None:
    """Return the minimum of the smoothed round-trip time in ms, or None without samples."""
    values = np.asarray(samples.get("srtt_ms", ()), np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    return float(values.min()) if len(values) else None


def _put_losses(
    put: Callable[[str, float | None], None], losses_s: Floats, window_s: float
) -> None:
    """Compute statistics of the one-second intervals with losses.

    The exact times are not used, because iperf3 does not report them.
    """
    seconds = np.unique(np.ceil(losses_s - LATE_S))
    put("loss_seconds", 0.25 * math.log1p(60 * len(seconds) / window_s))
    put("first_loss", 0.5 * math.log((float(seconds[0]) if len(seconds) else window_s) + 1))
    gaps = np.diff(seconds[seconds > _SETTLED_S])
    if len(gaps):
        put("loss_gap", 0.5 * math.log(float(np.median(gaps))))
        put("loss_regularity", float(gaps.std() / gaps.mean()))
    else:
        put("loss_gap", 0.5 * math.log(max(window_s, 1.0)))
        put("loss_regularity", 0.0)


def _put_start(put: Callable[[str, float | None], None], samples: Mapping[str, Floats]) -> None:
    """Summarise the first seconds, in which a policer's token bucket empties and a queue fills."""
    times = samples.get("t_s")
    if times is None or len(times) < LEAST_SECONDS:
        return
    first = np.asarray(times) <= _FIRST_S + 1e-6
    for name, column in (("start", "goodput_mbit_s"), ("start_trip", "srtt_ms")):
        values = np.asarray(samples.get(column, ()), np.float64)
        if len(values) == len(first) and np.isfinite(values[first]).any():
            put(name, _log(float(np.nanmean(values[first]))))


def _put_quarters(put: Callable[[str, float | None], None], samples: Mapping[str, Floats]) -> None:
    """Summarise how the goodput changed during the run, for example because other flows started."""
    goodput = np.asarray(samples.get("goodput_mbit_s", ()), np.float64)
    goodput = goodput[np.isfinite(goodput)]
    if len(goodput) >= LEAST_SECONDS:
        least = max(_LEAST_SHARE * float(goodput.mean()), 1e-3)
        for n, part in enumerate(np.array_split(goodput, 4), start=1):
            put(f"quarter_{n}", math.log(max(float(part.mean()), least)))


def _put_seconds(put: Callable[[str, float | None], None], seconds: Mapping[str, Floats]) -> None:
    """Add statistics of the series with one value per second, and of pairs of these series."""
    _put_levels(put, "srtt", seconds.get("srtt_ms"), {"low": 10, "mid": 50, "high": 95})
    _put_levels(put, "cwnd", seconds.get("cwnd_pkts"), {"low": 10, "mid": 50, "high": 95})
    goodput = seconds.get("goodput_mbit_s")
    if goodput is not None and len(goodput) >= LEAST_SECONDS:
        logs = np.log(np.maximum(goodput, 1e-3))
        put("variation", 0.5 * math.log(float(logs.std()) + 1e-2))
        low, high = np.percentile(logs, [10, 95])
        put("low_second", float(low))
        put("high_second", float(high))
        put(
            "lowest_second",
            0.5 * float(np.log(max(goodput.min() / max(goodput.mean(), 1e-3), 1e-2))),
        )
        put("memory", _correlation(logs[1:], logs[:-1]))
        half = len(logs) // 2
        put("trend", float(logs[half:].mean() - logs[:half].mean()))
    window, trip = seconds.get("cwnd_pkts"), seconds.get("srtt_ms")
    if window is not None and trip is not None:
        logs = np.log(np.maximum(window, 1))
        put("window_and_rtt", _correlation(logs, np.log(trip)))
        spread = float(((logs - logs.mean()) ** 2).mean())
        shared = float(((logs - logs.mean()) * (np.log(trip) - np.log(trip).mean())).mean())
        put("growth", shared / (spread + _LEAST_SPREAD))
    if goodput is not None and trip is not None:
        put("goodput_and_rtt", _correlation(np.log(np.maximum(goodput, 1e-3)), np.log(trip)))
    _put_levels(put, "delivery", seconds.get("delivery_rate_mbit_s"), {"low": 10, "high": 95})


def _put_steps(put: Callable[[str, float | None], None], seconds: Mapping[str, Floats]) -> None:
    """Summarise the changes between consecutive seconds.

    Seconds in which a sender waits for a retransmission do not show the goodput of the link. The
    change in goodput is computed without these seconds. Even a long stall therefore does not
    conceal whether the rate of the link varies.
    """
    goodput, trip = seconds.get("goodput_mbit_s"), seconds.get("srtt_ms")
    if goodput is not None and len(goodput) >= LEAST_SECONDS:
        moving = goodput[goodput > 0]
        moving = moving[moving > _STALLED * np.median(moving)] if len(moving) else moving
        if len(moving) > _FEWEST_PAIRS:
            put("goodput_step", _log_step(float(np.median(np.abs(np.diff(np.log(moving)))))))
    if trip is not None and (trip > 0).all():
        steps = np.abs(np.diff(np.log(trip)))
        put("srtt_step", _log_step(float(np.median(steps))))
        put("srtt_jump", _log_step(float(steps.max())))
        half = len(trip) // 2
        put("floor_change", math.log(trip[half:].min() / trip[:half].min()))


def _log_step(step: float) -> float:
    return 0.5 * math.log(step + _LEAST_STEP)


def by_second(samples: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return values for whole seconds, without the first seconds of the flow.

    Rates are means over each second. Windows and round-trip times are the last sample of each
    second, so that they do not depend on how often the measuring program takes samples.
    """
    if "t_s" not in samples or len(samples["t_s"]) < LEAST_SECONDS:
        return {}
    second = np.ceil(samples["t_s"] - LATE_S).astype(int)
    kept = second > second[0] + _SETTLED_S
    found = {}
    for name in ("goodput_mbit_s", "srtt_ms", "cwnd_pkts", "delivery_rate_mbit_s"):
        values = samples.get(name)
        if values is None:
            continue
        values = np.asarray(values, np.float64)
        use = kept & np.isfinite(values)
        if use.sum() < LEAST_SECONDS:
            continue
        if name.endswith("_mbit_s"):
            counts = np.bincount(second[use])
            sums = np.bincount(second[use], weights=values[use])
            found[name] = (sums[counts > 0] / counts[counts > 0]).astype(np.float64)
        else:
            _, places = np.unique(second[use][::-1], return_index=True)
            found[name] = values[use][::-1][places]
    lengths = {len(values) for values in found.values()}
    return found if len(lengths) <= 1 else {k: v for k, v in found.items() if k == "goodput_mbit_s"}


def _put_levels(
    put: Callable[[str, float | None], None],
    name: str,
    values: Floats | None,
    levels: Mapping[str, float],
) -> None:
    if values is not None and (values > 0).all():
        found = np.log(np.percentile(values, list(levels.values())))
        for level, value in zip(levels, found, strict=True):
            put(f"{name}_{level}", float(value))


def _log(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log(value)


def _correlation(a: Floats, b: Floats) -> float | None:
    """Return the correlation of two columns of logarithms.

    The result is near 0 if a column varies by much less than `_NOISE`, because the measuring
    computers may be the cause of so small a variation.
    """
    if len(a) < _FEWEST_PAIRS:
        return 0.0
    apart, beside = a - a.mean(), b - b.mean()
    spread = math.sqrt(((apart**2).mean() + _NOISE**2) * ((beside**2).mean() + _NOISE**2))
    return float((apart * beside).mean() / spread)
