"""Reduce a line to the first, lowest, highest and last point of each interval.

If each interval is a column of pixels, the line through these points is drawn exactly like the line
through all points. No peak or dip is lost.
"""

import numpy as np
import numpy.typing as npt

from cwndlab.stats.bootstrap import Floats


def decimate(times: npt.ArrayLike, values: npt.ArrayLike, most: int) -> tuple[Floats, Floats]:
    """Reduce a line to about `most` points, without the loss of a peak or a dip."""
    t, v = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    kept = kept_points(t, [v], most)
    return t[kept], v[kept]


def kept_points(times: Floats, columns: list[Floats], most: int) -> npt.NDArray[np.intp]:
    """Return the indices of the points to keep: about `most`, plus those next to missing values.

    The time is divided into intervals. The first and the last point of each interval are kept, and
    the lowest and the highest point of each column in the interval.
    """
    count = len(times)
    if count <= most or count == 0:
        return np.arange(count)
    per_stretch = 2 + 2 * len(columns)
    stretches = max(1, most // per_stretch)
    span = times[-1] - times[0]
    place = (times - times[0]) / (span if span > 0 else 1.0) * stretches
    stretch = np.minimum(place.astype(np.intp), stretches - 1)
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    stops = np.append(starts[1:], count)
    keep = np.zeros(count, dtype=np.bool_)
    keep[starts] = True
    keep[stops - 1] = True
    for values in columns:
        low = np.where(np.isfinite(values), values, np.inf)
        high = np.where(np.isfinite(values), values, -np.inf)
        for start, stop in zip(starts, stops, strict=True):
            keep[start + int(np.argmin(low[start:stop]))] = True
            keep[start + int(np.argmax(high[start:stop]))] = True
        # The line begins and ends where its values begin and end.
        gaps = np.flatnonzero(np.diff(np.isfinite(values).astype(np.int8)) != 0)
        keep[gaps] = True
        keep[gaps + 1] = True
    return np.flatnonzero(keep)
