"""Store a user's question in the folder of the results that answer the question."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from cwndlab.errors import ResultsError
from cwndlab.judge.weighing import Meaning, Weights
from cwndlab.results.lock import QUESTION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NETWORKS = "networks"
"""Subfolder of the results that contains runs on networks similar to the link."""
COEXISTENCE = "coexistence"
"""Subfolder of the results: runs of each algorithm against CUBIC, against itself, and alone."""
MIXES = "mixes"
"""Subfolder of the results: runs in which the recommended algorithm competes at several RTTs, queue
sizes, start orders and numbers of flows."""
DRAWS = "draws.json"
"""File in the subfolder `NETWORKS`: the values of study keys that were drawn for each network."""


@dataclass(frozen=True, slots=True)
class Question:
    """A user's question to `cwndlab advise`: the goal, baseline algorithm and classes of users."""

    goal: str
    baseline: str
    weights: Mapping[str, float] = field(default_factory=dict)
    """Maps each class of users to its weight; empty for a single network."""
    is_invented: bool = False
    """True if the weight of any class was invented. For the attributes `are_estimates` and
    `is_explained`, see `cwndlab.judge.weighing.Meaning`."""
    are_estimates: bool = False
    is_explained: bool = True

    def weights_of_users(self) -> Weights | None:
        """Return the weights of the classes of users; None for a single network."""
        meaning = Meaning(self.is_invented, self.are_estimates, self.is_explained)
        return Weights(self.weights, meaning) if self.weights else None

    def write(self, folder: Path) -> None:
        """Store the question in the folder of its results."""
        (folder / QUESTION).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_question(folder: Path) -> Question | None:
    """Read the question that is stored with results; return None if no question is stored.

    Raises:
        ResultsError: the file with the question cannot be read, or its content is not a question.
    """
    path = folder / QUESTION
    if not path.exists():
        return None
    try:
        return Question(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        msg = f"{path}: the file is damaged ({error}); remove it, or run `cwndlab advise` again"
        raise ResultsError(msg) from None
