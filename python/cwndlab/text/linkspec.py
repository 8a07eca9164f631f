"""Read links that are described in one line, such as `rate=10 Mbit/s,loss=1 %`.

The line may begin with the name of a preset, a TOML file or `trace:PATH`. Keys of a study's
`[link]` table follow, separated by commas; keys of a nested table are written with a dot. A value
or path that contains a comma is put in quotes. `parse_spec` converts the line to a `[link]` table.
"""

from __future__ import annotations

import contextlib
from pathlib import PurePath
from typing import Any

from cwndlab import core
from cwndlab.errors import QuantityError

_HEADS = ("trace", "log")  # "log" is the older word for "trace"


def parse_spec(text: str) -> dict[str, Any]:
    """Return the `[link]` table that `text` describes, without checking the values in the table.

    Raises:
        QuantityError: `text` is empty, or names a key twice or without a value.
    """
    return core.parse_link_line(text)


def trace_line(kind: str, path: str | PurePath, rest: str = "") -> str:
    """Return the value of the option `--link` for a link that replays the trace at `path`.

    The value is `KIND:PATH`, such as `trace:walk.csv`, followed by `rest`. `rest` contains further
    keys of the link, and begins with a comma. A path that contains commas is put in quotes.
    """
    text = str(path)
    if "," in text or text.startswith(("'", '"')):
        quote = "'" if '"' in text else '"'
        text = f"{quote}{text}{quote}"
    return f"{kind}:{text}{rest}"


def split_trace_line(text: str) -> tuple[str, str, str] | None:
    """Split the one-line description of a link, if the description begins with a trace.

    The function is the inverse of `trace_line`: it returns `kind`, `path` and `rest`. If the
    description does not begin with a trace, it returns None.

    Raises:
        QuantityError: `text` does not describe a link.
    """
    kind, _, after = text.strip().partition(":")
    if kind not in _HEADS:
        return None
    path = str(parse_spec(text)["trace"])
    before, _, rest = after.partition(path)
    return kind, path, rest.lstrip().removeprefix(before.strip())


def short_spec(text: str) -> str:
    """Return a link's one-line description; shorten a leading `trace:PATH` to the file's name."""
    with contextlib.suppress(QuantityError):
        if found := split_trace_line(text):
            _, path, rest = found
            return f"{PurePath(path).name}{rest}"
    return text
