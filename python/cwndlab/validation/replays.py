"""Record the kernel's calls of cwndlab's algorithms; repeat the calls in the native build.

Each algorithm has two builds: one for the kernel, and a native build for user space. A comparison
of simulator and kernel is only meaningful if both builds behave identically: then stack, timers and
link are the only causes of differences.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.core import OURS
from cwndlab.kernel.objects import kernel_program
from cwndlab.kernel.replay import CallRecorder, replay
from cwndlab.text.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cwndlab.api.study import Study
    from cwndlab.study.runs import Run

LEAST_CALLS = 10_000
_RUN_NS = 15_000_000_000
"""Longest duration of a recorded run in ns; in this time, the kernel calls an algorithm about
15,000 times."""
_FILE = "replays.json"


@dataclass(frozen=True, slots=True)
class Replayed:
    """Result of replaying the recorded calls of one algorithm."""

    algorithm: str
    program: str
    """Name of the algorithm in the kernel; the name depends on source and parameters."""
    calls: int
    mismatches: int

    @property
    def is_same(self) -> bool:
        """True if at least `LEAST_CALLS` calls were replayed, all with the kernel's results."""
        return self.calls >= LEAST_CALLS and self.mismatches == 0


def replayed(
    study: Study, folder: Path, say: Callable[[str], object] = lambda _: None
) -> list[Replayed]:
    """Record the kernel's calls of each algorithm on one link; replay them in the native build.

    Replays whose results are stored in `folder` are not repeated.

    Raises:
        KernelRunError: this kernel cannot execute runs.
        AlgorithmError: the kernel refuses an algorithm; the message states the reason.
    """
    path = folder / _FILE
    known = {each.program: each for each in _read(path)}
    found = []
    for run in _first_runs(study.matrix.runs):
        sender = run.scenario.flows[0].sender
        algorithm = sender.algorithm.removeprefix(OURS)
        if algorithm not in core.algorithms():
            continue
        program = kernel_program(algorithm, Path(), sender.parameters, is_recording=True).name
        if program in known:
            found.append(known[program])
            continue
        say(f"{algorithm}: recording the kernel's calls and replaying them in the native build")
        with tempfile.TemporaryDirectory(prefix="cwndlab-") as place:
            calls = Path(place) / "calls"
            recorder = CallRecorder(algorithm, Path(), calls, sender.parameters)
            try:
                _send(run, algorithm, recorder.program.name)
            finally:
                recorder.finish()
            done = replay(algorithm, Path(), calls, sender.parameters)
        found.append(Replayed(algorithm, program, done.total, done.mismatches))
        text = json.dumps([dataclasses.asdict(each) for each in found], indent=1)
        write_text(path, text)
    return found


def _read(path: Path) -> list[Replayed]:
    if not path.exists():
        return []
    return [Replayed(**each) for each in json.loads(path.read_text(encoding="utf-8"))]


def _first_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the first run of each algorithm in the study."""
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.scenario.flows[0].sender.algorithm, run)
    return list(first.values())


def _send(run: Run, algorithm: str, program: str) -> None:
    """Execute the run on the kernel; both ends use the algorithm's build that records calls."""
    scenario: dict[str, Any] = json.loads(run.scenario.to_json())
    scenario["duration_ns"] = min(scenario["duration_ns"], _RUN_NS)
    scenario["warm_up_ns"] = 0
    for flow in scenario["flows"]:
        for end in ("sender", "receiver"):
            flow[end]["algorithm"] = OURS + algorithm
    traces = {name: trace.content.decode() for name, trace in run.traces.items()}
    with RunsHelper() as helper:
        helper.ask(
            {
                "do": "run",
                "scenario": scenario,
                "traces": traces,
                "kernel_names": {OURS + algorithm: program},
            }
        )
