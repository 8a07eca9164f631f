"""Backends: the simulator, the kernel of this machine, and a real network.

All take the same scenarios and write the same tables. A result belongs to its backend: the key of
a run on the kernel holds the kernel's release, so that nothing is taken for what it is not.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from cwndlab.backends.kernel.executor import KernelExecutor
from cwndlab.backends.kernel.process import require_runs
from cwndlab.errors import ClusterError, StudyError
from cwndlab.run.executor import LocalExecutor
from cwndlab.study.keys import rekeyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.results.blocks import Entry
    from cwndlab.run.backend import Backend
    from cwndlab.run.executor import Executor
    from cwndlab.study.matrix import Matrix

BackendName = Literal["sim", "kernel", "live"]
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)


@dataclass(frozen=True, slots=True)
class Simulator:
    """The simulator, on this machine or a cluster."""

    jobs: int | None = None
    """Number of runs at once; one per core if None."""
    cluster: str | None = None
    """Address of a cluster that simulates instead of this machine, `dask://HOST:PORT`."""

    @property
    def name(self) -> str:
        """Its name."""
        return "sim"

    def keyed(self, matrix: Matrix) -> Matrix:
        """The runs as they are: their keys are those of simulations."""
        return matrix

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        """Threads of this process, or a cluster's workers.

        Raises:
            ClusterError: there is no such cluster, or nothing that it could do.
        """
        if self.cluster is None:
            return LocalExecutor(self.jobs)
        from cwndlab.backends.cluster import ClusterExecutor  # noqa: PLC0415  an optional library

        return ClusterExecutor(self.cluster)


@dataclass(frozen=True, slots=True)
class ThisKernel:
    """The kernel of this machine, in real time."""

    @property
    def name(self) -> str:
        """Its name."""
        return "kernel"

    def keyed(self, matrix: Matrix) -> Matrix:
        """The runs with keys that hold the kernel's release."""
        return rekeyed(matrix, f"kernel/{platform.release()}")

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        """Network namespaces of this machine.

        Raises:
            KernelRunError: it has none, or this user may not make them.
        """
        require_runs()
        return KernelExecutor()


def backend_of(name: BackendName, jobs: int | None = None, cluster: str | None = None) -> Backend:
    """The backend of this name, of those that this machine has.

    Raises:
        ClusterError: a cluster is to run on a kernel.
        StudyError: a real network needs a server: `backends.live.RealNetwork` says which.
    """
    if name == "sim":
        return Simulator(jobs, cluster)
    if name == "live":
        raise StudyError(["a real network is measured between two machines; name the server"])
    if cluster is not None:
        msg = "--executor: runs on the kernel happen on this machine; leave it out"
        raise ClusterError(msg)
    return ThisKernel()
