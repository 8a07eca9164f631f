"""Write docs/reference/columns.md: the columns of results, the core's and `data/columns.toml`."""

from __future__ import annotations

import sys
from pathlib import Path

from cwndlab import _core
from cwndlab.results.columns import all_columns, quantity

PAGE = Path(__file__).parent.parent / "docs/reference/columns.md"
TABLES = {
    "flows": "One row a flow of a run.",
    "links": "One row a stage of the path; counts from the warm-up to the end of the run.",
    "samples": "One row a flow and interval.",
    "events": "One row an event.",
    "acks": "One row an ACK that a data sender received.",
}
TYPES = {"text": "text", "integer": "whole number", "real": "number"}
HEAD = """# Columns of results

Written by `tools/make_columns_page.py`. Every table has `run` (the key of its run), a column for
each factor of the study, `repetition` and `seed` before its own. A column's name ends in its unit.
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    of_core = _core.columns()
    for table, sentence in TABLES.items():
        parts.append(
            f"\n## {table}\n\n{sentence}\n\n{_row('column', 'type', 'unit', 'is', 'null if')}"
        )
        parts.append(_row(*["---"] * 5))
        for column in of_core:
            if column["table"] == table:
                about = quantity(column["name"])
                kind = TYPES[column["type"]]
                name = f"`{column['name']}`"
                parts.append(_row(name, kind, column["unit"], about.explanation, about.undefined))
    known = {column["name"] for column in of_core}
    parts.append(f"\n## Computed and measured\n\n{_row('column', 'unit', 'is', 'null if')}")
    parts.append(_row(*["---"] * 4))
    for about in all_columns():
        if about.column not in known:
            name = f"`{about.column}`"
            parts.append(_row(name, about.unit, about.explanation, about.undefined))
    return "".join(parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        is_same = PAGE.read_text(encoding="utf-8") == page()
        sys.exit(0 if is_same else "docs/reference/columns.md is not what the tool writes")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
