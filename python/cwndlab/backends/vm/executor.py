"""Execute runs on a stock kernel in virtual machines, by default one per processor core."""

from __future__ import annotations

import json
import queue
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.backends.kernel.executor import KernelExecutor, Tools
from cwndlab.backends.kernel.names import KernelNames
from cwndlab.backends.vm.machine import VirtualMachine, obstacle_to_loading
from cwndlab.backends.vm.request import CALLS
from cwndlab.core import OURS
from cwndlab.errors import KernelRunError
from cwndlab.kernel.helper import require_done
from cwndlab.kernel.objects import kernel_program
from cwndlab.run.executor import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.backends.vm.packages import StockKernel
    from cwndlab.kernel.objects import KernelProgram
    from cwndlab.run.executor import Batch, Task

CPU_BOUND_PCT = 30.0
"""Maximum processor load, in %, that emulating the link may cause; a higher load would disturb the
traffic."""
_LOOK_AGAIN_S = 0.1
_FILES = ("capture", "states")


class _Asked(Protocol):
    """The only method of a virtual machine that `GuestHelper` calls."""

    def run(self, request: dict[str, Any], programs: list[KernelProgram], /) -> dict[str, bytes]:
        """Load `programs`, execute the request, and return the output files by their names."""


class GuestHelper(AbstractContextManager["GuestHelper"]):
    """Executes each request as one run in a separate virtual machine."""

    def __init__(
        self, machine: _Asked, programs: Mapping[str, KernelProgram] | None = None
    ) -> None:
        """Create a helper that executes requests in copies of a booted virtual machine.

        `programs` contains the algorithms to load for the runs; its keys are the algorithms' names
        in the kernel.
        """
        self._machine = machine
        self._programs = {} if programs is None else programs
        self.calls = b""
        """Record of the calls to hooks in the last run; empty if no algorithm was recorded."""

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Return the answer to a request.

        `waiting` is never called: each request has a separate virtual machine, and therefore does
        not have to wait for the runs of another process.

        Raises:
            KernelRunError: the request failed, or emulating the link took too much processor time.
            AlgorithmError: the guest kernel refuses an algorithm; the message states the reason.
            KernelError: the guest kernel cannot load algorithms.
        """
        del waiting
        wanted = {name: request[name] for name in _FILES if request.get(name)}
        inside = {name: f"/out/{name}" for name in wanted}
        own = {"owner": "", "is_held": True, "is_awake": False}
        names = sorted(set(request.get("kernel_names", {}).values()))
        programs = [self._programs[name] for name in names]
        left = self._machine.run({**request, **inside, **own}, programs)
        self.calls = left.get(CALLS, b"")
        loaded = left.get("loaded", b"").splitlines()  # up to the first that was refused
        for program, line in zip(programs, loaded, strict=False):
            require_done(json.loads(line), program.program.file)
        answer: dict[str, Any] = json.loads(left["answer"])
        if answer.pop("answer") == "refused":
            raise KernelRunError(answer["message"])
        answer["facts"] = {"sysctls": _sysctls(left.get("sysctls", b""))}
        cpu_pct = answer["report"]["cpu_pct"]
        if cpu_pct > CPU_BOUND_PCT:
            msg = (
                f"the run is not valid: emulating the link took {cpu_pct:.0f} % of the virtual "
                f"machine's processor (limit: {CPU_BOUND_PCT:.0f} %); choose a slower link, or "
                "--backend kernel"
            )
            raise KernelRunError(msg)
        for name, path in wanted.items():
            if name in left:
                Path(path).write_bytes(left[name])
        return answer

    def close(self) -> None:
        """Do nothing, because each virtual machine ends after its answer."""

    def __exit__(self, *_: object) -> None:
        self.close()


def _sysctls(text: bytes) -> dict[str, list[int]]:
    """Return the values of sysctls by their names, from lines such as `tcp_wmem 1 2 3`."""
    rows = [line.split() for line in text.decode().splitlines()]
    return {name: [int(value) for value in values] for name, *values in rows}


class GuestNames(KernelNames):
    """Finds the kernel names of a scenario's algorithms, and collects the algorithms to load."""

    def __init__(self, kernel: StockKernel, *, may_fall_back: bool = False) -> None:
        """Create an object that finds the names of algorithms in `kernel`.

        If `may_fall_back` is set and the kernel lacks an algorithm, cwndlab's implementation is
        used.
        """
        super().__init__(may_fall_back=may_fall_back)
        self._kernel = kernel
        self.programs: dict[str, KernelProgram] = {}
        """Algorithms to load for the runs; the keys are the algorithms' names in the kernel."""

    def _is_ours(self, asked: str) -> bool:
        if asked.startswith(OURS):
            return True
        if asked in self._kernel.algorithms:
            return False
        if self._may_fall_back:
            return True
        known = ", ".join(self._kernel.algorithms)
        msg = (
            f"{asked} is not in Linux {self._kernel.release}, which contains {known}; to load "
            f"cwndlab's version, write {OURS}{asked}"
        )
        raise KernelRunError(msg)

    def _load(self, reference: str, parameters: Mapping[str, int]) -> str:
        require_loading_in(self._kernel, reference)
        program = kernel_program(reference, Path(), parameters, has_link=self._kernel.has_bpf_links)
        self.programs[program.name] = program
        return program.name


def require_loading_in(kernel: StockKernel, reference: str) -> None:
    """Check that an algorithm can be loaded in a virtual machine.

    Raises:
        KernelRunError: the algorithm cannot be loaded; the message states the reason.
    """
    if (obstacle := obstacle_to_loading(kernel)) is not None:
        msg = f"the algorithm {reference} cannot be loaded in the virtual machine: {obstacle}"
        raise KernelRunError(msg)


class NoTracer:
    """Replaces a `Tracer` and records nothing; only TCP_INFO then shows timeouts and recoveries."""

    missing: str | None = "tracepoints are not read in a virtual machine"

    def start(self, _file: Path, /) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def _finished(done: queue.Queue[Batch | BaseException | None], threads: int) -> Iterator[Batch]:
    """Yield batches from a queue until each worker thread has put None into the queue.

    Raises:
        BaseException: one of the threads failed with this exception.
    """
    while threads:
        try:
            # Wait with a timeout: once Polars is imported, SIGINT does not end a wait.
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
    """An executor that uses a stock kernel in virtual machines, with reproducible results."""

    attempts = 1  # a second attempt would have the same result

    def __init__(
        self, kernel: StockKernel, jobs: int | None = None, *, may_fall_back: bool = False
    ) -> None:
        """Create an executor with `jobs` virtual machines in parallel, by default one per core.

        If `may_fall_back` is set and the kernel lacks an algorithm, cwndlab's implementation is
        used.
        """
        super().__init__(may_fall_back=may_fall_back)
        self._kernel = kernel
        self._jobs = jobs or available_cores()

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Compute all tasks; if the caller stops iterating, cancel the runs in progress."""
        machine = VirtualMachine(self._kernel)
        names = GuestNames(self._kernel, may_fall_back=self._may_fall_back)
        tools = Tools(GuestHelper(machine, names.programs), names, NoTracer())
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
            except BaseException as error:  # noqa: BLE001  `_finished` raises it again
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
