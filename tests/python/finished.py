"""The finished runs of a folder of results, also while another process writes there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cwndlab.errors import ResultsError
from cwndlab.results.blocks import DONE
from cwndlab.results.folder import Folder

if TYPE_CHECKING:
    from pathlib import Path


def finished(folder: Path) -> dict[str, int]:
    """Keys of the finished runs, and how often each was made; none if there is no folder yet."""
    try:
        entries = Folder.open(folder).history
    except ResultsError:
        return {}
    return dict(Counter(entry["run"] for entry in entries if entry["status"] == DONE))
