"""The ledger: registered predictions, their outcomes, and scores of their quality.

The ledger is a file in JSON Lines format with one line for each prediction. The SHA-256 of the
prediction identifies its line, so ledgers can be published, joined and merged.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cwndlab.errors import ResultsError
from cwndlab.judge.prediction import RegisteredPrediction
from cwndlab.judge.switchback import MeasuredChange, Verdict
from cwndlab.run.user_folders import state_folder
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A registered prediction and its outcome."""

    prediction: RegisteredPrediction
    verdict: Verdict
    change: MeasuredChange | None
    """The measured change in utility; None if too few blocks of a trial were measured."""
    ended: str
    """UTC time of the verdict, in ISO 8601 format."""
    harm: str = ""
    """Description of the harm that ended the trial early; empty if no harm occurred."""

    @property
    def has_gained(self) -> bool | None:
        """Whether the challenger was better than the baseline; None if the trial was undecided."""
        if self.harm:
            return False
        if self.change is None or self.change.low <= 0 <= self.change.high:
            return None
        return self.change.estimate > 0

    @property
    def regret(self) -> float | None:
        """Utility lost by following the prediction; None if nothing was measured."""
        if self.change is None:
            return None
        follows = self.prediction.probability > 0.5  # noqa: PLR2004  more likely than not
        return max(0.0, -self.change.estimate if follows else self.change.estimate)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a dictionary, which is stored as one line of the ledger."""
        return {
            "prediction": {"id": self.prediction.id, **asdict(self.prediction)},
            "verdict": self.verdict.value,
            "change": None if self.change is None else self.change.to_json(),
            "ended": self.ended,
            "harm": self.harm,
        }


@dataclass(frozen=True, slots=True)
class Reliability:
    """Reliability of the predictions whose probability lies in one interval of probabilities."""

    low: float
    high: float
    stated: float
    """Mean of the predicted probabilities."""
    happened: float
    """Fraction of the trials in which the challenger was better."""
    count: int


@dataclass(frozen=True, slots=True)
class Score:
    """Quality of the predictions for one class of networks."""

    network_class: str
    predictions: int
    confirmed: int
    refuted: int
    brier: float | None
    """Mean squared error of the probabilities in decided trials; None without such trials."""
    regret: float | None
    """Mean utility lost by following the predictions; None if nothing was measured."""
    covered: float | None
    """Fraction of the measured changes that lie within the predicted 90 % interval."""

    @property
    def undecided(self) -> int:
        """Number of trials that were too short for a verdict."""
        return self.predictions - self.confirmed - self.refuted


def ledger_of_user() -> Path:
    """Return the path of the current user's ledger."""
    return state_folder() / "ledger.jsonl"


def read_ledger(path: Path) -> list[LedgerEntry]:
    """Read the entries of a ledger; return an empty list if the file does not exist.

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
    """Add missing entries and replace outdated entries; return the number of changed entries.

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


def reliability(entries: Sequence[LedgerEntry]) -> list[Reliability]:
    """Compare predicted probabilities with outcomes in decided trials, grouped by probability."""
    decided = [
        (e.prediction.probability, e.has_gained) for e in entries if e.has_gained is not None
    ]
    found = []
    for low, high in pairwise(_BINS):
        own = [
            (p, gained) for p, gained in decided if low <= p < high or (high == 1.0 and p == 1.0)
        ]
        if own:
            stated = sum(p for p, _ in own) / len(own)
            happened = sum(gained for _, gained in own) / len(own)
            found.append(Reliability(low, high, stated, happened, len(own)))
    return found


def scores(entries: Sequence[LedgerEntry]) -> list[Score]:
    """Compute the score of each class of networks; classes are in alphabetical order."""
    classes = sorted({each.prediction.network_class for each in entries})
    return [
        _score(name, [each for each in entries if each.prediction.network_class == name])
        for name in classes
    ]


def _score(name: str, entries: Sequence[LedgerEntry]) -> Score:
    decided = [e for e in entries if e.has_gained is not None]
    squares = [(e.prediction.probability - float(bool(e.has_gained))) ** 2 for e in decided]
    regrets = [e.regret for e in entries if e.regret is not None]
    inside = [
        e.prediction.low <= e.change.estimate <= e.prediction.high
        for e in entries
        if e.change is not None
    ]
    return Score(
        name,
        len(entries),
        sum(e.verdict is Verdict.CONFIRMED for e in entries),
        sum(e.verdict is Verdict.REFUTED for e in entries),
        sum(squares) / len(squares) if squares else None,
        sum(regrets) / len(regrets) if regrets else None,
        sum(inside) / len(inside) if inside else None,
    )


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
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{place}: not an entry of a ledger ({error})"
        raise ResultsError(msg) from None
    if found.prediction.id != registered:
        msg = f"{place}: the prediction was changed after it was registered"
        raise ResultsError(msg)
    return found
