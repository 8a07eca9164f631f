"""Computing runs on the kernel: one at a time, in real time."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.encoding import encode_result
from cwndlab.errors import KernelRunError
from cwndlab.executor import outcome_of
from cwndlab.testbed.names import KernelNames
from cwndlab.testbed.process import Helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.executor import Outcome, Task

_ATTEMPTS = 3


class InvalidRunError(KernelRunError):
    """The machine did not keep up: what was seen is no measurement of the link."""


class KernelExecutor:
    """The kernel of this machine. What it computes takes as long as it says.

    A run during which the machine did not keep up is made again, up to three times in all.
    """

    def __init__(
        self,
        *,
        may_fall_back: bool = False,
        say: Callable[[str], object] = lambda text: print(text, file=sys.stderr),  # noqa: T201  for the user
    ) -> None:
        """Compute, and tell people by `say`.

        With `may_fall_back`, what the kernel lacks is ours under any name.
        """
        self._may_fall_back = may_fall_back
        self._say = say

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Compute all tasks, one after the other."""
        with Helper() as helper, KernelNames(may_fall_back=self._may_fall_back) as names:
            for task in tasks:
                yield self._compute(helper, names, task)

    def _compute(self, helper: Helper, names: KernelNames, task: Task) -> Outcome:
        notes: dict[str, Any] = {}

        def files() -> Mapping[str, bytes]:
            if task.programs or task.problem:
                msg = "an algorithm that is a file runs in the simulator (--backend sim)"
                raise KernelRunError(msg)
            for attempt in range(1, _ATTEMPTS + 1):
                tables = self._tables(helper, names, task, notes)
                report = tables.pop("report")
                notes["emulator"] = {**report, "attempt": attempt}
                if not report["invalid"]:
                    return encode_result(task.key, tables)
            msg = f"not a measurement: {report['invalid']}, {_ATTEMPTS} times; is the machine busy?"
            raise InvalidRunError(msg)

        return outcome_of(task, files, notes)

    def _tables(
        self, helper: Helper, names: KernelNames, task: Task, notes: dict[str, Any]
    ) -> dict[str, Any]:
        scenario = json.loads(task.scenario_json)
        traces = {name: text.decode() for name, text in task.traces.items()}
        with tempfile.TemporaryDirectory(prefix="cwndlab-") as folder:
            capture = Path(folder) / "capture.pcap"

            def ask() -> dict[str, Any]:
                kernel_names = names.of(scenario)
                if kernel_names:
                    notes["ours_in_kernel"] = kernel_names
                request = {
                    "do": "run",
                    "scenario": scenario,
                    "traces": traces,
                    "kernel_names": kernel_names,
                    "capture": str(capture) if scenario["record"].get("pcap") else None,
                }
                return helper.ask(request, self._waiting)

            try:
                answer = ask()
            except KernelRunError:
                if not notes.get("ours_in_kernel"):
                    raise
                answer = ask()  # who held one of them may have ended while we waited
            pcap = capture.read_bytes() if capture.exists() else None
        return {
            "flows": _columns(answer["flows"]),
            "links": _columns(answer["links"]),
            "samples": answer["samples"],
            "events": answer["events"],
            "pcap": pcap,
            "report": answer["report"],
        }

    def _waiting(self) -> None:
        self._say("another study has this machine's kernel; waiting for it")


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
