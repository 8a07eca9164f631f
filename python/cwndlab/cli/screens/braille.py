"""Terminal canvas whose characters (Braille patterns of Unicode) each show up to eight dots."""

from __future__ import annotations

import numpy as np

DOTS_ACROSS, DOTS_DOWN = 2, 4
_EMPTY = 0x2800
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row, then column
_NOBODY = -1


class Canvas:
    """A canvas for several curves; a character takes the colour of the last curve drawn in it."""

    def __init__(self, width: int, height: int) -> None:
        """Create an empty canvas; `width` and `height` count characters."""
        self._dots = np.zeros((height, width), dtype=np.int64)
        self._owners = np.full((height, width), _NOBODY, dtype=np.int64)
        self.columns, self.rows = width * DOTS_ACROSS, height * DOTS_DOWN

    def draw(self, column: int, low: int, high: int, owner: int = 0) -> None:
        """Draw dots `low` to `high` of a column of dots for curve `owner`; dot 0 is the lowest."""
        for row in range(low, high + 1):
            down = self.rows - 1 - row
            place = down // DOTS_DOWN, column // DOTS_ACROSS
            self._dots[place] |= _BITS[down % DOTS_DOWN][column % DOTS_ACROSS]
            self._owners[place] = owner

    def text(self, row: int) -> str:
        """Return a row of characters as text; row 0 is at the top."""
        return "".join(chr(_EMPTY + int(cell)) for cell in self._dots[row])

    def owners(self, row: int) -> list[int]:
        """Return, for each character of a row, the curve drawn last in it; -1 if it is empty."""
        return [int(owner) for owner in self._owners[row]]


def round_up(value: float) -> float:
    """Return the smallest round number, such as 1.2 or 500, that is at least `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
    return float(next(step * power for step in steps if step * power >= value))
