"""JSON and CSV from files that cwndlab did not write: values, or one `ValueError`."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def read_json(content: bytes | str) -> Any:  # noqa: ANN401  whatever stands in the file
    """The value of a JSON document.

    Raises:
        ValueError: it is not JSON, not UTF-8, nested too deeply, or holds NaN or Infinity, which
            JSON does not have.
    """
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        msg = "nested too deeply"
        raise ValueError(msg) from None


def csv_rows(lines: Iterable[str], separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV, each with the number of its (last) line, counted from 1.

    Raises:
        ValueError: a line is not CSV; names the line.
    """
    reader = csv.reader(lines, delimiter=separator)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        msg = f"line {reader.line_num}: {error}"
        raise ValueError(msg) from None


def csv_fields(line: str, separator: str = ",") -> list[str]:
    """The fields of one line of CSV; a field goes on in no other line.

    Raises:
        ValueError: it is not CSV.
    """
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _refuse(word: str) -> float:
    msg = f"{word} is not a JSON number"
    raise ValueError(msg)
