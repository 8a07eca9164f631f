"""Columns of results: title, unit, direction of improvement, explanation.

The unit of a column is read from the end of the column's name, so that the unit and the name cannot
disagree. The core (`core.columns`) defines the name, unit and type of columns that the simulator
returns; `data/columns.toml` has titles and explanations, and the columns that are computed or
measured elsewhere. A test checks that the two are consistent. Figures, tables and the report take
every title, unit and explanation from this module.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from cwndlab import core


class Together(Enum):
    """How the values of several flows are combined into one value."""

    SUM = "sum"
    """The values are counts, which are added."""
    RATE = "rate"
    """The bytes of all flows are divided by the time in which any flow was measured."""
    MEAN = "mean"
    """The values are averaged."""


class Better(Enum):
    """Whether higher or lower values of a quantity are better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Kind(Enum):
    """Type of a column's values."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"


_UNITS = {  # suffix of a column name -> what is printed
    "mbit_s": "Mbit/s",
    "ms": "ms",
    "us": "µs",
    "s": "s",
    "pkts": "packets",
    "bytes": "bytes",
    "pct": "%",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """The description of a column of results for readers."""

    column: str
    title: str
    better: Better
    explanation: str
    undefined: str = ""
    """Condition under which the value is missing (null); empty if there always is a value."""
    together: Together = Together.MEAN

    @property
    def unit(self) -> str:
        """The unit as printed; empty for counts and indices."""
        return unit_of(self.column)

    @property
    def header(self) -> str:
        """Title with unit, for an axis or for the head of a table column."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def unit_of(column: str) -> str:
    """Return the unit of a column from the end of its name; empty if the name has no unit."""
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            return _UNITS[suffix]
    return ""


def quantity(column: str) -> Quantity:
    """Return the description of a column; the title of an unknown column is made from its name."""
    known = _by_column().get(column)
    if known is not None:
        return known
    stem = column
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            stem = column.removesuffix(f"_{suffix}")
            break
    return Quantity(column, stem.replace("_", " "), Better.NEITHER, "")


def kind_of(column: str) -> Kind:
    """Return the type of a column's values in files; unknown columns hold real numbers."""
    return _kinds().get(column, Kind.REAL)


def all_columns() -> Iterator[Quantity]:
    """Yield the description of every column in `data/columns.toml`."""
    yield from _by_column().values()


@functools.cache
def _document() -> Mapping[str, Mapping[str, str]]:
    """Return the content of `data/columns.toml`."""
    text = files("cwndlab").joinpath("data", "columns.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def _kinds() -> Mapping[str, Kind]:
    """Return the types of the core's columns and those given in `data/columns.toml`."""
    of_core = {each["name"]: Kind(each["type"]) for each in core.columns()}
    of_file = {name: Kind(row["type"]) for name, row in _document().items() if "type" in row}
    return of_core | of_file | {"run": Kind.TEXT}


@functools.cache
def _by_column() -> Mapping[str, Quantity]:
    """Return the columns of `data/columns.toml` by name."""
    return {
        column: Quantity(
            column,
            row["title"],
            Better(row.get("better", "neither")),
            row["explanation"],
            row.get("undefined", ""),
            Together(row.get("together", "mean")),
        )
        for column, row in _document().items()
    }
