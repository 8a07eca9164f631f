"""Represent the periods of a trial and their outcomes, and store them in a file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "periods.jsonl"
PILOT = -1
"""Block number of the pilot period, which precedes the first block and provides the first baseline
values for the guardrails."""


@dataclass(frozen=True, slots=True)
class PeriodOutcome:
    """Measurements in one period of a trial.

    A value is None if no connection carried enough data.
    """

    utility: float | None
    goodput_mbit_s: float | None
    rtt_p95_ms: float | None
    retransmitted_pct: float | None
    flows: int
    rtt_p25_ms: float | None = None
    """25th percentile of the RTT: it shows whether a queue is ever empty. Files of earlier
    versions of cwndlab do not contain this value; for them, it is None."""

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a dictionary for JSON."""
        return asdict(self)


NOTHING = PeriodOutcome(None, None, None, None, 0)


@dataclass(frozen=True, slots=True)
class MeasuredPeriod:
    """A finished period of a trial."""

    block: int
    algorithm: str
    began: str
    """Time at which the period began, in UTC and ISO 8601 format."""
    outcome: PeriodOutcome
    harm: str = ""
    """Description of the harm that ended the trial; empty if there was no harm."""
    checks: str = ""
    """Reason for a return to the baseline, such as suspected harm; empty if the period is not a
    return."""

    def to_json(self) -> dict[str, Any]:
        """Return the period as a dictionary for JSON."""
        return asdict(self)


class PeriodLog:
    """File to which a trial appends one line at the end of each period."""

    def __init__(self, path: Path) -> None:
        """Use the log at `path`; `append` creates the file if it does not exist."""
        self._path = path

    def read(self) -> list[MeasuredPeriod]:
        """Return all periods in the file, except a period whose line is incomplete.

        Raises:
            ResultsError: the file is damaged.
        """
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        lines = text.split("\n")[:-1]
        try:
            return [_period(json.loads(line)) for line in lines]
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{self._path}: damaged ({error})"
            raise ResultsError(msg) from None

    def append(self, period: MeasuredPeriod) -> None:
        """Append a period to the file, and wait until the line is on disk."""
        self._cut_off()
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(period.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _cut_off(self) -> None:
        """Remove the last line of the file if it is incomplete."""
        if not self._path.exists():
            return
        with self._path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)


def combined(parts: Sequence[tuple[PeriodOutcome, float]]) -> PeriodOutcome:
    """Combine the outcomes of the parts of one period into the outcome of the period.

    A period with one algorithm is measured in several parts if the trial interrupts it, to check
    for harm with the baseline algorithm. The outcome of the period is the mean over its parts,
    weighted by their durations, and the number of connections is the sum. A part in which no
    connection carried enough data is left out.

    Args:
        parts: for each part of the period, its outcome and its duration in seconds. The duration
            excludes the wash-out, which is the time after a switch that is not measured.
    """
    known = [(outcome, weight_s) for outcome, weight_s in parts if outcome.flows and weight_s > 0]
    if len(known) <= 1:
        return known[0][0] if known else NOTHING
    total_s = sum(weight_s for _, weight_s in known)

    def mean(name: str) -> float:
        return sum((getattr(each, name) or 0.0) * weight_s for each, weight_s in known) / total_s

    shown = all(each.rtt_p25_ms is not None for each, _ in known)

    return PeriodOutcome(
        mean("utility"),
        mean("goodput_mbit_s"),
        mean("rtt_p95_ms"),
        mean("retransmitted_pct"),
        sum(each.flows for each, _ in known),
        mean("rtt_p25_ms") if shown else None,
    )


def blocks(periods: Sequence[MeasuredPeriod]) -> dict[int, dict[str, PeriodOutcome]]:
    """Return the outcome of each algorithm in each block (pair of periods).

    If a block was repeated, only the last repetition counts. Three kinds of periods are left out:
    the pilot period, periods that return to the baseline to check for harm, and periods that ended
    because of harm.
    """
    found: dict[int, dict[str, PeriodOutcome]] = {}
    for each in periods:
        if each.block == PILOT or each.harm or each.checks:
            continue
        if each.algorithm in found.get(each.block, {}):
            found[each.block] = {}
        found.setdefault(each.block, {})[each.algorithm] = each.outcome
    return found


def _period(document: dict[str, Any]) -> MeasuredPeriod:
    return MeasuredPeriod(**{**document, "outcome": PeriodOutcome(**document["outcome"])})
