"""Select rows of a table by the values of its columns."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from cwndlab.errors import ArgumentError, UnknownNameError


def rows_where(frame: pl.DataFrame, where: dict[str, object]) -> pl.DataFrame:
    """Return the rows that match `where`, which maps column names to a value or a list of values.

    Raises:
        UnknownNameError: `where` names a column that the table does not have.
        ArgumentError: a value does not have the type of its column.
    """
    for name, value in where.items():
        if name not in frame.columns:
            shown = f"columns of this table: {', '.join(frame.columns)}"
            raise UnknownNameError(name, frame.columns, shown, kind="column")
        values = [value]
        if isinstance(value, Iterable) and not isinstance(value, str | bytes):
            values = list(value)
        try:
            wanted = pl.Series(values, dtype=frame.schema[name])
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            remedy = (
                f"write one value, or a list of values, of the column's type {frame.schema[name]}"
            )
            raise ArgumentError(value, name, remedy) from None
        frame = frame.filter(pl.col(name).is_in(wanted.implode()))
    return frame
