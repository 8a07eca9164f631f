"""Command-line options that set keys of a study.

The schema defines the types of these keys and the help texts of their options.
"""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import annotated_types
import click
from pydantic import BeforeValidator, PlainSerializer
from pydantic.fields import FieldInfo

from cwndlab.schema.study import Flow, StudyModel
from cwndlab.text import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]

_METAVARS = {
    "link": "LINK",
    "reverse_link": "LINK",
    "algorithm": "NAMES",
    "stack": "NAME",
    quantity.parse_duration: "TIME",
    quantity.parse_size: "SIZE",
}
"""Maps a key of a study, or the function that parses a value, to the placeholder that stands for
the value in help texts."""


def study_option(
    key: str,
    *names: str,
    more: str = "",
    **changes: Any,  # noqa: ANN401  click's
) -> Callable[[Command], Command]:
    """Return the option for a key of `[study]`, or of `[[flow]]` if `[study]` has no such key.

    Args:
        key: key of the schema; its description becomes the option's help.
        *names: flags of the option, and the name of the argument that receives its value; if
            absent, both are derived from the key.
        more: sentences to append to the help of the option.
        **changes: arguments of `click.option` that replace the arguments derived from the schema.
    """
    field = StudyModel.model_fields.get(key) or Flow.model_fields[key]
    kind, metadata = _bare(field.annotation)
    metadata += field.metadata
    reader = next((each.func for each in metadata if isinstance(each, BeforeValidator)), None)
    settings: dict[str, Any] = {"help": help_of(field, more)}
    if typing.get_origin(kind) is Literal:
        settings["type"] = click.Choice(typing.get_args(kind))
    elif kind is int and reader is None:
        bounds: dict[type, Any] = {type(each): each for each in metadata}
        least, most = bounds.get(annotated_types.Ge), bounds.get(annotated_types.Le)
        settings["type"] = click.IntRange(least and least.ge, most and most.le)
        settings["metavar"] = "N"
    else:
        settings["metavar"] = _METAVARS[key if key in _METAVARS else reader]
    if field.default is not None:
        writers = [each.func for each in metadata if isinstance(each, PlainSerializer)]
        write: Callable[[Any], str] = writers[0] if writers else str  # type: ignore[assignment]  # or one that is given more
        default = field.default if "type" in settings else write(field.default)
        settings |= {"default": default, "show_default": True}
    return click.option(*(names or (f"--{key.replace('_', '-')}",)), **(settings | changes))


def help_of(field: FieldInfo, more: str = "") -> str:
    """Return a field's description as a sentence, followed by `more`."""
    text = field.description or ""
    return " ".join([f"{text[:1].upper()}{text[1:]}.", more]).strip()


def _bare(annotation: Any) -> tuple[Any, list[Any]]:  # noqa: ANN401  types
    """Return the type in an annotation, with `| None` removed, and the annotation's metadata."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _bare(kinds[0]) if len(kinds) == 1 else (annotation, [])
    if typing.get_origin(annotation) is Annotated:
        inner = [
            part
            for each in annotation.__metadata__
            for part in (each.metadata if isinstance(each, FieldInfo) else [each])
        ]
        return annotation.__origin__, inner
    return annotation, []
