"""Networks like the given one: the share on which the choice is good, and where it changes."""

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
    """Lowest one-way delay to the server in this class."""
    most_ms: float
    """Delay at which the next class begins; infinite for the last class."""
    draws: int
    best: tuple[str, ...]
    """The set, with the recommended algorithm first."""

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
    """Quality of a choice over draws of everything that was assumed."""

    draws: int
    is_good: float
    """Probability that the choice is within the zone of the best."""
    regrets: Mapping[str, float]
    """Mean utility by which each algorithm is behind the best one of each draw."""
    turns: tuple[Turn, ...]
    """Keys that change the answer, the most decisive first; empty if no single key does."""
    distances: tuple[Distance, ...] = ()
    """Answers by the server's distance, nearest first; empty if it is known, or few were tried."""

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
