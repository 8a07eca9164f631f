"""Quantities as people write them ("10 Mbit/s", "40 ms", "64 KiB", "1 %"), read exactly.

A quantity becomes a whole number of its smallest unit: bits per second, nanoseconds, bytes, parts
per billion. What is finer than that is an error, as is a number without a unit. `format_*` writes
the shortest text that reads back as the same number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cwndlab.errors import QuantityError

MAX_VALUE = 2**63 - 1  # every file format and language on the way holds this much
MAX_PACKETS = 2**32 - 1  # what the core's counter holds
UNLIMITED = "unlimited"

_PPB = 10**9
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*(\S.*?)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Units:
    """How one kind of quantity is written. The first `written` units are those that we write."""

    noun: str
    examples: str
    step: str
    units: dict[str, int]
    written: int = 4

    @property
    def remedy(self) -> str:
        return f"write for example {self.examples}"

    def parse(self, value: object) -> int:
        """Read `value` as a whole number of the smallest unit."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            msg = f"a number without a unit; {self.remedy}"
            raise QuantityError(msg)
        match = _NUMBER_AND_UNIT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            msg = f"not a {self.noun}; {self.remedy}"
            raise QuantityError(msg)
        number, unit = match.groups()
        if unit is None:
            msg = f"a number without a unit; {self.remedy}"
            raise QuantityError(msg)
        if unit not in self.units:
            near = [known for known in self.units if known.lower() == unit.lower()]
            hint = f' (did you mean "{near[0]}"? case matters)' if len(near) == 1 else ""
            msg = f"not a {self.noun}; {self.remedy}{hint}"
            raise QuantityError(msg)
        scaled = Fraction(number) * self.units[unit]
        if scaled > MAX_VALUE:
            msg = f"too large; {self.remedy}"
            raise QuantityError(msg)
        if scaled.denominator != 1:
            msg = f"too fine, the smallest step is {self.step}; {self.remedy}"
            raise QuantityError(msg)
        return int(scaled)

    def format(self, count: int) -> str:
        """Write `count` in the largest unit that needs at most three decimals."""
        units = list(self.units.items())[: self.written]
        for unit, factor in sorted(units, key=lambda item: -item[1]):
            if count >= factor and count * 1000 % factor == 0:
                return f"{_decimal(count, factor)} {unit}"
        return f"{count} {units[0][0]}"


# Of units with equal factors the first is the one that is written.
_RATE = _Units(
    "rate",
    '"20 Mbit/s", "2.5 MB/s"',
    "1 bit/s",
    {
        "bit/s": 1,
        "kbit/s": 10**3,
        "Mbit/s": 10**6,
        "Gbit/s": 10**9,
        "bps": 1,
        "kbps": 10**3,
        "Mbps": 10**6,
        "Gbps": 10**9,
        "B/s": 8,
        "kB/s": 8 * 10**3,
        "MB/s": 8 * 10**6,
        "GB/s": 8 * 10**9,
        "KiB/s": 8 * 2**10,
        "MiB/s": 8 * 2**20,
        "GiB/s": 8 * 2**30,
    },
)
_DURATION = _Units(
    "time",
    '"40 ms", "60 s"',
    "1 ns",
    {
        "ns": 1,
        "us": 10**3,
        "ms": 10**6,
        "s": 10**9,
        "\N{MICRO SIGN}s": 10**3,
        "\N{GREEK SMALL LETTER MU}s": 10**3,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
    },
)
_SIZE_UNITS = {
    "bytes": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "byte": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_SIZE = _Units("size", '"1500 bytes", "64 KiB"', "1 byte", _SIZE_UNITS)
_SHARE = _Units("share", '"1 %", "0.05 %"', "0.0000001 %", {"%": _PPB // 100}, written=1)
_DECIBEL = _Units("ratio in decibels", '"16.5 dB"', "0.001 dB", {"dB": 1000}, written=1)
_POWER = _Units("power", '"20 dBm"', "0.001 dBm", {"dBm": 1000}, written=1)
_LENGTH = _Units("length", '"2.5 m"', "1 mm", {"mm": 1, "m": 10**3, "km": 10**6}, written=3)
_FREQUENCY = _Units(
    "frequency",
    '"20 MHz", "5.8 Hz"',
    "0.001 Hz",
    {"Hz": 10**3, "kHz": 10**6, "MHz": 10**9, "GHz": 10**12},
)
_QUEUE_EXAMPLES = '"250 packets", "64 KiB", "1 BDP", "unlimited"'
_QUEUE_UNITS: dict[str, tuple[Literal["packets", "bytes", "milli_bdp"], _Units]] = {
    **{
        unit: ("packets", _Units("queue limit", _QUEUE_EXAMPLES, "1 packet", {unit: 1}))
        for unit in ("packets", "packet", "pkts")
    },
    "BDP": ("milli_bdp", _Units("queue limit", _QUEUE_EXAMPLES, "0.001 BDP", {"BDP": 1000})),
}
_QUEUE_BYTES = _Units("queue limit", _QUEUE_EXAMPLES, "1 byte", _SIZE_UNITS)


def parse_rate(value: object) -> int:
    """Bits per second."""
    rate_bits_per_sec = _RATE.parse(value)
    if rate_bits_per_sec == 0:
        msg = 'a rate of 0 carries nothing; a time without service is written in "outages"'
        raise QuantityError(msg)
    return rate_bits_per_sec


def parse_duration(value: object) -> int:
    """Nanoseconds."""
    return _DURATION.parse(value)


def parse_size(value: object) -> int:
    """Bytes."""
    return _SIZE.parse(value)


def parse_share(value: object) -> int:
    """Parts per billion, at most all of them."""
    share_ppb = _SHARE.parse(value)
    if share_ppb > _PPB:
        msg = f"more than 100 %; {_SHARE.remedy}"
        raise QuantityError(msg)
    return share_ppb


def parse_decibel(value: object) -> int:
    """Thousandths of a decibel, which may be less than 0."""
    return _parse_signed(_DECIBEL, value)


def parse_power(value: object) -> int:
    """Thousandths of a dBm, which may be less than 0."""
    return _parse_signed(_POWER, value)


def parse_length(value: object) -> int:
    """Millimetres, which may be less than 0."""
    return _parse_signed(_LENGTH, value)


def parse_frequency(value: object) -> int:
    """Thousandths of a hertz."""
    return _FREQUENCY.parse(value)


def _parse_signed(kind: _Units, value: object) -> int:
    if isinstance(value, str) and value.lstrip().startswith("-"):
        return -kind.parse(value.lstrip().removeprefix("-"))
    return kind.parse(value)


def format_decibel(ratio_mdb: int) -> str:
    """As `parse_decibel` reads it."""
    return _format_signed(_DECIBEL, ratio_mdb)


def format_power(power_mdbm: int) -> str:
    """As `parse_power` reads it."""
    return _format_signed(_POWER, power_mdbm)


def format_length(length_mm: int) -> str:
    """As `parse_length` reads it."""
    return _format_signed(_LENGTH, length_mm)


def format_frequency(frequency_mhz: int) -> str:
    """As `parse_frequency` reads it, which takes thousandths of a hertz."""
    return (
        f"{_decimal(frequency_mhz, 1000)} Hz"
        if frequency_mhz < 10**3
        else _FREQUENCY.format(frequency_mhz)
    )


def _format_signed(kind: _Units, count: int) -> str:
    unit, factor = next(iter(kind.units.items()))
    text = (
        kind.format(abs(count))
        if abs(count) >= factor
        else f"{_decimal(abs(count), factor)} {unit}"
    )
    return f"-{text}" if count < 0 else text


def format_rate(rate_bits_per_sec: int) -> str:
    """As `parse_rate` reads it."""
    return _RATE.format(rate_bits_per_sec)


def format_duration(duration_ns: int) -> str:
    """As `parse_duration` reads it."""
    return _DURATION.format(duration_ns) if duration_ns else "0 s"


def format_size(size_bytes: int) -> str:
    """As `parse_size` reads it."""
    return _SIZE.format(size_bytes)


def format_share(share_ppb: int) -> str:
    """As `parse_share` reads it."""
    return f"{_decimal(share_ppb, _PPB // 100)} %"


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """How much a queue holds: packets, bytes, thousandths of a BDP, or without limit."""

    unit: Literal["packets", "bytes", "milli_bdp", "unlimited"]
    count: int = 0

    def __str__(self) -> str:
        """As `parse_queue` reads it."""
        match self.unit:
            case "packets":
                return f"{self.count} packet{'' if self.count == 1 else 's'}"
            case "bytes":
                return format_size(self.count)
            case "milli_bdp":
                return f"{_decimal(self.count, 1000)} BDP"
            case "unlimited":
                return UNLIMITED


def parse_queue(value: object) -> QueueLimit:
    """Read the limit of a queue."""
    if isinstance(value, QueueLimit):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text == UNLIMITED:
        return QueueLimit("unlimited")
    match = _NUMBER_AND_UNIT.fullmatch(text)
    unit, kind = _QUEUE_UNITS.get(match[2] if match else "", ("bytes", _QUEUE_BYTES))
    limit = QueueLimit(unit, kind.parse(value))
    if limit.count == 0:
        msg = "a queue of 0 lets nothing through; the packet in transmission counts, so write 1"
        raise QuantityError(msg)
    if unit == "packets" and limit.count > MAX_PACKETS:
        msg = f'too large; a queue without limit is "{UNLIMITED}"'
        raise QuantityError(msg)
    return limit


def _decimal(count: int, factor: int) -> str:
    """`count / factor` in full, for a `factor` whose only primes are 2 and 5."""
    whole, rest = divmod(count, factor)
    digits = ""
    while rest:
        digit, rest = divmod(rest * 10, factor)
        digits += str(digit)
    return f"{whole}.{digits}" if digits else str(whole)
