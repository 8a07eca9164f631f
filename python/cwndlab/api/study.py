"""Read a study from a file or from arguments, and run the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.api.arguments import checked_jobs, named
from cwndlab.api.running import run_study
from cwndlab.errors import ArgumentError
from cwndlab.run.backend import Backend
from cwndlab.study.definition import StudyDefinition
from cwndlab.text.files import checked_path

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.backends import BackendName


class Study(StudyDefinition):
    """A study, defined by a file or by arguments, and its combinations of factor levels."""

    def run(
        self,
        results: str | Path | None = None,
        *,
        backend: BackendName | Backend = "sim",
        jobs: int | None = None,
        executor: str | None = None,
    ) -> Results:
        """Execute all runs whose results are missing, and open the results.

        Args:
            results: the results folder. If None, `results/ID`.
            backend: `sim` for the simulator; `kernel` for this machine's kernel in real time; `vm`
                for a stock kernel in virtual machines; or a `cwndlab.backends.live.RealNetwork` for
                a network between this machine and a server.
            jobs: number of parallel runs. If None, one run per processor core.
            executor: address, `dask://HOST:PORT`, of a Dask cluster that simulates instead of this
                machine.

        Raises:
            ArgumentError: an argument has a wrong type, or `jobs` is not a number of runs.
            RunsFailedError: some runs failed; the other runs are finished.
            ResultsError: the folder cannot be used.
            KernelRunError: this machine cannot run studies on its kernel.
            ClusterError: the cluster cannot be reached.
        """
        folder = None if results is None else checked_path(results)
        if not isinstance(backend, str) and not isinstance(backend, Backend):
            raise ArgumentError(backend, "backend", 'write a name, such as "sim" or "kernel"')
        if executor is not None:
            named(executor, "executor", "dask://127.0.0.1:8786")
        return run_study(self, folder, backend=backend, jobs=checked_jobs(jobs), cluster=executor)
