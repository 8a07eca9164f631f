"""Both backends on one study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.campaign import run_study
from cwndlab.testbed.executor import KernelExecutor
from cwndlab.testbed.process import require_helper

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.results import Results
    from cwndlab.study import Study


def validate(
    study: Study, folder: Path, *, jobs: int | None = None, again: str = "the same again"
) -> tuple[Results, Results]:
    """Run what the two folders `sim` and `kernel` within `folder` lack.

    An algorithm that the kernel lacks is ours there, loaded for its runs.

    Raises:
        RunsFailedError: some runs failed; the others are done.
        KernelRunError: there are no runs on this kernel.
    """
    require_helper()
    simulated = run_study(study, folder / "sim", jobs=jobs, again=again)
    measured = run_study(
        study,
        folder / "kernel",
        backend="kernel",
        executor=KernelExecutor(may_fall_back=True),
        again=again,
    )
    return simulated, measured
