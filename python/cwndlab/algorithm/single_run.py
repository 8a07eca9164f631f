"""Execute a single run without storing its results."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import RunsFailedError
from cwndlab.run.campaign import tasks
from cwndlab.run.executor import Batch, LocalExecutor, Note, Part, compute_apart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cwndlab.api.study import Study
    from cwndlab.run.executor import Executor
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
    (task,) = tasks(study.matrix.runs)
    if process is None or not task.is_apart:
        return compute_once(study, LocalExecutor(1))
    pieces: list[Batch | Part] = []
    pieces.append(compute_apart(task, process, pieces.append))
    return _tables(pieces)


def compute_once(study: Study, executor: Executor) -> dict[str, pl.DataFrame]:
    """Let an executor execute the only run of a study, and return the run's tables.

    Raises:
        RunsFailedError: the run failed; the message states the reason.
    """
    (task,) = tasks(study.matrix.runs)
    return _tables(executor.batches([task]))


def _tables(pieces: Iterable[Batch | Part | Note]) -> dict[str, pl.DataFrame]:
    frames: dict[str, list[pl.DataFrame]] = {}
    for done in pieces:
        if isinstance(done, Batch) and (error := done.outcomes[0].error) is not None:
            raise RunsFailedError(error)
        if isinstance(done, Note):
            continue
        for table, (content, _) in done.tables.items():
            frames.setdefault(table, []).append(pl.read_parquet(io.BytesIO(content)))
    return {table: pl.concat(parts) for table, parts in frames.items()}
