"""Read and merge ledgers: lists of registered predictions and their outcomes.

A ledger is a file in JSON Lines format with one line for each prediction. The SHA-256 of the
prediction identifies its line. Ledgers can therefore be published and merged: a line that occurs
twice counts once. Two different outcomes of the same prediction are an error, because merging would
lose one of them. The package contains a ledger of predictions that were compared with published
measurements (`data/public-ledger.jsonl`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import ResultsError, read_failure
from cwndlab.judge.prediction import RegisteredPrediction, checked
from cwndlab.judge.switchback import MeasuredChange, Verdict
from cwndlab.run.user_folders import state_folder
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes
from cwndlab.text.untrusted import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PUBLIC = Path(__file__).parents[1] / "data" / "public-ledger.jsonl"
"""File of the predictions that were compared with published measurements of real networks."""
_REMEDY = "choose a file that `cwndlab trial verdict` or `cwndlab ledger` wrote"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A registered prediction and its outcome."""

    prediction: RegisteredPrediction
    verdict: Verdict
    change: MeasuredChange | None
    """Measured utility of the challenger minus that of the baseline. None if the trial measured too
    few blocks of periods, or if a published source states only the order of the algorithms."""
    ended: str
    """UTC time of the verdict, in ISO 8601 format."""
    harm: str = ""
    """Description of the harm because of which the trial ended early; empty if there was no
    harm."""
    source: str = ""
    """Source of a published measurement; empty for a trial."""
    place: int | None = None
    """Rank of the challenger among the compared algorithms (1 is the best); None for a trial, or if
    the source states measured values instead of ranks."""

    def has_same_outcome(self, other: LedgerEntry) -> bool:
        """Return whether two entries are equal, apart from the times of their verdicts."""
        return replace(self, ended=other.ended) == other

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a dictionary for JSON; a ledger stores the dictionary as one line."""
        found: dict[str, Any] = {
            "prediction": self.prediction.to_json(),
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
    """Read the entries of a ledger; the list is empty if the file does not exist.

    Raises:
        ResultsError: a line is damaged, a prediction was changed after its registration, or two
            lines state different outcomes of the same prediction.
    """
    try:
        lines = read_bytes(path, MOST_TEXT_BYTES).decode().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ResultsError(read_failure(path, error)) from None
    except UnicodeDecodeError:
        msg = f"{path}: not a text file in UTF-8; {_REMEDY}"
        raise ResultsError(msg) from None
    found: dict[str, LedgerEntry] = {}
    for n, line in enumerate(lines, 1):
        if line.strip():
            _add(found, _entry(line, f"{path}, line {n}"), f"{path}, line {n}", str(path))
    return list(found.values())


def merge(path: Path, more: Iterable[LedgerEntry], name: str = "the new entry") -> int:
    """Add entries to a ledger, except those that it already contains; return the number added.

    Args:
        path: the file of the ledger.
        more: the entries to add.
        name: the file or trial that supplies these entries; used in error messages.

    Raises:
        ResultsError: the ledger is damaged, or states another outcome of the same prediction; the
            ledger remains unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        entries = {each.prediction.id: each for each in read_ledger(path)}
        count = sum(_add(entries, each, name, str(path)) for each in more)
        if count:
            _write(path, entries.values())
    return count


def _add(entries: dict[str, LedgerEntry], entry: LedgerEntry, place: str, other: str) -> bool:
    """Add an entry and return True; return False if the ledger already has this outcome.

    Raises:
        ResultsError: the existing entry states another outcome of the same prediction.
    """
    key = entry.prediction.id
    known = entries.setdefault(key, entry)
    if known is entry:
        return True
    if not known.has_same_outcome(entry):
        msg = (
            f"{place}: the outcome of prediction {key[:16]} is {_outcome(entry)} here, but "
            f"{_outcome(known)} in {other}; nothing was added; remove the wrong line, then try "
            "again"
        )
        raise ResultsError(msg)
    return False


def _outcome(entry: LedgerEntry) -> str:
    if entry.change is None:
        return str(entry.verdict)
    return f"{entry.verdict}, {100 * math.expm1(entry.change.estimate):+,.1f} %"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let only one process at a time change the ledgers in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, entries: Iterable[LedgerEntry]) -> None:
    ordered = sorted(entries, key=lambda e: (e.prediction.registered, e.prediction.id))
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(each.to_json(), sort_keys=True) + "\n" for each in ordered)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _entry(line: str, place: str) -> LedgerEntry:
    try:
        document = read_json(line)
        claim = dict(document["prediction"])
        registered = claim.pop("id")
        change = document["change"]
        found = LedgerEntry(
            checked(RegisteredPrediction(**claim)),
            Verdict(document["verdict"]),
            None if change is None else checked(MeasuredChange(**change)),
            document["ended"],
            document["harm"],
            document.get("source", ""),
            document.get("place"),
        )
        checked(found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"the key {error} is missing" if isinstance(error, KeyError) else error
        msg = f"{place}: not an entry of a ledger ({reason}); {_REMEDY}"
        raise ResultsError(msg) from None
    if found.prediction.id != registered:
        msg = (
            f"{place}: the prediction was changed after its registration; restore the original line"
        )
        raise ResultsError(msg)
    return found
