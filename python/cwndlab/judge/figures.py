"""The figures of a link by their paths, and how a study writes other values at them.

A study changes a key of a preset by its path, but not one inside a list (`background.0.users`) or
inside a table of a kind (`interference.share`): those it has to write whole. `Figures` knows which
table or list that is.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.schema.base import Model
from cwndlab.schema.stage import IidLoss
from cwndlab.text import quantity
from cwndlab.text.quantity import QueueLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cwndlab.schema.link import Link

_KINDS: tuple[tuple[Mapping[str, int], Callable[[int], str]], ...] = (
    ({"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}, quantity.format_duration),
    ({"bytes": 1, "kB": 10**3, "MB": 10**6}, quantity.format_size),
    ({"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6}, quantity.format_rate),
    ({"%": 10**7}, quantity.format_share),
    ({"dB": 10**3}, quantity.format_decibel),
    ({"dBm": 10**3}, quantity.format_power),
    ({"mm": 1, "m": 10**3}, quantity.format_length),
    ({"Hz": 10**3}, quantity.format_frequency),
    ({"packets": 1}, lambda count: str(QueueLimit("packets", count))),
    ({"BDP": 1000}, lambda count: str(QueueLimit("milli_bdp", count))),
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in which a figure is written; the unit of a plain number has no name."""

    name: str
    smallest: int = 1  # how many of the figure's smallest units it is

    @classmethod
    def named(cls, name: str) -> Unit:
        """The unit of this name.

        Raises:
            ValueError: there is none.
        """
        if not name:
            return cls("")
        for units, _ in _KINDS:
            if name in units:
                return cls(name, units[name])
        known = ", ".join(unit for units, _ in _KINDS for unit in units)
        msg = f'"{name}" is not a unit of a range; units are {known}'
        raise ValueError(msg)

    def text(self, count: int) -> str | int:
        """So many of the smallest unit as a study writes them."""
        for units, format_count in _KINDS:
            if self.name in units:
                return format_count(count)
        return count


def read_number(value: str | float) -> tuple[float, Unit]:
    """A number and its unit, of a text such as "150 kB" or a plain number.

    Raises:
        ValueError: it is none of them.
    """
    if not isinstance(value, str):
        return float(value), Unit("")
    number, _, unit = value.strip().partition(" ")
    return float(number), Unit.named(unit.strip())


class Figures:
    """The figures of one link, whose preset has been put in."""

    def __init__(self, link: Link) -> None:
        """Look at `link`, which `expand_preset` has given."""
        self._link = link

    def count(self, path: str) -> int | None:
        """A figure in its smallest unit; None if the link does not have it."""
        value = self.value(path)
        if isinstance(value, IidLoss):
            return value.share
        if isinstance(value, QueueLimit):
            return value.count
        return value if isinstance(value, int) else None

    def value(self, path: str) -> object:
        """What stands at a path such as `link.cell.user.downlink`, as the schema has read it."""
        value: object = self._link
        for part in path.split(".")[1:]:
            value = _inside(value, part)
        return value

    def changes(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a study has to write, by path, for these values by path."""
        changes: dict[str, Any] = {}
        for path, value in values.items():
            parts = path.split(".")
            depth = self._depth_of_whole(parts)
            whole = ".".join(parts[:depth])
            if depth == len(parts):
                changes[path] = value
                continue
            if whole not in changes:
                changes[whole] = _written(self.value(whole))
            node = changes[whole] = copy.deepcopy(changes[whole])
            for part in parts[depth:-1]:
                node = node[_place(node, part)]
            node[_place(node, parts[-1])] = value
        return changes

    def _depth_of_whole(self, parts: list[str]) -> int:
        """How much of a path leads to what has to be written whole; all of it, or less."""
        if parts[0] != "link":
            return len(parts)
        value: object = self._link
        for depth, part in enumerate(parts[1:], start=1):
            is_of_a_kind = isinstance(value, Model) and "kind" in type(value).model_fields
            is_medium = parts[1:depth] in (["cell"], ["wifi"])
            if isinstance(value, tuple) or (is_of_a_kind and not is_medium):
                return depth
            value = _inside(value, part)
        return len(parts)


def _place(node: object, part: str) -> int | str:
    return int(part) if isinstance(node, list) else part


def _inside(value: object, part: str) -> object:
    if isinstance(value, tuple):
        return value[int(part)] if part.isdigit() and int(part) < len(value) else None
    return getattr(value, part, None) if isinstance(value, Model) else None


def _written(value: object) -> Any:  # noqa: ANN401  part of a study
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if isinstance(value, Model):
        return value.model_dump(mode="json", exclude_unset=True)
    return value
