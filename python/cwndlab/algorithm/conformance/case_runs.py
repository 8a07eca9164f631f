"""Execute the runs of test cases in the simulator, on this kernel or in a virtual machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from cwndlab.algorithm.single_run import compute_once, run_once
from cwndlab.backends.kernel.process import require_runs
from cwndlab.backends.kernel.recording import RecordingExecutor, phases_of
from cwndlab.backends.vm.recording import RecordingVmExecutor
from cwndlab.kernel.loading import require_loading
from cwndlab.usercode.processes import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.api.study import Study
    from cwndlab.backends.vm.packages import StockKernel

_SAMPLES = {"samples": "1 ms", "events": True}


class CaseRuns(Protocol):
    """Executes the runs of test cases in the simulator, on this kernel or in a virtual machine."""

    attempts: int
    """Maximum number of attempts at a test case, each with a different seed. An attempt fails if an
    event that the case requires does not happen."""

    record: Mapping[str, Any]
    """Tables that a study must record for the test cases."""

    def tables(self, study: Study, /) -> dict[str, pl.DataFrame]:
        """Execute the only run of a study.

        Returns:
            The tables `flows`, `samples`, `events` (with the reported phases) and `acks` (one row
            for each ACK: `snd_una` and `snd_nxt` before the ACK).

        Raises:
            RunsFailedError: the run failed; the message states the reason.
        """


class SimulatedRuns(AbstractContextManager["SimulatedRuns"]):
    """Executes runs in the simulator. The runs are deterministic, so one attempt is enough."""

    attempts = 1
    record: Mapping[str, Any] = _SAMPLES | {"ack_trace": True}

    def __init__(self) -> None:
        """Prepare the worker process for algorithms that are given as files."""
        self._process = WorkerProcess()

    def tables(self, study: Study) -> dict[str, pl.DataFrame]:
        """Execute the only run of a study, and return its tables."""
        return run_once(study, self._process)

    def __exit__(self, *_: object) -> None:
        self._process.__exit__(None, None, None)


class KernelRuns(AbstractContextManager["KernelRuns"]):
    """Executes runs on this machine's kernel in real time, with the algorithm as a BPF program."""

    attempts = 6
    record: Mapping[str, Any] = _SAMPLES

    def __init__(self, algorithm: str) -> None:
        """Check that this machine can run the algorithm.

        Raises:
            KernelRunError: this machine cannot run studies on its kernel.
            KernelError: the algorithm cannot be loaded into this kernel.
        """
        require_runs()
        require_loading(algorithm)
        self._executor: RecordingExecutor | RecordingVmExecutor = RecordingExecutor(algorithm)

    def tables(self, study: Study) -> dict[str, pl.DataFrame]:
        """Execute the only run of a study, and return its tables."""
        tables = compute_once(study, self._executor)
        calls = self._executor.calls
        phases = phases_of(calls)
        undone = calls.filter(pl.col("program").str.ends_with("_undo_cwnd"))
        # Called when a recovery begins (or at a timeout), which may be undone before TCP_INFO is
        # read again; a virtual machine has no tracepoints.
        reduced = calls.filter(pl.col("program").str.ends_with("_ssthresh"))
        acks = calls.filter(pl.col("program").str.ends_with("_cong_control"))
        reported = [
            pl.DataFrame({"flow": 0, "t_s": phases["t_s"], "event": "phase",
                          "value": phases["phase"]}),
            pl.DataFrame({"flow": 0, "t_s": undone["t_s"], "event": "undo", "value": None}),
            pl.DataFrame({"flow": 0, "t_s": reduced["t_s"], "event": "recovery", "value": None}),
        ]  # fmt: skip
        events = tables["events"]
        columns = pl.Schema(
            {name: events.schema[name] for name in ("flow", "t_s", "event", "value")}
        )
        return tables | {
            "events": pl.concat(
                [each.select(columns.names()).cast(columns) for each in (events, *reported)]
            ).sort("t_s", maintain_order=True),
            "acks": acks.select(
                pl.lit(0).alias("flow"),
                "t_s",
                pl.col("snd_una").shift(1).fill_null(0),
                "snd_nxt",
            ),
        }

    def __exit__(self, *_: object) -> None:
        """Do nothing: each run unloads its algorithm when it ends."""


class VmRuns(KernelRuns):
    """Executes runs on a stock kernel in a virtual machine; equal seeds lead to equal results."""

    attempts = 3

    def __init__(self, algorithm: str, kernel: StockKernel) -> None:
        """Boot the virtual machine.

        Raises:
            KernelRunError: the algorithm cannot be loaded, or the virtual machine cannot be
                booted; the message states the reason.
        """
        self._vm = self._executor = RecordingVmExecutor(kernel, algorithm)

    def __exit__(self, *_: object) -> None:
        """Stop the virtual machine."""
        self._vm.close()
