"""The runs of a study: every combination of its factors' levels, times its repetitions.

A factor is a dotted path of the study (`link.rate`, `flow.0.algorithm`) with a list of values, or a
name of its own whose levels are tables: a `name` and the paths that it sets, such as the variants
of a paper. Factors multiply, but those named together in `zip` advance together; `include` keeps
only the combinations that one of its rules describes, `exclude` takes combinations out.
"""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from cwndlab import core
from cwndlab.errors import (
    CwndlabError,
    QuantityError,
    ScenarioRefusedError,
    StudyError,
    nearest,
    plural,
)
from cwndlab.resolve import Resolved, resolve
from cwndlab.resolve.algorithms import label_of, references_in
from cwndlab.schema import StudyModel
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.scenario import LivePath
from cwndlab.schema.study import RESERVED_FACTORS
from cwndlab.study.refusals import place_in_study
from cwndlab.study.runs import Cell, Label, Runs
from cwndlab.text.linkspec import parse_spec
from cwndlab.text.toml import inline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cwndlab.schema import Scenario
    from cwndlab.schema.scenario import End, ScenarioFlow
    from cwndlab.study.kept import KeptScenarios
    from cwndlab.study.places import Source
    from cwndlab.study.runs import Run
    from cwndlab.text.toml import KeyPath

_MOST_COMBINATIONS = 1_000_000
_LINK_KEYS = ("link", "reverse_link")
_HOST_KEYS = ("user_host", "server_host")
_COLUMNS_OF_RUNS = ("run", "cell", "repetition", "seed")


@dataclass(frozen=True, slots=True)
class Matrix:
    """All runs of a study, in the order in which they are run: interleaved over algorithms."""

    columns: tuple[str, ...]
    runs: Sequence[Run]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """One value of a factor: what results call it, and what it sets."""

    label: Label
    sets: tuple[tuple[str, Any], ...]
    origin: KeyPath


@dataclass(slots=True)
class _Draft:
    """A study's document while the levels of one cell are put into it."""

    document: dict[str, Any]
    origins: dict[tuple[str, ...], KeyPath] = field(default_factory=dict)

    def set(self, path: str, value: object, origin: KeyPath) -> None:
        parts = self._where(tuple(path.split(".")), origin)
        node: Any = self.document
        for n, part in enumerate(parts[:-1]):
            node = self._enter(node, part, parts[: n + 1], origin)
        _put(node, parts[-1], copy.deepcopy(value), path, origin)
        self.origins[parts] = origin

    def _where(self, parts: tuple[str, ...], origin: KeyPath) -> tuple[str, ...]:
        """Where a path leads: `algorithm.parameters.NAME` is in the algorithm's own table."""
        match parts:
            case ("algorithm", "parameters", name):
                algorithm = self.document.get("algorithm")
                if algorithm is None:
                    message = "the study has no algorithm of its own; name a flow's parameters"
                    raise FieldError(origin, message)
                return ("parameters", algorithm, name)
            case ("flow", number, "algorithm", "parameters", name):
                return ("flow", number, "parameters", name)
            case _:
                return parts

    def _enter(self, node: Any, part: str, path: tuple[str, ...], origin: KeyPath) -> Any:  # noqa: ANN401  part of a document
        child = node.get(part) if isinstance(node, dict) else _element(node, part, path, origin)
        if isinstance(child, str) and path[-1] in _LINK_KEYS:
            child = parse_spec(child)
        elif isinstance(child, str) and part in _HOST_KEYS:
            child = {"preset": child}
        elif isinstance(child, str) and part == "application":
            child = {"kind": child}
        elif child is None:
            child = [{}] if path == ("flow",) else {}  # the one flow that need not be written
        elif not isinstance(child, dict | list):
            raise FieldError(origin, f"{'.'.join(path)} is one value and has nothing inside")
        if isinstance(node, dict):
            node[part] = child
        else:
            node[int(part)] = child
        return child

    def origin_of(self, key: KeyPath) -> KeyPath:
        """Where the user wrote what stands at `key`: in a factor, or there."""
        parts = tuple(str(part) for part in key)
        for n in range(len(parts), 0, -1):
            if parts[:n] in self.origins:
                return self.origins[parts[:n]]
        return key


def build(
    document: Mapping[str, Any], source: Source, folder: Path, kept: KeptScenarios | None = None
) -> tuple[StudyModel, tuple[str, ...], tuple[Cell, ...]]:
    """The study of a document, the names of its factors' columns, and its cells.

    Args:
        document: what the study says.
        source: where it says so.
        folder: to which its paths are relative.
        kept: the scenarios of its cells, if it has been run before and is to be what it was.

    Raises:
        StudyError: something does not hold; names the place of each problem.
    """
    base = _validate(_Draft(dict(document)), source)
    try:
        groups = _groups(base)
        columns = _columns(list(base.factors))
        included = _rules(base, columns, "include")
        excluded = _rules(base, columns, "exclude")
    except FieldError as error:
        raise StudyError([source.problem(error.key, error.message)]) from None
    if (count := math.prod(len(group) for group in groups)) > _MOST_COMBINATIONS:
        message = f"{count:,} combinations, more than {_MOST_COMBINATIONS:,}; split the study"
        raise StudyError([source.problem(("factors",), message)])
    cells: list[Cell] = []
    references = references_in(document)
    bare = {key: value for key, value in document.items() if key not in ("factors", "quick")}
    for combination in itertools.product(*groups):
        levels = {path: level for group in combination for path, level in group.items()}
        labels = {columns[path]: levels[path].label for path in columns}
        if included and not any(_matches(labels, rule) for rule in included):
            continue
        if any(_matches(labels, rule) for rule in excluded):
            continue
        if kept is None:
            resolved = _cell(_Base(bare, source, folder, references), levels)
        else:
            resolved = kept.resolved(len(cells), document)
        cells.append(Cell(labels, resolved))
    if not cells:
        which = "exclude" if excluded else "include"
        raise StudyError([source.problem(("factors", which), "this excludes every combination")])
    _check_distinct(cells, columns, source)
    return base, tuple(columns.values()), tuple(cells)


def factor_labels(study: StudyModel, cells: Sequence[Cell]) -> dict[str, list[Label]]:
    """The levels of each factor that occur, by column, in the order of the study."""
    return {
        column: [
            level.label
            for level in _levels(path, study.factors[path])
            if any(cell.labels[column] == level.label for cell in cells)
        ]
        for path, column in _columns(list(study.factors)).items()
    }


def expand(study: StudyModel, columns: tuple[str, ...], cells: tuple[Cell, ...]) -> Matrix:
    """Every run of the cells: all cells once, then all again, so that time favours no algorithm."""
    own_seeds = not study.common_seeds
    runs = Runs(cells, study.repetitions, study.seed, has_own_seeds=own_seeds)
    return Matrix(columns, runs, cells)


def _validate(draft: _Draft, source: Source) -> StudyModel:
    try:
        return StudyModel.model_validate(draft.document)
    except ValidationError as error:
        errors = field_errors(error, StudyModel, draft.document)
        problems = [source.problem(draft.origin_of(e.key), e.message) for e in errors]
        raise StudyError(list(dict.fromkeys(problems))) from None


@dataclass(frozen=True, slots=True)
class _Base:
    """What all cells of a study share."""

    document: Mapping[str, Any]
    source: Source
    folder: Path
    references: Mapping[str, str]


def _cell(base: _Base, levels: Mapping[str, _Level]) -> Resolved:
    source = base.source
    draft = _Draft(copy.deepcopy(dict(base.document)))
    try:
        # A path comes before the longer paths that lead into what it sets.
        assignments = [(p, v, level.origin) for level in levels.values() for p, v in level.sets]
        for path, value, origin in sorted(assignments, key=lambda item: item[0].count(".")):
            draft.set(path, value, origin)
        resolved = resolve(_validate(draft, source), base.folder, base.references)
    except FieldError as error:
        key = draft.origin_of(error.key)
        raise StudyError([source.problem(key, error.message)]) from None
    except QuantityError as error:  # a line that is no link, into which a path leads
        raise StudyError([source.problem((), str(error))]) from None
    if isinstance(resolved.scenario.path, LivePath):
        return resolved
    try:
        traces = {name: trace.content for name, trace in resolved.traces.items()}
        core.check_scenario(_with_stand_ins(resolved).to_json(), traces)
    except ScenarioRefusedError as error:
        key, message = place_in_study(error, resolved.scenario, draft.document)
        raise StudyError([source.problem(draft.origin_of(key), message)]) from None
    except ValueError as error:  # a trace
        raise StudyError([source.problem((), f"the simulator refuses it: {error}")]) from None
    return resolved


def _with_stand_ins(resolved: Resolved) -> Scenario:
    """The scenario with a built-in algorithm for each that is a file, which is loaded elsewhere."""
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


def _groups(study: StudyModel) -> list[list[dict[str, _Level]]]:
    """The factors that multiply; each is a list of levels, by path where several are zipped."""
    factors = {
        path: _levels(path, values)
        for path, values in study.factors.items()
        if path not in RESERVED_FACTORS
    }
    groups: list[list[dict[str, _Level]]] = []
    zipped: set[str] = set()
    for n, names in enumerate(_zip_lists(study.factors.get("zip", []))):
        key: KeyPath = ("factors", "zip", n)
        for name in names:
            if name not in factors:
                raise FieldError(key, f'there is no factor "{name}"{_hint(name, factors)}')
            if name in zipped:
                raise FieldError(key, f'"{name}" stands in two lists')
            zipped.add(name)
        lengths = {name: len(factors[name]) for name in names}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise FieldError(key, f"these advance together and need equally many values: {counts}")
        rows = zip(*(factors[name] for name in names), strict=True)
        groups.append([dict(zip(names, row, strict=True)) for row in rows])
    groups += [[{path: level} for level in factors[path]] for path in factors if path not in zipped]
    # Algorithms vary fastest, so that they take turns.
    return sorted(groups, key=lambda group: any(_is_of_algorithms(path) for path in group[0]))


def _is_of_algorithms(path: str) -> bool:
    return path.rpartition(".")[2] in ("algorithm", "variant")


def _zip_lists(value: object) -> list[list[str]]:
    is_list = isinstance(value, list) and all(isinstance(names, list) for names in value)
    if not is_list:
        message = 'a list of lists of factors, for example [["link.rate", "link.delay"]]'
        raise FieldError(("factors", "zip"), message)
    return [[str(name) for name in names] for names in value]  # type: ignore[attr-defined]


def _levels(path: str, values: object) -> list[_Level]:
    key: KeyPath = ("factors", path)
    if not isinstance(values, list | tuple) or not values:
        raise FieldError(key, 'a factor is a list of values, for example ["reno", "cubic"]')
    head = path.partition(".")[0]
    is_bundle = head not in StudyModel.model_fields
    levels = []
    for n, value in enumerate(values):
        if is_bundle:
            levels.append(_bundle(path, value, (*key, n)))
        else:
            levels.append(_Level(_label(path, value), ((path, value),), (*key, n)))
    labels = [level.label for level in levels]
    for n, label in enumerate(labels):
        if label in labels[:n]:
            written = values[n]
            also = "" if written == label else f"{inline(written)} is {label}, which"
            raise FieldError((*key, n), f"{also or label} stands here already")
    return levels


def _bundle(path: str, value: object, key: KeyPath) -> _Level:
    if not isinstance(value, dict) or "name" not in value:
        near = nearest(path, StudyModel.model_fields)
        hint = f"; did you mean {near}?" if near else ""
        message = (
            f'"{path}" is no path of a study{hint} '
            '(a factor with a name of its own has tables: { name = "a", algorithm = "reno" })'
        )
        raise FieldError(key, message)
    sets = tuple((name, inner) for name, inner in value.items() if name != "name")
    return _Level(value["name"], sets, key)


def _label(path: str, value: object) -> Label:
    """What results call a level."""
    last = path.rpartition(".")[2]
    if last == "algorithm" and isinstance(value, str):
        try:
            return label_of(value)
        except CwndlabError:
            return value  # told with its place when the cell is resolved
    if last in _LINK_KEYS:
        try:
            table = parse_spec(value) if isinstance(value, str) else value
        except QuantityError:
            return str(value)
        if isinstance(table, dict):
            for key in ("name", "preset"):
                if isinstance(table.get(key), str):
                    return str(table[key])
    return value if isinstance(value, str | int | float) else inline(value)


def _columns(paths: Sequence[str]) -> dict[str, str]:
    """The column of each factor: the last part of its path where that is unique."""
    paths = [path for path in paths if path not in RESERVED_FACTORS]
    lasts = [path.rpartition(".")[2] for path in paths]
    return {
        path: last
        if lasts.count(last) == 1 and last not in _COLUMNS_OF_RUNS and not last.isdigit()
        else path
        for path, last in zip(paths, lasts, strict=True)
    }


def _rules(
    study: StudyModel, columns: Mapping[str, str], which: Literal["include", "exclude"]
) -> list[dict[str, list[Any]]]:
    """Combinations to keep or to leave out: by column the levels, of which one must occur."""
    rules = study.factors.get(which, [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) and rule for rule in rules):
        message = 'a list of combinations, for example [{ algorithm = "bbr", flows = [3, 4] }]'
        raise FieldError(("factors", which), message)
    found = []
    for n, rule in enumerate(rules):
        for path in rule:
            if path not in columns:
                message = f'there is no factor "{path}"{_hint(path, columns)}'
                raise FieldError(("factors", which, n, path), message)
        found.append({columns[path]: _alternatives(path, rule[path]) for path in rule})
    return found


def _alternatives(path: str, value: object) -> list[Any]:
    each = [_label(path, item) for item in value] if isinstance(value, list) else []
    return [_label(path, value), *each]


def _matches(labels: Mapping[str, Label], rule: Mapping[str, list[Any]]) -> bool:
    return all(labels[column] in levels for column, levels in rule.items())


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""


def _element(node: object, part: str, path: tuple[str, ...], origin: KeyPath) -> Any:  # noqa: ANN401  part of a document
    name = ".".join(path[:-1])
    if not isinstance(node, list):
        raise FieldError(origin, f"{name} has nothing called {part}")
    if not part.isdigit() or int(part) >= len(node):
        raise FieldError(origin, f"{name} has {plural(len(node), 'entry')}, numbered from 0")
    return node[int(part)]


def _put(node: Any, part: str, value: object, path: str, origin: KeyPath) -> None:  # noqa: ANN401  part of a document
    if isinstance(node, dict):
        node[part] = value
    else:
        _element(node, part, tuple(path.split(".")), origin)
        node[int(part)] = value


def _check_distinct(cells: Sequence[Cell], columns: Mapping[str, str], source: Source) -> None:
    """Two cells that run the very same would be compared with themselves."""
    seen: dict[str, Cell] = {}
    for cell in cells:
        text = cell.resolved.scenario.to_json()
        if text in seen:
            differing = [c for c in columns.values() if seen[text].labels[c] != cell.labels[c]]
            values = " and ".join(str(each.labels[differing[0]]) for each in (seen[text], cell))
            path = next(path for path, column in columns.items() if column == differing[0])
            message = f"{values} are the same here; keep one of them"
            raise StudyError([source.problem(("factors", path), message)])
        seen[text] = cell
