"""Conducting a trial: periods in random order within their blocks, until all are done or harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from cwndlab.judge.switchback import orders
from cwndlab.measure.trial.guard import Guard, Guardrails
from cwndlab.measure.trial.periods import PILOT, MeasuredPeriod, PeriodLog, PeriodOutcome, blocks

if TYPE_CHECKING:
    from cwndlab.judge.prediction import RegisteredPrediction

Alarm = Callable[[PeriodOutcome], str | None]
"""Gets what a period shows so far; returns the harm if the period must end now."""


TriedPeriod = tuple[PeriodOutcome, str | None]
"""A period, and the harm that ended it; None if it lasted to its end."""


class TrialNetwork(Protocol):
    """Something that measures periods."""

    def measure(self, algorithm: str, block: int, alarm: Alarm) -> TriedPeriod:
        """Give everyone the algorithm for a period; the outcome, and the harm that ended it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A period that is due."""

    block: int
    algorithm: str


def due(prediction: RegisteredPrediction, periods: Sequence[MeasuredPeriod]) -> list[Step]:
    """Return the periods that are missing, in order; none after harm.

    A block of which one period is missing is measured again from its beginning: its two periods
    are compared because they are neighbours.
    """
    if any(each.harm for each in periods):
        return []
    steps, done = [], blocks(periods)
    if not any(each.block == PILOT for each in periods):
        steps.append(Step(PILOT, prediction.baseline))
    for block, challenger_is_first in enumerate(orders(prediction.blocks, prediction.seed)):
        arms = [prediction.baseline, prediction.challenger]
        if challenger_is_first:
            arms.reverse()
        if set(done.get(block, ())) != set(arms):
            steps += [Step(block, algorithm) for algorithm in arms]
    return steps


def conduct(
    prediction: RegisteredPrediction,
    log: PeriodLog,
    network: TrialNetwork,
    *,
    limits: Guardrails | None = None,
    on_period: Callable[[MeasuredPeriod, int], None] | None = None,
) -> list[MeasuredPeriod]:
    """Measure all missing periods.

    Args:
        prediction: what is tried, and how often.
        log: keeps each period.
        network: measures them.
        limits: of harm.
        on_period: is given each period that is over, and how many are left.
    """
    guard = Guard(limits or Guardrails())
    periods = log.read()
    steps = due(prediction, periods)
    for n, step in enumerate(steps):
        reference = [p.outcome for p in periods if p.algorithm == prediction.baseline]
        is_challenger = step.algorithm == prediction.challenger
        guard.begin()

        def alarm(
            now: PeriodOutcome,
            reference: list[PeriodOutcome] = reference,
            *,
            is_watched: bool = is_challenger,
        ) -> str | None:
            return guard.harm(now, reference) if is_watched else None

        began = datetime.now(UTC).isoformat(timespec="seconds")
        outcome, harm = network.measure(step.algorithm, step.block, alarm)
        if harm is None and is_challenger:
            harm = guard.harm_of_period(outcome, reference)
        period = MeasuredPeriod(step.block, step.algorithm, began, outcome, harm or "")
        log.append(period)
        periods.append(period)
        if on_period is not None:
            on_period(period, 0 if harm else len(steps) - n - 1)
        if harm:
            break
    return periods
