"""Quantities as people write them ("10 Mbit/s", "40 ms", "64 KiB", "1 %"), read exactly.

A quantity becomes a whole number of its smallest unit: bits per second, nanoseconds, bytes, parts
per billion. What is finer than that is an error, as is a number without a unit. `format_*` writes
the shortest text that reads back as the same number. Units and sentences are the core's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cwndlab import core


def parse_rate(value: object) -> int:
    """Bits per second."""
    return core.parse_quantity("rate", value)


def parse_duration(value: object) -> int:
    """Nanoseconds."""
    return core.parse_quantity("duration", value)


def parse_size(value: object) -> int:
    """Bytes."""
    return core.parse_quantity("size", value)


def parse_share(value: object) -> int:
    """Parts per billion, at most all of them."""
    return core.parse_quantity("share", value)


def parse_decibel(value: object) -> int:
    """Thousandths of a decibel, which may be less than 0."""
    return core.parse_quantity("decibel", value)


def parse_power(value: object) -> int:
    """Thousandths of a dBm, which may be less than 0."""
    return core.parse_quantity("power", value)


def parse_length(value: object) -> int:
    """Millimetres, which may be less than 0."""
    return core.parse_quantity("length", value)


def parse_frequency(value: object) -> int:
    """Thousandths of a hertz."""
    return core.parse_quantity("frequency", value)


def format_decibel(ratio_mdb: int) -> str:
    """As `parse_decibel` reads it."""
    return core.format_quantity("decibel", ratio_mdb)


def format_power(power_mdbm: int) -> str:
    """As `parse_power` reads it."""
    return core.format_quantity("power", power_mdbm)


def format_length(length_mm: int) -> str:
    """As `parse_length` reads it."""
    return core.format_quantity("length", length_mm)


def format_frequency(frequency_mhz: int) -> str:
    """As `parse_frequency` reads it, which takes thousandths of a hertz."""
    return core.format_quantity("frequency", frequency_mhz)


def format_rate(rate_bits_per_sec: int) -> str:
    """As `parse_rate` reads it."""
    return core.format_quantity("rate", rate_bits_per_sec)


def format_duration(duration_ns: int) -> str:
    """As `parse_duration` reads it."""
    return core.format_quantity("duration", duration_ns)


def format_size(size_bytes: int) -> str:
    """As `parse_size` reads it."""
    return core.format_quantity("size", size_bytes)


def format_share(share_ppb: int) -> str:
    """As `parse_share` reads it."""
    return core.format_quantity("share", share_ppb)


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """Limit of a queue: packets, bytes, thousandths of a BDP, or none."""

    unit: Literal["packets", "bytes", "milli_bdp", "unlimited"]
    count: int = 0

    def __str__(self) -> str:
        """As `parse_queue` reads it."""
        return core.format_queue(self.unit, self.count)


def parse_queue(value: object) -> QueueLimit:
    """Read the limit of a queue."""
    unit, count = core.parse_queue(value)
    return QueueLimit(unit, count)
