"""Describe validation errors for the user: the key, the problem, and how to correct it."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from cwndlab.errors import nearest
from cwndlab.schema.forms import REMEDIES

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from cwndlab.text.toml import KeyPath


class FieldError(ValueError):
    """An error about an invalid value, with the path of the key that has this value."""

    def __init__(self, key: KeyPath, message: str) -> None:
        super().__init__(message)
        self.key = key
        self.message = message


class DocumentError(ValueError):
    """An error that combines the `FieldError`s of all invalid values in a document."""

    def __init__(self, problems: list[FieldError]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def field_errors(
    error: ValidationError, model: type[BaseModel], document: object
) -> list[FieldError]:
    """Return an error for each invalid value in `document` that pydantic found."""
    return [found for details in error.errors() for found in _told(details, model, document)]


def _told(details: ErrorDetails, model: type[BaseModel], document: object) -> list[FieldError]:
    """Convert a pydantic error to a list of `FieldError`s.

    The list has one entry for each wrong key if the pydantic error is about a link; otherwise, the
    list has only one entry.
    """
    refused = details.get("ctx", {}).get("error")
    whole = _field_error(details, model, document)
    if not isinstance(refused, DocumentError):
        return [whole]
    return [FieldError((*whole.key, *each.key), each.message) for each in refused.problems]


def _field_error(details: ErrorDetails, model: type[BaseModel], document: Any) -> FieldError:  # noqa: ANN401  TOML
    message = _message(details, model)
    key: KeyPath = ()
    node = document
    for part in details["loc"]:
        if _has(node, part):
            node = node[part]
        elif isinstance(node, str):
            return FieldError(key, message)  # a text that stands for a table
        elif details["type"] != "missing" or part != details["loc"][-1]:
            continue  # the kind of a table, which is not a key of the document
        key += (part,)
    if details["type"] == "union_tag_invalid" and isinstance(node, dict):
        key += ("kind",)
    return FieldError(key, message)


def _has(node: object, part: int | str) -> bool:
    if isinstance(node, list | tuple):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, dict) and part in node


def _message(details: ErrorDetails, model: type[BaseModel]) -> str:  # noqa: PLR0911  one each
    context: dict[str, Any] = details.get("ctx", {})
    is_list = isinstance(details["input"], list) and not details["type"].startswith("missing")
    if is_list and "factors" in model.model_fields and details["type"] in _OF_ONE_VALUE:
        return "must be a single value; to vary it, move the list to [factors]"
    match details["type"]:
        case "extra_forbidden":
            known = _keys_at(model, details["loc"][:-1])
            near = nearest(str(details["loc"][-1]), known)
            hint = f"did you mean {near}?" if near else f"known here: {', '.join(sorted(known))}"
            return f"unknown key; {hint}"
        case "missing":
            told = _description_at(model, details["loc"])
            return f"this key is needed here and is missing{told and f': {told}'}"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be {context['expected']}"
        case "union_tag_invalid":
            kinds = context["expected_tags"].replace("'", "")
            near = nearest(str(context["tag"]), kinds.split(", "))
            return f"must be one of {kinds}{f'; did you mean {near}?' if near else ''}"
        case "union_tag_not_found":
            return 'a "kind" is needed here and is missing'
        case _:
            return plain_message(details)


_OF_ONE_VALUE = ("string_type", "int_type", "bool_type", "value_error", "literal_error")


_TABLE = "a table: { key = value }"
_TYPES = {
    "model_type": _TABLE,
    "model_attributes_type": _TABLE,
    "dict_type": _TABLE,
    "tuple_type": "a list",
    "list_type": "a list",
    "int_type": "a whole number",
    "bool_type": "true or false",
}


def plain_message(details: ErrorDetails) -> str:
    """Return cwndlab's wording for one of pydantic's messages about a value."""
    if details["type"] == "string_pattern_mismatch":
        return REMEDIES[details["ctx"]["pattern"]]
    if details["type"] in _TYPES:
        return f"must be {_TYPES[details['type']]}"
    message = details["msg"]
    return message.replace("Input should be", "must be").replace("Input should", "must")


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that a document may contain in the table at `location`."""
    return sorted({key for model_ in _models_at(model, location) for key in model_.model_fields})


def _description_at(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """Return the description of the key at `location`; empty if it has no description."""
    fields = (
        inner.model_fields.get(str(location[-1])) for inner in _models_at(model, location[:-1])
    )
    return next((field.description for field in fields if field and field.description), "")


def _models_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """Return the models that are allowed at `location`."""
    annotations: list[Any] = [model]
    for part in location:
        annotations = [
            inner for annotation in annotations for inner in _step(annotation, part)
        ] or annotations
    return _models(annotations)


def _step(annotation: object, part: int | str) -> list[Any]:
    """Return the types in `annotation` that `part` (a key, or the kind of a table) selects."""
    found: list[Any] = []
    for model in _models([annotation]):
        if isinstance(part, str) and part in model.model_fields:
            found.append(model.model_fields[part].annotation)
        elif "kind" in model.model_fields and model.model_fields["kind"].default == part:
            found.append(model)
    return found


def _models(annotations: list[Any]) -> list[type[BaseModel]]:
    """Return the models in `annotations`, including those inside unions, tuples and the like."""
    found: list[type[BaseModel]] = []
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        elif typing.get_origin(annotation) is not None or isinstance(annotation, types.UnionType):
            found += _models(list(typing.get_args(annotation)))
    return found
