"""A link in one line: `lte-typical`, `trace:PATH,delay=20 ms`, `rate=10 Mbit/s,loss=1 %`.

The line may begin with the name of a preset, a TOML file or `trace:PATH`. Keys of a study's
`[link]` table follow, separated by commas; keys of a nested table are written with a dot. The line
becomes a `[link]` table.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from cwndlab import core

_HEADS = ("trace", "log")  # a log is a trace, too: the word is older


def parse_spec(text: str) -> dict[str, Any]:
    """Return the `[link]` table that `text` describes, without checking its values.

    Raises:
        QuantityError: `text` is empty, or names a key twice or without a value.
    """
    return core.parse_link_line(text)


def short_spec(text: str) -> str:
    """Return the line as a title, with the folders of files left out."""
    head, comma, rest = text.partition(",")
    kind, colon, path = head.partition(":")
    if colon and kind in _HEADS:
        return f"{PurePath(path).name}{comma}{rest}"
    return text
