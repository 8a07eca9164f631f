"""List the runs of a study: all repetitions of all combinations of factor levels.

A factor is a dotted path of the study (`link.rate`, `flow.0.algorithm`) with a list of values, or
a name with a list of tables. Each table describes one level, such as a variant in a paper: it
contains the `name` of the level, and a value for each path that the level sets.

All combinations of levels are run, except that factors listed together in `zip` vary together. If
there are `include` rules, a combination must match one of them. A combination that matches an
`exclude` rule is not run.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from cwndlab import core
from cwndlab.errors import (
    QuantityError,
    ScenarioRefusedError,
    StudyError,
)
from cwndlab.resolve import Resolved, resolve
from cwndlab.resolve.algorithms import references_in
from cwndlab.schema import StudyModel
from cwndlab.schema.live import LivePath
from cwndlab.schema.problems import DocumentError, FieldError, field_errors
from cwndlab.study.draft import Draft
from cwndlab.study.factors import Level, columns_of, groups_of, is_match, levels_of, rules_of
from cwndlab.study.refusals import place_in_study
from cwndlab.study.runs import Cell, Label, Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cwndlab.schema import Scenario
    from cwndlab.schema.scenario import End, ScenarioFlow
    from cwndlab.study.kept import KeptScenarios
    from cwndlab.study.places import Source
    from cwndlab.study.runs import Run

_MOST_COMBINATIONS = 1_000_000
_MOST_PROBLEMS = 10  # largest number of problems in one message
_MOST_REFUSED = 1000  # largest number of invalid cells that are reported
_PROGRESS_INTERVAL_S = 10.0

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Matrix:
    """All runs of a study in the order of execution, in which the algorithms alternate."""

    columns: tuple[str, ...]
    runs: Sequence[Run]
    cells: tuple[Cell, ...]


def build(
    document: Mapping[str, Any], source: Source, folder: Path, kept: KeptScenarios | None = None
) -> tuple[StudyModel, tuple[str, ...], tuple[Cell, ...]]:
    """Check a study; return its model, the column names of its factors, and its cells.

    A cell is a combination of factor levels.

    Args:
        document: the study's document.
        source: the source of the document, used in messages.
        folder: the folder to which paths in the document are relative.
        kept: stored scenarios of the cells, if the study was run before and must not change.

    Raises:
        StudyError: the study has errors; the message names the place of each problem.
    """
    base = _validate(Draft(dict(document)), source)
    try:
        groups = groups_of(base)
        columns = columns_of(list(base.factors))
        included = rules_of(base, columns, "include")
        excluded = rules_of(base, columns, "exclude")
    except FieldError as error:
        raise StudyError([source.problem(error.key, error.message)]) from None
    if (count := math.prod(len(group) for group in groups)) > _MOST_COMBINATIONS:
        message = (
            f"{count:,} combinations exceed the limit of {_MOST_COMBINATIONS:,}; split the study"
        )
        raise StudyError([source.problem(("factors",), message)])
    wanted: list[tuple[dict[str, Label], dict[str, Level]]] = []
    for combination in itertools.product(*groups):
        levels = {path: level for group in combination for path, level in group.items()}
        labels = {columns[path]: levels[path].label for path in columns}
        if included and not any(is_match(labels, rule) for rule in included):
            continue
        if any(is_match(labels, rule) for rule in excluded):
            continue
        wanted.append((labels, levels))
    cells = _cells(wanted, document, columns, source, folder, kept)
    if not cells:
        which = "exclude" if excluded else "include"
        raise StudyError(
            [source.problem(("factors", which), "this rule excludes every combination")]
        )
    return base, tuple(columns.values()), tuple(cells)


def _cells(
    wanted: Sequence[tuple[dict[str, Label], dict[str, Level]]],
    document: Mapping[str, Any],
    columns: Mapping[str, str],
    source: Source,
    folder: Path,
    kept: KeptScenarios | None,
) -> list[Cell]:
    """Return a cell for each of the wanted combinations of levels.

    Raises:
        StudyError: some cells are invalid, or two cells describe the same run; the error lists
            each problem only once.
    """
    bare = {key: value for key, value in document.items() if key not in ("factors", "quick")}
    base = _Base(bare, source, folder, references_in(document))
    cells: list[Cell] = []
    seen: dict[bytes, Cell] = {}
    problems: dict[str, None] = {}
    refused = 0
    for at, (labels, levels) in enumerate(_watched(wanted)):
        try:
            resolved = _cell(base, levels) if kept is None else kept.resolved(at, base.references)
        except StudyError as error:
            refused += 1
            problems |= dict.fromkeys(error.problems)
            if len(problems) >= _MOST_PROBLEMS or refused >= _MOST_REFUSED:
                break
        else:
            cell = Cell(labels, resolved)
            same = seen.setdefault(_digest(resolved), cell)
            if same is not cell:
                problems[_not_distinct(same, cell, columns, source)] = None
                break
            cells.append(cell)
    if problems:
        raise StudyError(list(problems))
    return cells


def factor_labels(study: StudyModel, cells: Sequence[Cell]) -> dict[str, list[Label]]:
    """Map the column name of each factor to those levels of the factor that occur in runs."""
    found = {}
    for path, column in columns_of(list(study.factors)).items():
        occurring = {cell.labels[column] for cell in cells}
        levels = levels_of(path, study.factors[path])
        found[column] = [level.label for level in levels if level.label in occurring]
    return found


def expand(study: StudyModel, columns: tuple[str, ...], cells: tuple[Cell, ...]) -> Matrix:
    """Return all runs, ordered by repetition and then by combination of levels."""
    own_seeds = not study.common_seeds
    runs = Runs(cells, study.repetitions, study.seed, has_own_seeds=own_seeds)
    return Matrix(columns, runs, cells)


def _validate(draft: Draft, source: Source) -> StudyModel:
    try:
        return StudyModel.model_validate(draft.document)
    except ValidationError as error:
        errors = field_errors(error, StudyModel, draft.document)
        problems = [source.problem(draft.origin_of(e.key), e.message) for e in errors]
        raise StudyError(list(dict.fromkeys(problems))) from None


@dataclass(frozen=True, slots=True)
class _Base:
    """The settings that all combinations of levels of a study share."""

    document: Mapping[str, Any]
    source: Source
    folder: Path
    references: Mapping[str, str]


def _cell(base: _Base, levels: Mapping[str, Level]) -> Resolved:
    source = base.source
    draft = Draft(copy.deepcopy(dict(base.document)))
    try:
        # A shorter path is set before longer paths, which change keys inside its value.
        assignments = [(p, v, level.origin) for level in levels.values() for p, v in level.sets]
        for path, value, origin in sorted(assignments, key=lambda item: item[0].count(".")):
            draft.set(path, value, origin)
        resolved = resolve(_validate(draft, source), base.folder, base.references)
    except (DocumentError, FieldError) as error:
        wrong = [error] if isinstance(error, FieldError) else error.problems
        raise StudyError(
            [source.problem(draft.origin_of(each.key), each.message) for each in wrong]
        ) from None
    except QuantityError as error:  # the path refers to a key inside an invalid line
        raise StudyError([source.problem((), str(error))]) from None
    if isinstance(resolved.scenario.path, LivePath):
        return resolved
    try:
        traces = {name: trace.content for name, trace in resolved.traces.items()}
        core.check_scenario(_with_stand_ins(resolved).to_json(), traces)
    except ScenarioRefusedError as error:
        key, message = place_in_study(error, resolved.scenario, draft.document)
        raise StudyError([source.problem(draft.origin_of(key), message)]) from None
    except ValueError as error:  # a trace is invalid
        problem = source.problem((), f"the simulator refuses the study: {error}")
        raise StudyError([problem]) from None
    return resolved


def _with_stand_ins(resolved: Resolved) -> Scenario:
    """Return the scenario with a built-in algorithm in place of each algorithm from a file."""
    if not resolved.algorithms:
        return resolved.scenario
    stand_in = next(iter(core.algorithms()))

    def replaced(end: End) -> End:
        is_file = end.algorithm in resolved.algorithms
        changes = {"algorithm": stand_in, "parameters": {}} if is_file else {}
        return end.model_copy(update=changes)

    def all_replaced(flows: tuple[ScenarioFlow, ...]) -> tuple[ScenarioFlow, ...]:
        return tuple(
            flow.model_copy(
                update={"sender": replaced(flow.sender), "receiver": replaced(flow.receiver)}
            )
            for flow in flows
        )

    scenario = resolved.scenario
    before = tuple(all_replaced(flows) for flows in scenario.before)
    return scenario.model_copy(update={"flows": all_replaced(scenario.flows), "before": before})


def _digest(resolved: Resolved) -> bytes:
    return hashlib.sha256(resolved.scenario.to_json().encode()).digest()


def _not_distinct(one: Cell, other: Cell, columns: Mapping[str, str], source: Source) -> str:
    """Return a message about two combinations of a study's levels that describe the same run."""
    differing = [c for c in columns.values() if one.labels[c] != other.labels[c]]
    values = " and ".join(str(each.labels[differing[0]]) for each in (one, other))
    path = next(path for path, column in columns.items() if column == differing[0])
    message = f"{values} describe the same run; keep one of them"
    return source.problem(("factors", path), message)


def _watched(items: Sequence[Item]) -> Iterator[Item]:
    """Yield `items`; every ten seconds, print to standard error how many were checked."""
    said_s = time.monotonic()
    for count, item in enumerate(items):
        if (now_s := time.monotonic()) - said_s >= _PROGRESS_INTERVAL_S:
            said_s = now_s
            sys.stderr.write(f"checked {count:,} of {len(items):,} combinations of levels\n")
            sys.stderr.flush()
        yield item
