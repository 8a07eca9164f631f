"""Describe columns of results: title, unit, explanation, and which values are better.

The end of a column's name determines its unit, so that unit and name cannot disagree. The compiled
core (`core.columns`) defines name, unit and type of the columns that the simulator returns. The
file `data/columns.toml` defines all other columns, and contains the titles and explanations of all
columns. A test checks that the core and the file are consistent. Figures, tables and the report use
the titles, units and explanations of this module.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from cwndlab import core


class Together(Enum):
    """The way in which a column's values for several flows are combined into one value."""

    SUM = "sum"
    """Sum over all flows; used for counts."""
    RATE = "rate"
    """The data of all flows, divided by the time during which at least one flow was measured; used
    for columns that contain data rates."""
    MEAN = "mean"
    """Mean over all flows; used for columns that are neither counts nor rates."""


class Better(Enum):
    """Whether higher or lower values of a column are better, or neither."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Kind(Enum):
    """Type of a column's values."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"


_UNITS = {  # suffix of a column name -> printed unit
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
    """Description of a column of results for readers of figures and tables."""

    column: str
    title: str
    better: Better
    explanation: str
    undefined: str = ""
    """Condition under which the value is missing (null); empty if the value always exists."""
    together: Together = Together.MEAN

    @property
    def unit(self) -> str:
        """Unit as it is printed; empty for counts and indices."""
        return unit_of(self.column)

    @property
    def header(self) -> str:
        """Title with unit, for an axis of a plot or for the head of a table column."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def unit_of(column: str) -> str:
    """Return the unit at the end of a column's name, or "" if the name contains no unit."""
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            return _UNITS[suffix]
    return ""


def quantity(column: str) -> Quantity:
    """Return the description of a column; an unknown column's title is its name without unit."""
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
    """Map the names of columns to the types that the core and `data/columns.toml` define."""
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
