"""Where runs are computed. An executor takes tasks and gives outcomes, in whatever order.

A task is small and can be sent anywhere; an outcome holds the finished files of the run, which only
the process that started the study writes. So other executors (worker processes, a cluster) differ
in nothing but this.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab import core
from cwndlab.errors import BrokenAlgorithmError
from cwndlab.results.tables import encode_result
from cwndlab.usercode.processes import WorkerProcess
from cwndlab.usercode.worker import Compute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab._core import Stop
    from cwndlab.usercode.program import Program

_LOOK_AGAIN_S = 0.1
_AHEAD = 2  # finished runs that may wait for the disk, per worker


@dataclass(frozen=True, slots=True)
class Task:
    """One run: all that determines it, and the name of its result."""

    key: str
    scenario_json: str
    traces: Mapping[str, bytes] = field(repr=False)
    programs: Mapping[str, Program] = field(default_factory=dict, repr=False)
    """Algorithms that are files; the task is for a process of its own then."""
    problem: str = ""
    """Why it cannot run: an algorithm that does not compile, for example."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: files, or an error."""

    key: str
    files: Mapping[str, bytes] = field(repr=False)
    error: str | None
    host: str
    began_unix_s: float
    duration_s: float
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else the manifest is to know: how well a machine kept up, for example."""


class Executor(Protocol):
    """Computes tasks."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Compute all tasks; give each outcome as soon as it is there."""


def compute(
    task: Task,
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
) -> Outcome:
    """Run one task. Any error becomes part of the outcome: the others go on.

    Args:
        task: the task.
        objects: shared objects of its programs and their sources, by name.
        stop: breaks it off once it is set.
    """

    def files() -> Mapping[str, bytes]:
        return encode_result(task.key, core.run(task.scenario_json, task.traces, objects, stop))

    return outcome_of(task, files)


def compute_apart(task: Task, process: WorkerProcess) -> Outcome:
    """Run a task with algorithms of the user in a process that may end by it."""

    def files() -> Mapping[str, bytes]:
        if task.problem:
            raise BrokenAlgorithmError(task.problem)
        outcome: Outcome = process.ask(Compute(task))
        if outcome.error is not None:
            raise BrokenAlgorithmError(outcome.error)
        return outcome.files

    return outcome_of(task, files)


def outcome_of(
    task: Task,
    files: Callable[[], Mapping[str, bytes]],
    notes: Mapping[str, Any] | None = None,
) -> Outcome:
    """What became of a task whose files are made by `files`, which may add to `notes`."""
    began_unix_s = time.time()
    began_s = time.perf_counter()
    done: Mapping[str, bytes] = {}
    error = None
    try:
        done = files()
    except Exception as caught:  # noqa: BLE001  whatever it is, it is this run's failure
        error = str(caught) or type(caught).__name__
    duration_s = time.perf_counter() - began_s
    host = socket.gethostname()
    return Outcome(task.key, done, error, host, began_unix_s, duration_s, notes or {})


class LocalExecutor:
    """Threads of this process: the simulator lets the others go on while it computes.

    A task with algorithms of the user is handed by its thread to a process of the thread's own, so
    that a crash or a loop without end fails that one run.
    """

    def __init__(self, jobs: int | None = None) -> None:
        """Use `jobs` threads; one per core that this process may use, if None."""
        self.jobs = jobs or available_cores()

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Compute all tasks. If the caller stops, what has begun is broken off."""
        crew = _Crew(tasks, self.jobs)
        try:
            yield from crew.outcomes()
        finally:
            crew.stop()


class _Crew:
    """Threads that take tasks from one iterator and put what became of them into one queue.

    None of them may be left when the process ends: the interpreter ends threads that come back from
    compiled code then, and the process by that.
    """

    def __init__(self, tasks: Iterable[Task], size: int) -> None:
        self._waiting = iter(tasks)
        self._taking = threading.Lock()
        self._is_stopped = threading.Event()
        self._breaking_off = core.new_stop()
        self._finished: queue.Queue[Outcome | BaseException | None] = queue.Queue(_AHEAD * size)
        self._running = size
        self._processes = [WorkerProcess() for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._work, args=(process,), daemon=True)
            for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def outcomes(self) -> Iterator[Outcome]:
        while self._running:
            finished = self._finished.get()
            if finished is None:
                self._running -= 1
            elif isinstance(finished, Outcome):
                yield finished
            else:
                raise finished

    def stop(self) -> None:
        self._is_stopped.set()
        self._breaking_off.set()
        for thread, process in zip(self._threads, self._processes, strict=True):
            while thread.is_alive():
                process.close()  # again, if it was about to be started
                thread.join(_LOOK_AGAIN_S)

    def _work(self, process: WorkerProcess) -> None:
        with process:
            try:
                while (task := self._next()) is not None:
                    self._put(self._outcome(task, process))
            except BaseException as error:  # noqa: BLE001  raised again where the caller waits
                self._put(error)
        self._put(None)

    def _outcome(self, task: Task, process: WorkerProcess) -> Outcome:
        if task.programs or task.problem:
            return compute_apart(task, process)
        return compute(task, stop=self._breaking_off)

    def _next(self) -> Task | None:
        with self._taking:
            return None if self._is_stopped.is_set() else next(self._waiting, None)

    def _put(self, finished: Outcome | BaseException | None) -> None:
        while not self._is_stopped.is_set():
            try:
                self._finished.put(finished, timeout=_LOOK_AGAIN_S)
            except queue.Full:
                continue
            return


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
