"""A family of links: what its members are called, their ranges beforehand, and how they are built.

A point of a family is a vector in the unit cube, one coordinate a parameter.  Each coordinate is
uniform beforehand, so that the prior of a parameter is uniform over its range, in its logarithm
unless it is said to be linear.  Ranges of rates and round trips follow from the measurement: no
link carries less than arrived, and no round trip is shorter than the path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.stats.bootstrap import Floats

WIRE_BYTES = 1500
"""Size of a full packet, in which queues are counted."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One property of a link, and its range beforehand."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    is_linear: bool = False
    choices: tuple[str, ...] = ()
    """Names of a property that has no number; the value is the position of one."""

    @classmethod
    def of_choices(cls, name: str, title: str, choices: tuple[str, ...]) -> Dimension:
        """A property that is one of some."""
        return cls(name, title, "", 0, len(choices), is_linear=True, choices=choices)

    def value(self, share: Floats) -> Floats:
        """The value at a share of the range, 0 to 1."""
        if self.choices:
            return np.minimum(np.floor(share * self.high), self.high - 1)
        if self.is_linear:
            return self.low + share * (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)
        return np.exp(low + share * (high - low))

    def text(self, value: float) -> str:
        """A value as a table shows it."""
        return self.choices[round(value)] if self.choices else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Family:
    """Links of one kind, by their parameters."""

    name: str
    """The name in files: `wire`, `policed`, `lte`."""
    kind: str
    """`wire`, `cell` or `wifi`, as `--family` has it."""
    title: str
    """Name of its links in a sentence, in the plural."""
    parameters: tuple[Dimension, ...]
    build: Callable[[dict[str, float], float, int], dict[str, Any]]
    """The settings of a study, `link` among them, of values, a duration in s and a seed."""

    def values(self, points: Floats) -> dict[str, Floats]:
        """The parameters' values of points, one a row."""
        return {each.name: each.value(points[:, n]) for n, each in enumerate(self.parameters)}

    def settings(self, point: Floats, duration_s: float, seed: int) -> dict[str, Any]:
        """The settings of a study of a point; `seed` draws what varies with time."""
        value = {name: float(column[0]) for name, column in self.values(point[None, :]).items()}
        return self.build(value, duration_s, seed)
