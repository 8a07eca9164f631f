"""The periods of a trial: the outcome of each, and the file in which they are stored."""

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
"""Block number of the baseline period before the first block; only the guard uses that period."""


@dataclass(frozen=True, slots=True)
class PeriodOutcome:
    """Measured values of a period or of its beginning; None if no connection shows a value."""

    utility: float | None
    goodput_mbit_s: float | None
    rtt_p95_ms: float | None
    retransmitted_pct: float | None
    flows: int

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a dictionary, for JSON."""
        return asdict(self)


NOTHING = PeriodOutcome(None, None, None, None, 0)


@dataclass(frozen=True, slots=True)
class MeasuredPeriod:
    """A finished period."""

    block: int
    algorithm: str
    began: str
    """Start of the period in UTC, as in ISO 8601."""
    outcome: PeriodOutcome
    harm: str = ""
    """The harm that ended the trial; empty if there was none."""


class PeriodLog:
    """File with one line for each period of a trial, written when the period is over."""

    def __init__(self, path: Path) -> None:
        """Use the file at `path`, which need not exist."""
        self._path = path

    def read(self) -> list[MeasuredPeriod]:
        """Return all periods, without an incomplete last line.

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
        """Add a period, which is on disk when this method returns."""
        self._cut_off()
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(period)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _cut_off(self) -> None:
        """Remove an incomplete last line."""
        if not self._path.exists():
            return
        with self._path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)


def blocks(periods: Sequence[MeasuredPeriod]) -> dict[int, dict[str, PeriodOutcome]]:
    """Return each block's outcomes by algorithm; the last attempt at a block counts.

    The pilot, and periods that ended because of harm, are left out.
    """
    found: dict[int, dict[str, PeriodOutcome]] = {}
    for each in periods:
        if each.block == PILOT or each.harm:
            continue
        if each.algorithm in found.get(each.block, {}):
            found[each.block] = {}
        found.setdefault(each.block, {})[each.algorithm] = each.outcome
    return found


def _period(document: dict[str, Any]) -> MeasuredPeriod:
    return MeasuredPeriod(**{**document, "outcome": PeriodOutcome(**document["outcome"])})
