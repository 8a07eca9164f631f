"""Find peaks, reductions and the saw-tooth in the time series of a congestion window.

A *cut* is a reduction of the window by at least a fifth. The recovery from one loss may consist of
several cuts: Reno halves its window, inflates it by a packet for each duplicate ACK (to well above
the peak), and reduces it again. If this recovery fails, a timeout reduces the window once more.
Therefore, cuts that follow each other within a short time (0.6 s by default) form one *episode*.
The peak of an episode is the window before its first cut, and the floor of an episode is the window
after its last cut. The time series is not smoothed: between two changes, the window is constant.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cwndlab.stats.bootstrap import Floats

LEAST_FALL = 0.2
"""Smallest relative reduction of the window that counts as a cut."""
LONGEST_RECOVERY_S = 0.6
"""Maximum time, in seconds, from one reduction to the next reduction of the same loss episode."""
_LONGEST_PAUSE_S = 0.1  # longest time between two steps of one gradual reduction
_FEWEST_PERIODS = 1


@dataclass(frozen=True, slots=True)
class Episode:
    """A loss episode: one or more losses, and the recovery from them."""

    start_s: float
    """Time at which the episode begins: the first reduction of the window."""
    end_s: float
    """Time at which the episode ends: the end of the last reduction of the window."""
    peak_pkts: float
    """Size of the window before the first cut (reduction) of the episode."""
    peak_s: float
    """First time after the previous episode at which the window was at least `peak_pkts` - 1."""
    floor_pkts: float
    """Size of the window after the last cut (reduction) of the episode."""
    inflated_pkts: float | None
    """Largest window between the first and the last cut; None if the episode has only one cut."""

    @property
    def has_timeout(self) -> bool:
        """True if the window shrank to one or two packets, as after a timeout."""
        return self.floor_pkts <= 2  # noqa: PLR2004  a loss window has one or two packets


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """The saw-tooth of a congestion window, averaged over consecutive loss episodes."""

    period_s: float
    variation: float
    """Largest relative deviation of one period of the saw-tooth from the mean period."""
    peak_pkts: float
    floor_pkts: float
    inflated_pkts: float | None
    peaks_s: tuple[float, ...]


def find_episodes(
    times_s: npt.ArrayLike,
    windows_pkts: npt.ArrayLike,
    *,
    least_fall: float = LEAST_FALL,
    longest_recovery_s: float = LONGEST_RECOVERY_S,
) -> list[Episode]:
    """Return the loss episodes of a congestion window, in order of time."""
    times, windows = _steps(times_s, windows_pkts)
    cuts = _cuts(times, windows, least_fall)
    groups: list[list[tuple[int, int]]] = []
    for cut in cuts:
        if groups and times[cut[0] + 1] - times[groups[-1][-1][1]] <= longest_recovery_s:
            groups[-1].append(cut)
        else:
            groups.append([cut])
    episodes = []
    previous_end = 0
    for group in groups:
        before, _ = group[0]
        _, after = group[-1]
        inside = windows[group[0][1] : group[-1][0] + 1]
        climb = windows[previous_end : before + 1]
        reached = previous_end + int(np.argmax(climb >= windows[before] - 1))
        episodes.append(
            Episode(
                start_s=float(times[before + 1]),
                end_s=float(times[after]),
                peak_pkts=float(windows[before]),
                peak_s=float(times[reached]),
                floor_pkts=float(windows[after]),
                inflated_pkts=float(inside.max()) if len(group) > 1 else None,
            )
        )
        previous_end = after
    return episodes


def sawtooth(episodes: list[Episode], *, after_s: float = 0.0) -> Sawtooth | None:
    """Return the mean saw-tooth of all loss episodes that start at `after_s` or later.

    If there are fewer than two such episodes, return None.
    """
    regular = [episode for episode in episodes if episode.start_s >= after_s]
    starts = np.array([episode.start_s for episode in regular])
    periods = np.diff(starts)
    if len(periods) < _FEWEST_PERIODS:
        return None
    inflated = [each.inflated_pkts for each in regular if each.inflated_pkts is not None]
    # If the end of the run interrupts an episode, the episode has only a first reduction.
    whole = regular[:-1] if inflated and regular[-1].inflated_pkts is None else regular
    return Sawtooth(
        period_s=float(periods.mean()),
        variation=float(np.abs(periods - periods.mean()).max() / periods.mean()),
        peak_pkts=float(np.mean([each.peak_pkts for each in regular])),
        floor_pkts=float(np.mean([each.floor_pkts for each in whole])),
        inflated_pkts=float(np.mean(inflated)) if inflated else None,
        peaks_s=tuple(each.start_s for each in regular),
    )


def first_reached(
    times_s: npt.ArrayLike, windows_pkts: npt.ArrayLike, level_pkts: float
) -> float | None:
    """Return the time at which the window first reached `level_pkts`; None if it never did."""
    times, windows = _steps(times_s, windows_pkts)
    reached = np.flatnonzero(windows >= level_pkts)
    return float(times[reached[0]]) if len(reached) else None


def value_at(times_s: npt.ArrayLike, values: npt.ArrayLike, at_s: float) -> float | None:
    """Return the value of a time series at a given time; None before the first value."""
    times, steps = _steps(times_s, values)
    index = int(np.searchsorted(times, at_s, side="right")) - 1
    return float(steps[index]) if index >= 0 else None


def slow_start_end(
    times_s: npt.ArrayLike, windows_pkts: npt.ArrayLike, start_s: float, *, stop_s: float
) -> tuple[float, float] | None:
    """Return the time at which slow start ends in an interval, and the window at this time.

    In slow start, the window grows by about the number of acknowledged packets. In congestion
    avoidance, it grows more slowly. The curve of the window therefore bends at the end of slow
    start. The bend is the point farthest above the straight line between both ends of the interval.
    If the window does not grow, or the interval has fewer than three points, return None.
    """
    times, windows = _steps(times_s, windows_pkts)
    first = max(0, int(np.searchsorted(times, start_s, side="right")) - 1)
    last = int(np.searchsorted(times, stop_s, side="right"))
    t, w = times[first:last], windows[first:last]
    if len(t) < 3 or w[-1] <= w[0]:  # noqa: PLR2004  the end needs a point on either side
        return None
    line = w[0] + (w[-1] - w[0]) * (t - t[0]) / (t[-1] - t[0])
    corner = int(np.argmax(w - line))
    return float(t[corner]), float(w[corner])


def _steps(times_s: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Floats, Floats]:
    times, steps = np.asarray(times_s, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if times.shape != steps.shape:
        msg = f"the series has {len(times)} points in time but {len(steps)} values"
        raise ValueError(msg)
    known = np.isfinite(steps)
    return times[known], steps[known]


def _cuts(times: Floats, windows: Floats, least_fall: float) -> list[tuple[int, int]]:
    """For each cut, return its positions in the time series: before and after the reduction.

    Rate halving and PRR reduce the window packet by packet over a round trip. Therefore,
    reductions that follow each other within a tenth of a second are one cut.
    """
    changes = np.flatnonzero(np.diff(windows) != 0)  # positions before a change
    cuts: list[tuple[int, int]] = []
    start: int | None = None
    stop = 0
    for at in (int(change) for change in changes):
        is_fall = windows[at + 1] < windows[at]
        is_near = start is not None and times[at + 1] - times[stop] <= _LONGEST_PAUSE_S
        if start is not None and not (is_fall and is_near):
            cuts.append((start, stop))
            start = None
        if is_fall:
            start = at if start is None else start
            stop = at + 1
    if start is not None:
        cuts.append((start, stop))
    return [cut for cut in cuts if windows[cut[1]] <= (1 - least_fall) * windows[cut[0]]]
