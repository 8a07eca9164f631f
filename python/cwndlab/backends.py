"""Where runs happen: in the simulator, or on the kernel of this machine.

Both take the same scenarios and write the same tables. A result belongs to its backend: the key of
a run on the kernel holds the kernel's release, so that nothing is taken for what it is not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from typing import TYPE_CHECKING, Literal, get_args

from cwndlab.executor import LocalExecutor

if TYPE_CHECKING:
    from cwndlab.executor import Executor
    from cwndlab.matrix import Matrix

Backend = Literal["sim", "kernel"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def keyed(matrix: Matrix, backend: Backend) -> Matrix:
    """The runs of a study with the names that their results have in this backend."""
    if backend == "sim":
        return matrix

    def key(name: str) -> str:
        content = f"{name}/kernel/{platform.release()}"
        return hashlib.sha256(content.encode()).hexdigest()[: len(name)]

    runs = (dataclasses.replace(run, key=key(run.key)) for run in matrix.runs)
    return dataclasses.replace(matrix, runs=tuple(runs))


def executor(backend: Backend, jobs: int | None) -> Executor:
    """What computes runs there.

    Raises:
        KernelRunError: nothing does.
    """
    if backend == "sim":
        return LocalExecutor(jobs)
    from cwndlab.testbed.executor import KernelExecutor  # noqa: PLC0415  Linux only
    from cwndlab.testbed.process import require_helper  # noqa: PLC0415  Linux only

    require_helper()
    return KernelExecutor()
