"""Limit the memory of `cwndlab open`, whose server reads one study after another."""

from __future__ import annotations

import contextlib
import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h of glibc
_BYTES = 1 << 17


def give_freed_memory_back() -> None:
    """Let glibc return freed memory to the system; do nothing with other C libraries.

    By default, glibc uses several arenas, and raises M_MMAP_THRESHOLD and M_TRIM_THRESHOLD when a
    large block is freed (mallopt(3)). Without this function, the process would therefore keep as
    much memory as the largest study needed.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in (
            (_M_ARENA_MAX, 1),
            (_M_MMAP_THRESHOLD, _BYTES),
            (_M_TRIM_THRESHOLD, _BYTES),
        ):
            mallopt(parameter, value)
