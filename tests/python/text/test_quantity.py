from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.errors import QuantityError
from cwndlab.text import quantity
from cwndlab.text.quantity import QueueLimit

MAX_VALUE = 2**63 - 1  # the largest value that all file formats and languages can represent
MAX_RATE_BITS_PER_SEC = 2 * 10**12


@pytest.mark.parametrize(
    ("text", "bits_per_sec"),
    [
        ("20 Mbit/s", 20_000_000),
        ("2.5 MB/s", 20_000_000),
        ("10Mbps", 10_000_000),
        ("  1 Gbit/s ", 1_000_000_000),
        ("0.5 kbit/s", 500),
        ("1 KiB/s", 8192),
        ("64 B/s", 512),
        ("7 bit/s", 7),
    ],
)
def test_rates_are_bits_per_second(text: str, bits_per_sec: int) -> None:
    assert quantity.parse_rate(text) == bits_per_sec


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("40 ms", 40_000_000),
        ("60s", 60 * 10**9),
        ("1.5 s", 1_500_000_000),
        ("250 us", 250_000),
        ("250 µs", 250_000),
        ("250 μs", 250_000),
        ("2 min", 120 * 10**9),
        ("1 h", 3600 * 10**9),
        ("0.001 us", 1),
        ("0 ms", 0),
    ],
)
def test_times_are_nanoseconds(text: str, duration_ns: int) -> None:
    assert quantity.parse_duration(text) == duration_ns


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("250 packets", QueueLimit("packets", 250)),
        ("1 packet", QueueLimit("packets", 1)),
        ("64 KiB", QueueLimit("bytes", 65536)),
        ("1 BDP", QueueLimit("milli_bdp", 1000)),
        ("0.25 BDP", QueueLimit("milli_bdp", 250)),
        ("unlimited", QueueLimit("unlimited")),
    ],
)
def test_queue_limits_are_packets_bytes_or_bdp(text: str, limit: QueueLimit) -> None:
    assert quantity.parse_queue(text) == limit


def test_shares_are_parts_per_billion() -> None:
    assert quantity.parse_share("1 %") == 10_000_000
    assert quantity.parse_share("0.0000001%") == 1
    assert quantity.parse_share("100 %") == 10**9


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("20 Mbps/s", 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        (20, 'the number has no unit; write for example "20 Mbit/s", "2.5 MB/s"'),
        ("20", 'the number has no unit; write for example "20 Mbit/s", "2.5 MB/s"'),
        ("fast", 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        ("-1 Mbit/s", 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        ("1e3 Mbit/s", 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        (None, 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        (True, 'not a rate; write for example "20 Mbit/s", "2.5 MB/s"'),
        (
            "20 mbit/s",
            (
                'not a rate; write for example "20 Mbit/s", "2.5 MB/s" '
                '(did you mean "Mbit/s"? case matters)'
            ),
        ),
        (
            "0.5 bit/s",
            'too precise, the smallest step is 1 bit/s; write for example "20 Mbit/s", "2.5 MB/s"',
        ),
        (
            "99999999999 Gbit/s",
            'too large; write for example "20 Mbit/s", "2.5 MB/s"',
        ),
        (
            "0 Mbit/s",
            'a rate of 0 would deliver no packets; write periods without service as "outages"',
        ),
    ],
)
def test_a_rate_that_is_none_says_what_to_write(value: object, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        quantity.parse_rate(value)
    assert str(caught.value) == message


def test_a_unit_that_differs_in_case_from_two_others_is_not_guessed() -> None:
    with pytest.raises(QuantityError) as caught:
        quantity.parse_rate("3 mb/s")
    assert "did you mean" in str(caught.value)
    assert quantity.parse_size("3 kB") == 3000
    with pytest.raises(QuantityError, match=r'did you mean "kB"'):
        quantity.parse_size("3 KB")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0 packets", "a queue of 0 would let no packet through; the packet in"),
        ("1.5 packets", "too precise, the smallest step is 1 packet"),
        ("5000000000 packets", 'too large; for a queue without a limit, write "unlimited"'),
        (50, "the number has no unit"),
        ("1 bdp", "not a queue limit"),
    ],
)
def test_an_impossible_queue_limit_is_refused(value: object, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        quantity.parse_queue(value)
    assert str(caught.value).startswith(message)


def test_more_than_everything_cannot_be_lost() -> None:
    with pytest.raises(QuantityError, match="more than 100 %"):
        quantity.parse_share("100.1 %")


@given(st.integers(1, MAX_RATE_BITS_PER_SEC))
def test_a_written_rate_reads_back_as_itself(bits_per_sec: int) -> None:
    assert quantity.parse_rate(quantity.format_rate(bits_per_sec)) == bits_per_sec


@given(st.integers(0, MAX_VALUE))
def test_a_written_time_or_size_reads_back_as_itself(count: int) -> None:
    assert quantity.parse_duration(quantity.format_duration(count)) == count
    assert quantity.parse_size(quantity.format_size(count)) == count


@given(st.integers(0, 10**9))
def test_a_written_share_reads_back_as_itself(share_ppb: int) -> None:
    assert quantity.parse_share(quantity.format_share(share_ppb)) == share_ppb


@given(
    st.one_of(
        st.builds(QueueLimit, st.just("packets"), st.integers(1, 2**32 - 1)),
        st.builds(QueueLimit, st.just("bytes"), st.integers(1, MAX_VALUE)),
        st.builds(QueueLimit, st.just("milli_bdp"), st.integers(1, 10**9)),
        st.just(QueueLimit("unlimited")),
    )
)
def test_a_written_queue_limit_reads_back_as_itself(limit: QueueLimit) -> None:
    assert quantity.parse_queue(str(limit)) == limit


@given(st.decimals(0, 10**6, places=3), st.sampled_from(["ms", "s", "us"]))
def test_decimals_are_read_exactly(number: object, unit: str) -> None:
    factor = {"us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    assert quantity.parse_duration(f"{number} {unit}") == Fraction(str(number)) * factor


@given(st.text())
def test_any_text_is_a_quantity_or_an_error_of_ours(text: str) -> None:
    for parse in (quantity.parse_rate, quantity.parse_duration, quantity.parse_share):
        try:
            assert 0 <= parse(text) <= MAX_VALUE
        except QuantityError as error:
            assert "write" in str(error)  # noqa: PT017  every refusal says what to write


def test_people_write_short_texts() -> None:
    assert quantity.format_rate(20_000_000) == "20 Mbit/s"
    assert quantity.format_rate(1_500_000_000) == "1.5 Gbit/s"
    assert quantity.format_duration(40_000_000) == "40 ms"
    assert quantity.format_duration(1_234_567_891) == "1234567.891 us"
    assert quantity.format_duration(0) == "0 s"
    assert quantity.format_size(1500) == "1.5 kB"
    assert quantity.format_size(14) == "14 bytes"
    assert quantity.format_share(10_000_000) == "1 %"
