"""Computing runs on a stock kernel, as many at once as there are processors."""

from __future__ import annotations

import json
import queue
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.backends.kernel.executor import KernelExecutor, Tools
from cwndlab.backends.vm.machine import VirtualMachine
from cwndlab.core import OURS
from cwndlab.errors import KernelRunError
from cwndlab.run.executor import available_cores
from cwndlab.usercode.program import is_file_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.backends.vm.packages import StockKernel
    from cwndlab.run.executor import Batch, Task
    from cwndlab.usercode.program import Program

CPU_BOUND_PCT = 30.0
"""Share of the virtual machine's processor above which emulating the link affects the traffic."""
_LOOK_AGAIN_S = 0.1
_FILES = ("capture", "states")


class _Asked(Protocol):
    """A machine that serves requests."""

    def run(self, request: dict[str, Any], /) -> dict[str, bytes]:
        """Return the files that a request produces."""


class GuestHelper(AbstractContextManager["GuestHelper"]):
    """The helper of kernel runs in virtual machines: each request has a machine of its own."""

    def __init__(self, machine: _Asked) -> None:
        """Use copies of a booted machine to answer requests."""
        self._machine = machine

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Return the answer to a request; machines are never shared, so `waiting` is not called.

        Raises:
            KernelRunError: the request cannot be done, or emulating its link took too much of the
                processor.
        """
        del waiting
        wanted = {name: request[name] for name in _FILES if request.get(name)}
        inside = {name: f"/out/{name}" for name in wanted}
        own = {"owner": "", "is_held": True, "is_awake": False}
        left = self._machine.run({**request, **inside, **own})
        answer: dict[str, Any] = json.loads(left["answer"])
        if answer.pop("answer") == "refused":
            raise KernelRunError(answer["message"])
        cpu_pct = answer["report"]["cpu_pct"]
        if cpu_pct > CPU_BOUND_PCT:
            msg = (
                f"not a measurement: the link took {cpu_pct:.0f} % of the virtual machine's "
                f"processor (cpu_pct; bound: {CPU_BOUND_PCT:.0f} %); choose a slower link, or "
                "--backend kernel"
            )
            raise KernelRunError(msg)
        for name, path in wanted.items():
            if name in left:
                Path(path).write_bytes(left[name])
        return answer

    def close(self) -> None:
        """Do nothing: a machine that has answered leaves nothing behind."""

    def __exit__(self, *_: object) -> None:
        self.close()


class GuestNames:
    """The algorithms of a stock kernel: its own, under their names."""

    def __init__(self, kernel: StockKernel) -> None:
        """The algorithms of a kernel."""
        self._kernel = kernel

    def of(
        self, scenario: Mapping[str, Any], programs: Mapping[str, Program] | None = None
    ) -> dict[str, str]:
        """Return no other names: only the kernel's own algorithms can run.

        Raises:
            KernelRunError: the kernel lacks an algorithm of the scenario.
        """
        for end in (flow[end] for flow in scenario["flows"] for end in ("sender", "receiver")):
            asked: str = end["algorithm"]
            is_own = asked in self._kernel.algorithms and asked not in (programs or {})
            if is_own and not end.get("parameters"):
                continue
            if asked.startswith(OURS) or is_file_reference(asked) or asked in (programs or {}):
                what = "is loaded by --backend kernel only"
            elif is_own:
                what = "is the kernel's own there, without parameters"
            else:
                what = f"is not in Linux {self._kernel.release}"
            known = ", ".join(self._kernel.algorithms)
            msg = f"{asked} {what}; a virtual machine runs {known}"
            raise KernelRunError(msg)
        return {}


class NoTracer:
    """No tracepoints: timeouts and recoveries are those that sockets report."""

    missing: str | None = "no tracepoints are read in a virtual machine"

    def start(self, _file: Path, /) -> None:
        """Nothing begins."""

    def stop(self) -> None:
        """Nothing ends."""


def _finished(done: queue.Queue[Batch | BaseException | None], threads: int) -> Iterator[Batch]:
    """Yield the batches that threads have finished, until each thread has put None.

    Raises:
        BaseException: the exception with which one of the threads failed.
    """
    while threads:
        try:
            # Not for ever: after Polars has been imported, SIGINT does not end a wait.
            batch = done.get(timeout=_LOOK_AGAIN_S)
        except queue.Empty:
            continue
        if batch is None:
            threads -= 1
        elif isinstance(batch, BaseException):
            raise batch
        else:
            yield batch


class VmExecutor(KernelExecutor):
    """A stock kernel in virtual machines: the result of a run depends on the run alone."""

    attempts = 1  # a second one would give the same

    def __init__(self, kernel: StockKernel, jobs: int | None = None) -> None:
        """Run a kernel in this many machines at once; one per core if None."""
        super().__init__()
        self._kernel = kernel
        self._jobs = jobs or available_cores()

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Compute all tasks. If the caller stops, runs in progress are cancelled."""
        machine = VirtualMachine(self._kernel)
        tools = Tools(GuestHelper(machine), GuestNames(self._kernel), NoTracer())
        waiting, taking = iter(tasks), threading.Lock()
        done: queue.Queue[Batch | BaseException | None] = queue.Queue()

        def work() -> None:
            try:
                while True:
                    with taking:
                        task = None if machine.is_closed else next(waiting, None)
                    if task is None:
                        break
                    done.put(self._compute(tools, task))
            except BaseException as error:  # noqa: BLE001  raised again where the caller waits
                done.put(error)
            done.put(None)

        crew = [threading.Thread(target=work, daemon=True) for _ in range(self._jobs)]
        for thread in crew:
            thread.start()
        try:
            yield from _finished(done, len(crew))
        finally:
            machine.close()
            for thread in crew:
                thread.join()

    def _compute(self, tools: Tools, task: Task, notes: dict[str, Any] | None = None) -> Batch:
        made_by = {"kernel": self._kernel.release, **(notes or {})}
        return super()._compute(tools, task, made_by)
