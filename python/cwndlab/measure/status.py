"""Count the finished and missing runs of a study, for each combination of factor levels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cwndlab.measure.schedule import path_of
from cwndlab.results.blocks import DONE, FAILED, SET_ASIDE
from cwndlab.results.folder import Folder
from cwndlab.results.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.study.runs import Run


def status_rows(runs: Sequence[Run], folder: Path) -> list[dict[str, Any]]:
    """Return the numbers of finished, missing, failed and disturbed runs of a study.

    There is a row for each combination of factor levels, and a last row with the totals.
    """
    kept = Folder.open(folder) if read_manifest(folder) else None
    entries = kept.history if kept else []
    done = set(kept.committed()) if kept else set()
    failed = Counter(entry["run"] for entry in entries if entry["status"] == FAILED)
    set_aside = Counter(entry["run"] for entry in entries if entry["status"] == SET_ASIDE)
    flagged = {e["run"] for e in entries if e["status"] == DONE and e.get("flags")}
    cells: dict[int, list[Run]] = {}
    for run in runs:
        cells.setdefault(run.cell, []).append(run)
    rows: list[dict[str, Any]] = [
        {
            "runs": ", ".join(str(label) for label in members[0].labels.values()),
            "when": path_of(members[0]).period,
            "done": len([run for run in members if run.key in done]),
            "missing": len([run for run in members if run.key not in done]),
            "broke_off": sum(failed[run.key] for run in members),
            "set_aside": sum(set_aside[run.key] for run in members),
            "flagged": len([run for run in members if run.key in flagged]),
        }
        for members in cells.values()
    ]
    counts = ("done", "missing", "broke_off", "set_aside", "flagged")
    if not any(row["when"] for row in rows):
        rows = [{key: value for key, value in row.items() if key != "when"} for row in rows]
    total: dict[str, Any] = dict.fromkeys(rows[0], "")
    total |= {"runs": "all"} | {key: sum(row[key] for row in rows) for key in counts}
    return [*rows, total]
