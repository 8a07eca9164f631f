"""Round the numbers of a report's page to few digits; a missing value becomes None."""

import math

import numpy as np

from cwndlab.stats.bootstrap import Floats


def rounded(value: float | None, digits: int = 5) -> float | None:
    """Round a value to `digits` significant digits; return None if the value is missing."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short  # noqa: PLR2004  exact


def rounded_all(values: Floats, digits: int = 4) -> list[float | None]:
    """Round values to `digits` significant digits; missing values become None."""
    return [rounded(float(value), digits) for value in values]


def quantile_points(values: Floats, most: int) -> Floats:
    """Return the finite values, sorted.

    If more than `most` values are finite, return `most` evenly spaced quantiles of them.
    """
    finite = np.sort(values[np.isfinite(values)])
    if len(finite) <= most:
        return finite
    thinned: Floats = np.quantile(finite, np.linspace(0, 1, most))
    return thinned
