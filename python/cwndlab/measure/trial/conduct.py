"""Conduct a trial: measure its periods in random order, and stop if a period harms users.

The baseline is the algorithm in use today; the challenger is the tested algorithm. A guard compares
each period of the challenger with earlier periods of the baseline. The network may have changed
since those earlier periods. Therefore, if the guard suspects harm, the trial returns to the
baseline at once, for the time that the plan states. If the return confirms the harm, the trial
ends. If not, the challenger continues with the rest of its period.

The measured change is computed from blocks: pairs of one period with the baseline and one period
with the challenger. Returns to the baseline do not affect the measured change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from cwndlab.judge.switchback import orders
from cwndlab.measure.trial.guard import LASTING_S, Guard, Guardrails
from cwndlab.measure.trial.periods import (
    PILOT,
    MeasuredPeriod,
    PeriodLog,
    PeriodOutcome,
    blocks,
    combined,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.judge.prediction import RegisteredPrediction

_DRAIN_RTTS = 10

Alarm = Callable[[PeriodOutcome], str | None]
"""Function that is called during a period. It returns a description of the harm to users since the
period began, or None if the period may continue."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that a trial still has to measure.

    A step is a period, a part of a period, or a return to the baseline.
    """

    block: int
    algorithm: str
    duration_s: float
    """Duration of the step in seconds, including the unmeasured time at its start (wash-out)."""
    is_return: bool = False
    """True if the step returns to the baseline, to check whether the challenger did harm."""
    drain_s: float = 0.0
    """Time in seconds for which queues drain before the step begins; `duration_s` does not include
    this time."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of one step of a trial; see `Step`."""

    outcome: PeriodOutcome
    suspicion: str | None
    """Description of the suspected harm that ended the step early; None if it was complete."""
    passed_s: float
    """Time in seconds that the step lasted, including the wash-out."""


class TrialNetwork(Protocol):
    """A network on which the periods of a trial can be measured."""

    def measure(self, step: Step, alarm: Alarm) -> Tried:
        """Measure a step with its algorithm, for its duration or until `alarm` reports harm."""


def due(prediction: RegisteredPrediction, periods: Sequence[MeasuredPeriod]) -> list[Step]:
    """Return the periods that remain to be measured, in order; none if harm ended the trial.

    If one period of a block is missing, both periods of the block are returned. A period that was
    already measured is thus measured again, because only neighbouring periods are compared.
    """
    if any(each.harm for each in periods):
        return []
    steps, done, duration_s = [], blocks(periods), prediction.period_s
    if not any(each.block == PILOT for each in periods):
        steps.append(Step(PILOT, prediction.baseline, duration_s))
    for block, challenger_is_first in enumerate(orders(prediction.blocks, prediction.seed)):
        arms = [prediction.baseline, prediction.challenger]
        if challenger_is_first:
            arms.reverse()
        if set(done.get(block, ())) != set(arms):
            steps += [Step(block, algorithm, duration_s) for algorithm in arms]
    return steps


def conduct(
    prediction: RegisteredPrediction,
    log: PeriodLog,
    network: TrialNetwork,
    *,
    limits: Guardrails | None = None,
    on_period: Callable[[MeasuredPeriod, int], None] | None = None,
) -> list[MeasuredPeriod]:
    """Measure all missing periods of a trial; stop if a period harms users.

    Args:
        prediction: the two algorithms, the number of blocks, and the seed of the random order.
        log: file to which each finished period is written.
        network: network on which the periods are measured.
        limits: limits beyond which a period is harmful.
        on_period: function that is called after each period, and after each return to the baseline
            within a period, with the result and the number of periods left.
    """
    guarded = _Guarded(prediction, network, Guard(limits or Guardrails()))
    periods = log.read()
    steps = due(prediction, periods)
    for n, step in enumerate(steps):
        reference = [
            each.outcome
            for each in periods
            if each.algorithm == prediction.baseline and not each.checks
        ]
        is_first = all(each.algorithm != prediction.challenger for each in periods)
        for period in guarded.measured(step, reference, is_first=is_first):
            log.append(period)
            periods.append(period)
            if on_period is not None:
                left = len(steps) - n - (0 if period.checks else 1)
                on_period(period, 0 if period.harm else left)
        if periods[-1].harm:
            break
    return periods


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Measures the steps of a trial, and returns to the baseline if a step seems to harm users."""

    prediction: RegisteredPrediction
    network: TrialNetwork
    guard: Guard

    def measured(
        self, step: Step, reference: Sequence[PeriodOutcome], *, is_first: bool
    ) -> Iterator[MeasuredPeriod]:
        """Measure one period of the trial, with returns to the baseline if harm is suspected.

        A return interrupts the period, or follows its end. The generator yields each return as a
        separate period. The measured period itself is yielded last. If the plan includes returns,
        the challenger's first period has at least one return, even if no harm is suspected.
        """
        began = _now()
        if step.algorithm == self.prediction.baseline:
            tried = self.network.measure(step, lambda _: None)
            yield MeasuredPeriod(step.block, step.algorithm, began, tried.outcome)
            return
        parts: list[tuple[PeriodOutcome, float]] = []
        left_s, harm = step.duration_s, None
        while harm is None:
            tried = self._tried(replace(step, duration_s=left_s), reference)
            parts.append((tried.outcome, tried.passed_s - self.prediction.washout_s))
            left_s -= tried.passed_s
            suspicion = self._suspicion(tried, reference)
            if not suspicion and is_first and self.prediction.return_s:
                suspicion = f"the first period with {step.algorithm} is always checked for harm"
            if suspicion is None:
                break
            if not self.prediction.return_s:
                harm = suspicion
                break
            back = self._return(step.block, suspicion, tried.outcome)
            yield back
            harm = self.guard.harm_after_return(
                tried.outcome,
                reference,
                back.outcome,
                is_whole=tried.suspicion is None,
                is_first=is_first,
            )
            reference = [back.outcome] if back.outcome.flows else reference
            if left_s < self.prediction.washout_s + LASTING_S:
                break
        yield MeasuredPeriod(step.block, step.algorithm, began, combined(parts), harm or "")

    def _tried(self, step: Step, reference: Sequence[PeriodOutcome]) -> Tried:
        self.guard.begin()
        return self.network.measure(step, lambda now: self.guard.harm(now, reference))

    def _suspicion(self, tried: Tried, reference: Sequence[PeriodOutcome]) -> str | None:
        if tried.suspicion is not None:
            return tried.suspicion
        if self.prediction.return_s:
            return self.guard.suspicion_of_period(tried.outcome, reference)
        return self.guard.harm_of_period(tried.outcome, reference)

    def _return(self, block: int, suspicion: str, checked: PeriodOutcome) -> MeasuredPeriod:
        """Switch to the baseline to check suspected harm, and return the measured period."""
        began, baseline = _now(), self.prediction.baseline
        drain_s = drain_time_s(checked, self.prediction.washout_s, self.prediction.period_s)
        step = Step(block, baseline, self.prediction.return_s, is_return=True, drain_s=drain_s)
        tried = self.network.measure(step, lambda _: None)
        return MeasuredPeriod(block, baseline, began, tried.outcome, checks=suspicion)


def drain_time_s(checked: PeriodOutcome, washout_s: float, period_s: float) -> float:
    """Return the time in seconds for which queues drain before a return to the baseline.

    The time is ten round-trip times, because data that senders had queued still arrive for several
    round-trip times. It is at least the wash-out time, and at most one period.
    """
    return min(period_s, max(washout_s, _DRAIN_RTTS * (checked.rtt_p95_ms or 0.0) / 1000))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
