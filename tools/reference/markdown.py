"""Write Markdown for the generated reference: tables, code and anchors."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table without the columns that are empty in every row."""
    cells = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    kept = [i for i in range(len(head)) if any(row[i] for row in cells)]
    lines = [[head[i] for i in kept], ["---" for _ in kept]]
    lines += [[_one_line(row[i]) for i in kept] for row in cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def code(text: object) -> str:
    """Return text as code, also for cells of tables; empty text stays empty."""
    if text in (None, ""):
        return ""
    if "|" not in str(text):
        return f"`{text}`"
    return f"<code>{html.escape(str(text)).replace('|', '&#124;')}</code>"


def block(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n\n"


def plain(text: str) -> str:
    """Escape Markdown in a text, except for code in backquotes."""
    parts = _CODE.split(text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def sentence(text: str) -> str:
    """Return text that begins with a capital letter and ends with a full stop."""
    text = plain(text.strip())
    if not text:
        return ""
    begin = text if text.startswith("`") else text[0].upper() + text[1:]
    return begin if begin[-1] in ".?!:" else f"{begin}."


def heading(level: int, title: str, anchor: str = "") -> str:
    """Return a heading, optionally with an explicit anchor."""
    return f"{'#' * level} {title}{f' {{#{anchor}}}' if anchor else ''}\n\n"


def _one_line(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ").strip()


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]])", r"\\\1", html.escape(text, quote=False))
