"""Read links that are described in one line, such as `rate=10 Mbit/s,loss=1 %`.

The line may begin with the name of a preset, a TOML file or `trace:PATH`. Keys of a study's
`[link]` table follow, separated by commas; keys of a nested table are written with a dot.
`parse_spec` converts the line to a `[link]` table.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from cwndlab import core

_HEADS = ("trace", "log")  # "log" is the older word for "trace"


def parse_spec(text: str) -> dict[str, Any]:
    """Return the `[link]` table that `text` describes, without checking its values.

    Raises:
        QuantityError: `text` is empty, or names a key twice or without a value.
    """
    return core.parse_link_line(text)


def short_spec(text: str) -> str:
    """Return a title for a link: its description, with paths shortened to file names."""
    head, comma, rest = text.partition(",")
    kind, colon, path = head.partition(":")
    if colon and kind in _HEADS:
        return f"{PurePath(path).name}{comma}{rest}"
    return text
