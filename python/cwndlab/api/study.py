"""A study that can be run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.api.running import run_study
from cwndlab.study.definition import StudyDefinition

if TYPE_CHECKING:
    from cwndlab.api.results import Results
    from cwndlab.backends import BackendName
    from cwndlab.run.backend import Backend


class Study(StudyDefinition):
    """A study: its file or arguments, its combinations, and a way to run them."""

    def run(
        self,
        results: str | Path | None = None,
        *,
        backend: BackendName | Backend = "sim",
        jobs: int | None = None,
        executor: str | None = None,
    ) -> Results:
        """Run what has not been run yet, and open the results.

        Args:
            results: the results folder; `results/ID` if None.
            backend: `sim`; `kernel`, this machine's, as root and in real time; or a network
                between this machine and a server, `cwndlab.backends.live.RealNetwork`.
            jobs: number of runs at once; one per core if None.
            executor: `dask://HOST:PORT`, a cluster that simulates instead of this machine.

        Raises:
            RunsFailedError: some runs failed; the others are done.
            ResultsError: the folder cannot be used.
            KernelRunError: this machine cannot run studies on its kernel.
            ClusterError: the cluster cannot be reached.
        """
        folder = Path(results) if results else None
        return run_study(self, folder, backend=backend, jobs=jobs, cluster=executor)
