"""One run that is looked at and not kept."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import RunsFailedError
from cwndlab.run.campaign import tasks
from cwndlab.run.executor import LocalExecutor

if TYPE_CHECKING:
    from cwndlab.api.study import Study


def run_once(study: Study) -> dict[str, pl.DataFrame]:
    """The tables of the only run of a study.

    Raises:
        RunsFailedError: it failed; says why.
    """
    (run,) = study.matrix.runs
    (outcome,) = LocalExecutor(1).outcomes(tasks([run]))
    if outcome.error is not None:
        raise RunsFailedError(outcome.error)
    return {
        name.removesuffix(".parquet"): pl.read_parquet(io.BytesIO(content))
        for name, content in outcome.files.items()
        if name.endswith(".parquet")
    }
