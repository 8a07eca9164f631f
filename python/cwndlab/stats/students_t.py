"""Compute Student's t distribution for whole degrees of freedom.

The closed forms are from Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
26.7.4.
"""

import math
from functools import lru_cache

_BISECTIONS = 80  # an interval of at most 1e6 is halved to less than the resolution of a float


def cumulative_probability(t: float, degrees_of_freedom: int) -> float:
    """Return the probability that a t-distributed variable is below `t`."""
    if degrees_of_freedom < 1:
        msg = f"degrees of freedom are {degrees_of_freedom}; they must be at least 1"
        raise ValueError(msg)
    theta = math.atan(t / math.sqrt(degrees_of_freedom))
    cosine, sine = math.cos(theta), math.sin(theta)
    if degrees_of_freedom % 2 == 1:
        within = theta
        term = cosine
        for j in range(1, (degrees_of_freedom - 1) // 2 + 1):
            within += sine * term
            term *= cosine * cosine * (2 * j) / (2 * j + 1)
        within *= 2 / math.pi
    else:
        total, term = 1.0, 1.0
        for j in range(1, degrees_of_freedom // 2):
            term *= cosine * cosine * (2 * j - 1) / (2 * j)
            total += term
        within = sine * total
    return 0.5 + within / 2


@lru_cache(maxsize=256)
def quantile(probability: float, degrees_of_freedom: int) -> float:
    """Return the value that a t-distributed variable stays below with a given probability."""
    if not 0 < probability < 1:
        msg = f"probability is {probability}; it must lie between 0 and 1"
        raise ValueError(msg)
    low, high = -1.0e6, 1.0e6
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if cumulative_probability(middle, degrees_of_freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2
