"""Execute runs in a virtual machine, and record each call to hooks of the sender's algorithm."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.backends.kernel.executor import KernelExecutor, Tools
from cwndlab.backends.kernel.recording import NoNames, call_table, with_plain_receiver
from cwndlab.backends.vm.executor import GuestHelper, NoTracer, require_loading_in
from cwndlab.backends.vm.machine import VirtualMachine
from cwndlab.kernel.objects import kernel_program
from cwndlab.kernel.replay import recorded_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.backends.vm.packages import StockKernel
    from cwndlab.run.executor import Batch, Task


class RecordingVmExecutor(KernelExecutor):
    """An executor for runs with one flow; it records calls to hooks of the sender's algorithm."""

    attempts = 1  # a second attempt would have the same result

    def __init__(self, kernel: StockKernel, algorithm: str) -> None:
        """Boot a virtual machine for an algorithm that is given by its name or its file.

        Raises:
            KernelRunError: the algorithm cannot be loaded, or the virtual machine cannot be
                booted; the message states the reason.
        """
        super().__init__()
        require_loading_in(kernel, algorithm)
        self._kernel = kernel
        self._algorithm = algorithm
        self._machine = VirtualMachine(kernel)
        self.calls = pl.DataFrame()
        """Calls to hooks of the sender's algorithm in the last run, as returned by `call_table`."""

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Execute all tasks one after the other."""
        helper = _RecordingGuest(self._machine, self._kernel, self._algorithm)
        tools = Tools(helper, NoNames(), NoTracer())
        for task in tasks:
            batch = self._compute(tools, task, {"kernel": self._kernel.release})
            self.calls = helper.calls
            yield batch

    def close(self) -> None:
        """Stop the virtual machine if it is running."""
        self._machine.close()


class _RecordingGuest:
    """Executes a run in a virtual machine, and keeps the recorded calls in `calls`."""

    def __init__(self, machine: VirtualMachine, kernel: StockKernel, algorithm: str) -> None:
        self._machine = machine
        self._kernel = kernel
        self._algorithm = algorithm
        self.calls = pl.DataFrame()

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        scenario, sender = with_plain_receiver(request["scenario"])
        program = kernel_program(
            self._algorithm,
            Path(),
            sender.get("parameters"),
            is_recording=True,
            seed=scenario["seed"],
            has_link=self._kernel.has_bpf_links,
        )
        helper = GuestHelper(self._machine, {program.name: program})
        names = {sender["algorithm"]: program.name}
        answer = helper.ask({**request, "scenario": scenario, "kernel_names": names}, waiting)
        with tempfile.NamedTemporaryFile(prefix="cwndlab-") as file:
            file.write(helper.calls)
            file.flush()
            calls = recorded_calls(self._algorithm, Path(), Path(file.name))
        self.calls = call_table(calls, answer["kernel"]["began_ns"])
        return answer
