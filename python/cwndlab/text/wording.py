"""Format numbers for readers: show only the significant digits of a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cwndlab.stats import Interval

_MOST_DECIMALS = 6
_MOST_DIGITS = 4  # of a value in a table; a fifth digit is rarely useful


def format_number(value: float, digits: int = 3) -> str:
    """Return a value with `digits` significant digits, never in exponential form."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    return _fixed(value, _decimals(value, digits))


def format_estimate(interval: Interval) -> str:
    """Return a mean with the half width of its confidence interval, such as "31.2 ±0.3".

    The half width has one significant digit, or two if the first digit is a 1; the mean has at
    least two digits. The half width is omitted for a single run, for runs with equal values, and
    if it is too small to show in four digits of the mean.
    """
    half = interval.half_width
    if (half is None or half == 0) and interval.estimate.is_integer():
        return f"{interval.estimate:,.0f}"  # probably a count
    if half is None or half == 0:
        return format_number(interval.estimate)
    digits = 2 if f"{half:e}".startswith("1") else 1
    decimals = min(_decimals(half, digits), _decimals(interval.estimate, _MOST_DIGITS))
    uncertainty = _fixed(half, decimals)
    value = _fixed(interval.estimate, max(decimals, _decimals(interval.estimate, 2)))
    return value if float(uncertainty.replace(",", "")) == 0 else f"{value} ±{uncertainty}"


def format_bounds(interval: Interval) -> str:
    """Return the bounds of a confidence interval, such as "30.9 to 31.5".

    For a single run, return "one run"; for runs with equal values, "the same in all 5 runs".
    """
    if interval.low is None or interval.high is None:
        return "one run"
    if interval.is_constant:
        return f"the same in all {interval.runs} runs"
    half = (interval.high - interval.low) / 2
    decimals = min(_decimals(half, 2), _decimals(interval.estimate, _MOST_DIGITS))
    return f"{_fixed(interval.low, decimals)} to {_fixed(interval.high, decimals)}"


def format_difference(relative: float) -> str:
    """Return a relative difference as "-2 %"; from +100 % on, as a ratio such as "3.1 times"."""
    if not math.isfinite(relative):
        return "-"
    if relative >= 1:
        return f"{format_number(relative + 1, 2)} times"
    percent = 100 * relative
    if abs(percent) < 0.05:  # noqa: PLR2004  one decimal would show 0.0
        return "0 %"
    decimals = 1 if abs(percent) < 0.95 else 0  # noqa: PLR2004  one decimal below 1 %
    return f"{percent:+.{decimals}f} %"


def format_reach(relative: Interval) -> str:
    """Return a relative difference's confidence interval, such as "-2 % to +0.3 %".

    For a single run or runs with equal values, return the text of `format_bounds`.
    """
    if relative.low is None or relative.high is None or relative.is_constant:
        return format_bounds(relative)
    return f"{format_difference(relative.low)} to {format_difference(relative.high)}"


def join_words(words: list[str], last: str = "and") -> str:
    """Join words as in "a, b and c"; `last` is the conjunction before the last word."""
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _decimals(value: float, digits: int) -> int:
    """Return how many decimals show `digits` significant digits; -1 means rounding to tens."""
    if value == 0:
        return 0
    # Round before counting the digits, because rounding may add a digit (9.96 -> 10.0).
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    return min(digits - 1 - exponent, _MOST_DECIMALS)


def _fixed(value: float, decimals: int) -> str:
    rounded = round(value, decimals) + 0.0  # -0.0 becomes 0.0
    return f"{rounded:,.{max(decimals, 0)}f}"


def two_digits(value: float) -> str:
    """Return a value with at most two significant digits, such as "1", "0.05" or "3,000"."""
    text = f"{value:.2g}"
    return format_number(value, 2) if "e" in text else text


def quoted(name: str) -> str:
    """Return a name, in quotes if the name contains a space or a comma."""
    return f'"{name}"' if " " in name or "," in name else name


def spreadsheet_safe(value: object) -> object:
    """Return a value for a CSV file, with an apostrophe before text that looks like a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@"))
    return f"'{value}" if is_formula else value


def probability(value: float) -> str:
    """Return a probability as "0.93", or as "> 0.99" if it is below 1 but would round to 1."""
    if value > 0.995 and value < 1:  # noqa: PLR2004  two decimals would show 1.00
        return "> 0.99"
    return f"{value:.2f}"


def percent(share: float) -> str:
    """Return a share as a percentage such as "12 %", with one decimal from 0.05 % to 1 %."""
    digits = int(0.0005 <= abs(share) < 0.0095)  # noqa: PLR2004
    return f"{round(100 * share, digits) + 0.0:.{digits}f} %"  # + 0.0 makes 0 of -0


def signed_percent(share: float) -> str:
    """Return a relative change as "-12 %" or "+3 %"; from +100 % on, as a ratio: "3.1 times"."""
    if share >= 1:
        return f"{two_digits(share + 1)} times"
    return "0 %" if whole_percent(share) == "0" else f"{whole_percent(share)} %"


def whole_percent(share: float) -> str:
    """Return a relative change in percent without "%", such as "+12", or "+0.3" below 1 %."""
    value = round(100 * share, 0 if abs(share) >= 0.0095 else 1)  # noqa: PLR2004  one decimal below 1 %
    return "0" if value == 0 else f"{value:+g}"
