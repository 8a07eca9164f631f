"""Run a study in the simulator and on a kernel; add repetitions where the two do not agree."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.api.running import run_study
from cwndlab.backends import ThisKernel, VirtualMachines
from cwndlab.backends.kernel.executor import KernelExecutor
from cwndlab.backends.kernel.process import require_runs
from cwndlab.backends.vm.executor import VmExecutor
from cwndlab.errors import StudyError
from cwndlab.text.linkspec import split_trace_line, trace_line
from cwndlab.validation.judge import Agreement, CellAgreement, judge

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.api.study import Study
    from cwndlab.run.backend import Backend
    from cwndlab.run.executor import Executor

SEEDS_OF_CONTESTED = 10
"""Total number of repetitions of a contested setting, if the study has 2 to 9 repetitions. A
combination of factor levels is a contested setting if the medians of simulator and kernel differ by
more than `GOODPUT_BOUND` or `RTT_BOUND`."""
_HOST = "linux-tun"
VM_HOST = "linux-tun-vm"
"""Host preset that models a host in a virtual machine."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Results of simulator and kernel, and their agreement in each setting."""

    simulated: Results
    measured: Results
    judgements: list[CellAgreement]


def validate(
    study: Study,
    folder: Path,
    *,
    jobs: int | None = None,
    at_once: int = 1,
    again: str = "the same study again",
    where: Backend | None = None,
) -> Validation:
    """Execute the missing runs, and store results in the subfolders `sim` and `kernel` or `vm`.

    If the verdict on a setting (see `judge`) is not "agrees", the setting is run with ten seeds in
    total, so that the ranges of values can be compared. Studies with one repetition are an
    exception. If the kernel lacks an algorithm, cwndlab's implementation is loaded for the runs.

    The simulator models hosts by the preset `linux-tun` unless the study names other hosts. If the
    kernel runs in virtual machines, the preset is `linux-tun-vm`, and the simulator uses the buffer
    limits of these machines. In this case, all settings of a repetition share a seed, and the
    subfolder is `vm`.

    Args:
        study: the study to run.
        folder: folder of the results.
        jobs: number of parallel runs in the simulator.
        at_once: number of parallel runs on the kernel.
        again: command that continues the study after an interruption; messages quote this command.
        where: the backend with a kernel; None selects the kernel of this machine.

    Raises:
        RunsFailedError: some runs failed; all other runs are finished.
        KernelRunError: this kernel cannot execute runs.
    """
    beside = where or ThisKernel()
    executor: Executor | None = None
    host = _HOST
    if where is None:
        require_runs()
        executor = KernelExecutor(may_fall_back=True, at_once=at_once)
    elif isinstance(where, VirtualMachines):
        host = VM_HOST
        executor = VmExecutor(where.kernel, where.jobs, may_fall_back=True)

        study = study.changed({**study.document, "common_seeds": True})

    def both(simulation: Study, wanted: Study) -> Validation:
        measured = run_study(
            wanted,
            folder / beside.name,
            backend=beside,
            executor=executor,
            again=again,
        )
        alike = with_buffers_of(measured, simulation)
        simulated = run_study(alike, folder / "sim", jobs=jobs, again=again)
        return Validation(simulated, measured, judge(simulated, measured))

    simulation = behind_interfaces(study, host)
    first = both(simulation, study)
    contested = [each.cell for each in first.judgements if each.verdict is not Agreement.AGREES]
    if not contested or not 1 < study.repetitions < SEEDS_OF_CONTESTED:
        return first
    return both(
        *(
            each.repeated(SEEDS_OF_CONTESTED, lambda labels: dict(labels) in contested)
            for each in (simulation, study)
        )
    )


def behind_interfaces(study: Study, host: str = _HOST) -> Study:
    """Return a copy of the study in which `user_host` and `server_host` default to `host`."""
    document = copy.deepcopy(study.document)
    for key in ("user_host", "server_host"):
        document.setdefault(key, host)
    return study.changed(document)


def with_buffers_of(measured: Results, study: Study) -> Study:
    """Return the study with the buffer limits of the virtual machines in which it was measured.

    Linux derives `tcp_rmem` and `tcp_wmem` from the size of the memory, and a virtual machine has
    little memory. Limits that the study itself sets do not change. If the measurement did not use
    virtual machines, the study is returned unchanged.
    """
    sysctls = measured.history[-1].get("sysctls") if measured.history else None
    if not sysctls:
        return study
    limits = {
        "receive_buffer_max_bytes": sysctls["tcp_rmem"][-1],
        "send_buffer_max_bytes": sysctls["tcp_wmem"][-1],
    }
    changes = {**limits, **study.document.get("stack_overrides", {})}
    return study.changed({**study.document, "stack_overrides": changes})


def with_traces(study: Study, down: Path, up: Path) -> Study:
    """Return the study with its traces replaced by the recordings `down` and `up`.

    Raises:
        StudyError: no link of the study is a trace.
    """
    document = copy.deepcopy(study.document)
    count = sum(_put_traces(level, down, up) for level in _levels(document))
    if not count:
        msg = f"study {study.id} has no link with a trace that --trace could replace"
        raise StudyError([msg])
    return study.changed(document)


def _levels(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables that can contain links: the document, and factor levels that are tables."""
    factors = document.get("factors", {}).values()
    return [document, *(v for values in factors for v in values if isinstance(v, dict))]


def _put_traces(level: dict[str, Any], down: Path, up: Path) -> bool:
    is_trace = False
    for key, path in (("link", down), ("reverse_link", up)):
        link = level.get(key)
        if isinstance(link, str) and (line := split_trace_line(link)):
            kind, _, rest = line
            level[key] = trace_line(kind, path.resolve(), rest)
            is_trace = True
    if is_trace and "name" in level:
        level["name"] = down.stem
    return is_trace
