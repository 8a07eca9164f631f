"""Express utility differences, relative changes and prices of delay as text for sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cwndlab.judge.goals import share_given
from cwndlab.judge.templates import say
from cwndlab.text.wording import percent, signed_percent, two_digits, whole_percent

if TYPE_CHECKING:
    from cwndlab.judge.decision import Bounds


def worth(utility: float) -> str:
    """Express a difference in utility as a comparison, such as "12 % better than"."""
    share = math.expm1(utility)
    if share >= 1:
        return say("times", times=two_digits(share + 1))
    return say("more", share=percent(share))


def change(bounds: Bounds) -> str:
    """Return a relative change and its interval as text, such as "-65 % [-68, -61]".

    Changes of 100 % or more are written as factors, such as "3.3 times [3.2, 3.4]".
    """
    if bounds.low is None or bounds.high is None:
        return signed_percent(bounds.estimate)
    if bounds.estimate >= 1:
        low, high = (two_digits(each + 1) for each in (bounds.low, bounds.high))
        return f"{signed_percent(bounds.estimate)} [{low}, {high}]"
    low, high = (whole_percent(each) for each in (bounds.low, bounds.high))
    return f"{signed_percent(bounds.estimate)} [{low}, {high}]"


def given(low: float, high: float) -> str:
    """Return a range of prices of delay (see `Goal.price`) as text, such as "3.4 % to 12 %".

    Each price is expressed as the share of throughput that a user would give up to halve the delay.
    """
    if not math.isfinite(high):
        return f"at least {percent(share_given(low))}"
    if low == 0:
        return f"at most {percent(share_given(high))}"
    return f"{percent(share_given(low))} to {percent(share_given(high))}"
