"""The ledger: registered predictions and their outcomes.

The ledger is a file in JSON Lines format with one line for each prediction. The SHA-256 of the
prediction identifies its line, so ledgers can be published, joined and merged. The package
contains a ledger of predictions that were compared with published measurements
(`data/public-ledger.jsonl`).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import ResultsError
from cwndlab.judge.prediction import RegisteredPrediction
from cwndlab.judge.switchback import MeasuredChange, Verdict
from cwndlab.run.user_folders import state_folder
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

PUBLIC = Path(__file__).parents[1] / "data" / "public-ledger.jsonl"
"""Predictions that were compared with published measurements of real networks."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A registered prediction and its outcome."""

    prediction: RegisteredPrediction
    verdict: Verdict
    change: MeasuredChange | None
    """Measured change in utility; None if the trial measured too few blocks."""
    ended: str
    """UTC time of the verdict, in ISO 8601 format."""
    harm: str = ""
    """Description of the harm that ended the trial early; empty if no harm occurred."""
    source: str = ""
    """Source of a published measurement; empty for a trial."""
    place: int | None = None
    """Place of the challenger among the algorithms, if a source states only their order."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a dictionary, which is stored as one line of the ledger."""
        found: dict[str, Any] = {
            "prediction": {"id": self.prediction.id, **asdict(self.prediction)},
            "verdict": self.verdict.value,
            "change": None if self.change is None else self.change.to_json(),
            "ended": self.ended,
            "harm": self.harm,
        }
        if self.source:
            found |= {"source": self.source, "place": self.place}
        return found


def ledger_of_user() -> Path:
    """Return the path of the file in which the current user's predictions are listed."""
    return state_folder() / "ledger.jsonl"


def read_ledger(path: Path) -> list[LedgerEntry]:
    """Read the entries of a ledger; a missing file has no entries.

    Raises:
        ResultsError: a line is damaged, or a prediction was changed after its registration.
    """
    try:
        lines = read_bytes(path, MOST_TEXT_BYTES).decode().splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        msg = f"{path}: cannot be read ({error})"
        raise ResultsError(msg) from None
    return [_entry(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def merge(path: Path, more: Iterable[LedgerEntry]) -> int:
    """Add missing entries, replace outdated entries, and return the number of changes.

    Raises:
        ResultsError: the ledger is damaged.
    """
    entries = {each.prediction.id: each for each in read_ledger(path)}
    count = 0
    for each in more:
        known = entries.get(each.prediction.id)
        if known is None or known.ended < each.ended:
            entries[each.prediction.id] = each
            count += 1
    if count:
        path.parent.mkdir(parents=True, exist_ok=True)
        ordered = sorted(entries.values(), key=lambda e: (e.prediction.registered, e.prediction.id))
        fresh = path.with_name(path.name + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(each.to_json(), sort_keys=True) + "\n" for each in ordered)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    return count


def _entry(line: str, place: str) -> LedgerEntry:
    try:
        document = json.loads(line)
        claim = dict(document["prediction"])
        registered = claim.pop("id")
        change = document["change"]
        found = LedgerEntry(
            RegisteredPrediction(**claim),
            Verdict(document["verdict"]),
            None if change is None else MeasuredChange(**change),
            document["ended"],
            document["harm"],
            document.get("source", ""),
            document.get("place"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{place}: not an entry of a ledger ({error})"
        raise ResultsError(msg) from None
    if found.prediction.id != registered:
        msg = f"{place}: the prediction was changed after it was registered"
        raise ResultsError(msg)
    return found
