"""Columns of results: title, unit, direction of improvement, explanation.

Column names end in their unit, so the unit is read from the name and cannot disagree with it. Name,
unit and type of what the simulator returns are the core's (`core.columns`); titles and
explanations, and the columns that are computed or measured elsewhere, are in `data/columns.toml`.
A test checks that both fit together. Figures, tables and the report take every title, unit and
explanation from here.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from cwndlab import core


class Together(Enum):
    """How a quantity of several flows is combined."""

    SUM = "sum"
    """Counts add up."""
    RATE = "rate"
    """Bytes of all flows over the time in which any of them was measured."""
    MEAN = "mean"
    """Everything else is averaged."""


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
    """Condition under which it has no value (null); empty if it always has one."""
    together: Together = Together.MEAN

    @property
    def unit(self) -> str:
        """Unit as printed; empty for counts and indices."""
        return unit_of(self.column)

    @property
    def header(self) -> str:
        """Title with unit, for an axis or the head of a column."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def unit_of(column: str) -> str:
    """Return the printed unit that ends a column's name; empty if it has none."""
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            return _UNITS[suffix]
    return ""


def quantity(column: str) -> Quantity:
    """Return the description of a column; an unknown column gets a title made from its name."""
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
    """Return the type of a column's values in files; unknown columns hold numbers."""
    return _kinds().get(column, Kind.REAL)


def all_columns() -> Iterator[Quantity]:
    """Return every column of results: the core's, and those computed from them."""
    yield from _by_column().values()


@functools.cache
def _document() -> Mapping[str, Mapping[str, str]]:
    """The file of columns."""
    text = files("cwndlab").joinpath("data", "columns.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def _kinds() -> Mapping[str, Kind]:
    """Return the columns' types: the core's, and those given in the file."""
    of_core = {each["name"]: Kind(each["type"]) for each in core.columns()}
    of_file = {name: Kind(row["type"]) for name, row in _document().items() if "type" in row}
    return of_core | of_file | {"run": Kind.TEXT}


@functools.cache
def _by_column() -> Mapping[str, Quantity]:
    """The columns of the file."""
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
