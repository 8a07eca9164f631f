"""Compute box plots, CDFs, Jain's index and Pareto fronts; find the most representative run."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cwndlab.stats.bootstrap import Floats

_WHISKER = 1.5  # times the interquartile range; J. Tukey, Exploratory Data Analysis, 1977


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """The numbers of a box plot: quartiles, whiskers within 1.5 IQR, mean and outliers."""

    mean: float
    median: float
    first_quartile: float
    third_quartile: float
    whisker_low: float
    whisker_high: float
    outliers: tuple[float, ...]


def box_summary(values: npt.ArrayLike) -> BoxSummary:
    """Return the numbers of a box plot; values that are not finite are ignored."""
    data = _finite(values)
    if len(data) == 0:
        msg = "a box plot needs at least one value"
        raise ValueError(msg)
    first, median, third = np.quantile(data, [0.25, 0.5, 0.75])
    reach = _WHISKER * (third - first)
    inside = data[(data >= first - reach) & (data <= third + reach)]
    outside = data[(data < first - reach) | (data > third + reach)]
    return BoxSummary(
        mean=float(data.mean()),
        median=float(median),
        first_quartile=float(first),
        third_quartile=float(third),
        whisker_low=float(min(inside.min(), first)),
        whisker_high=float(max(inside.max(), third)),
        outliers=tuple(float(value) for value in np.sort(outside)),
    )


def empirical_cdf(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the sorted values, and for each value the fraction of values that are not larger."""
    data = np.sort(_finite(values))
    shares: Floats = np.arange(1, len(data) + 1) / max(len(data), 1)
    return data, shares


def jain_index(shares: npt.ArrayLike) -> float | None:
    """Return Jain's fairness index: 1 for equal shares, 1 / n if one of n flows gets everything.

    R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984).
    """
    data = _finite(shares)
    squares = float((data**2).sum())
    if squares == 0:
        return None
    return float(data.sum() ** 2 / (len(data) * squares))


def most_representative(measures: npt.ArrayLike, *, is_scaled: bool = True) -> int:
    """Return the row that is nearest to the mean of all rows: the most representative run.

    By default, each column is scaled by its standard deviation. With `is_scaled=False`, columns
    are not scaled, so the column with the largest numbers dominates. The HSDPA paper
    (`hsdpa-2010`, section V) uses unscaled columns: goodput, RTT and number of timeouts. If several
    rows are equally near, the first of them is returned.
    """
    rows = np.atleast_2d(np.asarray(measures, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        centre = np.array(
            [
                column[np.isfinite(column)].mean() if np.isfinite(column).any() else 0.0
                for column in rows.T
            ]
        )
    filled = np.where(np.isfinite(rows), rows, centre)
    deviations = filled - centre
    if is_scaled:
        spread = filled.std(axis=0)
        deviations = deviations / np.where(spread > 0, spread, 1.0)
    return int(np.argmin((deviations**2).sum(axis=1)))


def pareto_front(throughput: npt.ArrayLike, delay: npt.ArrayLike) -> list[int]:
    """Return indices of Pareto-optimal points (much throughput, little delay), sorted by delay."""
    more, less = np.asarray(throughput, dtype=np.float64), np.asarray(delay, dtype=np.float64)
    front: list[int] = []
    for index in np.lexsort((-more, less)):
        if not front or more[index] > more[front[-1]]:
            front.append(int(index))
    return front


def _finite(values: npt.ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[np.isfinite(data)]
