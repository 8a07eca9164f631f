"""Execute a study on a backend, such as the simulator, and open the results."""

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
    again: str = "the same study again",
) -> Results:
    """Compute the runs of `study` whose results are not yet in `folder`, and open the results.

    Args:
        study: the study.
        folder: the results folder. If None, `results/ID`, or `results/ID-BACKEND` for a backend
            other than the simulator.
        backend: the backend that executes the runs.
        jobs: number of parallel runs on this machine.
        cluster: address of a Dask cluster that computes the runs, `dask://HOST:PORT`.
        executor: the executor of the runs. If None, the backend's default executor.
        report: function that creates the progress display from the title, the total number of runs
            and the number of finished runs.
        again: command that continues the study after an interruption; messages quote this command.

    Raises:
        StudyError: the study has no link, or one of its runs would take too long.
        RunsFailedError: some runs failed; the other runs are finished.
        CampaignEndedError: a real network was unreachable for too long.
        InterruptedStudyError: the user stopped the study.
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
    """A backend that runs its tasks with a given executor instead of its default executor."""

    backend: Backend
    given: Executor

    @property
    def name(self) -> str:
        return self.backend.name

    def keyed(self, matrix: Matrix) -> Matrix:
        return self.backend.keyed(matrix)

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        return self.given
