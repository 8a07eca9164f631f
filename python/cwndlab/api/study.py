"""Read a study from a file or from arguments, and run the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.api.arguments import checked_jobs, folder_of
from cwndlab.api.running import run_study
from cwndlab.study.definition import StudyDefinition

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.backends import BackendName
    from cwndlab.run.backend import Backend


class Study(StudyDefinition):
    """A study, defined in a file or by arguments, with all combinations of its factors."""

    def run(
        self,
        results: str | Path | None = None,
        *,
        backend: BackendName | Backend = "sim",
        jobs: int | None = None,
        executor: str | None = None,
    ) -> Results:
        """Run all runs whose results are missing, and open the results.

        Args:
            results: the results folder. If None, `results/ID`.
            backend: `sim` for the simulator; `kernel` for this machine's kernel in real time; or a
                `cwndlab.backends.live.RealNetwork` for a network between this machine and a server.
            jobs: number of parallel runs. If None, one per core.
            executor: address of a Dask cluster that simulates instead of this machine,
                `dask://HOST:PORT`.

        Raises:
            ArgumentError: `results` is not a path, or `jobs` is not a number of runs.
            RunsFailedError: some runs failed; the other runs are finished.
            ResultsError: the folder cannot be used.
            KernelRunError: this machine cannot run studies on its kernel.
            ClusterError: the cluster cannot be reached.
        """
        folder = folder_of(results) if results else None
        return run_study(self, folder, backend=backend, jobs=checked_jobs(jobs), cluster=executor)
