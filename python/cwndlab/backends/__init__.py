"""Execute runs in the simulator, on this machine's kernel, on stock kernels, or on a network.

All backends run the same scenarios and write the same tables. Results of different backends or
kernels are never mixed, because the key of a run on a kernel contains the kernel's release.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from cwndlab.backends.kernel.executor import KernelExecutor
from cwndlab.backends.kernel.names import require_algorithms
from cwndlab.backends.kernel.process import require_runs
from cwndlab.backends.vm.executor import VmExecutor
from cwndlab.backends.vm.machine import require_machines
from cwndlab.backends.vm.packages import find_kernel
from cwndlab.errors import ClusterError, KernelRunError, StudyError, UnknownNameError
from cwndlab.run.executor import LocalExecutor
from cwndlab.study.keys import rekeyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.backends.vm.packages import StockKernel
    from cwndlab.results.blocks import Entry
    from cwndlab.run.backend import Backend
    from cwndlab.run.executor import Executor
    from cwndlab.study.matrix import Matrix

BackendName = Literal["sim", "kernel", "vm", "live"]
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)


@dataclass(frozen=True, slots=True)
class Simulator:
    """The backend that simulates runs, on this machine or on a Dask cluster."""

    jobs: int | None = None
    """Number of parallel runs. If None, one run per processor core."""
    cluster: str | None = None
    """Address (`dask://HOST:PORT`) of the Dask cluster that simulates.

    If None, this machine simulates.
    """

    @property
    def name(self) -> str:
        """Name of the backend."""
        return "sim"

    def keyed(self, matrix: Matrix) -> Matrix:
        """Return the runs unchanged: their keys (identifiers) are those of simulated runs."""
        return matrix

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        """Return an executor that uses threads on this machine, or the workers of a cluster.

        Raises:
            ClusterError: the address of the cluster is invalid, or Dask is not installed.
        """
        if self.cluster is None:
            return LocalExecutor(self.jobs)
        from cwndlab.backends.cluster import ClusterExecutor  # noqa: PLC0415  an optional library

        return ClusterExecutor(self.cluster)


@dataclass(frozen=True, slots=True)
class ThisKernel:
    """The backend that uses the TCP stack of this machine's kernel, in real time."""

    @property
    def name(self) -> str:
        """Name of the backend."""
        return "kernel"

    def keyed(self, matrix: Matrix) -> Matrix:
        """Return the runs with new keys (identifiers) that depend on the kernel's release."""
        return rekeyed(matrix, f"kernel/{platform.release()}")

    def executor(self, matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        """Return an executor that uses network namespaces of this machine.

        Raises:
            KernelRunError: the machine has no namespaces, this user may not create them, or the
                kernel lacks an algorithm.
        """
        require_runs()
        require_algorithms(cell.resolved for cell in matrix.cells)
        return KernelExecutor()


@dataclass(frozen=True, slots=True)
class VirtualMachines:
    """The backend that uses stock kernels in virtual machines, which run in virtual time."""

    kernel: StockKernel
    jobs: int | None = None
    """Number of virtual machines in parallel. If None, one per processor core."""

    @property
    def name(self) -> str:
        """Name of the backend."""
        return "vm"

    def keyed(self, matrix: Matrix) -> Matrix:
        """Return the runs with new keys (identifiers) that depend on the kernel's release."""
        return rekeyed(matrix, f"vm/{self.kernel.release}")

    def executor(self, _matrix: Matrix, _history: Callable[[], list[Entry]], /) -> Executor:
        """Return an executor that uses virtual machines on this machine.

        Raises:
            KernelRunError: a program that virtual machines need is missing.
        """
        require_machines()
        return VmExecutor(self.kernel, self.jobs)


def backend_of(
    name: BackendName,
    jobs: int | None = None,
    cluster: str | None = None,
    kernel: str | None = None,
) -> Backend:
    """Return the backend with this name.

    Args:
        name: name of the backend: `sim`, `kernel` or `vm`.
        jobs: number of parallel runs.
        cluster: address of a Dask cluster that runs the simulations instead of this machine.
        kernel: only for `vm`: the kernel's release, such as "6.1.170", or its beginning, such as
            "6.1". If None, the highest release that has been added.

    Raises:
        KernelRunError: no kernel for virtual machines has been added, or `kernel` is given for
            another backend than `vm`.
        UnknownNameError: no backend has this name, or no kernel of this release has been added.
        ClusterError: `cluster` is given for `kernel` or `vm`, which always use this machine.
        StudyError: the name is `live`; use `backends.live.RealNetwork`, which names a server.
    """
    if name not in BACKENDS:
        raise UnknownNameError(name, BACKENDS, f"backends: {', '.join(BACKENDS)}", kind="backend")
    if kernel is not None and name != "vm":
        msg = "--kernel selects the kernel of virtual machines; add --backend vm"
        raise KernelRunError(msg)
    if name == "sim":
        return Simulator(jobs, cluster)
    if name == "live":
        msg = "the backend live needs a server; use backends.live.RealNetwork, which names one"
        raise StudyError([msg])
    if cluster is not None:
        msg = "--executor: a cluster can only run simulations; omit --executor"
        raise ClusterError(msg)
    return ThisKernel() if name == "kernel" else VirtualMachines(find_kernel(kernel), jobs)
