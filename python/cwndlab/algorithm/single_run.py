"""One run that is looked at and not kept."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import RunsFailedError
from cwndlab.run.campaign import tasks
from cwndlab.run.executor import Batch, LocalExecutor

if TYPE_CHECKING:
    from cwndlab.api.study import Study


def run_once(study: Study) -> dict[str, pl.DataFrame]:
    """The tables of the only run of a study.

    Raises:
        RunsFailedError: it failed; says why.
    """
    (run,) = study.matrix.runs
    frames: dict[str, list[pl.DataFrame]] = {}
    for done in LocalExecutor(1).batches(tasks([run])):
        if isinstance(done, Batch) and (error := done.outcomes[0].error) is not None:
            raise RunsFailedError(error)
        for table, (content, _) in done.tables.items():
            frames.setdefault(table, []).append(pl.read_parquet(io.BytesIO(content)))
    return {table: pl.concat(parts) for table, parts in frames.items()}
