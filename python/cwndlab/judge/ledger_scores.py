"""Compute how well the predictions in a ledger agree with the outcomes.

A *question* is a network, a goal and a baseline algorithm. Each entry of a question compares one
challenger with this baseline. Together, the entries rank all algorithms of the question: once by
predicted utility, once by measured utility. A question contains each challenger only once; repeated
comparisons form further questions. *Regret* is the measured utility lost by using the algorithm
that is predicted to be the best.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.judge.switchback import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.judge.ledger import LedgerEntry

_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_FEWEST_IN_BIN = 10
"""The accuracy of a bin (interval of probabilities) is checked if the bin has at least this many
entries. Bins with fewer entries are only displayed."""
_FEWEST_RANKED = 3
_TAIL = 0.9

MOST_GAP = 0.1
"""Largest acceptable difference between the mean predicted probability and the fraction of
comparisons that the challenger won, in any bin (interval of predicted probabilities)."""
MOST_REGRET, MOST_REGRET_OF_NINE_IN_TEN = 0.05, 0.15
"""Largest acceptable median, and largest acceptable 90th percentile, of the utility lost by
following the predictions instead of using the best algorithm."""
LEAST_TAU = 0.6
"""Smallest acceptable median of Kendall's tau over all questions (network, goal and baseline). Tau
compares the predicted order of algorithms with the measured order; it is 1 if the orders are
equal."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """Comparison of predicted probabilities in one interval (bin) with the observed outcomes."""

    low: float
    high: float
    stated: float
    """Mean of those predicted probabilities that lie between `low` and `high`."""
    happened: float
    """Fraction of the comparisons in this interval in which the challenger was better than the
    baseline algorithm; each tie counts as one half."""
    count: int

    @property
    def gap(self) -> float:
        """Mean predicted probability that the challenger wins, minus its observed success rate.

        The success rate is the fraction of comparisons that the challenger won.
        """
        return self.stated - self.happened


@dataclass(frozen=True, slots=True)
class Score:
    """Quality of the predictions for one class of networks."""

    network_class: str
    predictions: int
    confirmed: int
    refuted: int
    agreed: float
    """Number of predictions that named the better algorithm; each tie adds one half."""
    compared: int
    """Number of predictions whose outcome is known (the function `better` does not return None)."""
    brier: float | None
    """Mean squared error of the predicted probabilities; None if no outcome is known."""
    bins: tuple[Reliability, ...]
    """Reliability of the predictions in each bin (interval of predicted probabilities)."""
    regret: float | None
    """Median, over all questions (network, goal and baseline), of the utility that is lost by
    following the predictions instead of using the best algorithm. Utilities are natural
    logarithms."""
    regret_p90: float | None
    """90th percentile of the loss of utility whose median is `regret`."""
    tau: float | None
    """Median, over all questions (network, goal and baseline) with three or more algorithms, of
    Kendall's tau between the predicted and the measured order of the algorithms."""
    covered: float | None
    """Fraction of the measured changes of utility that lie within their predicted 90 % interval."""

    @property
    def worst(self) -> Reliability | None:
        """The bin with the largest absolute `gap`; None if no bin has ten or more comparisons."""
        return max(self.bins, key=lambda each: abs(each.gap), default=None)

    @property
    def gap(self) -> float | None:
        """Largest difference between mean predicted probability and observed success rate in a bin.

        A bin is an interval of predicted probabilities. Bins with fewer than ten comparisons are
        ignored. None if no bin remains.
        """
        return None if self.worst is None else abs(self.worst.gap)

    @property
    def undecided(self) -> int:
        """Number of predictions that the measurements neither confirmed nor refuted."""
        return self.predictions - self.confirmed - self.refuted

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the criteria (`probabilities`, `regret`, `order`) that the predictions miss."""
        found = []
        if self.gap is not None and self.gap > MOST_GAP:
            found.append("probabilities")
        if (self.regret or 0) > MOST_REGRET or (self.regret_p90 or 0) > MOST_REGRET_OF_NINE_IN_TEN:
            found.append("regret")
        if self.tau is not None and self.tau < LEAST_TAU:
            found.append("order")
        return tuple(found)


def share_lost(regret: float) -> float:
    """Convert a loss of utility (a difference of natural logarithms) to a relative loss."""
    return -math.expm1(-regret)


def better(entry: LedgerEntry, *, decided_only: bool = False) -> float | None:
    """Return 1 if the challenger was better, 0 if it was worse, 0.5 for a tie, None if unknown.

    If the confidence interval of a trial's measured change contains 0, the outcome is unknown.
    Published measurements often state no interval, so their outcome is the sign of the change.

    Args:
        entry: the entry of a ledger.
        decided_only: treat a published measurement like a trial: if its interval contains 0, the
            outcome is unknown.
    """
    if entry.harm:
        return 0.0
    if entry.change is None:
        outcome = {Verdict.CONFIRMED: 1.0, Verdict.REFUTED: 0.0, Verdict.NOT_ENOUGH: None}
        return outcome[entry.verdict]
    if (decided_only or not entry.source) and entry.change.low <= 0 <= entry.change.high:
        return None
    return float(np.sign(entry.change.estimate) + 1) / 2


def reliability(entries: Sequence[LedgerEntry], *, decided_only: bool = False) -> list[Reliability]:
    """Compare predicted probabilities with outcomes, separately in each bin of probabilities.

    See `better` for `decided_only`.
    """
    known = [
        (each.prediction.probability, outcome)
        for each in entries
        if (outcome := better(each, decided_only=decided_only)) is not None
    ]
    found = []
    for low, high in pairwise(_BINS):
        own = [(p, y) for p, y in known if low <= p < high or (high == 1.0 and p == 1.0)]
        if own:
            stated = sum(p for p, _ in own) / len(own)
            happened = sum(y for _, y in own) / len(own)
            found.append(Reliability(low, high, stated, happened, len(own)))
    return found


def scores(entries: Sequence[LedgerEntry]) -> list[Score]:
    """Compute the score of each class of networks; classes are in alphabetical order."""
    classes = sorted({each.prediction.network_class for each in entries})
    return [
        score(name, [each for each in entries if each.prediction.network_class == name])
        for name in classes
    ]


def score(name: str, entries: Sequence[LedgerEntry]) -> Score:
    """Compute the score of the predictions for one class of networks.

    Args:
        name: the name of the class.
        entries: those entries of a ledger that belong to the class.
    """
    known = [(e.prediction.probability, y) for e in entries if (y := better(e)) is not None]
    inside = [
        e.prediction.low <= e.change.estimate <= e.prediction.high
        for e in entries
        if e.change is not None
    ]
    questions = _questions(entries)
    regrets = [value for own in questions if (value := regret(own)) is not None]
    taus = [value for own in questions if (value := order(own)) is not None]
    half = 0.5
    return Score(
        name,
        len(entries),
        sum(e.verdict is Verdict.CONFIRMED for e in entries),
        sum(e.verdict is Verdict.REFUTED for e in entries),
        sum(y if p > half else 1 - y for p, y in known),
        len(known),
        _mean([(p - y) ** 2 for p, y in known]),
        tuple(each for each in reliability(entries) if each.count >= _FEWEST_IN_BIN),
        float(np.median(regrets)) if regrets else None,
        float(np.quantile(regrets, _TAIL)) if regrets else None,
        float(np.median(taus)) if taus else None,
        _mean(inside),
    )


def regret(question: Sequence[LedgerEntry]) -> float | None:
    """Return the utility lost by following the predictions for a question.

    A question consists of a network, a goal and a baseline. The loss is relative to the best
    measured algorithm. Return None if a measurement is missing.
    """
    measured = {e.prediction.challenger: e.change.estimate for e in question if e.change}
    if len(measured) < len(question):
        return None
    predicted = {e.prediction.challenger: e.prediction.change for e in question}
    chosen = max(predicted, key=lambda name: predicted[name])
    own = measured[chosen] if predicted[chosen] > 0 else 0.0
    return max(0.0, *measured.values()) - own


def order(question: Sequence[LedgerEntry]) -> float | None:
    """Return Kendall's tau b of the predicted and the measured order of algorithms.

    Both orders contain all algorithms of a question (network, goal and baseline), including the
    baseline. Return None for fewer than three algorithms, or if all algorithms tie in one of the
    two orders.
    """
    if len(question) + 1 < _FEWEST_RANKED:
        return None
    measured = [_place(each) for each in question]
    if None in measured:
        return None
    predicted = [each.prediction.change for each in question]
    return _tau([0.0, *predicted], [0.0, *(value for value in measured if value is not None)])


def _place(entry: LedgerEntry) -> float | None:
    """Return a number by which challengers are ordered; a higher number is better.

    The number is the measured change. If only the challenger's rank is known, the number is
    computed from the rank: positive if the challenger is better than the baseline, else negative.
    Return None if neither the change nor the rank is known.
    """
    if entry.change is not None:
        return entry.change.estimate
    if entry.place is None or entry.verdict is Verdict.NOT_ENOUGH:
        return None
    return 1 / entry.place if entry.verdict is Verdict.CONFIRMED else -float(entry.place)


def _tau(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return Kendall's tau b (Biometrika 33, 1945); None if either list has only equal values."""
    agree = ties_left = ties_right = pairs = 0
    for (a, b), (c, d) in itertools.combinations(zip(left, right, strict=True), 2):
        agree += int(np.sign(a - c) * np.sign(b - d))
        ties_left += a == c
        ties_right += b == d
        pairs += 1
    scale = math.sqrt((pairs - ties_left) * (pairs - ties_right))
    return agree / scale if scale else None


def _questions(entries: Sequence[LedgerEntry]) -> list[list[LedgerEntry]]:
    """Group ledger entries by network, goal and baseline; a group has each challenger only once."""
    found: dict[tuple[str, str, str, int], list[LedgerEntry]] = {}
    for each in entries:
        claim = each.prediction
        for turn in itertools.count():
            own = found.setdefault((claim.network, claim.goal, claim.baseline, turn), [])
            if all(other.prediction.challenger != claim.challenger for other in own):
                own.append(each)
                break
    return list(found.values())


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
