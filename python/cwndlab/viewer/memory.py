"""Memory of a server that opens one study after the other."""

from __future__ import annotations

import contextlib
import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h of glibc
_BYTES = 1 << 17


def give_freed_memory_back() -> None:
    """Make the C library give freed memory back to the system; nothing on other libraries.

    glibc keeps a heap for each of several threads, raises its thresholds by itself as large blocks
    are freed, and so keeps what the largest study needed (mallopt(3)).
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in (
            (_M_ARENA_MAX, 1),
            (_M_MMAP_THRESHOLD, _BYTES),
            (_M_TRIM_THRESHOLD, _BYTES),
        ):
            mallopt(parameter, value)
