"""Measure the congestion window in cwndlab's runs, and compare it with a paper's numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cwndlab.papers.facts import Paper, PaperNumber
from cwndlab.papers.phases import (
    Episode,
    Sawtooth,
    find_episodes,
    first_reached,
    sawtooth,
    slow_start_end,
    value_at,
)
from cwndlab.stats.bootstrap import Floats


@dataclass(frozen=True)
class WindowSeries:
    """Congestion window and, if recorded, slow-start threshold over time, in a run of a variant."""

    times_s: Floats
    windows_pkts: Floats
    thresholds_pkts: Floats | None = None

    @property
    def episodes(self) -> list[Episode]:
        """The loss episodes that were found in the time series of the congestion window."""
        return find_episodes(self.times_s, self.windows_pkts)


@dataclass(frozen=True, slots=True)
class Reading:
    """A number in the paper, and its comparison with cwndlab's number."""

    check: PaperNumber
    ours: float | None
    difference: float | None
    """Deviation of cwndlab's number from the paper's range. The deviation of a number of packets is
    in packets. All other deviations are fractions of the nearest end of the range."""
    tolerance: float

    @property
    def is_relative(self) -> bool:
        """True if difference and tolerance are fractions; False if they are numbers of packets."""
        return self.check.unit != "packets"

    @property
    def holds(self) -> bool:
        """True if cwndlab's number exists and deviates from the paper by at most the tolerance."""
        return self.difference is not None and abs(self.difference) <= self.tolerance


def read_check(check: PaperNumber, series: WindowSeries, paper: Paper) -> Reading:
    """Apply the measure of a check to `series`, and compare the result with the paper's number.

    Raises:
        ValueError: the name `check.measure` is unknown.
    """
    measure = MEASURES.get(check.measure)
    if measure is None:
        msg = f'unknown measure "{check.measure}"; known measures: {", ".join(MEASURES)}'
        raise ValueError(msg)
    ours = measure(series, check.at)
    is_window = check.unit == "packets"
    tolerance = paper.window_tolerance_pkts if is_window else paper.time_tolerance
    if ours is None:
        return Reading(check, None, None, tolerance)
    nearest = min(max(ours, check.low), check.high)
    away = ours - nearest
    return Reading(check, ours, away if is_window else away / nearest, tolerance)


def _episode(series: WindowSeries, number: float) -> Episode | None:
    """Return the n-th loss episode, counted from 1; None if there are fewer episodes."""
    episodes = series.episodes
    index = int(number) - 1
    return episodes[index] if 0 <= index < len(episodes) else None


def _of_episode(
    part: Callable[[Episode], float | None],
) -> Callable[[WindowSeries, float], float | None]:
    def measure(series: WindowSeries, number: float) -> float | None:
        episode = _episode(series, number)
        return None if episode is None else part(episode)

    return measure


def _of_sawtooth(
    part: Callable[[Sawtooth], float | None],
) -> Callable[[WindowSeries, float], float | None]:
    def measure(series: WindowSeries, after_s: float) -> float | None:
        regular = sawtooth(series.episodes, after_s=after_s)
        return None if regular is None else part(regular)

    return measure


def _threshold_after(series: WindowSeries, number: float) -> float | None:
    """Return the slow-start threshold at the first window reduction of the n-th loss episode.

    Return None if the threshold was not recorded or the episode does not exist.
    """
    episode = _episode(series, number)
    if episode is None or series.thresholds_pkts is None:
        return None
    return value_at(series.times_s, series.thresholds_pkts, episode.start_s)


def _slow_start_again(series: WindowSeries, number: float) -> float | None:
    """Return the window at which slow start ends after the timeout of the n-th loss episode.

    Return None if the episode has no timeout, or if no end of slow start is found within a second.
    """
    episodes = series.episodes
    index = int(number) - 1
    if not 0 <= index < len(episodes) or not episodes[index].has_timeout:
        return None
    start = episodes[index].end_s
    stop = episodes[index + 1].start_s if index + 1 < len(episodes) else series.times_s[-1]
    corner = slow_start_end(
        series.times_s, series.windows_pkts, start, stop_s=min(float(stop), start + 1.0)
    )
    return None if corner is None else corner[1]


MEASURES: Mapping[str, Callable[[WindowSeries, float], float | None]] = {
    "first reached": lambda series, level: first_reached(
        series.times_s, series.windows_pkts, level
    ),
    "largest": lambda series, _: float(np.nanmax(series.windows_pkts)),
    "largest after": lambda series, after_s: float(
        np.nanmax(series.windows_pkts[series.times_s >= after_s])
    ),
    "peak": _of_episode(lambda episode: episode.peak_pkts),
    "peak time": _of_episode(lambda episode: episode.peak_s),
    "cut time": _of_episode(lambda episode: episode.start_s),
    "last cut time": _of_episode(lambda episode: episode.end_s),
    "floor": _of_episode(lambda episode: episode.floor_pkts),
    "inflated": _of_episode(lambda episode: episode.inflated_pkts),
    "threshold": _threshold_after,
    "slow start again": _slow_start_again,
    "period": _of_sawtooth(lambda regular: regular.period_s),
    "period variation": _of_sawtooth(lambda regular: regular.variation),
    "saw-tooth peak": _of_sawtooth(lambda regular: regular.peak_pkts),
    "saw-tooth floor": _of_sawtooth(lambda regular: regular.floor_pkts),
    "saw-tooth inflated": _of_sawtooth(lambda regular: regular.inflated_pkts),
}
"""Maps the name of each measure of a congestion window to the function that computes it. The second
argument of each function is the field `at` of a `PaperNumber` or of a part of a claim. The measure
determines the meaning of this argument: a window in packets, the number of a loss episode (the
first is 1), or a start time in seconds. The measure `largest` ignores the argument."""
