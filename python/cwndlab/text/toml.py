"""Parse a TOML file and record the line number of each key.

`tomllib` reads the values, but does not keep their positions. The scanner in this module reads the
same text after `tomllib` has accepted it. The recorded lines of keys, array elements and tables
are used in error messages about values.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from cwndlab.errors import StudyError, read_failure
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KeyPath = tuple[str | int, ...]

_MOST_NESTED = 50
_LONGEST_QUOTED = 200

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SCALAR_END = re.compile(r"[,\]}\n#]")
_DECODE_ERROR = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end .*)\)"
)

_SAID_TWICE = {
    re.compile("Cannot overwrite a value"): "this key occurs twice; keep only one of the two",
    re.compile("Cannot declare .* twice"): "this table occurs twice; keep only one of the two",
}
"""Maps each message of `tomllib` about a repeated key to the plainer message that replaces it."""


class TomlSource:
    """Content of a TOML file, and the line number of each key."""

    def __init__(self, name: str, text: str) -> None:
        """Parse `text`; error messages show `name` as the name of the file.

        Raises:
            StudyError: the text is not TOML; the message names line and column.
        """
        self.name = name
        try:
            self.document = read_toml(text)
        except ValueError as error:
            raise StudyError([_decode_problem(name, text, error)]) from None
        self.lines = _Scanner(text).scan()

    @classmethod
    def read(cls, path: Path) -> TomlSource:
        """Read the TOML file at `path`."""
        try:
            text = read_bytes(path, MOST_TEXT_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise StudyError([read_failure(path, error)]) from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            problem = f"{path}:{line}: not UTF-8 text\n  save the file as UTF-8"
            raise StudyError([problem]) from None
        return cls(str(path), text.replace("\r\n", "\n"))

    def problem(self, key: KeyPath, message: str) -> str:
        """Return a two-line message: file, line, key and value; then the problem with the value."""
        line = next(
            (self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines), 0
        )
        place = f"{self.name}:{line}" if line else self.name
        told = inside_text(self.document, key, message)
        return f"{place}: {describe(self.document, key)}\n  {told}"


def read_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text and return its content as a dictionary.

    Raises:
        ValueError: the text is not TOML, is nested too deeply, or contains the character NUL or a
            number with too many digits.
    """
    too_deep = f"tables and lists are nested more than {_MOST_NESTED} levels deep"
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError(too_deep) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # a number with more digits than Python parses
        msg = "a number has too many digits"
        raise ValueError(msg) from None
    level: list[object] = [document]
    for _ in range(_MOST_NESTED):
        level = [inner for value in level for inner in _inside(value)]
        if any(isinstance(value, str) and "\0" in value for value in level):
            msg = "a text contains the character NUL; remove this character"
            raise ValueError(msg)
    if level:
        raise ValueError(too_deep)
    return document


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
    return ()


def describe(document: object, key: KeyPath) -> str:
    """Return `KEY = VALUE` as in a TOML file, with a long value shortened.

    If the value is missing, a table or a list, return only `KEY`.
    """
    value = document
    for n, part in enumerate(key):
        if isinstance(value, str):
            key = key[:n]  # a link in one line, in place of a table
            break
        try:
            value = value[part]  # type: ignore[index]  # a miss is caught
        except (KeyError, IndexError, TypeError):
            return dotted(key)
    if isinstance(value, dict | list):
        return dotted(key)
    return f"{dotted(key)} = {_short(inline(value))}"


def inside_text(document: object, key: KeyPath, message: str) -> str:
    """Return `message`, which is about `key`.

    If the key is part of a link that is written in one line, the returned text begins with the key.
    For example, a message about `loss` in `link = "rate=1 Mbit/s,loss=2"` begins with `loss: `.
    """
    value = document
    for n, part in enumerate(key):
        if isinstance(value, str):
            return f"{dotted(key[n:])}: {message}"
        try:
            value = value[part]  # type: ignore[index]  # a miss is caught
        except (KeyError, IndexError, TypeError):
            break
    return message


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}..."


def dotted(key: KeyPath) -> str:
    """Return a path such as `("flow", 0, "start")` as text: `flow[0].start`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            written = part if _BARE_KEY.fullmatch(part) else _quoted(part)
            text += f".{written}" if text else written
    return text


def inline(value: object) -> str:
    """Return `value` as TOML on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case list() | tuple():
            return f"[{', '.join(inline(item) for item in value)}]"
        case dict():
            pairs = (f"{dotted((key,))} = {inline(item)}" for key, item in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case _:
            return str(value)


def _quoted(text: str) -> str:
    """Return `text` as a TOML string, with special characters escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _decode_problem(name: str, text: str, error: ValueError) -> str:
    match = _DECODE_ERROR.fullmatch(str(error))
    if match is None:
        return f"{name}: cannot be read\n  {error}"
    line = int(match["line"]) if match["line"] else text.count("\n") + 1
    column = f", column {match['column']}" if match["column"] else ""
    written = _short(text.split("\n")[line - 1].strip())
    for said, plainly in _SAID_TWICE.items():
        if said.fullmatch(match["what"]):
            return f"{name}:{line}: {written}\n  {plainly}"
    what = match["what"][0].lower() + match["what"][1:]
    return f"{name}:{line}: {written}\n  not valid TOML: {what}{column}"


class _Scanner:
    """Scans valid TOML, and records the line number of each key, table and array element."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}  # number of elements so far

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_blank():
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        parts = self._key()
        self._at += 2 if is_array else 1
        *parents, last = parts
        table: KeyPath = ()
        for part in parents:
            table += (part,)
            if table in self._tables:
                table += (self._tables[table] - 1,)
            self._note(table)
        table += (last,)
        self._note(table)
        if is_array:
            self._tables[table] = self._tables.get(table, 0) + 1
            table += (self._tables[table] - 1,)
            self._note(table)
        return table

    def _pair(self, table: KeyPath) -> None:
        begin = self._at
        parts = self._key()
        self._at += 1  # the equals sign
        for n in range(1, len(parts) + 1):
            self._note(table + tuple(parts[:n]), begin)
        self._skip_space()
        self._value(table + tuple(parts))

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip_space()
            if self._text[self._at] in "\"'":
                begin = self._at
                self._string()
                parts.append(tomllib.loads(f"k = {self._text[begin : self._at]}")["k"])
            else:
                match = _BARE_KEY.match(self._text, self._at)
                assert match is not None, "a TOML key was expected here"  # noqa: S101  an invariant
                parts.append(match[0])
                self._at = match.end()
            self._skip_space()
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, key: KeyPath) -> None:
        match self._text[self._at]:
            case '"' | "'":
                self._string()
            case "[":
                self._array(key)
            case "{":
                self._inline_table(key)
            case _:
                match = _SCALAR_END.search(self._text, self._at)
                self._at = match.start() if match else len(self._text)

    def _string(self) -> None:
        quote = self._text[self._at]
        is_multiline = self._text.startswith(quote * 3, self._at)
        end = quote * 3 if is_multiline else quote
        self._at += len(end)
        while not self._text.startswith(end, self._at):
            self._at += 2 if quote == '"' and self._text[self._at] == "\\" else 1
        self._at += len(end)
        while is_multiline and self._text.startswith(quote, self._at):
            self._at += 1  # up to two quotes may precede the closing three

    def _array(self, key: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._skip_blank() and self._text[self._at] != "]":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._note((*key, index))
            self._value((*key, index))
            index += 1
        self._at += 1

    def _inline_table(self, key: KeyPath) -> None:
        self._at += 1
        while self._skip_blank() and self._text[self._at] != "}":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._pair(key)
        self._at += 1

    def _note(self, key: KeyPath, at: int | None = None) -> None:
        line = bisect_left(self._ends, self._at if at is None else at) + 1
        self._lines.setdefault(key, line)

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1

    def _skip_blank(self) -> bool:
        """Skip spaces, line ends and comments; return False at the end of the text."""
        while self._at < len(self._text):
            if self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif self._text[self._at] in " \t\r\n":
                self._at += 1
            else:
                return True
        return False
