"""Generate the reference of result columns: the core's, and those of `data/columns.toml`."""

from __future__ import annotations

from cwndlab import _core
from cwndlab.results.columns import Quantity, all_columns, kind_of, quantity
from reference.markdown import code, heading, table

HEAD = """# Columns of results

Every table begins with the columns `run` (the key of the run), one column for each factor of the
study, `repetition` and `seed`. The columns that are specific to the table follow. The name of a
column ends with its unit.

"""
TABLES = {
    "flows": "One row for each flow of a run.",
    "links": "One row for each stage of the path. Counts begin at the end of the warm-up.",
    "samples": "One row for each flow and sampling interval.",
    "events": "One row for each event.",
    "acks": "One row for each ACK that a data sender received, if the study records ACKs.",
}
TYPES = {"text": "text", "integer": "whole number", "real": "number"}


def page() -> str:
    """Return the page, which lists every column with its type, unit and meaning."""
    parts = [HEAD]
    of_core = _core.columns()
    for name, about in TABLES.items():
        parts += [heading(2, name), f"{about}\n\n"]
        rows = []
        for column in of_core:
            if column["table"] == name:
                known = quantity(column["name"])
                values = column["unit"] or TYPES[column["type"]]
                rows.append((code(column["name"]), values, _meaning(known)))
        parts.append(table(("column", "values", "meaning"), rows))
    names = {column["name"] for column in of_core}
    parts.append(heading(2, "Computed and measured"))
    parts.append(
        table(
            ("column", "values", "meaning"),
            (
                (code(each.column), each.unit or TYPES[kind_of(each.column).value], _meaning(each))
                for each in all_columns()
                if each.column not in names
            ),
        )
    )
    return "".join(parts)


def _meaning(column: Quantity) -> str:
    """Return the meaning of a column, and the case in which it has no value."""
    null = f"Null if {column.undefined}." if column.undefined else ""
    return f"{column.explanation} {null}".strip()
