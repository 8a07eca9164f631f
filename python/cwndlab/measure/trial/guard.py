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
_BY_HALF = 1.5
"""Factor that loosens the limits in the second comparison of `harm_after_return`. There, a period
is compared with the mean of the return and earlier periods of the baseline. The network may have
changed since the earlier periods; the factor avoids that this change is taken for harm."""


@dataclass(frozen=True, slots=True)
class Guardrails:
    """Limits on how much worse than the baseline the tested algorithm may be."""

    rtt_ratio: float = 2.5
    """Largest allowed 95th percentile RTT of the tested algorithm, as a multiple of the baseline's
    95th percentile RTT. A baseline value below 20 ms counts as 20 ms."""
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
        found = _harm(now, baseline, self._limits)
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
        self, now: PeriodOutcome, before: Sequence[PeriodOutcome], back: PeriodOutcome
    ) -> str | None:
        """Describe the harm that a return to the baseline confirms; return None if there is none.

        First, goodput, RTT and losses of the tested period `now` are compared with those of the
        return `back`. There is harm if one of them is worse by more than a limit. If none is, a
        queue that the tested algorithm left behind may have disturbed the return. Therefore, `now`
        is also compared with the mean of the return and the earlier baseline periods `before`. The
        limits of this second comparison are looser by a factor of 1.5. If no connection carried
        enough data during the return, `now` is only compared with `before`, at the full limits.
        """
        if not back.flows:
            return self.harm_of_period(now, before)
        known = [each for each in before if each.flows]
        found = _harm(now, [back], self._limits)
        if found is not None or not known:
            return found
        return _harm(now, [_between(_usual(known), back)], self._limits.scaled(_BY_HALF))


def _usual(outcomes: Sequence[PeriodOutcome]) -> PeriodOutcome:
    """Return an outcome whose goodput, RTT and losses are the medians over the given outcomes."""

    def median(name: str) -> float:
        return float(np.median([getattr(each, name) or 0.0 for each in outcomes]))

    return replace(
        outcomes[0],
        goodput_mbit_s=median("goodput_mbit_s"),
        rtt_p95_ms=median("rtt_p95_ms"),
        retransmitted_pct=median("retransmitted_pct"),
    )


def _between(one: PeriodOutcome, other: PeriodOutcome) -> PeriodOutcome:
    """Return the mean of two outcomes: geometric for RTT and goodput, arithmetic for losses."""
    rtts_ms = [max(each.rtt_p95_ms or 0.0, DELAY_FLOOR_MS) for each in (one, other)]
    goodputs = [each.goodput_mbit_s or 0.0 for each in (one, other)]
    shares = [each.retransmitted_pct or 0.0 for each in (one, other)]
    return replace(
        one,
        rtt_p95_ms=math.sqrt(rtts_ms[0] * rtts_ms[1]),
        goodput_mbit_s=math.sqrt(goodputs[0] * goodputs[1]),
        retransmitted_pct=sum(shares) / 2,
    )


def _harm(now: PeriodOutcome, baseline: Sequence[PeriodOutcome], limits: Guardrails) -> str | None:
    known = [each for each in baseline if each.flows]
    if not known or not now.flows:
        return None
    usual = _usual(known)
    rtt_ms, goodput = usual.rtt_p95_ms or 0.0, usual.goodput_mbit_s or 0.0
    again = usual.retransmitted_pct or 0.0
    if (now.rtt_p95_ms or 0.0) > limits.rtt_ratio * max(rtt_ms, DELAY_FLOOR_MS):
        return f"the 95th percentile RTT is {now.rtt_p95_ms:.0f} ms (baseline: {rtt_ms:.0f} ms)"
    if (now.goodput_mbit_s or 0.0) < limits.goodput_ratio * goodput:
        return f"goodput is {now.goodput_mbit_s:.3g} Mbit/s (baseline: {goodput:.3g} Mbit/s)"
    if (now.retransmitted_pct or 0.0) > again + limits.retransmitted_points:
        return (
            f"{now.retransmitted_pct:.1f} % of the segments are retransmitted (baseline: "
            f"{again:.1f} %)"
        )
    return None
