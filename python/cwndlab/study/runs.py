"""Create the runs of a study, each with its seed and with the key that identifies its result.

A study may have too many runs to keep all scenarios in memory. Therefore, each scenario is created
only when it is needed. The scenarios of one cell (a combination of factor levels) differ only in a
few numbers, which are inserted into the JSON text of the cell.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from cwndlab import core
from cwndlab.resolve import reno_variants as recoveries
from cwndlab.schema import Scenario, canonical_json
from cwndlab.schema.live import LivePath

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.resolve import Resolved
    from cwndlab.resolve.algorithms import FileAlgorithm
    from cwndlab.resolve.traces import Trace

Label = str | int | float | bool

_KEY_DIGITS = 32  # 128 bits of the hash, so that no two runs have the same key
_NO_SEED = -1


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of factor levels of a study; each repetition runs each combination once."""

    labels: Mapping[str, Label]
    resolved: Resolved


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of a combination of levels, and the `key` under which its result is stored."""

    key: str
    cell: int
    labels: Mapping[str, Label]
    repetition: int
    seed: int
    scenario_json: str
    """The canonical JSON of the run's scenario."""
    resolved: Resolved
    """The scenario of all repetitions of this run, with seed 0, and the traces and algorithms that
    it uses."""

    @property
    def scenario(self) -> Scenario:
        """Everything that determines the run, except the contents of its trace and C files."""
        return Scenario.model_validate_json(self.scenario_json)

    @property
    def traces(self) -> Mapping[str, Trace]:
        """Maps the name of each trace in the scenario to the trace."""
        return self.resolved.traces

    @property
    def algorithms(self) -> Mapping[str, FileAlgorithm]:
        """Maps names to those algorithms of the run that come from files."""
        return self.resolved.algorithms


class Runs(Sequence[Run]):
    """All runs of a study, ordered by repetition and then by combination of levels.

    Each repetition runs all combinations, so whatever changes while the study runs affects all
    algorithms equally.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        repetitions: int,
        study_seed: int,
        *,
        has_own_seeds: bool = True,
    ) -> None:
        """Prepare the runs of the given combinations of levels.

        The seeds of the runs are derived from the study's seed. If `has_own_seeds` is set, they
        also depend on the settings that `channel_of` returns. Combinations that differ only in the
        algorithm have the same seeds in either case.
        """
        self._cells = [
            _Template(cell, n, study_seed, has_own_seeds=has_own_seeds)
            for n, cell in enumerate(cells)
        ]
        self._repetitions = repetitions

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._cells) * self._repetitions

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> list[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | list[Run]:
        """Return the run at a position, or a list of runs for a slice."""
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            msg = f"there are {len(self)} runs"
            raise IndexError(msg)
        repetition, cell = divmod(at % len(self), len(self._cells))
        return self._cells[cell].run(repetition)


class _Template:
    """Parts of JSON text from which the runs of one combination of levels are assembled."""

    def __init__(self, cell: Cell, number: int, study_seed: int, *, has_own_seeds: bool) -> None:
        self._cell = cell
        self._number = number
        scenario = cell.resolved.scenario
        self._content = scenario.model_dump(mode="json", exclude_none=True)
        # Text of the cell's canonical JSON before and after the seed, which alone changes.
        text = canonical_json({**self._content, "seed": _NO_SEED})
        self._around_seed = text.split(f'"seed":{_NO_SEED}')
        self._has_draws = bool(cell.resolved.begin_within_ns or any(cell.resolved.start_jitter_ns))
        channel = canonical_json(channel_of(scenario))
        self._seeded_by = channel if has_own_seeds else None
        self._study_seed = study_seed
        # Text that determines the key of the result, before and after the scenario.
        flows = itertools.chain(scenario.flows, *scenario.before)
        ends = [end for flow in flows for end in (flow.sender, flow.receiver)]
        files = cell.resolved.algorithms

        def sha256(name: str) -> str:
            found = files[name].algorithm if name in files else core.algorithm(name)
            return found.source_sha256

        algorithms = canonical_json({end.algorithm: sha256(end.algorithm) for end in ends})
        stacks = canonical_json({end.stack: core.stack(end.stack).sha256 for end in ends})
        epoch = core.behaviour_epoch()
        self._before_scenario = f'{{"algorithms":{algorithms},"behaviour_epoch":{epoch},"scenario":'
        self._behind_scenario = f',"stacks":{stacks}}}'

    def run(self, repetition: int) -> Run:
        seed = core.run_seed(self._seeded_by, repetition, self._study_seed)
        if self._has_draws:
            scenario = canonical_json(self._with_seed(seed))
        else:
            scenario = f'"seed":{seed}'.join(self._around_seed)
        whole = f"{self._before_scenario}{scenario}{self._behind_scenario}"
        key = hashlib.sha256(whole.encode()).hexdigest()[:_KEY_DIGITS]
        labels, resolved = self._cell.labels, self._cell.resolved
        return Run(key, self._number, labels, repetition, seed, scenario, resolved)

    def _with_seed(self, seed: int) -> dict[str, Any]:
        """Return the scenario with `seed`, and with the random start times derived from `seed`."""
        resolved = self._cell.resolved
        begin_ns = core.drawn_ns(seed, "begin", resolved.begin_within_ns)
        flows = []
        for flow, most_ns in zip(self._content["flows"], resolved.start_jitter_ns, strict=True):
            start_ns = begin_ns + core.drawn_ns(seed, f"flow.{flow['id']}.start", most_ns)
            flows.append(_later(flow, begin_ns, start_ns))
        duration_ns = begin_ns + self._content["duration_ns"]
        return {**self._content, "seed": seed, "flows": flows, "duration_ns": duration_ns}


def _later(flow: dict[str, Any], stop_by_ns: int, start_by_ns: int) -> dict[str, Any]:
    if not start_by_ns:
        return flow
    later = {**flow, "start_ns": flow["start_ns"] + start_by_ns}
    if "stop_ns" in flow:
        later["stop_ns"] = flow["stop_ns"] + stop_by_ns
    return later


def channel_of(scenario: Scenario) -> str:
    """Return, as JSON, the settings on which a run's seed depends; they exclude the algorithm."""
    kept_out = {"seed", "record", "before"}
    content = scenario.model_dump(mode="json", exclude_defaults=True, exclude=kept_out)
    if not isinstance(scenario.path, LivePath):
        content["path"] = core.without_defaults(canonical_json(scenario.path))
    for flow in content["flows"]:
        for end in ("sender", "receiver"):
            for key in ("algorithm", "parameters", "host"):
                flow[end].pop(key, None)
            changes = flow[end].pop("stack_overrides", {})
            if kept := {key: changes[key] for key in changes if key not in recoveries.SETTINGS}:
                flow[end]["stack_overrides"] = kept
    return canonical_json(content)
