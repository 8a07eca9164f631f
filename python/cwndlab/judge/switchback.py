"""Measure an algorithm's effect by switchback trials, which alternate between two algorithms.

A block consists of one period with each algorithm, in random order, so that slow changes and busy
hours of the network affect both algorithms equally. The effect is the difference in utility within
a block, averaged over all blocks. Its confidence interval comes from Student's t distribution.
Because the order is random, the mean is unbiased, however the network changes with time (Bojinov,
Simchi-Levi and Zhao, Management Science 69, 2023).

All flows of a period use the same algorithm. Flows of different algorithms in a shared queue would
influence each other, and their comparison would be biased (Spang et al., IMC 2021).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.judge.decision import ZONE
from cwndlab.stats.students_t import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.stats.bootstrap import Floats

LEVEL = 0.95
"""Confidence level of the interval around the measured effect."""
FEWEST_BLOCKS = 6
"""Smallest number of blocks (one period with each algorithm) that is needed to judge a
prediction."""
_Z_OF_ONE_FIFTH = -0.8416  # 20 % quantile of the standard normal distribution


class Verdict(StrEnum):
    """The outcome of a trial: prediction confirmed, prediction refuted, or not enough data."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_ENOUGH = "not enough"


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """Change in utility when the challenger replaces the baseline (0.03 is about 3 %)."""

    estimate: float
    low: float
    high: float
    """Upper end of the 95 % interval of the measured change; `low` is the lower end."""
    blocks: int
    spread: float
    """Standard deviation of the change in utility, computed over the blocks of the trial."""

    @property
    def cautious_spread(self) -> float:
        """Upper 80 % confidence limit of `spread`, for planning a trial that is long enough.

        Formula of Browne, Statistics in Medicine 14 (1995); chi-squared quantile by Wilson and
        Hilferty (1931).
        """
        freedom = self.blocks - 1
        ninth = 2 / (9 * freedom)
        least = freedom * (1 - ninth + _Z_OF_ONE_FIFTH * math.sqrt(ninth)) ** 3
        return self.spread * math.sqrt(freedom / least)

    def to_json(self) -> dict[str, Any]:
        """Return the measured change as a dictionary, for JSON."""
        return {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "blocks": self.blocks,
            "spread": self.spread,
        }


def orders(blocks: int, seed: int) -> list[bool]:
    """Return, for each block, whether the challenger's period comes first.

    The challenger comes first in half of the blocks (rounded up); chance decides in which.
    """
    firsts = [n % 2 == 0 for n in range(blocks)]
    random.Random(seed).shuffle(firsts)  # noqa: S311  used for a random order, not for security
    return firsts


def change_of(
    challenger: Sequence[float] | Floats, baseline: Sequence[float] | Floats
) -> MeasuredChange | None:
    """Return the mean difference over the blocks, with its 95 % confidence interval.

    The difference of a block is the challenger's utility minus the baseline's utility. Return None
    if fewer than two blocks contain the utilities of both algorithms.

    Args:
        challenger: utility of the challenger in each block; NaN for a missing value.
        baseline: utility of the baseline in each block; NaN for a missing value.
    """
    apart = np.asarray(challenger, np.float64) - np.asarray(baseline, np.float64)
    apart = apart[np.isfinite(apart)]
    if len(apart) < 2:  # noqa: PLR2004  a spread needs two
        return None
    mean, spread = float(apart.mean()), float(apart.std(ddof=1))
    reach = quantile((1 + LEVEL) / 2, len(apart) - 1) * spread / math.sqrt(len(apart))
    return MeasuredChange(mean, mean - reach, mean + reach, len(apart), spread)


def verdict_of(change: MeasuredChange | None) -> Verdict:
    """Judge the prediction that the challenger is better than the baseline.

    The verdict depends on the 95 % interval of the change. If the whole interval lies below `ZONE`,
    the prediction is *refuted*: the change is a loss or a negligible gain. If it is not refuted and
    the whole interval lies above 0, the prediction is *confirmed*. For a challenger that is not
    better at all, at most 2.5 of 100 trials confirm the prediction. For a challenger that is better
    by `ZONE` or more, at most 2.5 of 100 trials refute it.
    """
    if change is None or change.blocks < FEWEST_BLOCKS:
        return Verdict.NOT_ENOUGH
    if change.high < ZONE:
        return Verdict.REFUTED
    return Verdict.CONFIRMED if change.low > 0 else Verdict.NOT_ENOUGH
