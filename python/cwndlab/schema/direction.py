"""Define the two directions in which data can cross a link."""

from __future__ import annotations

from enum import Enum
from typing import Literal

WireDirection = Literal["forward", "reverse"]


class Direction(Enum):
    """The direction in which data are sent."""

    DOWNLINK = "downlink"
    """Forward direction, from the server to the user."""
    UPLINK = "uplink"
    """Reverse direction, from the user to the server."""

    @property
    def title(self) -> str:
        """Name of the direction in files and commands: `downlink` or `uplink`."""
        return self.value

    @property
    def wire(self) -> WireDirection:
        """Name of the direction in scenarios and results: `forward` or `reverse`."""
        return "forward" if self is Direction.DOWNLINK else "reverse"

    @classmethod
    def of(cls, name: str) -> Direction:
        """Return the direction with the given name: `downlink` or `forward`, `uplink` or `reverse`.

        Raises:
            ValueError: no direction has this name.
        """
        by_wire = {direction.wire: direction for direction in cls}
        return by_wire[name] if name in by_wire else cls(name)
