"""Switchback trials: what changing the algorithm does, from periods in which everyone has the same.

A block holds one period of each algorithm, in random order, so that a network that drifts or has
busy hours moves both alike.  The effect is the mean of the blocks' differences of utility with
Student's interval; the random order makes it unbiased whatever the network does (Bojinov,
Simchi-Levi and Zhao, Management Science 69, 2023).  All flows of a period use one algorithm: where
flows of both share a queue, each changes what the other gets, and a comparison flow by flow
measures that instead (Spang et al., IMC 2021).
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
"""Level of the interval."""
FEWEST_BLOCKS = 6
"""Fewest blocks from which a verdict is given."""
_Z_OF_ONE_FIFTH = -0.8416  # quantile of the standard normal distribution


class Verdict(StrEnum):
    """The outcome of a trial."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_ENOUGH = "not enough"


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """A change of utility from the baseline to the challenger: 0.03 is 3 %."""

    estimate: float
    low: float
    high: float
    """The 95 % interval."""
    blocks: int
    spread: float
    """Standard deviation of a block's difference."""

    @property
    def cautious_spread(self) -> float:
        """Upper limit of the spread, exceeded in one of five: trials planned with it see enough.

        Browne, Statistics in Medicine 14 (1995); the quantile of the chi-squared distribution by
        Wilson and Hilferty (1931).
        """
        freedom = self.blocks - 1
        ninth = 2 / (9 * freedom)
        least = freedom * (1 - ninth + _Z_OF_ONE_FIFTH * math.sqrt(ninth)) ** 3
        return self.spread * math.sqrt(freedom / least)

    def to_json(self) -> dict[str, Any]:
        """Return the change as a dictionary, for JSON."""
        return {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "blocks": self.blocks,
            "spread": self.spread,
        }


def orders(blocks: int, seed: int) -> list[bool]:
    """Whether the challenger goes first, block by block: half of the blocks each way, shuffled."""
    firsts = [n % 2 == 0 for n in range(blocks)]
    random.Random(seed).shuffle(firsts)  # noqa: S311  an order, not a secret
    return firsts


def change_of(
    challenger: Sequence[float] | Floats, baseline: Sequence[float] | Floats
) -> MeasuredChange | None:
    """Return the mean change over blocks; None if fewer than two blocks have both values.

    Args:
        challenger: its utility in each block; NaN where it has none.
        baseline: the same of the baseline.
    """
    apart = np.asarray(challenger, np.float64) - np.asarray(baseline, np.float64)
    apart = apart[np.isfinite(apart)]
    if len(apart) < 2:  # noqa: PLR2004  a spread needs two
        return None
    mean, spread = float(apart.mean()), float(apart.std(ddof=1))
    reach = quantile((1 + LEVEL) / 2, len(apart) - 1) * spread / math.sqrt(len(apart))
    return MeasuredChange(mean, mean - reach, mean + reach, len(apart), spread)


def verdict_of(change: MeasuredChange | None) -> Verdict:
    """Judge the claim that the challenger is better by more than the zone.

    Refuted, if the interval lies below the zone: any gain is too small to matter, or is a loss.
    Confirmed, if it lies above 0.  Each is wrong in at most 2.5 of 100 trials: *confirmed* where
    the challenger is not better at all, *refuted* where it is better by the zone or more.
    """
    if change is None or change.blocks < FEWEST_BLOCKS:
        return Verdict.NOT_ENOUGH
    if change.high < ZONE:
        return Verdict.REFUTED
    return Verdict.CONFIRMED if change.low > 0 else Verdict.NOT_ENOUGH
