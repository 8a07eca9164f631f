"""Compute runs with executors, which receive tasks and return batches of outcomes.

A task is small and can be sent to another process or machine. A batch contains the finished tables
of some runs; only the process that started the study writes them to disk. Executors (threads,
worker processes, a cluster) differ only in where they compute.
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
from cwndlab.results.tables import encode_batch, split_files
from cwndlab.usercode.compiler import shared_objects
from cwndlab.usercode.processes import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cwndlab._core import Stop
    from cwndlab.results.tables import Table
    from cwndlab.usercode.program import Program
    from cwndlab.usercode.worker import Send

_LOOK_AGAIN_S = 0.1
_AHEAD = 2  # finished batches that may wait for the disk, per worker
BATCH_S = 0.1
"""Target duration of a batch in seconds. If a process is killed, the work of its current batch is
lost."""

MOST_RUNS = 512
"""Largest number of runs in a batch."""
_CAPTURE = "capture.pcap"


@dataclass(frozen=True, slots=True)
class Task:
    """A run to compute: the key of its result, and all data that determine the result."""

    key: str
    scenario_json: str
    traces: Mapping[str, bytes] = field(repr=False)
    programs: Mapping[str, Program] = field(default_factory=dict, repr=False)
    """The algorithms that come from files, by name. A task with such an algorithm runs in a
    separate process."""
    problem: str = ""
    """Reason why the task cannot run, such as an algorithm that does not compile."""
    weight: float = 1.0
    """Amount of work: the sum of the simulated seconds of all flows."""

    @property
    def is_apart(self) -> bool:
        """True if the task must be computed in a separate process."""
        return bool(self.programs or self.problem)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a task: success or error, and duration; its tables are in the `Batch`."""

    key: str
    error: str | None
    began_unix_s: float
    duration_s: float
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the runs' history, such as how late the emulated link delivered packets."""
    remark: str = ""
    """A message to the user about the run, for example that something disturbed it."""
    is_final: bool = True
    """False if the run will be repeated; its files are then stored in a separate folder."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcomes of tasks that were computed together."""

    outcomes: tuple[Outcome, ...]
    host: str
    tables: Mapping[str, Table] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Maps the name of each file, in the form KEY/NAME, to its content; KEY is the key of the run
    to which the file belongs."""


@dataclass(frozen=True, slots=True)
class Part:
    """Recordings that are stored before a long run ends; a `Batch` contains the remaining ones."""

    key: str
    tables: Mapping[str, Table] = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    """Maps the name of each file to the data that are appended to this file."""


@dataclass(frozen=True, slots=True)
class Note:
    """A message about the study as a whole, and files to store with the results."""

    text: str
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Maps the name of each file in the folder of results to the file's content."""


class Executor(Protocol):
    """Interface of executors: objects that compute the runs of a study."""

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch | Part | Note]:
        """Compute all tasks; yield each batch as soon as it is finished."""


def compute(
    tasks: Sequence[Task],
    objects: Mapping[str, tuple[str, str]] | None = None,
    stop: Stop | None = None,
    take: Callable[[Part], None] | None = None,
) -> Batch:
    """Run tasks in the given order until the batch is full; the remaining tasks are not run.

    A batch is full if its tables have many rows, or after a run with a packet capture. An error in
    a task is reported in its outcome and does not stop the other tasks.

    Args:
        tasks: the tasks.
        objects: maps the name of each algorithm of the tasks to its compiled shared object and its
            source file.
        stop: flag that cancels the batch; the batch then contains the runs finished so far.
        take: function that is called with parts of a long run's recordings, so that they can be
            written early.
    """
    keys = [task.key for task in tasks]
    traces = {name: content for task in tasks for name, content in task.traces.items()}
    began_unix_s, began_s = time.time(), time.perf_counter()

    def hand_over(position: int, recorded: core.Columns) -> None:
        if take is not None:
            key = keys[position]
            for columns in recorded.values():
                if isinstance(columns, dict) and "t_s" in columns:
                    columns["run"] = [0] * len(columns["t_s"])
            pcap = {_CAPTURE: bytes(recorded["pcap"])} if recorded["pcap"] is not None else {}
            take(Part(key, encode_batch([key], recorded), pcap))

    scenarios = [task.scenario_json for task in tasks]
    result = core.run_many(scenarios, traces, objects, stop, take and hand_over)
    errors = result["errors"]
    each_s = (time.perf_counter() - began_s) / max(len(errors), 1)
    outcomes = tuple(
        Outcome(key, error, began_unix_s + n * each_s, each_s)
        for n, (key, error) in enumerate(zip(keys, errors, strict=False))
    )
    files = {}
    if result["pcap"] is not None:
        # A batch ends after a run with a packet capture, so the capture belongs to its last run.
        files[f"{keys[len(errors) - 1]}/{_CAPTURE}"] = bytes(result["pcap"])
    return Batch(outcomes, socket.gethostname(), encode_batch(keys, result), files)


def compute_apart(
    task: Task, process: WorkerProcess, take: Callable[[Part], None] | None = None
) -> Batch:
    """Run a task in a separate process, so that a crash of the algorithms affects no other task."""
    began_unix_s, began_s = time.time(), time.perf_counter()
    error = task.problem
    if not error:
        try:
            request = Compute(task, shared_objects(task.programs))
            batch: Batch = process.ask(request, take=take)
        except Exception as caught:  # noqa: BLE001  any exception is a failure of this run
            error = str(caught) or type(caught).__name__
        else:
            return batch
    outcome = Outcome(task.key, error, began_unix_s, time.perf_counter() - began_s)
    return Batch((outcome,), socket.gethostname())


def batch_of(
    task: Task,
    files: Callable[[], Mapping[str, bytes]],
    notes: Mapping[str, Any] | None = None,
) -> Batch:
    """Run a task by calling the function `files`, and return the outcome as a batch.

    `files` returns the files with the results of the task, and may add facts to `notes`.
    """
    began_unix_s, began_s = time.time(), time.perf_counter()
    done: Mapping[str, bytes] = {}
    error = None
    try:
        done = files()
    except Exception as caught:  # noqa: BLE001  any exception is a failure of this run
        error = str(caught) or type(caught).__name__
    duration_s = time.perf_counter() - began_s
    outcome = Outcome(task.key, error, began_unix_s, duration_s, notes or {})
    tables, beside = split_files(task.key, done)
    return Batch((outcome,), socket.gethostname(), tables, beside)


@dataclass(frozen=True, slots=True)
class Compute:
    """A request to a separate process to run a task; the process answers with a batch."""

    task: Task
    objects: Mapping[str, tuple[str, str]]
    """Maps the name of each algorithm of the task to its compiled file and its source file."""

    @property
    def files(self) -> str:
        """Source files of the task's algorithms, for the error message after a crash."""
        return ", ".join(program.file for program in self.task.programs.values())

    def answer(self, send: Send) -> object:
        """Run the requested task in the process that received the request; return a `Batch`."""
        return compute([self.task], self.objects, take=send)


class LocalExecutor:
    """An executor that computes tasks in parallel threads.

    The simulator releases the interpreter lock while it computes. A task with the user's own
    algorithms is computed in a separate process, so that a crash or an endless loop affects no
    other task.
    """

    def __init__(self, jobs: int | None = None) -> None:
        """Create an executor with `jobs` threads; None means one for each core."""
        self.jobs = jobs or available_cores()

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch | Part]:
        """Compute all tasks; if the caller stops iterating, cancel the runs in progress."""
        crew = _Crew(tasks, self.jobs)
        try:
            yield from crew.batches()
        finally:
            crew.stop()


class _Crew:
    """Threads that receive tasks from one iterator and put batches into one queue.

    All threads must end before the process ends. Otherwise, a thread could return from compiled
    code while the interpreter shuts down. The interpreter would kill this thread, and the process
    would crash.
    """

    def __init__(self, tasks: Iterable[Task], size: int) -> None:
        self._waiting = iter(tasks)
        self._returned: list[Task] = []
        self._taking = threading.Lock()
        self._is_stopped = threading.Event()
        self._breaking_off = core.new_stop()
        self._finished: queue.Queue[Batch | Part | BaseException | None] = queue.Queue(
            _AHEAD * size
        )
        self._running = size
        self._processes = [WorkerProcess() for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._work, args=(process,), daemon=True)
            for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def batches(self) -> Iterator[Batch | Part]:
        while self._running:
            try:
                # Wait with a timeout: once Polars is imported, SIGINT does not end a wait.
                finished = self._finished.get(timeout=_LOOK_AGAIN_S)
            except queue.Empty:
                continue
            if finished is None:
                self._running -= 1
            elif isinstance(finished, BaseException):
                raise finished
            else:
                yield finished

    def stop(self) -> None:
        self._is_stopped.set()
        self._breaking_off.set()
        for thread, process in zip(self._threads, self._processes, strict=True):
            while thread.is_alive():
                process.close()  # repeated, because the thread may just have started the process
                thread.join(_LOOK_AGAIN_S)

    def _work(self, process: WorkerProcess) -> None:
        weight = 0.0
        with process:
            try:
                while tasks := self._next(weight):
                    # The CPU time of this thread: other processes do not make batches smaller.
                    began_s = time.thread_time()
                    if tasks[0].is_apart:
                        self._put(compute_apart(tasks[0], process, self._put))
                        continue
                    batch = compute(tasks, stop=self._breaking_off, take=self._put)
                    done = len(batch.outcomes)
                    self._give_back(tasks[done:])
                    self._put(batch)
                    spent_s = max(time.thread_time() - began_s, 1e-6)
                    weight = BATCH_S / spent_s * sum(task.weight for task in tasks[:done])
            except BaseException as error:  # noqa: BLE001  `batches` raises it again
                self._put(error)
        self._put(None)

    def _next(self, weight: float) -> list[Task]:
        """Return tasks up to a total `weight`, but at least one; return none if no task is left."""
        tasks: list[Task] = []
        with self._taking:
            while len(tasks) < MOST_RUNS and not self._is_stopped.is_set():
                task = self._returned.pop() if self._returned else next(self._waiting, None)
                if task is None:
                    break
                weight -= task.weight
                if tasks and (task.is_apart or tasks[0].is_apart or weight < 0):
                    self._returned.append(task)
                    break
                tasks.append(task)
        return tasks

    def _give_back(self, tasks: Sequence[Task]) -> None:
        with self._taking:
            self._returned.extend(reversed(tasks))

    def _put(self, finished: Batch | Part | BaseException | None) -> None:
        while not self._is_stopped.is_set():
            try:
                self._finished.put(finished, timeout=_LOOK_AGAIN_S)
            except queue.Full:
                continue
            return


def available_cores() -> int:
    """Return the number of processor cores that cwndlab may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
