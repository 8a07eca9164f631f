"""Results on networks like a given one: how often a choice is good, and what changes it."""

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
    """Algorithm that is better beyond that value."""
    share: float
    """Share of the tried networks beyond that value."""

    def to_json(self) -> dict[str, Any]:
        """Return this value as a dictionary, for JSON."""
        return {
            "key": self.key,
            "side": self.side,
            "value": self.value,
            "instead": self.instead,
            "share": self.share,
        }


@dataclass(frozen=True, slots=True)
class Distance:
    """The answer for networks whose server is in a certain range of distances."""

    name: str
    """`near`, `national` or `intercontinental`."""
    least_ms: float
    """Lowest one-way delay to the server in this range."""
    most_ms: float
    """Delay at which the next range begins; infinite for the last range."""
    draws: int
    best: tuple[str, ...]
    """The set of good algorithms, the recommended one first."""

    def to_json(self) -> dict[str, Any]:
        """Return the distance as a dictionary, for JSON."""
        return {
            "name": self.name,
            "least_ms": self.least_ms,
            "most_ms": self.most_ms if math.isfinite(self.most_ms) else None,
            "draws": self.draws,
            "best": list(self.best),
        }


@dataclass(frozen=True, slots=True)
class Networks:
    """Quality of a choice over networks drawn from the ranges of all assumptions."""

    draws: int
    is_good: float
    """Probability that the choice is within the zone of the best."""
    regrets: Mapping[str, float]
    """Mean over draws of the utility by which each algorithm is behind the best one."""
    turns: tuple[Turn, ...]
    """Keys that change the answer, the most decisive first; empty if no single key changes it."""
    distances: tuple[Distance, ...] = ()
    """Answers by distance to the server, nearest first; empty if known, or if draws are too few."""

    @property
    def safest(self) -> str:
        """Algorithm with the smallest mean loss."""
        return min(self.regrets, key=lambda name: self.regrets[name])

    def to_json(self) -> dict[str, Any]:
        """Return the networks as a dictionary, for JSON."""
        return {
            "draws": self.draws,
            "is_good": self.is_good,
            "regrets": dict(self.regrets),
            "safest": self.safest,
            "turns": [turn.to_json() for turn in self.turns],
            "distances": [distance.to_json() for distance in self.distances],
        }
