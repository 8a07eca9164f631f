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
    """A study: its file or arguments, the combinations of its factors, and a method to run it."""

    def run(
        self,
        results: str | Path | None = None,
        *,
        backend: BackendName | Backend = "sim",
        jobs: int | None = None,
        executor: str | None = None,
    ) -> Results:
        """Run the missing runs, and open the results.

        Args:
            results: the results folder. If None, `results/ID`.
            backend: `sim`; `kernel`, the kernel of this machine, as root and in real time; or a
                `cwndlab.backends.live.RealNetwork` between this machine and a server.
            jobs: number of parallel runs. If None, one per core.
            executor: address of a cluster that simulates instead of this machine,
                `dask://HOST:PORT`.

        Raises:
            RunsFailedError: some runs failed; the others are finished.
            ResultsError: the folder cannot be used.
            KernelRunError: this machine cannot run studies on its kernel.
            ClusterError: the cluster cannot be reached.
        """
        folder = Path(results) if results else None
        return run_study(self, folder, backend=backend, jobs=jobs, cluster=executor)
