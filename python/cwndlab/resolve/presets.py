"""Read link presets, which are TOML files of the package or of users.

A preset contains a title and a `[link]`. It may contain a `[reverse_link]` and tables
`[period.NAME]` with the keys that differ at certain times of day. `[sources]` states the origin of
each value with one of the keys `source`, `assumed` and `calibrated_to`. The key `calibrated_to`
names the published result to which the value was fitted. Each assumed value has a range in
`[ranges]`, or `[fixed]` states why the value has no range. The compiled core reads the keys of
links; this module reads all other keys.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from cwndlab import core
from cwndlab.errors import LinkError, QuantityError, UnknownNameError, read_failure
from cwndlab.schema.base import Model
from cwndlab.schema.checking import told
from cwndlab.schema.problems import field_errors
from cwndlab.schema.ranges import Range
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes, user_path
from cwndlab.text.linkspec import parse_spec
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = Path(__file__).parents[1] / "data" / "links"

MarkKind = Literal["source", "assumed", "calibrated_to"]


class Mark(Model):
    """Origin of a value in a preset: a source, an assumption, or a calibration."""

    source: str | None = Field(default=None, description="publication that contains the value")
    assumed: str | None = Field(default=None, description="reason for the assumed value")
    calibrated_to: str | None = Field(
        default=None, description="published result to which the value was fitted"
    )

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if len(self.model_fields_set) != 1:
            msg = 'the origin of a value is exactly one of "source", "assumed" and "calibrated_to"'
            raise ValueError(msg)
        return self

    @property
    def kind(self) -> MarkKind:
        """Return the kind of the origin: "source", "assumed" or "calibrated_to"."""
        if self.source is not None:
            return "source"
        return "assumed" if self.assumed is not None else "calibrated_to"

    @property
    def text(self) -> str:
        """The source of the value, the reason for assuming it, or the result used to fit it."""
        return str(getattr(self, self.kind))


class Preset(Model):
    """A link preset."""

    title: str
    description: str = ""
    link: dict[str, Any]
    reverse_link: dict[str, Any] | None = None
    period: dict[str, dict[str, Any]] = Field(
        default={},
        description="maps a time of day, such as evening, to the link's keys that differ then",
    )
    sources: dict[str, Mark] = Field(default={})
    ranges: dict[str, Range] = Field(
        default={}, description="maps a name to the range in which one or more assumed values vary"
    )
    fixed: dict[str, str] = Field(
        default={},
        description="maps the key of an assumed value that has no range, such as link.delay, to "
        "the reason for this",
    )

    def figures(self) -> list[str]:
        """Return the paths of all values that the preset sets, such as `link.stage.0.rate`."""
        tables = {"link": self.link, "reverse_link": self.reverse_link}
        tables |= {f"period.{name}": link for name, link in self.period.items()}
        return [
            path
            for name, table in tables.items()
            if table is not None and (table or name == "link")
            for path in _leaves(table, name)
        ]

    def mark_of(self, figure: str) -> Mark | None:
        """Return the origin of a value, or None if `sources` does not list the value."""
        return _of_figure(self.sources, figure)

    def without_range(self) -> list[str]:
        """Return the key paths of assumed values that have no range and no `[fixed]` entry."""
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
    """Map the name of each link preset to the path of its file in the package."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_preset(name: str, folder: Path) -> Preset:
    """Return the preset of this name; a name ending in `.toml` is a file below `folder`.

    Raises:
        UnknownNameError: no preset has this name.
        LinkError: the file does not describe a link; the message names file, line and key.
    """
    return _read(preset_file(name, folder))


def preset_file(name: str, folder: Path) -> Path:
    """Return the path of a preset's file, or of a link file if the name ends in `.toml`.

    Raises:
        UnknownNameError: no preset has this name.
        LinkError: the text is not a name, because it contains commas.
    """
    if name.endswith(".toml"):
        return folder / user_path(name)
    if "," in name:
        begin, *_ = name.split(",")
        begin = begin if begin in presets() else "nr-typical"
        msg = (
            f'"{name}" is not a link: write keys with "=" after the name of a preset, '
            f'such as "{begin},users=3,police=20 Mbit/s, 100 kB"'
        )
        raise LinkError(msg)
    if name not in presets():
        raise UnknownNameError(name, presets(), "cwndlab link list", kind="link")
    return presets()[name]


def link_names(document: object, key: str = "") -> list[str]:
    """Return the names of the presets and link files to which a study's document refers."""
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


def _leads_into(path: str, other: str) -> bool:
    return f"{other}.".startswith(f"{path}.")


T = TypeVar("T")


def _of_figure(marks: Mapping[str, T], figure: str) -> T | None:
    """Return the entry of `marks` that applies to a value; None if no entry applies.

    The name of an entry is the value's path, the path of a table around the value, or a single key
    in the value's path. If several entries match, the kind of name that is listed first here takes
    precedence. Among names of one kind, the innermost table or key takes precedence. The entry `*`
    applies only if no other entry matches.
    """
    parts = figure.split(".")
    tables = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
    for name in (*tables, *reversed(parts), "*"):
        if name in marks:
            return marks[name]
    return None


def _leaves(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        names = sorted(value.keys() - {"name", "kind"})
        for name in names:
            yield from _leaves(value[name], f"{path}.{name}")
        if not names:
            yield path  # a kind that sets no values
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
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
    text = read_link_file(path)
    try:
        document = core.read_preset(str(path), str(path.parent.absolute()), text)
    except ValueError as error:
        raise LinkError(str(error)) from None
    document.setdefault("title", path.stem)
    try:
        return Preset.model_validate(document)
    except ValidationError as error:
        source = TomlSource(str(path), text)
        raise LinkError(str(told(source, field_errors(error, Preset, document)))) from None


def read_link_file(path: Path) -> str:
    """Return the content of a preset's or a link's file as text.

    Raises:
        LinkError: the file cannot be read.
    """
    try:
        return read_bytes(path, MOST_TEXT_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise LinkError(read_failure(path, error)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        msg = f"{path}:{line}: not UTF-8 text\n  save the file as UTF-8"
        raise LinkError(msg) from None
