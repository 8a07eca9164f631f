"""Guardrails of a trial: stop a period early if the tested algorithm harms users."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.judge.goals import DELAY_FLOOR_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cwndlab.measure.trial.periods import PeriodOutcome

LASTING_S = 2.0
"""Time in seconds for which all checks must find harm before a period ends early."""
_SUSPICION = 2 / 3
"""A finished period is suspected of harm if its outcome exceeds this fraction of a limit.

The period is compared with earlier periods of the baseline. If the network was worse in those
earlier periods, the comparison hides a part of the harm. The fraction is therefore below 1. After a
suspicion, the trial returns to the baseline, and `harm_after_return` applies the full limits. The
value was chosen by simulation, see docs/notes/2026-11-trials.md, 29 November.
"""
_SHORT = 1.5
"""Factor that loosens the limits for a period that ended early: a few seconds show less than a
whole period."""
_EARLIER = 1.25
"""Factor that loosens the limits in some comparisons with earlier periods, see `harm_after_return`:
the network may have changed since the earlier periods."""
_RTTS = {"rtt_p95_ms": "95th", "rtt_p25_ms": "25th"}
"""Columns to which the limit on the RTT applies, and the percentiles that they contain. If
the queue is never empty with the tested algorithm, the 25th percentile shows this. The 95th
percentile may not show it: if other traffic sometimes fills the queue, the 95th percentile may be
as high with the baseline as with the tested algorithm."""


@dataclass(frozen=True, slots=True)
class Guardrails:
    """Limits on how much worse than the baseline the tested algorithm may be."""

    rtt_ratio: float = 2.5
    """Largest allowed RTT of the tested algorithm, as a multiple of the baseline's RTT. The limit
    applies to the 95th and the 25th percentile. A baseline value below 20 ms counts as 20 ms."""
    goodput_ratio: float = 0.4
    """Smallest allowed ratio of the tested algorithm's goodput to the baseline's goodput."""
    retransmitted_points: float = 5.0
    """Largest allowed increase over the baseline's share of retransmitted segments, in percentage
    points."""

    def scaled(self, share: float) -> Guardrails:
        """Return stricter limits if `share` is below 1, and looser limits if it is above 1."""
        return Guardrails(
            self.rtt_ratio * share, self.goodput_ratio / share, self.retransmitted_points * share
        )


class Guard:
    """Compares the outcome of a period with the outcomes of the baseline's periods."""

    def __init__(self, limits: Guardrails, now_s: Callable[[], float] = time.monotonic) -> None:
        """Create a guard that applies `limits`; `now_s` returns the current time in seconds."""
        self._limits = limits
        self._suspicion = limits.scaled(_SUSPICION)
        self._now_s = now_s
        self._since_s: float | None = None

    def begin(self) -> None:
        """Begin a new period: forget the checks of earlier periods."""
        self._since_s = None

    def harm(self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]) -> str | None:
        """Describe the harm if all checks of the last two seconds found harm; else return None."""
        found = _harm(_short(now), baseline, self._limits)
        if found is None:
            self._since_s = None
            return None
        now_s = self._now_s()
        self._since_s = now_s if self._since_s is None else self._since_s
        return found if now_s - self._since_s >= LASTING_S else None

    def harm_of_period(self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]) -> str | None:
        """Describe the harm if `now` is worse than `baseline` by more than a limit; else None."""
        return _harm(now, baseline, self._limits)

    def suspicion_of_period(
        self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]
    ) -> str | None:
        """Describe why a finished period is suspected of harm; return None if it is not."""
        return _harm(now, baseline, self._suspicion)

    def harm_after_return(
        self,
        now: PeriodOutcome,
        before: Sequence[PeriodOutcome],
        back: PeriodOutcome,
        *,
        is_whole: bool,
        is_first: bool,
    ) -> str | None:
        """Describe the harm that a return to the baseline confirms; return None if there is none.

        The tested period `now` is compared with up to three references:

        1. the return `back`, with the limits of this guard;
        2. the mean of two outcomes: the return, and the median of `before`. If `now` is the tested
           algorithm's first period, the limits are those of this guard; for later periods, they are
           looser by a factor of 1.25;
        3. the median of `before`, but only if `now` is the tested algorithm's first period. The
           limits are looser by a factor of 1.25.

        There is harm if `now` is worse than a reference by more than a limit (see `Guardrails`).
        The first period is judged more strictly than later periods, because a trial that has hardly
        begun loses little if it ends without need.

        Each comparison finds harm that the others miss: the network may have been worse in the
        earlier periods or in the return, and a queue that the tested algorithm left behind may
        disturb the return.

        If no connection carried enough data during the return, `now` is only compared with the
        median of `before`, with the limits of this guard.

        Args:
            now: outcome of the tested period.
            before: outcomes of the baseline's earlier periods. If earlier returns have interrupted
                the same tested period, `before` contains only the outcome of the last of these
                returns in which a connection carried enough data.
            back: outcome of the return to the baseline.
            is_whole: whether the tested period ended as planned. If suspected harm ended the period
                early, the limits of all comparisons are loosened by a further factor of 1.5, and
                the 25th percentile of the RTT is ignored.
            is_first: whether `now` is the first period of the tested algorithm.
        """
        limits = self._limits
        if not is_whole:
            now, limits = _short(now), limits.scaled(_SHORT)
        known = [each for each in before if each.flows]
        if not back.flows:
            return _harm(now, known, limits)
        comparisons = [([back], limits)]
        if known:
            looser = limits.scaled(_EARLIER)
            comparisons.append(([_between(_usual(known), back)], limits if is_first else looser))
            if is_first:
                comparisons.append((known, looser))
        found = (_harm(now, reference, least) for reference, least in comparisons)
        return next((each for each in found if each is not None), None)


def _short(outcome: PeriodOutcome) -> PeriodOutcome:
    """Return the outcome without the 25th percentile of the RTT.

    This percentile does not show within a few seconds whether a queue is ever empty.
    """
    return replace(outcome, rtt_p25_ms=None)


def _usual(outcomes: Sequence[PeriodOutcome]) -> PeriodOutcome:
    """Return an outcome whose goodput, RTTs and losses are the medians over the given outcomes."""

    def median(name: str) -> float | None:
        values = [value for each in outcomes if (value := getattr(each, name)) is not None]
        return float(np.median(values)) if values else None

    return replace(
        outcomes[0],
        goodput_mbit_s=median("goodput_mbit_s"),
        retransmitted_pct=median("retransmitted_pct"),
        rtt_p95_ms=median("rtt_p95_ms"),
        rtt_p25_ms=median("rtt_p25_ms"),
    )


def _between(one: PeriodOutcome, other: PeriodOutcome) -> PeriodOutcome:
    """Return the mean of two outcomes: geometric for RTTs and goodput, arithmetic for losses."""

    def mean(name: str, least: float) -> float | None:
        values = [getattr(each, name) for each in (one, other)]
        if None in values:
            return None
        return math.sqrt(math.prod(max(value, least) for value in values))

    shares = [each.retransmitted_pct or 0.0 for each in (one, other)]
    return replace(
        one,
        goodput_mbit_s=mean("goodput_mbit_s", 0.0),
        retransmitted_pct=sum(shares) / 2,
        rtt_p95_ms=mean("rtt_p95_ms", DELAY_FLOOR_MS),
        rtt_p25_ms=mean("rtt_p25_ms", DELAY_FLOOR_MS),
    )


def _harm(now: PeriodOutcome, baseline: Sequence[PeriodOutcome], limits: Guardrails) -> str | None:
    known = [each for each in baseline if each.flows]
    if not known or not now.flows:
        return None
    usual = _usual(known)
    for name, percentile in _RTTS.items():
        own_ms, usual_ms = getattr(now, name), getattr(usual, name)
        if own_ms is None or usual_ms is None:
            continue
        if own_ms > limits.rtt_ratio * max(usual_ms, DELAY_FLOOR_MS):
            return (
                f"the {percentile} percentile RTT is {own_ms:.0f} ms (baseline: {usual_ms:.0f} ms)"
            )
    goodput, usual_goodput = now.goodput_mbit_s or 0.0, usual.goodput_mbit_s or 0.0
    if goodput < limits.goodput_ratio * usual_goodput:
        return f"goodput is {goodput:.3g} Mbit/s (baseline: {usual_goodput:.3g} Mbit/s)"
    again, usual_again = now.retransmitted_pct or 0.0, usual.retransmitted_pct or 0.0
    if again > usual_again + limits.retransmitted_points:
        return f"{again:.1f} % of the segments are retransmitted (baseline: {usual_again:.1f} %)"
    return None
