"""Execute a single run without storing its results."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import RunsFailedError
from cwndlab.run.campaign import tasks
from cwndlab.run.executor import Batch, LocalExecutor, Part, compute_apart

if TYPE_CHECKING:
    from cwndlab.api.study import Study
    from cwndlab.usercode.processes import WorkerProcess


def run_once(study: Study, process: WorkerProcess | None = None) -> dict[str, pl.DataFrame]:
    """Execute the only run of a study and return its tables.

    Args:
        study: a study that consists of one run.
        process: the process that runs algorithms given as files. If None, a process is started
            for this run.

    Raises:
        RunsFailedError: the run failed; the message states the reason.
    """
    (run,) = study.matrix.runs
    frames: dict[str, list[pl.DataFrame]] = {}
    pieces: list[Batch | Part] = []
    (task,) = tasks([run])
    if process is not None and task.is_apart:
        pieces.append(compute_apart(task, process, pieces.append))
    else:
        pieces.extend(LocalExecutor(1).batches([task]))
    for done in pieces:
        if isinstance(done, Batch) and (error := done.outcomes[0].error) is not None:
            raise RunsFailedError(error)
        for table, (content, _) in done.tables.items():
            frames.setdefault(table, []).append(pl.read_parquet(io.BytesIO(content)))
    return {table: pl.concat(parts) for table, parts in frames.items()}
