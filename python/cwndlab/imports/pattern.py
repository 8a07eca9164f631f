"""Read factors from file names by a pattern such as `{algorithm}_{direction}_{duration}.json`."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import MeasurementError, nearest, plural
from cwndlab.results.columns import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPETITION = "repetition"
SIDE = "side"
IGNORED = "_"

_MOST_DIGITS = 18  # digits that always fit into a 64-bit column
_RESERVED = {"run", "cell", "seed", "flow", "t_s", "contestant"}
_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "direction": {
        "downlink": ("downlink", "down", "dl", "download", "forward", "d"),
        "uplink": ("uplink", "up", "ul", "upload", "reverse", "u"),
    },
    SIDE: {"client": ("client", "c"), "server": ("server", "s")},
}


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern for file names; most fields (names in braces) become factors of the results."""

    text: str
    fields: tuple[str, ...]
    expression: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> NamePattern:
        """Create a pattern from its text, such as `{algorithm}_{direction}.json`.

        Raises:
            MeasurementError: a field is repeated or not allowed, or two fields have no text
                between them.
        """
        expression, fields = "", []
        try:
            parts = list(string.Formatter().parse(text))
        except ValueError as error:
            msg = f'"{text}": {error}; write field names in braces, as in "{{algorithm}}"'
            raise MeasurementError(msg) from None
        for at, (literal, name, form, conversion) in enumerate(parts):
            expression += re.escape(literal)
            if name is None:
                continue
            if at and not literal:
                msg = (
                    f"{{{name}}} in {text!r} directly follows another field; separate the fields "
                    "by text, as in {a}_{b}"
                )
                raise MeasurementError(msg)
            if name in ("", IGNORED):
                expression += "[^/]*?"
                continue
            if form or conversion or not name.isidentifier() or _is_reserved(name):
                msg = f'"{{{name}}}" in "{text}" cannot be a field; use a name such as {{place}}'
                raise MeasurementError(msg)
            if name in fields:
                msg = (
                    f"{{{name}}} appears twice in {text!r}; write {{}} for a part of the file name "
                    "that is not a field"
                )
                raise MeasurementError(msg)
            fields.append(name)
            number = "[0-9]+" if name == REPETITION else "[^/]+?"
            expression += f"(?P<{name}>{number})"
        return cls(text, tuple(fields), re.compile(expression))

    @property
    def factors(self) -> tuple[str, ...]:
        """The fields that become factors: all fields except `repetition` and `side`."""
        return tuple(name for name in self.fields if name not in (REPETITION, SIDE))

    def match(self, name: str) -> dict[str, str] | None:
        """Return the fields of a file name, or None if the name does not match the pattern.

        Raises:
            MeasurementError: the direction or side is unknown, the repetition has too many digits,
                or the name is not UTF-8.
        """
        found = self.expression.fullmatch(name)
        if found is None:
            return None
        try:
            name.encode()
        except UnicodeEncodeError:
            msg = f"{name!r}: the name is not UTF-8; rename the file"
            raise MeasurementError(msg) from None
        return {field: _word(field, value, name) for field, value in found.groupdict().items()}

    def files(self, folder: Path) -> tuple[dict[Path, dict[str, str]], list[str]]:
        """Find the files below a folder whose names match the pattern.

        Returns:
            A dictionary that maps the path of each file to the fields in its name, sorted by path.
            A list with a message about each matching file name that contains an invalid field.

        Raises:
            MeasurementError: the folder does not exist, or contains no file that matches.
        """
        if not folder.is_dir():
            msg = f"{folder}: {'is not a folder' if folder.exists() else 'there is no such folder'}"
            raise MeasurementError(msg)
        names = sorted(path for path in folder.rglob("*") if path.is_file())
        found: dict[Path, dict[str, str]] = {}
        problems = []
        for path in names:
            try:
                fields = self.match(path.relative_to(folder).as_posix())
            except MeasurementError as error:
                problems.append(str(error))
                continue
            if fields is not None:
                found[path] = fields
        if not found and not problems:
            near = nearest(self.text, [path.name for path in names])
            such = f", for example {near or names[0].name}" if names else ""
            msg = (
                f"{folder}: no file in this folder ({plural(len(names), 'file')}{such}) matches "
                f"--pattern {self.text!r}"
            )
            raise MeasurementError(msg)
        return found, problems


def label(value: str) -> str | int | float:
    """Return the value of a field as a number if possible, otherwise as text."""
    number = re.fullmatch(rf"-?(0|[1-9][0-9]{{0,{_MOST_DIGITS - 1}}})(\.[0-9]+)?", value)
    if number is None:
        return value
    return float(value) if number[2] else int(value)


def _is_reserved(name: str) -> bool:
    """Return whether results use this name for a measured quantity or an identifier of rows."""
    return name in _RESERVED or any(
        each["name"] == name and (each["type"] == "real" or unit_of(name))
        for each in core.columns()
    )


def _word(field: str, value: str, name: str) -> str:
    if field == REPETITION and len(value) > _MOST_DIGITS:
        msg = f"{name}: a repetition number may have at most {_MOST_DIGITS} digits; rename the file"
        raise MeasurementError(msg)
    words = _WORDS.get(field)
    if words is None:
        return value
    for word, ways in words.items():
        if value.lower() in ways:
            return word
    known = ", ".join(way for ways in words.values() for way in ways)
    msg = f"{name}: {value!r} is not a {field}; known values: {known}"
    raise MeasurementError(msg)
