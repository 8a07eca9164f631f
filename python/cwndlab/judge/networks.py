"""Summarise how often a recommendation holds on networks that are similar to a link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Turn:
    """A break-even value: beyond this value of a network property, another algorithm is better."""

    key: str
    """Name of the property, such as `server` for the one-way delay to the server."""
    side: Literal["above", "below", "is"]
    value: str
    """Break-even value of the property with its unit, as in a study file. For a property with
    choices instead of numbers, this is the name of the choice for which the algorithm `instead` is
    better."""
    instead: str
    """Algorithm that is better beyond the break-even value."""
    share: float
    """Fraction of the simulated networks on which the property is beyond the break-even value."""

    def to_json(self) -> dict[str, Any]:
        """Return the break-even value and the better algorithm as a dictionary for JSON."""
        return {
            "key": self.key,
            "side": self.side,
            "value": self.value,
            "instead": self.instead,
            "share": self.share,
        }


@dataclass(frozen=True, slots=True)
class Distance:
    """Recommended algorithms for networks whose server is in one range of distances."""

    name: str
    """Name of the range: `near`, `national` or `intercontinental`."""
    least_ms: float
    """Lowest one-way delay to the server in this range, in ms."""
    most_ms: float
    """One-way delay in ms at which the next range begins; infinite for the last range."""
    draws: int
    best: tuple[str, ...]
    """The recommended algorithms, starting with the best; empty if too few networks were drawn in
    the range."""

    def to_json(self) -> dict[str, Any]:
        """Return the range of distances and the recommendation as a dictionary for JSON."""
        return {
            "name": self.name,
            "least_ms": self.least_ms,
            "most_ms": self.most_ms if math.isfinite(self.most_ms) else None,
            "draws": self.draws,
            "best": list(self.best),
        }


@dataclass(frozen=True, slots=True)
class Networks:
    """How well a recommendation for a link works on networks that are similar to this link."""

    draws: int
    is_good: float
    """Probability that, on a similar network, the recommended algorithm is nearly the best."""
    is_safest_good: float
    """Probability that, on a similar network, the algorithm `safest` is nearly the best."""
    regrets: Mapping[str, float]
    """Maps each algorithm to its mean loss of utility, compared with the best algorithm on each
    network."""
    turns: tuple[Turn, ...]
    """Network properties with a break-even value: beyond this value, another algorithm is better
    than `safest`. The properties are ordered by how much utility this other algorithm gains, the
    largest gain first."""
    distances: tuple[Distance, ...] = ()
    """Recommendations by distance to the server, nearest first. Empty if the distance to the
    server was not drawn at random."""

    @property
    def safest(self) -> str:
        """Algorithm with the smallest mean loss of utility over all similar networks."""
        return min(self.regrets, key=lambda name: self.regrets[name])

    def to_json(self) -> dict[str, Any]:
        """Return the results on similar networks as a dictionary for JSON."""
        return {
            "draws": self.draws,
            "is_good": self.is_good,
            "is_safest_good": self.is_safest_good,
            "regrets": dict(self.regrets),
            "safest": self.safest,
            "turns": [turn.to_json() for turn in self.turns],
            "distances": [distance.to_json() for distance in self.distances],
        }
