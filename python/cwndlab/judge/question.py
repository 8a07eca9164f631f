"""The question that results answer, kept beside them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import ResultsError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "question.json"
NETWORKS = "networks"
"""Folder, below the results, of the runs on networks like the one that is asked about."""
DRAWS = "draws.json"
"""File in that folder: the values of the keys of each draw."""


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked of a link."""

    goal: str
    baseline: str
    link: str

    def write(self, folder: Path) -> None:
        """Keep it beside results."""
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_question(folder: Path) -> Question | None:
    """Return the question that results answer; None where none was kept.

    Raises:
        ResultsError: the file is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Question(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        msg = f"{path}: damaged ({error}); remove the file, or ask again"
        raise ResultsError(msg) from None
