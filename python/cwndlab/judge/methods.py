"""Compare transfer methods, and separate the effects of method and algorithm on goodput.

A transfer method is the application that transfers the data, such as SFTP. Scenarios that differ
only in their applications are compared in one table (`MethodTable`), with a row for each transfer
method and a column for each algorithm. The goodput of method m with algorithm a in run r is modeled
as a product: goodput(r, m, a) = level(r) x method(r, m) x algorithm(r, a) x own(r, m, a). The
factors are computed from geometric means. The effect of a method is its mean goodput over all
algorithms, divided by that of the table's first method. The effect of an algorithm is its mean
goodput over all methods, divided by that of the first algorithm. The factor `own` is the
interaction of method and algorithm.

Each effect is computed in every run, and has a confidence interval over runs. The k-th runs of two
methods form a pair. In a measurement campaign, both runs belong to the same cycle; in a simulation,
their channels are drawn independently.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cwndlab.judge.cell import Comparison
from cwndlab.stats import Average, Difference, Interval, compare_pairs
from cwndlab.stats.bootstrap import Floats

_GOODPUT = "goodput_mbit_s"
_PLAIN = ("sized", "bulk")


@dataclass(frozen=True)
class Transfers:
    """One setting (combination of factor levels) of a study, with its results and scenarios."""

    comparison: Comparison
    scenarios: Mapping[str, Mapping[str, Any]]
    """Maps the name of each algorithm or variant in the study to its scenario."""


@dataclass(frozen=True)
class MethodTable:
    """Goodput of each transfer method (row) with each algorithm (column) in equal conditions.

    The effects of methods are relative to the first method, and the effects of algorithms are
    relative to the first algorithm. The table therefore contains no effect of the first method and
    no effect of the first algorithm.
    """

    conditions: str
    methods: tuple[str, ...]
    algorithms: tuple[str, ...]
    goodput: Mapping[tuple[str, str], Interval]
    """Maps each pair of method and algorithm to its mean goodput in Mbit/s, with the confidence
    interval."""
    of_methods: Mapping[str, Difference]
    of_algorithms: Mapping[str, Difference]
    """Maps each algorithm to its effect on the goodput, relative to the first algorithm. An
    algorithm is omitted if the sender used another algorithm instead."""
    own: Mapping[tuple[str, str], Difference]
    """Maps each pair of method and algorithm to their interaction: the deviation of the goodput
    from the product of their two effects."""

    @property
    def peculiar(self) -> list[tuple[str, str]]:
        """Pairs of method and algorithm whose interaction is significant and not negligible."""
        return [
            pair for pair, own in self.own.items() if own.direction != 0 and not own.is_negligible
        ]


def method_tables(settings: Sequence[Transfers]) -> list[MethodTable]:
    """Return a goodput table for each group of settings whose flows differ only in application."""
    alike: dict[tuple[str, str], list[int]] = {}
    for at, setting in enumerate(settings):
        for contestant, scenario in setting.scenarios.items():
            alike.setdefault((contestant, _conditions(scenario)), []).append(at)
    columns: dict[tuple[int, ...], list[str]] = {}
    for (contestant, _), members in alike.items():
        if len(members) > 1:
            columns.setdefault(tuple(members), []).append(contestant)
    tables = [_table([settings[at] for at in rows], names) for rows, names in columns.items()]
    return [table for table in tables if table is not None]


def _table(settings: Sequence[Transfers], names: Sequence[str]) -> MethodTable | None:
    settings = sorted(settings, key=lambda setting: not _is_plain(setting.scenarios[names[0]]))
    conditions, methods = _titles([setting.comparison.cell for setting in settings])
    goodput: dict[tuple[str, str], Interval] = {}
    values: dict[tuple[str, str], Floats] = {}
    for method, setting in zip(methods, settings, strict=True):
        comparison = setting.comparison
        for name in comparison.contestants:
            interval = comparison.interval(name, _GOODPUT)
            if comparison.named(name) in names and interval is not None:
                goodput[method, name] = interval
                values[method, name] = comparison.values[name][_GOODPUT]
    algorithms = tuple(dict.fromkeys(name for _, name in values))
    everywhere = [name for name in algorithms if all((each, name) in values for each in methods)]
    if not everywhere:
        return None
    runs = min(len(values[method, name]) for method in methods for name in everywhere)
    grid = np.array([[values[m, name][:runs] for name in everywhere] for m in methods])
    grid = grid[:, :, (grid > 0).all(axis=(0, 1))]  # keep only runs in which every pair has a value
    if not grid.size:
        return None
    of_methods = _geometric(grid, 1)[:, 0]
    of_algorithms = _geometric(grid, 0)[0]
    together = of_methods[:, np.newaxis] * of_algorithms / _geometric(grid, (0, 1))
    unsent = {name for setting in settings for name in setting.comparison.not_sent}
    sent = [at for at, name in enumerate(everywhere) if name not in unsent]
    return MethodTable(
        conditions=conditions,
        methods=methods,
        algorithms=algorithms,
        goodput=goodput,
        of_methods=_against_first(methods, of_methods),
        of_algorithms=_against_first([everywhere[at] for at in sent], of_algorithms[sent]),
        own={
            (method, name): _compare(grid[row, column], together[row, column])
            for row, method in enumerate(methods)
            for column, name in enumerate(everywhere)
            if min(grid.shape[:2]) > 1
        },
    )


def _conditions(scenario: Mapping[str, Any]) -> str:
    """Return a scenario as JSON, without the applications that its flows run."""
    flows = [{k: v for k, v in flow.items() if k != "application"} for flow in scenario["flows"]]
    return json.dumps({**scenario, "flows": flows}, sort_keys=True)


def _is_plain(scenario: Mapping[str, Any]) -> bool:
    """Return whether all flows are plain TCP transfers (the reference method)."""
    return all(flow["application"]["kind"] in _PLAIN for flow in scenario["flows"])


def _titles(cells: Sequence[Mapping[str, object]]) -> tuple[str, tuple[str, ...]]:
    """Return the conditions common to all settings, and a short name for each setting."""
    first = cells[0]
    common = [key for key in first if all(cell[key] == first[key] for cell in cells)]
    others = [key for key in first if key not in common]
    telling = [key for key in others if len({cell[key] for cell in cells}) == len(cells)]
    named_by = telling[:1] or others
    conditions = ", ".join(f"{key} {first[key]}" for key in common)
    return conditions, tuple(", ".join(str(cell[key]) for key in named_by) for cell in cells)


def _geometric(grid: Floats, axis: int | tuple[int, int]) -> Floats:
    """Return the geometric mean over `axis`, which has length 1 in the result."""
    means: Floats = np.exp(np.log(grid).mean(axis=axis, keepdims=True))
    return means


def _against_first(names: Sequence[str], values: Floats) -> dict[str, Difference]:
    return {name: _compare(values[at], values[0]) for at, name in enumerate(names) if at > 0}


def _compare(ours: Floats, theirs: Floats) -> Difference:
    return compare_pairs(ours, theirs, average=Average.GEOMETRIC)
