"""Represent a family of links by the prior ranges of the links' parameters.

A point of a family is a vector in the unit cube with one coordinate for each parameter. The prior
of each coordinate is uniform. Therefore, the prior of a parameter is uniform over its range. The
scale of the range is linear if the parameter is marked as linear, and logarithmic otherwise.

The ranges of rates and round-trip times follow from the measurement. The rate of a link cannot be
lower than the measured goodput. The round-trip time of the path cannot be longer than the measured
minimum.
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
"""Size of a full packet in bytes; queue sizes are counted in full packets."""
_SAME_MS = 1e-6


def longest_trip_ms(shortest_rtt_ms: float) -> float:
    """Return the upper limit of a path's round-trip time in ms, given the measured minimum.

    After losses, Linux takes round-trip times from TCP timestamps, which count milliseconds (RFC
    7323). A minimum of whole milliseconds can therefore be up to 1 ms shorter than the path's
    round-trip time.
    """
    is_whole = abs(shortest_rtt_ms - round(shortest_rtt_ms)) < _SAME_MS
    return max(1.02 * shortest_rtt_ms, shortest_rtt_ms + (1.0 if is_whole else 0.0))


@dataclass(frozen=True, slots=True)
class Dimension:
    """One parameter of a link, and its prior range."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    is_linear: bool = False
    choices: tuple[str, ...] = ()
    """Choices of a parameter that is not numeric; the value of the parameter is then the index of
    a choice. Empty for a numeric parameter."""

    @classmethod
    def of_choices(cls, name: str, title: str, choices: tuple[str, ...]) -> Dimension:
        """Create a parameter whose value is one of several choices."""
        return cls(name, title, "", 0, len(choices), is_linear=True, choices=choices)

    def value(self, share: Floats) -> Floats:
        """Return the parameter's value at a given fraction (0 to 1) of its range."""
        if self.choices:
            return np.minimum(np.floor(share * self.high), self.high - 1)
        if self.is_linear:
            return self.low + share * (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)
        return np.exp(low + share * (high - low))

    def text(self, value: float) -> str:
        """Return the value of the parameter as text for a table."""
        return self.choices[round(value)] if self.choices else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Family:
    """A family of links: links of one kind that differ in the values of their parameters."""

    name: str
    """Name of the family in files, such as `wire`, `policed` or `lte`."""
    kind: str
    """Kind of the links: `wire`, `cell` or `wifi`; the option `--family` accepts these values."""
    title: str
    """Plural noun that denotes the links in sentences, such as "wired links with a policer"."""
    parameters: tuple[Dimension, ...]
    build: Callable[[dict[str, float], float, int], dict[str, Any]]
    """Function that builds the settings of a study, including `link`.

    Its arguments are the values of the parameters, a duration in s and a seed.
    """

    def values(self, points: Floats) -> dict[str, Floats]:
        """Return the parameter values of links; each row of `points` represents a link."""
        return {each.name: each.value(points[:, n]) for n, each in enumerate(self.parameters)}

    def settings(self, point: Floats, duration_s: float, seed: int) -> dict[str, Any]:
        """Return the settings of a study for the link that `point` represents.

        `seed` determines the random changes of the link's rate, if the family has such changes.
        """
        value = {name: float(column[0]) for name, column in self.values(point[None, :]).items()}
        return self.build(value, duration_s, seed)
