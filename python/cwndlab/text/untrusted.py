"""Read JSON and CSV from other programs; every error is a `ValueError`."""

from __future__ import annotations

import codecs
import csv
import json
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    _Streamed = Mapping[tuple[str, ...], Callable[[Any], None]]

_JSON_BYTES = 1 << 16
"""Minimum number of bytes that each read of a JSON file requests."""


def read_json(content: bytes | str) -> Any:  # noqa: ANN401  the file may contain any value
    """Return the value of a JSON document.

    Raises:
        ValueError: the document is not JSON or not UTF-8, is nested too deeply, or contains NaN or
            Infinity, which JSON cannot represent.
    """
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        msg = "nested too deeply"
        raise ValueError(msg) from None


def read_json_object(file: IO[bytes], streamed: _Streamed) -> dict[str, Any]:
    """Return a JSON object without its long lists; pass each item of these lists to a function.

    Args:
        file: a file that contains the JSON object.
        streamed: maps the path of each long list to the function that gets the list's items.

    Raises:
        ValueError: the document is invalid (see `read_json`), or is not an object.
    """
    text = _JsonText(file)
    try:
        return text.whole_object(streamed)
    except RecursionError:
        msg = "nested too deeply"
        raise ValueError(msg) from None


class _JsonText:
    """A JSON parser that reads a file in parts, to keep only a part of the text in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._to_text = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        self._decoder = json.JSONDecoder(parse_constant=_refuse)
        self._text = ""
        self._at = 0
        self._is_whole = False

    def whole_object(self, streamed: _Streamed) -> dict[str, Any]:
        found = self._object(streamed)
        if self._next():
            self._refuse("there is text after the end of the JSON value")
        return found

    def _object(self, streamed: _Streamed) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in self._items("{", "}"):
            key = self._value()
            if not isinstance(key, str):
                self._refuse("a key is not a string")
            self._expect(":")
            take = streamed.get((key,))
            below = {path[1:]: each for path, each in streamed.items() if path[0] == key}
            below.pop((), None)
            if take is not None and self._next() == "[":
                for _ in self._items("[", "]"):
                    take(self._value())
            elif below and self._next() == "{":
                found[key] = self._object(below)
            else:
                found[key] = self._value()
        return found

    def _items(self, begin: str, end: str) -> Iterator[None]:
        """Yield at the start of each item of a list or object; the caller then reads the item."""
        self._expect(begin)
        if self._next() == end:
            self._at += 1
            return
        while True:
            yield
            if self._next() == end:
                self._at += 1
                return
            self._expect(",")

    def _value(self) -> Any:  # noqa: ANN401  any JSON value
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if self._is_whole:
                    raise
            else:
                # A number may continue, as 1 does in 1.5, after the end of the text read so far.
                if self._is_whole or self._text[end : end + 1].strip("0123456789.eE+-"):
                    self._at = end
                    return value
            self._read_more()

    def _next(self) -> str:
        """Move to the next character other than white space; return it, or "" at the file's end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\r\n":
                    return self._text[self._at]
                self._at += 1
            if self._is_whole:
                return ""
            self._read_more()

    def _expect(self, character: str) -> None:
        if self._next() != character:
            self._refuse(f"expected {character!r} here")
        self._at += 1

    def _read_more(self) -> None:
        left = self._text[self._at :]
        content = self._file.read(max(_JSON_BYTES, len(left)))
        self._is_whole = not content
        self._text = left + self._to_text.decode(content, final=self._is_whole)
        self._at = 0

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(why)


def csv_rows(lines: Iterable[str], separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a CSV text, and the number of the last line of the row, counted from 1.

    Raises:
        ValueError: a line is not valid CSV; the message names the line.
    """
    reader = csv.reader(lines, delimiter=separator)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        msg = f"line {reader.line_num}: {error}"
        raise ValueError(msg) from None


def csv_fields(line: str, separator: str = ",") -> list[str]:
    """Return the fields of one line of CSV; fields cannot contain line breaks.

    Raises:
        ValueError: the line is not valid CSV.
    """
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _refuse(word: str) -> float:
    msg = f"{word} is not a JSON number"
    raise ValueError(msg)
