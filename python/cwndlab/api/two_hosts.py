"""Measure the periods of a trial between two hosts; each period is a run of a study.

After the challenger's first period, and whenever the challenger seems to do harm, the trial returns
to the baseline for a short time. Each return is a run of a separate study. A return may interrupt a
period of the challenger. The rest of an interrupted period is also a run of a separate study.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.api.running import run_study
from cwndlab.measure.machine.sock_diag import Connection
from cwndlab.measure.trial.conduct import Tried
from cwndlab.measure.trial.periods import NOTHING, PeriodOutcome
from cwndlab.measure.trial.traffic import PeriodTraffic
from cwndlab.run.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.api.study import Study
    from cwndlab.backends.live import RealNetwork
    from cwndlab.judge.goals import Goal
    from cwndlab.measure.trial.conduct import Alarm, Step
    from cwndlab.measure.wire.early_end import EndsEarly, SenderStates
    from cwndlab.results.blocks import Entry as Finished
    from cwndlab.run.executor import Batch, Executor, Note, Part, Task
    from cwndlab.study.matrix import Matrix

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class HostPeriods:
    """Measures the periods of a trial between two hosts; each period is a run of a study."""

    study: Study
    """Study with a run for each planned period. Repetition 0 is the pilot period; each other
    repetition is a block (pair of periods)."""
    study_of_part: Callable[[float], Study]
    """Function that takes the duration of a run in seconds, and returns a study with one run of
    each algorithm."""
    backend: RealNetwork
    folder: Path
    """Folder with the results of `study`. If a period is interrupted, its run in this folder ends
    early."""
    folder_of_part: Callable[[], Path]
    """Function that names a new folder for a return to the baseline, or for the rest of an
    interrupted period."""
    goal: Goal

    def measure(self, step: Step, alarm: Alarm) -> Tried:
        """Measure a step of the trial as one run, in which all flows use the step's algorithm.

        If `alarm` reports harm, the run ends early.
        """
        study, folder, repetition = self.study, self.folder, step.block + 1
        period_ns = study.matrix.runs[0].scenario.duration_ns
        if step.is_return or round(step.duration_s * _NS_PER_S) != period_ns:
            study = self.study_of_part(step.duration_s)
            folder, repetition = self.folder_of_part(), 0
        matrix = self.backend.keyed(study.matrix)
        (run,) = (
            run
            for run in matrix.runs
            if run.repetition == repetition
            and run.scenario.flows[0].sender.algorithm == step.algorithm
        )
        washout_s = run.scenario.warm_up_ns / _NS_PER_S
        watches: list[_HarmWatch] = []

        def watch() -> EndsEarly:
            traffic = PeriodTraffic(step.algorithm, lambda _: True, self.goal)
            watches.append(_HarmWatch(traffic, step.algorithm, washout_s, alarm))
            return watches[-1].ends_early

        time.sleep(step.drain_s)
        only = _Only(replace(self.backend, ends_early=watch), run.key)
        done = run_study(
            study,
            folder,
            backend=only,
            report=lambda *_: Silent(),
            again="the same command",
        )
        outcome = outcome_of(done, run.key, self.goal, washout_s)
        if not watches or watches[-1].harm is None:
            return Tried(outcome, None, step.duration_s)
        return Tried(outcome, watches[-1].harm, watches[-1].passed_s)


@dataclass(slots=True)
class _HarmWatch:
    """Watches the flows of a period, and ends the flows early if they harm other traffic."""

    traffic: PeriodTraffic
    algorithm: str
    washout_s: float
    alarm: Alarm
    began_s: float = field(default_factory=time.monotonic)
    passed_s: float = 0.0
    harm: str | None = None

    def __post_init__(self) -> None:
        self.traffic.look([], counts=False)  # all flows of the period are new

    def ends_early(self, states: SenderStates) -> bool:
        """Return whether the alarm reports harm by the flows.

        The result is False during the wash-out, which is the first part of the period.

        Args:
            states: `TCP_INFO` values of each flow, by the flow's number.
        """
        self.passed_s = time.monotonic() - self.began_s
        counts = self.passed_s >= self.washout_s
        flows = [
            Connection(str(number).encode(), ("", 0), ("", 0), self.algorithm, dict(info))
            for number, info in states.items()
        ]
        self.traffic.look(flows, counts=counts)
        if counts:
            self.harm = self.alarm(self.traffic.outcome())
        return self.harm is not None


def outcome_of(results: Results, run: str, goal: Goal, washout_s: float) -> PeriodOutcome:
    """Return the outcome of a period, measured after the wash-out at the start of the period."""
    flows = results.flows()
    own = flows.filter(flows["run"] == run)
    samples = results.samples()
    after = samples.filter((samples["run"] == run) & (samples["t_s"] > washout_s))
    rtts_ms = after.group_by("flow").agg(
        rtt_p25_ms=pl.col("srtt_ms").quantile(0.25), late_ms=pl.col("srtt_ms").quantile(0.95)
    )
    known = own.join(rtts_ms, on="flow").filter(pl.col("goodput_mbit_s") > 0)
    if known.is_empty():
        return NOTHING
    base_ms = known["rtt_base_ms"].min()
    waits_ms = (known["late_ms"] - base_ms).clip(0)
    goodputs = known["goodput_mbit_s"]
    utilities = [
        goal.utility_of_flow(goodput, wait_ms)
        for goodput, wait_ms in zip(goodputs, waits_ms, strict=True)
    ]
    return PeriodOutcome(
        float(np.mean(utilities)),
        float(goodputs.to_numpy().mean()),
        float(known["late_ms"].to_numpy().mean()),
        float(known["retransmitted_pct"].fill_null(0).to_numpy().mean()),
        known.height,
        float(known["rtt_p25_ms"].to_numpy().mean()),
    )


@dataclass(frozen=True, slots=True)
class _Only:
    """A backend that executes only one run."""

    backend: RealNetwork
    key: str

    @property
    def name(self) -> str:
        return self.backend.name

    def keyed(self, matrix: Matrix) -> Matrix:
        return self.backend.keyed(matrix)

    def executor(self, matrix: Matrix, history: Callable[[], list[Finished]], /) -> Executor:
        return _OnlyExecutor(self.backend.executor(matrix, history), self.key)


@dataclass(frozen=True, slots=True)
class _OnlyExecutor:
    executor: Executor
    key: str

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch | Part | Note]:
        yield from self.executor.batches(task for task in tasks if task.key == self.key)
