"""Networks like the one that is asked about: is the choice good on them, and where does it turn?"""

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
    """With its unit, as a study file has it; a choice's name."""
    instead: str
    """The better algorithm there."""
    share: float
    """Share of the tried networks that lie there."""

    def to_json(self) -> dict[str, Any]:
        """Return the turn for programs."""
        return {
            "key": self.key,
            "side": self.side,
            "value": self.value,
            "instead": self.instead,
            "share": self.share,
        }


@dataclass(frozen=True, slots=True)
class Distance:
    """The answer for networks whose server is about so far away."""

    name: str
    """`near`, `national` or `intercontinental`."""
    least_ms: float
    """One-way delay to the server from which on it is called so,"""
    most_ms: float
    """and below which; infinite for the last."""
    draws: int
    best: tuple[str, ...]
    """The set, its first the one to take."""

    def to_json(self) -> dict[str, Any]:
        """Return the distance for programs."""
        return {
            "name": self.name,
            "least_ms": self.least_ms,
            "most_ms": self.most_ms if math.isfinite(self.most_ms) else None,
            "draws": self.draws,
            "best": list(self.best),
        }


@dataclass(frozen=True, slots=True)
class Networks:
    """A choice over draws of everything that was assumed."""

    draws: int
    is_good: float
    """Probability that the choice is within the zone of the best."""
    regrets: Mapping[str, float]
    """Mean utility that each algorithm gives away to the best of each draw."""
    turns: tuple[Turn, ...]
    """Most decisive first; empty where no single key turns the answer."""
    distances: tuple[Distance, ...] = ()
    """By how far the server is, nearest first; empty where that is known, or few were tried."""

    @property
    def safest(self) -> str:
        """The algorithm that gives away least."""
        return min(self.regrets, key=lambda name: self.regrets[name])

    def to_json(self) -> dict[str, Any]:
        """Return the networks for programs."""
        return {
            "draws": self.draws,
            "is_good": self.is_good,
            "regrets": dict(self.regrets),
            "safest": self.safest,
            "turns": [turn.to_json() for turn in self.turns],
            "distances": [distance.to_json() for distance in self.distances],
        }
