"""Compute intervals whose coverage is nearly nominal, even for ten runs with skewed values.

The coverage was simulated for studies of 10 to 40 runs. The values of the runs were skewed, like
values that are proportional to the rate of a radio channel. From run to run, this rate varied with
a standard deviation of half of its mean. The BCa interval of a mean, or of a ratio of means, covers
the true value in 91 to 94 % of the simulated studies instead of 95 %. Student's t interval covers
the true value in 91 to 95 %. Usually, the two intervals miss the true value on different sides.
Their hull, the smallest interval that contains both, has a coverage of 93 to 97 %. The hull is 6 to
9 % wider than the BCa interval, and 8 to 12 % wider than Student's t interval. The coverage of the
bootstrap-t interval is similar to that of the hull, but the bootstrap-t interval is unbounded if
the two algorithms have equal values in most pairs of runs.

Completion times are compared by the ratio of their geometric means. The interval of this ratio is
Student's t interval on a logarithmic scale. For 6 or more runs, this interval had a coverage of 94
to 96 % in all simulations, even if the completion times were very skewed.
`tests/python/stats/test_coverage.py` tests the hull and the interval of geometric means by
simulation.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cwndlab.stats import students_t
from cwndlab.stats.bootstrap import (
    CONFIDENCE,
    DRAWS,
    Floats,
    Interval,
    interval_of_means,
    mean_interval,
)


def covering_mean(
    values: npt.ArrayLike, *, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> Interval:
    """Return the mean over runs, with an interval that is also reliable for skewed values."""
    runs = np.asarray(values, dtype=np.float64)
    interval = mean_interval(runs, confidence=confidence, draws=draws)
    reach = _students_reach(runs, confidence)
    return _hull(interval, interval.estimate - reach, interval.estimate + reach)


def covering_ratio(
    ours: Floats, theirs: Floats, *, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> Interval:
    """Return the relative difference between two means over pairs of runs, with its interval.

    Student's t is applied to the logarithm of the ratio; the delta method estimates the variance of
    this logarithm.
    """
    interval = interval_of_means(
        np.column_stack([ours, theirs]), _ratio_minus_one, confidence=confidence, draws=draws
    )
    if not interval.estimate > -1:  # the logarithm of zero does not exist
        return interval
    influences = ours / ours.mean() - theirs / theirs.mean()
    factor = math.exp(min(_students_reach(influences, confidence), _LONGEST_REACH))
    ratio = 1 + interval.estimate
    return _hull(interval, ratio / factor - 1, ratio * factor - 1)


def geometric_mean(values: npt.ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean over runs; its interval is Student's t interval on a log scale."""
    logs = np.log(np.asarray(values, dtype=np.float64))
    centre, reach = float(logs.mean()), _students_reach(logs, confidence)
    estimate = math.exp(centre)
    if len(logs) == 1:
        return Interval(estimate, None, None, 1, confidence)
    if reach == 0:
        return Interval(estimate, estimate, estimate, len(logs), confidence)
    reach = min(reach, _LONGEST_REACH)
    low, high = math.exp(centre - reach), math.exp(centre + reach)
    return Interval(estimate, low, high, len(logs), confidence)


def geometric_ratio(ours: Floats, theirs: Floats, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean of `ours` / `theirs` over run pairs, minus 1, with its interval."""
    ratio = geometric_mean(ours / theirs, confidence=confidence)
    low = None if ratio.low is None else ratio.low - 1
    high = None if ratio.high is None else ratio.high - 1
    return Interval(ratio.estimate - 1, low, high, ratio.runs, confidence)


_LONGEST_REACH = 50.0
"""Upper limit for half of the width of an interval of logarithms.

The limit corresponds to a factor of exp(50), or 5e21. It prevents an overflow of the exponential
function.
"""


def _students_reach(values: Floats, confidence: float) -> float:
    """Return half of the width of Student's t interval of the mean; 0 if all values are equal."""
    count = len(values)
    if count == 1 or np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return 0.0
    error = float(values.std(ddof=1)) / math.sqrt(count)
    return students_t.quantile(0.5 + confidence / 2, count - 1) * error


_ROUNDING = 1e-12
"""Relative differences up to this value are rounding errors, not differences between runs."""


def _hull(interval: Interval, low: float, high: float) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=min(interval.low, low), high=max(interval.high, high))


def _ratio_minus_one(resamples: Floats) -> Floats:
    means = resamples.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = means[:, 0] / means[:, 1] - 1
    return ratio
