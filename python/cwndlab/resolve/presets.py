"""Links with names: preset files of the package, and TOML files of the user in the same form.

A preset has a title, a `[link]`, perhaps a `[reverse_link]`, perhaps a `[period.NAME]` for times of
the day with what is different then, and under `[sources]` for each of its figures where it comes
from: a `source`, `assumed`, or `calibrated_to` a named published figure. What is assumed has a
range under `[ranges]`, or under `[fixed]` a reason why it has none.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from cwndlab.errors import LinkError, QuantityError, StudyError, UnknownNameError, read_failure
from cwndlab.resolve.short_keys import with_short_keys
from cwndlab.schema.base import Model
from cwndlab.schema.link import SHORT_KEYS, Link
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.ranges import Range
from cwndlab.schema.stage import LinkStage
from cwndlab.schema.written import merged
from cwndlab.text.linkspec import parse_spec
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.text.toml import KeyPath

_FOLDER = Path(__file__).parents[1] / "data" / "links"
_KEYS_OF_ANY = {"name", "preset", "period", "server", "wire", *SHORT_KEYS}


MarkKind = Literal["source", "assumed", "calibrated_to"]


class Mark(Model):
    """Where a figure comes from: one of three."""

    source: str | None = Field(default=None, description="where it stands")
    assumed: str | None = Field(default=None, description="why this and no other")
    calibrated_to: str | None = Field(
        default=None, description="the published figure it was fitted to"
    )

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if len(self.model_fields_set) != 1:
            msg = 'a figure has one of "source", "assumed" and "calibrated_to"'
            raise ValueError(msg)
        return self

    @property
    def kind(self) -> MarkKind:
        """Which of the three."""
        if self.source is not None:
            return "source"
        return "assumed" if self.assumed is not None else "calibrated_to"

    @property
    def text(self) -> str:
        """What it says."""
        return str(getattr(self, self.kind))


class Preset(Model):
    """A link with a name."""

    title: str
    description: str = ""
    link: Link
    reverse_link: Link | None = None
    period: dict[str, Link] = Field(
        default={}, description="what of the link is different at a time of the day"
    )
    sources: dict[str, Mark] = Field(default={})
    ranges: dict[str, Range] = Field(
        default={}, description="between which values what is assumed may lie, by a key's name"
    )
    fixed: dict[str, str] = Field(
        default={}, description="of what is assumed and has no range: why; by path, as sources"
    )

    def figures(self) -> list[str]:
        """The paths of all values that the preset sets, such as `link.stage.0.rate`."""
        tables = {"link": self.link, "reverse_link": self.reverse_link}
        tables |= {f"period.{name}": link for name, link in self.period.items()}
        return [
            path
            for name, table in tables.items()
            if table is not None and (table.model_fields_set or name == "link")
            for path in _leaves(table, name)
        ]

    def at(self, period: str | None) -> dict[str, Any]:
        """The link's keys at a time of the day.

        Raises:
            KeyError: it knows no such time.
        """
        keys = {name: getattr(self.link, name) for name in self.link.model_fields_set}
        if period is None:
            return keys
        then = self.period[period]
        return keys | {
            name: merged(keys.get(name), getattr(then, name)) for name in then.model_fields_set
        }

    def mark_of(self, figure: str) -> Mark | None:
        """Where a figure comes from: the mark of its path, a table, a key on it, or of all."""
        return _of_figure(self.sources, figure)

    def without_range(self) -> list[str]:
        """The paths of assumed figures that have neither a range nor a reason to be fixed."""
        ranged = {path for span in self.ranges.values() for path in span.all_paths}
        if "link.server" in ranged:
            ranged |= {f"link.cell.{way}.core_delay" for way in ("downlink", "uplink")}
        return [
            figure
            for figure in self.figures()
            if (mark := self.mark_of(figure)) is not None
            and mark.kind == "assumed"
            and not any(_leads_into(path, figure) or _leads_into(figure, path) for path in ranged)
            and _of_figure(self.fixed, figure) is None
        ]


@functools.cache
def presets() -> Mapping[str, Path]:
    """The files of all presets of the package, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_preset(name: str, folder: Path) -> Preset:
    """The preset of this name; a name that ends in `.toml` is a file, relative to `folder`.

    Raises:
        UnknownNameError: there is no such preset.
        LinkError: the file is not one of a link; names file, line and key.
    """
    return _read(preset_file(name, folder))


def preset_file(name: str, folder: Path) -> Path:
    """The file of a preset, or of a link that is a file.

    Raises:
        UnknownNameError: there is no such preset.
    """
    if name.endswith(".toml"):
        return folder / Path(name).expanduser()
    if name not in presets():
        raise UnknownNameError(name, presets(), "cwndlab link list", kind="link")
    return presets()[name]


def link_names(document: object, key: str = "") -> list[str]:
    """The presets and link files that a study names, anywhere in its document."""
    found: list[str] = []
    if isinstance(document, Mapping):
        for name, value in document.items():
            found += link_names(value, str(name).rpartition(".")[2])
    elif isinstance(document, list | tuple):
        for value in document:
            found += link_names(value, key)
    elif isinstance(document, str) and key in {"link", "reverse_link"}:
        with contextlib.suppress(QuantityError):
            found += link_names(parse_spec(document))
    elif isinstance(document, str) and key == "preset":
        found.append(document)
    return list(dict.fromkeys(found))


def expand_preset(link: Link, key: KeyPath, folder: Path) -> tuple[Link, Link | None]:
    """`link` with its preset's keys where it has none itself, and the preset's reverse link.

    Short keys become what they stand for.

    Raises:
        FieldError: there is no such preset, or its keys and those of `link` do not go together.
    """
    if link.preset is None:
        return with_short_keys(link, key), None
    try:
        preset = load_preset(link.preset, folder)
    except (LinkError, UnknownNameError) as error:
        raise FieldError((*key, "preset"), str(error)) from None
    own = {name: getattr(link, name) for name in link.model_fields_set}
    try:
        given = preset.at(link.period)
    except KeyError:
        known = ", ".join(preset.period)
        message = f"{link.preset} knows no such time" + (f"; it knows {known}" if known else "")
        raise FieldError((*key, "period"), message) from None
    if {"rate", "trace"} & own.keys():
        rates = {"rate", "burst", "trace", "column", "unit", "time_column", "time_unit"}
        given = {name: given[name] for name in given.keys() - rates}
    for name in ("cell", "wifi"):
        if name in own:
            own[name] = merged(given.get(name), own[name])
    both = Link.model_construct(**(given | own))
    if both.stage and (wires := own.keys() - _KEYS_OF_ANY - {"stage"}):
        message = f"{link.preset} is a chain; its stages have the {min(wires)}"
        raise FieldError((*key, min(wires)), message)
    if both.medium and (others := own.keys() - _KEYS_OF_ANY - {both.medium[0], "police"}):
        message = f"{link.preset} is a {both.medium[0]}; write {both.medium[0]}.KEY"
        raise FieldError((*key, min(others)), message)
    return with_short_keys(both, key), preset.reverse_link


def _leads_into(path: str, other: str) -> bool:
    return f"{other}.".startswith(f"{path}.")


T = TypeVar("T")
Wire = TypeVar("Wire", bound=LinkStage)


def _of_figure(marks: Mapping[str, T], figure: str) -> T | None:
    """What stands for a figure: by its path, a table, a key on the path, or `*` for all."""
    parts = figure.split(".")
    tables = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
    for name in (*tables, *reversed(parts), "*"):
        if name in marks:
            return marks[name]
    return None


def _leaves(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        names = sorted(value.model_fields_set - {"name", "kind"})
        for name in names:
            yield from _leaves(getattr(value, name), f"{path}.{name}")
        if not names:
            yield path  # a kind without figures of its own
    elif isinstance(value, tuple) and any(isinstance(item, BaseModel) for item in value):
        for n, item in enumerate(value):
            yield from _leaves(item, f"{path}.{n}")
    elif value is not None:
        yield path


def _read(path: Path) -> Preset:
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError as error:
        raise LinkError(read_failure(path, error)) from None
    return _read_once(path, changed_ns)


@functools.lru_cache(maxsize=256)
def _read_once(path: Path, _changed_ns: int) -> Preset:
    try:
        source = TomlSource.read(path)
    except StudyError as error:
        raise LinkError(str(error)) from None
    document = dict(source.document)
    is_bare = document.keys().isdisjoint(Preset.model_fields)
    if is_bare:
        document = {"link": document}  # a file with the keys of [link] alone
    document.setdefault("title", path.stem)
    try:
        preset = Preset.model_validate(document)
    except ValidationError as error:
        problems = field_errors(error, Preset, document)
        keys = [problem.key[1:] if is_bare else problem.key for problem in problems]
        told = [source.problem(k, p.message) for k, p in zip(keys, problems, strict=True)]
        raise LinkError("\n".join(told)) from None
    if preset.link.preset or (preset.reverse_link and preset.reverse_link.preset):
        msg = f"{path}: a preset cannot be made of another one"
        raise LinkError(msg)
    return preset.model_copy(
        update={
            "link": _with_absolute_paths(preset.link, path.parent),
            "reverse_link": preset.reverse_link
            and _with_absolute_paths(preset.reverse_link, path.parent),
        }
    )


def _with_absolute_paths(link: Wire, folder: Path) -> Wire:
    """Paths of traces in a preset are relative to its file."""
    changes: dict[str, Any] = {}
    if link.trace is not None:
        changes["trace"] = str((folder / link.trace).absolute())
    for key in ("wire", "reverse"):
        if (inner := getattr(link, key, None)) is not None:
            changes[key] = _with_absolute_paths(inner, folder)
    if stages := getattr(link, "stage", ()):
        changes["stage"] = tuple(_with_absolute_paths(stage, folder) for stage in stages)
    return link.model_copy(update=changes) if changes else link
