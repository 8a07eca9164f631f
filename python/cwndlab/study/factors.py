"""Find the factors of a study, their levels, and the combinations of levels to run."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from cwndlab import core
from cwndlab.errors import CwndlabError, QuantityError, nearest
from cwndlab.resolve.algorithms import label_of
from cwndlab.schema import StudyModel
from cwndlab.schema.problems import FieldError
from cwndlab.schema.study import RESERVED_FACTORS
from cwndlab.text.linkspec import parse_spec
from cwndlab.text.toml import inline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.study.runs import Label
    from cwndlab.text.toml import KeyPath

_LINK_KEYS = ("link", "reverse_link")
_COLUMNS_OF_RUNS = ("run", "cell", "repetition", "seed")
_OF_ALL_RUNS = ("id", "title", "description", "quick", "common_seeds")
"""Keys of a study that no factor can vary, because they must be the same in all runs."""
_RANDOM = ("seed", "repetitions")


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a factor: its label in results, and the values that it sets in the study."""

    label: Label
    sets: tuple[tuple[str, Any], ...]
    origin: KeyPath


def groups_of(study: StudyModel) -> list[list[dict[str, Level]]]:
    """Return one list for each `zip` group of factors, and one for each factor outside `zip`.

    Each entry of a group's list sets one level of every factor in the group. Each entry of a list
    for a factor outside `zip` sets one level of this factor.
    """
    factors = {
        path: levels_of(path, values)
        for path, values in study.factors.items()
        if path not in RESERVED_FACTORS
    }
    groups: list[list[dict[str, Level]]] = []
    zipped: set[str] = set()
    for n, names in enumerate(_zip_lists(study.factors.get("zip", []))):
        key: KeyPath = ("factors", "zip", n)
        for name in names:
            if name not in factors:
                raise FieldError(key, f'there is no factor "{name}"{_hint(name, factors)}')
            if name in zipped:
                raise FieldError(key, f'"{name}" appears in two lists')
            zipped.add(name)
        lengths = {name: len(factors[name]) for name in names}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise FieldError(
                key,
                f"factors in the same list of `zip` need the same number of values, but {counts}",
            )
        rows = zip(*(factors[name] for name in names), strict=True)
        groups.append([dict(zip(names, row, strict=True)) for row in rows])
    groups += [[{path: level} for level in factors[path]] for path in factors if path not in zipped]
    # Algorithms vary fastest, so that runs of different algorithms alternate.
    return sorted(groups, key=lambda group: any(_is_of_algorithms(path) for path in group[0]))


def _is_of_algorithms(path: str) -> bool:
    return path.rpartition(".")[2] in ("algorithm", "variant")


def _zip_lists(value: object) -> list[list[str]]:
    is_list = isinstance(value, list) and all(isinstance(names, list) for names in value)
    if not is_list:
        message = 'must be a list of lists of factors, such as [["link.rate", "link.delay"]]'
        raise FieldError(("factors", "zip"), message)
    return [[str(name) for name in names] for names in value]  # type: ignore[attr-defined]


def levels_of(path: str, values: object) -> list[Level]:
    """Return the levels of a factor.

    Raises:
        FieldError: the values are not a list of levels.
    """
    key: KeyPath = ("factors", path)
    if not isinstance(values, list | tuple) or not values:
        raise FieldError(key, 'a factor is a list of values, such as ["reno", "cubic"]')
    head = path.partition(".")[0]
    is_bundle = head not in StudyModel.model_fields
    if is_bundle and path in {*_COLUMNS_OF_RUNS, *(each["name"] for each in core.columns())}:
        raise FieldError(key, f'"{path}" is already a column of results; rename the factor')
    if not is_bundle:
        _refuse_fixed(path, key)
    levels = []
    for n, value in enumerate(values):
        if is_bundle:
            levels.append(_bundle(path, value, (*key, n)))
        else:
            levels.append(Level(_label(path, value), ((path, value),), (*key, n)))
    seen: set[Label] = set()
    for n, level in enumerate(levels):
        # In the tables of results, a column with labels of different types contains their texts.
        label, text = level.label, str(level.label)
        if label in seen or text in seen:
            written = values[n]
            also = "" if written == label else f"{inline(written)} is {label}, which"
            raise FieldError((*key, n), f"{also or label} is already in this list")
        seen |= {label, text}
    return levels


def _refuse_fixed(path: str, key: KeyPath) -> None:
    """Raise an error if a factor names a key that no factor can vary.

    Raises:
        FieldError: the key must be the same in all runs, or is `seed` or `repetitions`.
    """
    if path in _RANDOM:
        message = (
            f"{path} cannot be varied; set the number of `repetitions` instead, because each "
            "repetition draws different random numbers"
        )
        raise FieldError(key, message)
    if path.partition(".")[0] in _OF_ALL_RUNS:
        message = (
            f"{path} cannot be varied, because it must be the same in all runs of a study; "
            "remove this factor"
        )
        raise FieldError(key, message)


def _bundle(path: str, value: object, key: KeyPath) -> Level:
    if not isinstance(value, dict) or "name" not in value:
        near = nearest(path, StudyModel.model_fields)
        hint = f"; did you mean {near}?" if near else ""
        message = (
            f'"{path}" is not a key of a study{hint}\n  '
            "to use it as the name of a factor, write each level as "
            '{ name = "a", algorithm = "reno" }'
        )
        raise FieldError(key, message)
    label = value["name"]
    if not isinstance(label, str | int | float) or (isinstance(label, float) and isnan(label)):
        raise FieldError((*key, "name"), "the name of a level must be text or a number")
    sets = tuple((name, inner) for name, inner in value.items() if name != "name")
    for name, _ in sets:
        _refuse_fixed(name, (*key, name))
    return Level(label, sets, key)


def _label(path: str, value: object) -> Label:
    """Return the label that identifies a level of a factor in results."""
    last = path.rpartition(".")[2]
    if last == "algorithm" and isinstance(value, str):
        try:
            return label_of(value)
        except CwndlabError:
            return value  # the error is reported when the cell is resolved
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


def columns_of(paths: Sequence[str]) -> dict[str, str]:
    """Map each factor's path to its column in results: the last part if unique, or the path."""
    paths = [path for path in paths if path not in RESERVED_FACTORS]
    lasts = [path.rpartition(".")[2] for path in paths]
    return {
        path: last
        if lasts.count(last) == 1 and last not in _COLUMNS_OF_RUNS and not last.isdigit()
        else path
        for path, last in zip(paths, lasts, strict=True)
    }


def rules_of(
    study: StudyModel, columns: Mapping[str, str], which: Literal["include", "exclude"]
) -> list[dict[str, list[Any]]]:
    """Return the rules in `include` or `exclude`; a rule maps columns to the levels that match."""
    rules = study.factors.get(which, [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) and rule for rule in rules):
        message = 'must be a list of combinations: [{ algorithm = "bbr", flows = [3, 4] }]'
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


def is_match(labels: Mapping[str, Label], rule: Mapping[str, list[Any]]) -> bool:
    """Return whether a combination has, in each column of `rule`, one of the levels of the rule."""
    return all(labels[column] in levels for column, levels in rule.items())


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""
