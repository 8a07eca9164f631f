from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.errors import QuantityError
from cwndlab.text.linkspec import parse_spec, short_spec, split_trace_line, trace_line


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("lte-typical", {"preset": "lte-typical"}),
        ("links/mine.toml", {"preset": "links/mine.toml"}),
        ("lossy, rate = 2 Mbit/s", {"preset": "lossy", "rate": "2 Mbit/s"}),
        ("trace:a/b.down", {"trace": "a/b.down"}),
        ("trace:a,b.down,delay=20 ms", {"trace": "a,b.down", "delay": "20 ms"}),
        ("log:x.csv,queue=9 packets", {"trace": "x.csv", "queue": "9 packets"}),
        (
            "rate=10 Mbit/s,delay=20 ms,queue=50 packets,loss=1 %,framing=14 bytes",
            {
                "rate": "10 Mbit/s",
                "delay": "20 ms",
                "queue": "50 packets",
                "loss": "1 %",
                "framing": "14 bytes",
            },
        ),
    ],
)
def test_a_line_becomes_the_table_of_a_study(text: str, table: dict[str, str]) -> None:
    assert parse_spec(text) == table


@pytest.mark.parametrize("text", ["", "  ", "rate=", "trace:", "rate=1,rate=2", "trace:a,trace=b"])
def test_a_line_that_says_nothing_or_a_thing_twice_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match='write for example "rate=10 Mbit/s'):
        parse_spec(text)


words = st.text("abcdefghij_", min_size=1, max_size=6)
texts = st.text("abc0123 /%.:", min_size=1, max_size=9).map(str.strip).filter(bool)


@given(st.dictionaries(words, texts, min_size=1, max_size=5))
def test_pairs_are_read_as_they_were_written_and_whole_numbers_as_numbers(
    pairs: dict[str, str],
) -> None:
    read = parse_spec(",".join(f"{key}={value}" for key, value in pairs.items()))
    assert read == {key: int(value) if value.isdecimal() else value for key, value in pairs.items()}


@given(st.text(max_size=40))
def test_any_text_is_a_link_or_an_error_of_ours(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert parse_spec(text)


@pytest.mark.parametrize("path", ["a.up", "a,b=1/c d.up", "it's,here.up", '"a".up', "a, b.up"])
@pytest.mark.parametrize("rest", ["", ",delay=20 ms", ",delay=20 ms,loss=1 %"])
def test_a_trace_line_keeps_its_path(path: str, rest: str) -> None:
    line = trace_line("trace", path, rest)
    assert parse_spec(line)["trace"] == path
    assert split_trace_line(line) == ("trace", path, rest)
    assert short_spec(line) == path.rpartition("/")[2] + rest


def test_only_a_line_that_begins_with_a_trace_is_split() -> None:
    assert split_trace_line("log: 'a,b' ,delay=1 ms") == ("log", "a,b", " ,delay=1 ms")
    assert split_trace_line('trace:" a,b "') == ("trace", "a,b", "")
    assert split_trace_line("trace:a,b,delay=1 ms") == ("trace", "a,b", ",delay=1 ms")
    for line in ("lte-typical", "trace=a,delay=1 ms", "rate=1 Mbit/s"):
        assert split_trace_line(line) is None
        assert short_spec(line) == line
