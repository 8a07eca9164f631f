"""Derive the tables of study files from models whose values are whole numbers in SI units.

A host, an application or a live network has many settings. Each setting is defined once, in an *SI
model*. From each SI model, `written_form` derives the *written form*: the model of the table in a
study file, where quantities have units, as in `10 ms`. `Written` marks the fields that are
quantities. `to_si` converts a value from the written form to the SI model. By default, all keys of
a written form are optional, so that the keys of a preset and of a study can be combined. With
`is_whole`, keys without a default are required.
"""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from annotated_types import MinLen
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    ValidationError,
    create_model,
)

from cwndlab.schema.base import Model
from cwndlab.schema.problems import FieldError, field_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic.fields import FieldInfo

    from cwndlab.text.toml import KeyPath


@dataclass(frozen=True, slots=True)
class Written:
    """Marks a field that is a quantity: in study files, its value has a unit, as in `10 ms`."""

    text: Any  # the type that parses and formats the quantity
    unit: str  # the unit at the end of the SI field's name
    instead: str = ""  # replaces the unit at the end of the key in study files
    scale: int = 1  # units of the parsed value in one unit of the field

    def key(self, name: str) -> str:
        """Return the field's key in study files."""
        return name.removesuffix(self.unit) + self.instead

    def to_si(self, value: Any, key: KeyPath) -> Any:  # noqa: ANN401  a number or several
        """Convert a value from the parser's unit, such as ns, to the unit of the SI field."""
        if isinstance(value, tuple):
            return [self.to_si(item, (*key, n)) for n, item in enumerate(value)]
        if value % self.scale:
            raise FieldError(key, f"must be a whole number of {self.unit.strip('_')}")
        return value // self.scale

    def to_text(self, value: int) -> str:
        """Return the value of the field as text with a unit, as in study files: `10 ms`."""
        serializer = next(
            item for item in self.text.__metadata__ if isinstance(item, PlainSerializer)
        )
        func: Any = serializer.func
        return str(func(value * self.scale))


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Marks a field that study files may omit; scenarios then contain the default `value`."""

    value: Any


def values_if_absent(model: type[Model]) -> dict[str, Any]:
    """Return, by field name, the values of all fields that study files may omit."""
    marks = {name: _mark(field, IfAbsent) for name, field in model.model_fields.items()}
    return {name: mark.value for name, mark in marks.items() if mark is not None}


@dataclass(frozen=True, slots=True)
class Inferred:
    """Marks a field without a key in study files; its value follows from the rest of the study."""


def written_key(field: FieldInfo, name: str) -> str:
    """Return the key in study files for the field `name`, such as `pause` for `pause_ns`."""
    written = _mark(field, Written)
    return written.key(name) if written else name


@functools.cache
def written_form(model: type[Model], *, is_whole: bool = False) -> type[Model]:
    """Return a model that describes how values of `model` are written as a table in study files.

    Args:
        model: the model whose values are whole numbers in SI units.
        is_whole: if True, keys without a default are required; if False, all keys are optional.
    """
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if _mark(field, Inferred):
            continue
        annotation = _form(field.annotation, field)
        key = written_key(field, name)
        if is_whole:
            fields[key] = _whole_field(field, annotation)
        elif name == "kind":
            fields[key] = (annotation, Field(default=field.default, description=field.description))
        else:
            strict = () if _mark(field, Written) else filter(_is_strict, field.metadata)
            fields[key] = (
                functools.reduce(lambda kind, item: Annotated[kind, item], strict, annotation)
                | None,
                Field(default=None, description=field.description),
            )
    form: type[Model] = create_model(
        model.__name__, __base__=Model, __doc__=model.__doc__, **fields
    )
    return form


def _is_strict(item: object) -> bool:
    return isinstance(item, Strict)


def _whole_field(field: FieldInfo, annotation: Any) -> tuple[Any, Any]:  # noqa: ANN401  types
    """Return the type and `Field` of a key in study files; a key without a default is required."""
    if not _mark(field, Written):
        constraints = [item for item in field.metadata if not isinstance(item, IfAbsent)]
        bare = field.annotation
        annotation = Annotated[bare, *constraints] if constraints else bare
    elif least := next((item for item in field.metadata if isinstance(item, MinLen)), None):
        annotation = Annotated[annotation, least]
    if type(None) in typing.get_args(field.annotation):
        annotation = annotation | None
    absent = _mark(field, IfAbsent)
    default = absent.value if absent else field.default
    return annotation, Field(default=default, description=field.description)


def _form(annotation: Any, field: FieldInfo | None = None) -> Any:  # noqa: ANN401  types
    """Return the type of a value in study files, given the type of the value in the SI model."""
    written = _mark(field, Written) if field else None
    bare = _bare(annotation)
    if typing.get_origin(bare) is tuple:
        inner = written.text if written else _form(typing.get_args(bare)[0])
        return types.GenericAlias(tuple, (inner, ...))
    if written:
        return written.text
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        kinds = [_form(kind) for kind in typing.get_args(bare) if kind is not types.NoneType]
        union = functools.reduce(lambda one, other: one | other, kinds)
        return Annotated[
            Annotated[union, Field(discriminator="kind")], BeforeValidator(word_as_kind)
        ]
    if isinstance(bare, type) and issubclass(bare, Model):
        return written_form(bare)
    return bare


def word_as_kind(value: object) -> object:
    """Expand a word to a table: the word `"codel"` becomes `{ kind = "codel" }`."""
    return {"kind": value} if isinstance(value, str) else value


SI = TypeVar("SI", bound=Model)


def to_si(value: Model, model: type[SI], key: KeyPath, **inferred: object) -> SI:
    """Convert a value to its SI model: `{"delay": "20 ms"}` to one with `delay_ns=20_000_000`.

    Args:
        value: the value as it is written in a study file.
        model: the class of the SI model.
        key: the key of the value in the study file, for error messages.
        **inferred: values of the fields of `model` that study files cannot set, by field name.

    Raises:
        FieldError: a value is missing or invalid.
    """
    document = _document(value, model, key) | inferred
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problem = field_errors(error, model, document)[0]
        place = _written_path(model, error.errors()[0]["loc"])
        raise FieldError((*key, *place), problem.message) from None


def _document(value: Model, model: type[Model], key: KeyPath) -> dict[str, Any]:
    """Convert a parsed table of a study file to the dict that the SI model `model` validates."""
    document: dict[str, Any] = {}
    for name, field in _written_fields(model).items():
        if field.is_inferred:
            continue
        given = getattr(value, field.key)
        place: KeyPath = (*key, field.key)
        if given is None:
            continue
        document[name] = (
            field.written.to_si(given, place)
            if field.written
            else _plain(given, field.annotation, place)
        )
    return document


@dataclass(frozen=True, slots=True)
class _WrittenField:
    """A field of an SI model: its key in study files, and its type annotations."""

    key: str
    annotation: Any
    written: Written | None
    is_inferred: bool


@functools.cache
def _written_fields(model: type[Model]) -> Mapping[str, _WrittenField]:
    """Map each field of a model, by name, to its key in study files and to its annotations.

    The result is cached, because the inspection of annotations is slow.
    """
    return {
        name: _WrittenField(
            written_key(field, name),
            field.annotation,
            _mark(field, Written),
            is_inferred=_mark(field, Inferred) is not None,
        )
        for name, field in model.model_fields.items()
    }


def _plain(given: Any, annotation: Any, key: KeyPath) -> Any:  # noqa: ANN401  types
    """Convert a parsed value of a study file to plain data: a table becomes a dict."""
    if isinstance(given, tuple):
        inner = typing.get_args(_bare(annotation))[0]
        return [_plain(item, inner, (*key, n)) for n, item in enumerate(given)]
    if not isinstance(given, Model):
        return given
    kind = getattr(given, "kind", None)
    models = models_in(annotation)
    for model in models:
        if len(models) == 1 or model.model_fields["kind"].default == kind:
            return _document(given, model, key)
    msg = f"{type(given).__name__} is none of {annotation}"
    raise TypeError(msg)


def merged(base: Any, own: Any) -> Any:  # noqa: ANN401  values of a model
    """Combine two tables of the same model; the keys of `own` override those of `base`.

    If `base` and `own` are not tables of the same model, `own` is returned unchanged.
    """
    if not isinstance(base, Model) or type(base) is not type(own):
        return own
    values = {name: getattr(base, name) for name in base.model_fields_set}
    for name in own.model_fields_set:
        values[name] = merged(values.get(name), getattr(own, name))
    return type(own).model_construct(**values)


def _written_path(model: type[Model], location: tuple[int | str, ...]) -> KeyPath:
    """Return the key path in study files that sets the field of `model` at `location`.

    `location` comes from a pydantic error.
    """
    path: KeyPath = ()
    models = [model]
    for part in location:
        if isinstance(part, int):
            path += (part,)
            continue
        found = [
            (inner, inner.model_fields[part]) for inner in models if part in inner.model_fields
        ]
        if not found:
            models = [inner for inner in models if inner.model_fields["kind"].default == part]
            continue
        path += (written_key(found[0][1], part),)
        models = models_in(found[0][1].annotation)
    return path


def texts(value: Model) -> Iterator[tuple[str, str]]:
    """Yield the key path in study files and the text of each field that is not at its default."""
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        if name == "kind" or given is None or given == field.default:
            continue
        yield from _texts(given, written_key(field, name), _mark(field, Written))


def _texts(given: Any, path: str, written: Written | None) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    if isinstance(given, Model):
        if kind := getattr(given, "kind", None):
            yield path, str(kind)
        for inner, text in texts(given):
            yield f"{path}.{inner}", text
    elif isinstance(given, tuple) and given and isinstance(given[0], Model):
        for n, item in enumerate(given):
            if n and item == given[n - 1]:
                continue  # listed together with the previous, equal item
            alike = next((m for m in range(n, len(given)) if given[m] != item), len(given))
            name = f"{path}.{n}" if alike == n + 1 else f"{path}.{n}-{alike - 1}"
            yield from _texts(item, name, None)
    elif isinstance(given, tuple):
        yield path, ", ".join(written.to_text(item) if written else str(item) for item in given)
    else:
        words = ("no", "yes")[given] if isinstance(given, bool) else given
        yield path, written.to_text(given) if written else str(words)


def models_in(annotation: Any) -> list[type[Model]]:  # noqa: ANN401  types
    """Return all data models that a type annotation contains."""
    bare = _bare(annotation)
    if isinstance(bare, type) and issubclass(bare, Model):
        return [bare]
    return [model for inner in typing.get_args(bare) for model in models_in(inner)]


def _bare(annotation: Any) -> Any:  # noqa: ANN401  types
    """Return a type without its annotations and without None."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _bare(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _bare(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


Marked = TypeVar("Marked", Written, IfAbsent, Inferred)


def _mark(field: FieldInfo, kind: type[Marked]) -> Marked | None:
    """Return the first annotation of type `kind` on a field or inside its type; None if absent."""
    metadata = list(field.metadata)
    pending: list[Any] = [field.annotation]
    while pending:
        annotation = pending.pop()
        if typing.get_origin(annotation) is Annotated:
            metadata += annotation.__metadata__
        elif typing.get_origin(annotation) in (typing.Union, types.UnionType, tuple):
            pending += typing.get_args(annotation)
    return next((item for item in metadata if isinstance(item, kind)), None)
