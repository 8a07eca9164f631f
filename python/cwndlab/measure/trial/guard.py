"""Stop a period early if the tested algorithm harms users (guardrails)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.judge.goals import DELAY_FLOOR_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cwndlab.measure.trial.periods import PeriodOutcome

_LASTING_S = 2.0
"""Time in seconds for which all checks must find harm before a period ends early."""


@dataclass(frozen=True, slots=True)
class Guardrails:
    """Limits on how much worse than the baseline the tested algorithm may be."""

    rtt_ratio: float = 2.5
    """Largest allowed ratio of the 95th percentile of the RTT to that of the baseline; for the
    baseline, a value below 20 ms counts as 20 ms."""
    goodput_ratio: float = 0.4
    """Smallest ratio of the tested algorithm's goodput to the baseline's goodput."""
    retransmitted_points: float = 5.0
    """Largest increase in the share of retransmitted segments, in percentage points."""


class Guard:
    """Compares the outcome of the current period with the periods of the baseline."""

    def __init__(self, limits: Guardrails, now_s: Callable[[], float] = time.monotonic) -> None:
        """Create an object that applies `limits` to each period; `now_s` is a clock."""
        self._limits = limits
        self._now_s = now_s
        self._since_s: float | None = None

    def begin(self) -> None:
        """Forget earlier checks, because a new period begins."""
        self._since_s = None

    def harm(self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]) -> str | None:
        """Describe the harm if all checks in the last two seconds found harm; else return None."""
        found = self._harm(now, [each for each in baseline if each.flows])
        if found is None:
            self._since_s = None
            return None
        now_s = self._now_s()
        self._since_s = now_s if self._since_s is None else self._since_s
        return found if now_s - self._since_s >= _LASTING_S else None

    def harm_of_period(self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]) -> str | None:
        """Return a description of the harm to the flows of a period; None if there is none."""
        return self._harm(now, [each for each in baseline if each.flows])

    def _harm(self, now: PeriodOutcome, baseline: Sequence[PeriodOutcome]) -> str | None:
        if not baseline or not now.flows:
            return None

        def usual(name: str) -> float:
            return float(np.median([getattr(each, name) for each in baseline]))

        rtt_ms, goodput = usual("rtt_p95_ms"), usual("goodput_mbit_s")
        again = usual("retransmitted_pct")
        limits = self._limits
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
