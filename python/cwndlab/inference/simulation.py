"""Simulate flows over links of several families, with many simulations in parallel."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import core
from cwndlab.inference.summaries import DISORDER, LOSSES, summarize
from cwndlab.study import matrix
from cwndlab.study.places import Arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.inference.family import Family
    from cwndlab.inference.probe import Ramp
    from cwndlab.schema.application import Probe
    from cwndlab.stats.bootstrap import Floats

_BATCH = 5
"""Number of simulations that a thread runs one after the other. If batches were longer, idle
processors would wait for the last batch at the end of each round."""
_GLANCE_S = 3.0
"""Duration in seconds of a short first simulation of each link. If it shows that the link is much
faster than the measured link, the link is not simulated further."""
_LONG_ENOUGH = 5
"""A short first simulation is run only if the whole duration is at least this many times
`_GLANCE_S`."""

PlacedPoint = tuple["Family", "Floats", int]
"""A link to simulate: its family, its parameters as a point of the unit cube, and a number from
which the random seeds are derived."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated flow: its row in `flows`, its `samples`, and the times of its losses."""

    row: dict[str, Any]
    samples: dict[str, Floats]
    losses_s: Floats

    def numbers(self, ramp: Ramp | None = None) -> dict[str, float]:
        """Return the flow's summary statistics, computed in the same way as for a measurement."""
        return summarize(self.row, self.samples, self.losses_s, ramp)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulation of one flow on each link; a family of links can add competing flows.

    `duration_s` is the duration of the measurement, `jobs` the number of parallel simulations, and
    `interval_s` the time between two samples of the measurement.
    """

    duration_s: float
    jobs: int
    interval_s: float = 1.0
    ramp: Ramp | None = None

    def flows(
        self, draws: Sequence[PlacedPoint], algorithm: str, most_mbit_s: float | None = None
    ) -> list[Simulated | None]:
        """Return one entry for each link: the simulated flow, or None if the simulation failed.

        If the flow's goodput in the first seconds on a link exceeds `most_mbit_s`, this link is not
        simulated further, and its entry is None (lazy ABC: Prangle, Statistics and Computing 26,
        2016). This rule is not applied if `duration_s` is below 15 s.
        """
        batches = [draws[n : n + _BATCH] for n in range(0, len(draws), _BATCH)]
        with ThreadPoolExecutor(self.jobs) as pool:
            parts = list(pool.map(lambda batch: self._run(batch, algorithm, most_mbit_s), batches))
        return [flow for part in parts for flow in part]

    def numbers(
        self,
        draws: Sequence[PlacedPoint],
        algorithm: str,
        names: Sequence[str],
        most_mbit_s: float | None = None,
    ) -> Floats:
        """Return the statistics in `names` for each link in `draws`; missing statistics are NaN.

        All statistics of a link are NaN if its goodput in the first seconds exceeds `most_mbit_s`.
        """
        flows = self.flows(draws, algorithm, most_mbit_s)
        rows = [{} if flow is None else flow.numbers(self.ramp) for flow in flows]
        return np.array([[row.get(name, np.nan) for name in names] for row in rows])

    def document(self, draw: PlacedPoint, algorithm: str) -> dict[str, Any]:
        """Return a study that simulates a flow with `algorithm` on the link `draw`."""
        family, point, number = draw
        settings = family.settings(point, self.duration_s, number)
        if self.ramp is not None:
            own, *others = settings.get("flow", [{}])
            probing = own | {"application": _written(self.ramp.probe)}
            settings = settings | {"flow": [probing, *others]}
        return {
            "algorithm": algorithm,
            "duration": f"{self.duration_s:.3f} s",
            "record": {"samples": f"{1000 * self.interval_s:.0f} ms", "events": True},
            **settings,
        }

    def _run(
        self, draws: Sequence[PlacedPoint], algorithm: str, most_mbit_s: float | None
    ) -> list[Simulated | None]:
        scenarios = [self._scenario(draw, algorithm) for draw in draws]
        kept = list(range(len(scenarios)))
        if most_mbit_s is not None and self.duration_s >= _LONG_ENOUGH * _GLANCE_S:
            glances = run_scenarios([json.dumps(_begun(each)) for each in scenarios])
            kept = [
                n
                for n, flow in enumerate(glances)
                if flow is None or flow.row["goodput_mbit_s"] <= most_mbit_s
            ]
        found: list[Simulated | None] = [None] * len(scenarios)
        flows = run_scenarios([json.dumps(scenarios[n]) for n in kept])
        for n, flow in zip(kept, flows, strict=True):
            found[n] = flow
        return found

    def _scenario(self, draw: PlacedPoint, algorithm: str) -> dict[str, Any]:
        document = self.document(draw, algorithm)
        _, _, (cell,) = matrix.build(document, Arguments(document), Path())
        scenario: dict[str, Any] = cell.resolved.scenario.model_dump(mode="json", exclude_none=True)
        return scenario | {"seed": draw[2] + 1}


def _written(probe: Probe) -> dict[str, Any]:
    """Return the table `application` that describes a probe in a study.

    Each quantity in this table is text with a unit, such as `5 ns`.
    """
    times = ("bulk_for", "pause", "doubling")
    return {
        "kind": "probe",
        "rate": f"{probe.bits_per_sec} bit/s",
        **{name: f"{getattr(probe, f'{name}_ns')} ns" for name in times},
    }


def _begun(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a scenario that ends after `_GLANCE_S`."""
    end_ns = round(_GLANCE_S * 1e9)
    flows = [flow for flow in scenario["flows"] if flow["start_ns"] < end_ns]
    return scenario | {"duration_ns": end_ns, "flows": flows}


def run_scenarios(texts: list[str]) -> list[Simulated | None]:
    """Run scenarios; return the first flow of each, or None for a scenario that failed."""
    found: list[Simulated | None] = []
    while texts:
        tables = core.run_many(texts, {})
        done = len(tables["errors"])
        flows, rows = tables["flows"], {}
        for n, (run, flow) in enumerate(zip(flows["run"], flows["flow"], strict=True)):
            if flow == 0:
                rows[int(run)] = n
        samples = _of_runs(tables["samples"])
        events = tables["events"]
        kinds = np.array(events["event"], dtype=object)
        is_own = np.array([flow == 0 for flow in events["flow"]], dtype=bool)
        is_loss = np.isin(kinds, LOSSES) & is_own
        disordered = np.asarray(events["run"])[(kinds == DISORDER) & is_own]
        disorders = np.bincount(disordered, minlength=done)
        runs, times = np.asarray(events["run"])[is_loss], events["t_s"][is_loss]
        for run in range(done):
            if run not in rows:
                found.append(None)
                continue
            row = {name: column[rows[run]] for name, column in flows.items()}
            row["disorders"] = int(disorders[run])
            found.append(Simulated(row, samples.get(run, {}), times[runs == run]))
        texts = texts[done:]
    return found


def _of_runs(samples: Any) -> dict[int, dict[str, Floats]]:  # noqa: ANN401  columns of a table
    first = np.asarray(samples["flow"]) == 0
    of_run = np.asarray(samples["run"])[first]
    columns = {name: np.asarray(column)[first] for name, column in samples.items()}
    return {
        int(run): {name: column[of_run == run] for name, column in columns.items()}
        for run in np.unique(of_run)
    }
