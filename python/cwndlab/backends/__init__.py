"""Where runs happen: in the simulator, or on the kernel of this machine.

Both take the same scenarios and write the same tables. A result belongs to its backend: the key of
a run on the kernel holds the kernel's release, so that nothing is taken for what it is not.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Literal, get_args

from cwndlab.errors import ClusterError
from cwndlab.run.executor import LocalExecutor
from cwndlab.study.keys import rekeyed

if TYPE_CHECKING:
    from cwndlab.run.executor import Executor
    from cwndlab.study.matrix import Matrix

Backend = Literal["sim", "kernel"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def keyed(matrix: Matrix, backend: Backend) -> Matrix:
    """The runs of a study with the names that their results have in this backend."""
    return matrix if backend == "sim" else rekeyed(matrix, f"kernel/{platform.release()}")


def executor(backend: Backend, jobs: int | None, cluster: str | None = None) -> Executor:
    """What computes runs there.

    Args:
        backend: where runs happen.
        jobs: how many at once, on this machine.
        cluster: the address of a cluster that simulates instead of this machine.

    Raises:
        KernelRunError: nothing does.
        ClusterError: there is no such cluster, or nothing that it could do.
    """
    if backend == "sim":
        if cluster is None:
            return LocalExecutor(jobs)
        from cwndlab.backends.cluster import ClusterExecutor  # noqa: PLC0415  seldom needed

        return ClusterExecutor(cluster)
    if cluster is not None:
        msg = "--executor: runs on the kernel happen on this machine; leave it out"
        raise ClusterError(msg)
    from cwndlab.backends.kernel.executor import KernelExecutor  # noqa: PLC0415  Linux only
    from cwndlab.backends.kernel.process import require_runs  # noqa: PLC0415  Linux only

    require_runs()
    return KernelExecutor()
