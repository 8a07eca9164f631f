"""Provide the clock of all measurements, which counts ns since 1970 and is never set back."""

from __future__ import annotations

import time

_SINCE_1970_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """Return the current time in nanoseconds since 1970."""
    return _SINCE_1970_NS + time.monotonic_ns()
