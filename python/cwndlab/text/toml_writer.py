"""Write dictionaries as readable TOML: in each table, inner tables follow all other values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwndlab.text.toml import dotted, inline

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_toml(document: Mapping[str, Any]) -> str:
    """Return `document` as a TOML text."""
    return "\n".join(_table(document, ())).strip() + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [
        f"{dotted((key,))} = {inline(value)}"
        for key, value in table.items()
        if not _is_table(value) and not _is_table_array(value, path)
    ]
    for key, value in table.items():
        inner = (*path, key)
        if _is_table(value):
            lines += ["", f"[{dotted(inner)}]", *_table(value, inner)]
        elif _is_table_array(value, path):
            for element in value:
                lines += ["", f"[[{dotted(inner)}]]", *_table(element, inner)]
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_table_array(value: object, path: tuple[str, ...]) -> bool:
    """Return whether to write `value` as an array of tables (`[[...]]`).

    The result is True for a list of dictionaries, except if the list is empty or inside the table
    `factors`.
    """
    return (
        path[:1] != ("factors",)
        and isinstance(value, list)
        and bool(value)
        and all(isinstance(element, dict) for element in value)
    )
