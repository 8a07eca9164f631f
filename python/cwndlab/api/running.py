"""Running and measuring studies, with the results opened when they are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.api.results import Results
from cwndlab.backends import backend_of
from cwndlab.run import campaign, progress
from cwndlab.run.executor import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cwndlab.backends import BackendName
    from cwndlab.results.blocks import Entry
    from cwndlab.run.backend import Backend
    from cwndlab.run.executor import Executor
    from cwndlab.run.progress import Reporter
    from cwndlab.study.definition import StudyDefinition
    from cwndlab.study.matrix import Matrix


def run_study(  # noqa: PLR0913  each has its default
    study: StudyDefinition,
    folder: Path | None = None,
    *,
    backend: BackendName | Backend = "sim",
    jobs: int | None = None,
    cluster: str | None = None,
    executor: Executor | None = None,
    report: Callable[[str, int, int], Reporter] = progress.reporter,
    again: str = "the same again",
) -> Results:
    """Compute the runs of `study` that `folder` lacks, and open it.

    Args:
        study: the study.
        folder: of the results; if None `results/ID`, and `results/ID-BACKEND` for other backends.
        backend: where the runs happen.
        jobs: how many runs at once, on this machine.
        cluster: address of a cluster that computes them, `dask://HOST:PORT`.
        executor: what computes them; what the backend has if None.
        report: makes the line of progress from title, total and number done.
        again: what the user does to go on after an interruption.

    Raises:
        StudyError: it has no link, or a run of it would take longer than anyone waits.
        RunsFailedError: some runs failed; the others are done.
        CampaignEndedError: a real network was out of reach for too long.
        InterruptedStudyError: the user stopped it.
        ResultsError: the folder cannot be used, or its disk is full.
    """
    where = backend_of(backend, jobs, cluster) if isinstance(backend, str) else backend
    folder = folder or campaign.default_folder(study, where.name)
    if executor is not None:
        where = _With(where, executor)
    cores = jobs or available_cores()
    campaign.run_study(study, folder, where, cores=cores, report=report, again=again)
    return Results(folder)


@dataclass(frozen=True, slots=True)
class _With:
    """A backend whose runs are computed by a given executor."""

    backend: Backend
    given: Executor

    @property
    def name(self) -> str:
        return self.backend.name

    def keyed(self, matrix: Matrix) -> Matrix:
        return self.backend.keyed(matrix)

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        return self.given
