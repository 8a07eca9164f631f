"""Wait in tests until a condition holds, for as long as a slow and busy machine may need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 180.0
"""Longer than anything takes that still comes: only what never comes lasts that long."""


def is_soon(holds: Callable[[], bool], every_s: float = 0.02) -> bool:
    """Return whether the condition holds; return as soon as it does."""
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until_s:
            return False
        time.sleep(every_s)
    return True
