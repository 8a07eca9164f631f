"""Find those variables of an algorithm that all of its connections share.

An algorithm's state belongs to one connection. A variable outside this state keeps its value from
one run to the next run in the same process, so results depend on the order of the runs.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_IDENTITY = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2
_WRITABLE = 1
_OBJECTS = {1, 6}  # STT_OBJECT, STT_TLS
_UNINITIALISED_COMMON = 0xFFF2
_FIRST_RESERVED = 0xFF00
_ONCE = ".data.rel.ro"
"""Prefix of the names of ELF sections that are read-only after the object file is loaded."""
_OURS = {"cc_description"}
"""Names of the variables in cc.h that connections may share."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def shared_variables(unit: bytes) -> list[str]:
    """Return the names of the writable variables in an object file, in alphabetical order.

    The result is empty unless the file is in ELF format for a 64-bit, little-endian machine.
    """
    if not unit.startswith(_IDENTITY):
        return []
    (start,) = struct.unpack_from("<Q", unit, 40)
    size, count, names_at = struct.unpack_from("<HHH", unit, 58)
    sections = [_Section(*_SECTION.unpack_from(unit, start + n * size)) for n in range(count)]
    names = sections[names_at]
    found = set()
    for table in (each for each in sections if each.kind == _SYMBOL_TABLE):
        for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
            name_at, info, _, index, _, _ = _SYMBOL.unpack_from(unit, at)
            if info & 15 not in _OBJECTS:
                continue
            is_shared = index == _UNINITIALISED_COMMON
            if 0 < index < _FIRST_RESERVED:
                section = sections[index]
                is_once = _text(unit, names, section.name).startswith(_ONCE)
                is_shared = bool(section.flags & _WRITABLE) and not is_once
            if is_shared:
                # A variable inside a function is called NAME.NUMBER.
                found.add(_text(unit, sections[table.link], name_at).partition(".")[0])
    return sorted(found - _OURS)


def _text(unit: bytes, table: _Section, at: int) -> str:
    begin = table.offset + at
    return unit[begin : unit.index(b"\0", begin)].decode("utf-8", "replace")
