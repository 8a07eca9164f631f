"""Conduct a trial: measure its periods in random order, and stop if a period harms users."""

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
"""Function that describes the harm to users since a period began; it returns None if the period
may continue."""


TriedPeriod = tuple[PeriodOutcome, str | None]
"""Outcome of a period, and the harm that ended the period early; None if the period was
complete."""


class TrialNetwork(Protocol):
    """A network on which the periods of a trial can be measured."""

    def measure(self, algorithm: str, block: int, alarm: Alarm) -> TriedPeriod:
        """Use an algorithm for a period, or until it harms users; return outcome and harm."""


@dataclass(frozen=True, slots=True)
class Step:
    """A period that the trial still has to measure."""

    block: int
    algorithm: str


def due(prediction: RegisteredPrediction, periods: Sequence[MeasuredPeriod]) -> list[Step]:
    """Return the missing periods of a trial in order; empty if harm has ended the trial.

    A block with a missing period is measured again from its start, because only neighbouring
    periods are compared.
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
    """Measure all missing periods of a trial; stop if a period harms users.

    Args:
        prediction: the two algorithms, the number of blocks, and the seed of the random order.
        log: file to which each finished period is written.
        network: network on which the periods are measured.
        limits: limits beyond which a period is harmful.
        on_period: function that is called after each period with the period and the number of
            periods left.
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
