"""Register a prediction before a trial tests it, and detect later changes to the prediction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cwndlab.errors import ResultsError
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes, write_text
from cwndlab.text.untrusted import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import DataclassInstance

    from cwndlab.stats.bootstrap import Floats

FILE = "prediction.json"
_LEVEL = 0.9
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
}
_Record = TypeVar("_Record", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class RegisteredPrediction:
    """The prediction that a challenger algorithm is better than the baseline on a network."""

    goal: str
    """Name of the goal that defines the utility by which the algorithms are compared."""
    challenger: str
    baseline: str
    network: str
    """Description of the network for which `advise` made the prediction."""
    network_class: str
    """Class of the network: `lte`, `nr`, `umts`, `wifi`, `wire`, `trace` or `chain`."""
    probability: float
    """Probability that the challenger has a higher utility than the baseline."""
    change: float
    """Predicted utility of the challenger minus that of the baseline. Utilities are natural
    logarithms, so a difference of 0.03 is about 3 %."""
    low: float
    high: float
    """Upper end of the 90 % interval of the predicted change; `low` is the lower end."""
    networks: int
    """Number of simulated networks from which the prediction was computed."""
    version: str
    """Version of cwndlab and behaviour epoch (a number that grows when results may change)."""
    study: str
    """SHA-256 of `manifest.json`, the list of the result files behind the prediction."""
    registered: str
    """UTC time of the registration, in ISO 8601 format."""
    blocks: int
    """Planned number of blocks in the trial; a block contains one period with each algorithm."""
    period_s: float
    """Duration of one period of the trial, in seconds."""
    washout_s: float
    """Duration in seconds of the first part of each period, which is not evaluated."""
    seed: int
    """Random seed that determines the order of the periods."""
    return_s: float = 0.0
    """Duration in seconds of a return to the baseline, which checks the challenger for harm. The
    trial returns after the challenger's first period, and whenever the challenger seems to harm
    users. If the value is 0 (plans from before 29 November 2026), the trial ends at the first sign
    of harm."""

    @property
    def id(self) -> str:
        """SHA-256 of the whole prediction."""
        text = json.dumps(self._fields(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the prediction and its SHA-256 as a dictionary for JSON."""
        return {"id": self.id, **self._fields()}

    def _fields(self) -> dict[str, Any]:
        """Return all fields; omit a `return_s` of 0, so that old predictions keep their SHA-256."""
        found = asdict(self)
        if not self.return_s:
            del found["return_s"]
        return found

    def write(self, path: Path) -> None:
        """Write the prediction and its SHA-256 to a new file; never replace an existing file.

        Raises:
            ResultsError: the file already exists.
        """
        text = json.dumps(self.to_json(), indent=2) + "\n"
        try:
            write_text(path, text, "x")
        except FileExistsError:
            msg = (
                f"{path}: this folder already contains a registered prediction; choose another "
                "folder with --out"
            )
            raise ResultsError(msg) from None


def read_prediction(path: Path) -> RegisteredPrediction:
    """Read a registered prediction and check that it is unchanged.

    Raises:
        ResultsError: the file contains no prediction, or the prediction was changed.
    """
    try:
        document = read_json(read_bytes(path, MOST_TEXT_BYTES))
        registered = document.pop("id")
        found = checked(RegisteredPrediction(**document))
    except FileNotFoundError:
        msg = f"{path}: no such file; register a prediction with cwndlab trial register"
        raise ResultsError(msg) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        msg = (
            f"{path}: the file does not contain a registered prediction ({error}); create one with "
            "cwndlab trial register"
        )
        raise ResultsError(msg) from None
    if found.id != registered:
        msg = (
            f"{path}: the prediction was changed after its registration (its SHA-256 does not "
            "match); restore the original file"
        )
        raise ResultsError(msg)
    return found


def checked(record: _Record) -> _Record:
    """Check the numbers and strings of a record that was read from a file; return the record.

    Raises:
        ValueError: a field has the wrong type, or a probability lies outside 0 to 1.
    """
    for each in fields(record):
        value = getattr(record, each.name)
        allowed = _TYPES.get(str(each.type))
        if allowed is not None and (isinstance(value, bool) or not isinstance(value, allowed)):
            msg = f"{each.name} is {value!r}"
            raise ValueError(msg)
        if each.name == "probability" and not 0 <= value <= 1:
            msg = f"probability is {value!r}, not between 0 and 1"
            raise ValueError(msg)
    return record


def chances(differences: Floats) -> tuple[float, float, float, float]:
    """Return the probability that the challenger is better, and the size of the difference.

    The results are the probability, the mean of `differences`, and the lower and upper end of their
    90 % interval.

    Args:
        differences: for each network, the challenger's utility minus the baseline's.
    """
    known = differences[np.isfinite(differences)]
    gains = float((known > 0).sum() + (known == 0).sum() / 2)
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    # Jeffreys' prior: a few networks with the same outcome do not prove certainty.
    return (gains + 0.5) / (len(known) + 1), float(known.mean()), float(low), float(high)
