"""Change the saved state of a QEMU so that a run which starts from it can be recorded.

QEMU keeps the time of an instruction-counted clock as two numbers of nanoseconds: the instructions
that were executed, and a bias for the time that was skipped. When QEMU records a run, it stores the
difference between two counts of instructions as a C `int`. The first difference is from 0 to the
count in the loaded state. If it is from 2^31 to 2^32 (modulo 2^32), the `int` is negative, and QEMU
aborts because its assertion `diff >= 0` fails.
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
    """Add the count of instructions to the bias, in place; the machine's clock stays the same.

    Raises:
        KernelRunError: the file is not the state of a machine with an instruction-counted clock.
    """
    with mmap.mmap(state.fileno(), 0) as content:
        header = content.rfind(_HEADER)
        if header < 0:
            msg = "QEMU has saved a state without an instruction-counted clock"
            raise KernelRunError(msg)
        at = header + len(_HEADER)
        bias_ns, instructions = _FIELDS.unpack_from(content, at)
        _FIELDS.pack_into(content, at, bias_ns + instructions, 0)
