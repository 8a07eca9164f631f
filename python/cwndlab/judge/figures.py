"""Find each number in the description of a link, and the study keys that change the number.

A study can usually replace one number in a preset and keep the rest of the preset. There are two
exceptions: a number inside a list (`background.0.users`), and a number inside a table that has a
key `kind` (`interference.share`). To change such a number, the study must replace the whole list or
the whole table. `Figures` finds the value to replace.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.text import quantity
from cwndlab.text.quantity import QueueLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    """Unit of a number in a link's description; the unit of a plain number has an empty name."""

    name: str
    smallest: int = 1  # number of smallest units in one unit

    @classmethod
    def named(cls, name: str) -> Unit:
        """Return the unit called `name`.

        Raises:
            ValueError: no unit has this name.
        """
        if not name:
            return cls("")
        for units, _ in _KINDS:
            if name in units:
                return cls(name, units[name])
        known = ", ".join(unit for units, _ in _KINDS for unit in units)
        msg = f'"{name}" is not a known unit; known units: {known}'
        raise ValueError(msg)

    def text(self, count: int) -> str | int:
        """Convert a number of smallest units (such as ns) to the form of study files: `10 ms`."""
        for units, format_count in _KINDS:
            if self.name in units:
                return format_count(count)
        return count


def read_number(value: str | float) -> tuple[float, Unit]:
    """Read a number and its unit from a string such as "150 kB", or from a number without a unit.

    Raises:
        ValueError: the text is not a number followed by a known unit.
    """
    if not isinstance(value, str):
        return float(value), Unit("")
    number, _, unit = value.strip().partition(" ")
    return float(number), Unit.named(unit.strip())


class Figures:
    """All numbers in the description of one link, including values from its preset."""

    def __init__(self, table: Mapping[str, Any], counts: Mapping[str, int]) -> None:
        """Store the table of a link's keys, and the link's numbers; `expand_link` returns both."""
        self.table = table
        self._counts = counts

    def count(self, path: str) -> int | None:
        """Return the number at the path of a key, in the smallest unit (such as ns).

        Return None if the link has no number there.
        """
        return self._counts.get(path)

    def value(self, path: str) -> Any:  # noqa: ANN401  part of a link
        """Return the value at a path such as `link.cell.user.downlink`, as study files write it."""
        value: Any = self.table
        for part in path.split(".")[1:]:
            value = _inside(value, part)
        return value

    @property
    def medium(self) -> str | None:
        """Key that describes the medium of the link, `cell` or `wifi`; None for other links."""
        return next((key for key in ("cell", "wifi") if self.table.get(key)), None)

    def changes(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the study keys that must be set to make the requested changes, and their values.

        `values` contains the requested changes: it maps paths of keys, such as
        `link.cell.user.downlink`, to new values. If a path leads into a list or table that cannot
        be changed in part, the result contains the key of the whole list or table. The value of
        this key is a copy of the list or table with the requested change.
        """
        changes: dict[str, Any] = {}
        for path, value in values.items():
            parts = path.split(".")
            depth = self._depth_of_whole(parts)
            whole = ".".join(parts[:depth])
            if depth == len(parts):
                changes[path] = value
                continue
            node = changes[whole] = copy.deepcopy(changes.get(whole) or self.value(whole))
            for part in parts[depth:-1]:
                node = node[_place(node, part)]
            node[_place(node, parts[-1])] = value
        return changes

    def _depth_of_whole(self, parts: list[str]) -> int:
        """Return the number of parts of the path to the value that a study must replace.

        A study can replace a list, or a table with a key `kind`, only as a whole. If the path leads
        into such lists or tables, the study must replace the outermost. Otherwise, it replaces the
        number at the end of the path.
        """
        if parts[0] != "link":
            return len(parts)
        value: Any = self.table
        for depth, part in enumerate(parts[1:], start=1):
            if isinstance(value, list) or (isinstance(value, dict) and "kind" in value):
                return depth
            value = _inside(value, part)
        return len(parts)


def _place(node: object, part: str) -> int | str:
    return int(part) if isinstance(node, list) else part


def _inside(value: Any, part: str) -> Any:  # noqa: ANN401  part of a link
    if isinstance(value, list):
        return value[int(part)] if part.isdigit() and int(part) < len(value) else None
    return value.get(part) if isinstance(value, dict) else None
