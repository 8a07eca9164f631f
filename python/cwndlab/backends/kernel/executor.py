"""Execute runs on this machine's kernel in real time, for one study at a time."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.backends.kernel.names import KernelNames
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.backends.kernel.states import state_table
from cwndlab.backends.kernel.tracing import Tracer, count, fill, happenings, replace_events
from cwndlab.errors import KernelRunError
from cwndlab.results.tables import encode_result, to_parquet
from cwndlab.run.executor import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.run.executor import Batch, Task
    from cwndlab.usercode.program import Program

_OWNER_WIDTH = 80


class InvalidRunError(KernelRunError):
    """The machine was too slow to emulate the link in real time, so the run is not valid."""


class _Helper(Protocol):
    """Interface of the helper that executes runs, on this machine or in a virtual machine."""

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = ...
    ) -> dict[str, Any]:
        """Send a request to the helper process, and return its answer."""


class _Names(Protocol):
    """Interface of objects that find the names by which the kernel knows algorithms."""

    def of(
        self, scenario: Mapping[str, Any], programs: Mapping[str, Program] | None = ...
    ) -> dict[str, str]:
        """Map names of algorithms in the scenario to names of loaded algorithms in the kernel."""


class _EventLog(Protocol):
    """Interface of objects that record TCP events of the kernel."""

    missing: str | None

    def start(self, file: Path, /) -> None:
        """Start to write all TCP events to a file."""

    def stop(self) -> None:
        """Stop writing events."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The objects that a run needs: the helper, the names of algorithms, the event recorder."""

    helper: _Helper
    names: _Names
    tracer: _EventLog


class KernelExecutor:
    """An executor that uses the kernel of this machine, in real time.

    If the machine is too slow to emulate the link during a run, the run is repeated; a run has at
    most three attempts in total.
    """

    attempts = 3

    def __init__(
        self,
        *,
        may_fall_back: bool = False,
        at_once: int = 1,
        say: Callable[[str], object] = lambda text: print(text, file=sys.stderr),  # noqa: T201  for the user
    ) -> None:
        """Create an executor; it calls `say` to show messages to the user.

        If `may_fall_back` is set and the kernel lacks an algorithm, cwndlab's implementation is
        used. At most `at_once` runs are executed in parallel, each in its own network namespaces.
        The processors must be fast enough to emulate `at_once` links in real time.
        """
        self._may_fall_back = may_fall_back
        self._at_once = at_once
        self._naming = threading.Lock()
        self._say = say

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Execute all tasks; up to `at_once` tasks run in parallel."""
        with ExitStack() as stack:
            names = stack.enter_context(KernelNames(may_fall_back=self._may_fall_back))
            helpers = [stack.enter_context(RunsHelper()) for _ in range(self._at_once)]
            crew = [Tools(helper, names, stack.enter_context(Tracer())) for helper in helpers]
            if len(crew) == 1:
                for task in tasks:
                    yield self._compute(crew[0], task)
                return
            pool = ThreadPoolExecutor(len(crew))
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            left = iter(tasks)
            while batch := list(itertools.islice(left, len(crew))):
                # Between two batches, studies of other processes may use the machine.
                helpers[0].ask({"do": "hold", "owner": _owner()}, self._waiting)
                done = list(pool.map(self._compute, crew, batch))
                helpers[0].ask({"do": "release"})
                yield from done

    def _compute(self, tools: Tools, task: Task, notes: dict[str, Any] | None = None) -> Batch:
        notes = {} if notes is None else notes

        def files() -> Mapping[str, bytes]:
            if task.problem:
                raise KernelRunError(task.problem)
            for attempt in range(1, self.attempts + 1):
                tables = self._tables(tools, task, notes)
                report = tables.pop("report")
                notes["emulator"] = {**report, "attempt": attempt}
                if not report["invalid"]:
                    return _encoded(task.key, tables)
            times = (
                f", in {self.attempts} attempts; stop programs that keep the processor busy"
                if self.attempts > 1
                else ""
            )
            msg = f"the run is not valid: {report['invalid']}{times}"
            raise InvalidRunError(msg)

        return batch_of(task, files, notes)

    def _tables(self, tools: Tools, task: Task, notes: dict[str, Any]) -> dict[str, Any]:
        scenario = json.loads(task.scenario_json)
        traces = {name: text.decode() for name, text in task.traces.items()}
        with tempfile.TemporaryDirectory(prefix="cwndlab-") as folder:
            capture, states, trace = (Path(folder) / name for name in ("pcap", "states", "trace"))

            def ask() -> dict[str, Any]:
                with self._naming:
                    kernel_names = tools.names.of(scenario, task.programs)
                if kernel_names:
                    notes["ours_in_kernel"] = kernel_names
                request = {
                    "do": "run",
                    "scenario": scenario,
                    "traces": traces,
                    "kernel_names": kernel_names,
                    "capture": str(capture) if scenario["record"].get("pcap") else None,
                    "states": str(states),
                    "owner": _owner(),
                    "is_held": self._at_once > 1,
                }
                tools.tracer.start(trace)
                try:
                    return tools.helper.ask(request, self._waiting)
                finally:
                    tools.tracer.stop()

            try:
                answer = ask()
            except KernelRunError:
                if self.attempts == 1 or not notes.get("ours_in_kernel"):
                    raise
                answer = ask()  # the process that loaded an algorithm may have ended meanwhile
            tables = {
                "flows": _columns(answer["flows"]),
                "links": _columns(answer["links"]),
                "samples": answer["samples"],
                "events": answer["events"],
                "pcap": _content(capture),
                "states": _content(states),
                "report": answer["report"],
            }
            kernel = answer["kernel"]
            notes["netstat"] = kernel["netstat"]
            notes |= {name: kernel[name] for name in ("wake_time", "read_time")}
            notes |= answer.get("facts", {})
            if tools.tracer.missing is None:
                flows = scenario["flows"]
                found = happenings(trace.read_bytes(), flows, kernel, scenario["duration_ns"])
                notes["traced"] = count(found, len(flows))
                fill(tables, notes["traced"])
                if tables["events"] is not None:
                    numbers = [flow["id"] for flow in flows]
                    tables["events"] = replace_events(tables["events"], found, numbers)
            else:
                notes["not_traced"] = tools.tracer.missing
        return tables

    def _waiting(self, owner: str) -> None:
        self._say(f"waiting for this machine's kernel, which {owner or 'another study'} is using")


def _encoded(key: str, tables: Mapping[str, Any]) -> dict[str, bytes]:
    files = encode_result(key, tables)
    states = state_table(key, tables["states"] or b"")
    if states is not None:
        files["tcp_info.parquet"] = to_parquet(states)
    return files


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _owner() -> str:
    """Return the command line and the ID of this process.

    Other commands show this text while they wait until this process no longer uses the kernel.
    """
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv[0] else ["cwndlab"]
    command = textwrap.shorten(shlex.join(words), _OWNER_WIDTH, placeholder=" ...")
    return f"{command} (process {os.getpid()})"


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
