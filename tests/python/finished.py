"""Read the finished runs of a results folder, even while another process writes to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cwndlab.errors import ResultsError
from cwndlab.results.blocks import DONE
from cwndlab.results.folder import Folder

if TYPE_CHECKING:
    from pathlib import Path


def finished(folder: Path) -> dict[str, int]:
    """Return the keys of finished runs and their numbers of executions; empty without a folder."""
    try:
        entries = Folder.open(folder).history
    except ResultsError:
        return {}
    return dict(Counter(entry["run"] for entry in entries if entry["status"] == DONE))
