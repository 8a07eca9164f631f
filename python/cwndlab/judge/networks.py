"""Results on networks similar to a link: how often a choice is good, and what changes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Turn:
    """A value of one assumed key beyond which another algorithm is the better choice."""

    key: str
    """Name of the key, such as `server`."""
    side: Literal["above", "below", "is"]
    value: str
    """The value with its unit, as in a study file, or the name of a choice."""
    instead: str
    """Algorithm that is better beyond the value."""
    share: float
    """Fraction of the simulated networks that lie beyond the value."""

    def to_json(self) -> dict[str, Any]:
        """Return the value and the better algorithm as a dictionary, for JSON."""
        return {
            "key": self.key,
            "side": self.side,
            "value": self.value,
            "instead": self.instead,
            "share": self.share,
        }


@dataclass(frozen=True, slots=True)
class Distance:
    """Recommended algorithms for networks whose server lies in a certain range of distances."""

    name: str
    """Name of the range: `near`, `national` or `intercontinental`."""
    least_ms: float
    """Lowest one-way delay to the server in this range."""
    most_ms: float
    """One-way delay at which the next range begins; infinite for the last range."""
    draws: int
    best: tuple[str, ...]
    """The recommended algorithms, starting with the best."""

    def to_json(self) -> dict[str, Any]:
        """Return the range of distances and its recommendation as a dictionary, for JSON."""
        return {
            "name": self.name,
            "least_ms": self.least_ms,
            "most_ms": self.most_ms if math.isfinite(self.most_ms) else None,
            "draws": self.draws,
            "best": list(self.best),
        }


@dataclass(frozen=True, slots=True)
class Networks:
    """Quality of a recommendation on networks drawn from the ranges of all assumptions."""

    draws: int
    is_good: float
    """Probability that the recommended algorithm is nearly the best on a drawn network."""
    regrets: Mapping[str, float]
    """Mean utility, over drawn networks, that each algorithm loses against the best algorithm."""
    turns: tuple[Turn, ...]
    """Keys that change the recommendation, most decisive first; empty if no single key does."""
    distances: tuple[Distance, ...] = ()
    """Recommendations by distance to the server, nearest first; empty without enough draws."""

    @property
    def safest(self) -> str:
        """Algorithm with the smallest mean loss of utility."""
        return min(self.regrets, key=lambda name: self.regrets[name])

    def to_json(self) -> dict[str, Any]:
        """Return the results on drawn networks as a dictionary, for JSON."""
        return {
            "draws": self.draws,
            "is_good": self.is_good,
            "regrets": dict(self.regrets),
            "safest": self.safest,
            "turns": [turn.to_json() for turn in self.turns],
            "distances": [distance.to_json() for distance in self.distances],
        }
