from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.errors import StudyError
from cwndlab.text.toml import TomlSource, dotted
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from pathlib import Path


DOCUMENT = '''# a comment with [brackets] and "quotes
title = "a # no comment, a = b"
"quoted.key" = 1
dotted.inner.key = 2
text = """
[not.a.table]
rate = "no" # """
literal = \'\'\'
x = 1 \'\'\'
date = 2026-11-21T02:03:04Z

[link]  # the base
rate = "10 Mbit/s"
loss = { kind = "iid", share = "1 %" }
outages = [
  { start = "1 s", stop = "2 s" },  # one
  # two
  { start = "3 s", stop = "4 s" },
]

[[link.stage]]
delay = "1 ms"

[[link.stage]]
delay = "2 ms"

[[flow]]
start = "0 s"
[flow.parameters]
beta = 3

[[flow]]
start = "5 s"
parameters.beta = 4

[factors]
"link.rate" = ["1 Mbit/s",
               "2 Mbit/s"]
'''


def line_of(source: TomlSource, *key: str | int) -> str:
    return DOCUMENT.split("\n")[source.lines[key] - 1].strip()


def test_every_key_and_element_has_its_line() -> None:
    source = TomlSource("x.toml", DOCUMENT)
    assert line_of(source, "title").startswith("title")
    assert line_of(source, "quoted.key") == '"quoted.key" = 1'
    assert line_of(source, "dotted", "inner", "key") == "dotted.inner.key = 2"
    assert ("not", "a", "table") not in source.lines
    assert ("x",) not in source.lines
    assert line_of(source, "date").startswith("date")
    assert line_of(source, "link") == "[link]  # the base"
    assert line_of(source, "link", "loss", "share").startswith("loss")
    assert (
        line_of(source, "link", "outages", 0, "stop") == '{ start = "1 s", stop = "2 s" },  # one'
    )
    assert line_of(source, "link", "outages", 1, "stop") == '{ start = "3 s", stop = "4 s" },'
    assert line_of(source, "link", "stage", 1, "delay") == 'delay = "2 ms"'
    assert line_of(source, "flow", 0, "parameters", "beta") == "beta = 3"
    assert line_of(source, "flow", 1, "parameters", "beta") == "parameters.beta = 4"
    assert line_of(source, "factors", "link.rate", 1) == '"2 Mbit/s"]'


def test_a_problem_names_place_key_value_and_what_is_wrong() -> None:
    source = TomlSource("mine.toml", DOCUMENT)
    assert source.problem(("link", "rate"), "wrong") == (
        'mine.toml:13: link.rate = "10 Mbit/s"\n  wrong'
    )
    assert source.problem(("flow", 1, "parameters", "beta"), "wrong") == (
        "mine.toml:34: flow[1].parameters.beta = 4\n  wrong"
    )
    # A missing key has the line at which its table begins; an unknown table has no line.
    assert source.problem(("link", "delay"), "missing") == "mine.toml:12: link.delay\n  missing"
    assert source.problem(("other",), "missing") == "mine.toml: other\n  missing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "x.toml:2: b =\n  not valid TOML: invalid value, column 5"),
        ("a = 1\na = 2\n", "x.toml:2: a = 2\n  this key occurs twice; keep only one of the two"),
        ("[a]\n[a]\n", "x.toml:2: [a]\n  this table occurs twice; keep only one of the two"),
        ('a = "open', 'x.toml:1: a = "open\n  not valid TOML: unterminated string'),
        ("[link\n", "x.toml:1: [link\n  not valid TOML: expected ']' at the end of a table"),
        (
            f"a = {'[' * 20_000}{']' * 20_000}",
            "x.toml: cannot be read\n  tables and lists are nested more than 50 levels deep",
        ),
        (
            f"{'.'.join('a' * 60)} = 1",
            "x.toml: cannot be read\n  tables and lists are nested more than 50 levels deep",
        ),
        (
            f"{'a = {' * 51}{'}' * 51}",
            "x.toml: cannot be read\n  tables and lists are nested more than 50 levels deep",
        ),
        ('a = ["\\u0000"]', "x.toml: cannot be read\n  a text contains the character NUL"),
        (f"a = {'9' * 5_000}", "x.toml: cannot be read\n  a number has too many digits"),
    ],
)
def test_malformed_toml_names_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        TomlSource("x.toml", text)
    assert str(caught.value).startswith(message)


def test_a_file_that_is_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"a = 1\n\xff\xfe")
    with pytest.raises(StudyError, match=r"binary\.toml:2: not UTF-8 text"):
        TomlSource.read(binary)
    with pytest.raises(StudyError, match=r"none\.toml: no such file or directory"):
        TomlSource.read(tmp_path / "none.toml")


def test_windows_line_ends_do_not_shift_lines(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_bytes(b"a = 1\r\n\r\n[t]\r\nb = 2\r\n")
    assert TomlSource.read(path).lines[("t", "b")] == 4


scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    st.just(datetime(2026, 11, 21, tzinfo=UTC)),
)
keys = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, max_size=5))
def test_what_is_written_reads_back_and_every_key_is_on_its_line(document: dict[str, Any]) -> None:
    text = write_toml(document)
    source = TomlSource("x.toml", text)
    assert source.document == document
    lines = text.split("\n")
    for key in source.lines:
        last = key[-1]
        if isinstance(last, str):
            written = dotted((last,))
            line = lines[source.lines[key] - 1]
            assert written in line or json.dumps(last, ensure_ascii=False) in line


@given(st.text(alphabet="ab=[]{}\"'#\n.,1 \\"))
def test_whatever_tomllib_reads_is_scanned_without_trouble(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    source = TomlSource("x.toml", text)
    assert {key[0] for key in source.lines} == set(document)
