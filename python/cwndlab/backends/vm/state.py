"""Prepare a saved QEMU state, so that QEMU can record runs that start from this state.

QEMU's instruction-counted clock is the sum of two values: the count of executed instructions
(1 ns each), and a bias for skipped time. When QEMU begins to record a run, it stores the count from
the loaded state as a C `int`. If bit 31 of the count is set, the `int` is negative, and QEMU aborts
because its assertion `diff >= 0` fails. cwndlab therefore sets the count in the saved state to 0.
"""

from __future__ import annotations

import mmap
import struct
from typing import IO

from cwndlab.errors import KernelRunError

_SUBSECTION, _NAME, _VERSION = b"\x05", b"timer/icount", b"\x00\x00\x00\x01"
_HEADER = _SUBSECTION + bytes([len(_NAME)]) + _NAME + _VERSION
_FIELDS = struct.Struct(">qq")  # qemu_icount_bias, qemu_icount


def count_from_zero(state: IO[bytes]) -> None:
    """Set the count of executed instructions to 0 without changing the clock.

    The function edits the file in place.

    Raises:
        KernelRunError: the file is not the state of a machine with an instruction-counted clock.
    """
    with mmap.mmap(state.fileno(), 0) as content:
        header = content.rfind(_HEADER)
        if header < 0:
            msg = "the state that QEMU has saved does not contain an instruction-counted clock"
            raise KernelRunError(msg)
        at = header + len(_HEADER)
        bias_ns, instructions = _FIELDS.unpack_from(content, at)
        _FIELDS.pack_into(content, at, bias_ns + instructions, 0)
