"""The clock of all measurements: it counts from 1970 and never goes back while it runs."""

from __future__ import annotations

import time

_SINCE_1970_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """Now."""
    return _SINCE_1970_NS + time.monotonic_ns()
