"""A link in one line: `lte-typical`, `trace:PATH,delay=20 ms`, `rate=10 Mbit/s,loss=1 %`.

The line may begin with the name of a preset, a TOML file or `trace:PATH`; keys of a study's
`[link]` table follow, separated by commas; a key of a table in it is written with a dot. It
becomes that table.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from cwndlab.errors import QuantityError

_PAIRS_BEGIN = re.compile(r"(?:^|,)\s*(?=[A-Za-z_][A-Za-z_0-9.]*\s*=)")
_MOST_DIGITS = 18  # of a count
_HEADS = ("trace", "log")  # a log is a trace, too: the word is older
_REMEDY = (
    'write for example "rate=10 Mbit/s,delay=20 ms,queue=50 packets", '
    '"trace:FILE,delay=20 ms" or the name of a preset (cwndlab link list)'
)


def parse_spec(text: str) -> dict[str, Any]:
    """The `[link]` table that `text` stands for; its values are not looked at.

    Raises:
        QuantityError: `text` is empty, or names a key twice or without a value.
    """
    head, *pairs = _PAIRS_BEGIN.split(text.strip())
    head = head.strip()
    table: dict[str, Any] = {}
    if head:
        kind, colon, path = head.partition(":")
        if colon and kind in _HEADS:
            table["trace"] = path.strip()
        else:
            table["preset"] = head
    for pair in pairs:
        key, _, value = (part.strip() for part in pair.partition("="))
        *tables, last = key.split(".")
        place = table
        for name in tables:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                msg = f'"{name}" has a value already, so that "{key}" cannot be in it; {_REMEDY}'
                raise QuantityError(msg)
        if last in place:
            msg = f'"{key}" is given twice; {_REMEDY}'
            raise QuantityError(msg)
        place[last] = _plain(value)
    if not table or "" in table.values() or "\0" in text:
        msg = f"not a link; {_REMEDY}"
        raise QuantityError(msg)
    return table


def short_spec(text: str) -> str:
    """The line as a title has it: a file by its name alone."""
    head, comma, rest = text.partition(",")
    kind, colon, path = head.partition(":")
    if colon and kind in _HEADS:
        return f"{PurePath(path).name}{comma}{rest}"
    return text


def _plain(text: str) -> str | int:
    """A number without a unit is a count."""
    is_count = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_count else text
