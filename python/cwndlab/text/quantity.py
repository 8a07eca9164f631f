"""Parse quantities exactly, as people write them ("10 Mbit/s", "40 ms", "64 KiB", "1 %").

Each function `parse_*` returns a whole number of a small unit: bits per second, nanoseconds, bytes,
parts per billion. A value must have a unit, and must be a whole number of the small unit. Each
function `format_*` returns the shortest text that `parse_*` reads as the same number. The compiled
core defines the units and the error messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cwndlab import core


def parse_rate(value: object) -> int:
    """Parse a rate, and return the rate in bits per second."""
    return core.parse_quantity("rate", value)


def parse_duration(value: object) -> int:
    """Parse a duration, and return the duration in nanoseconds."""
    return core.parse_quantity("duration", value)


def parse_size(value: object) -> int:
    """Parse a size, and return the size in bytes."""
    return core.parse_quantity("size", value)


def parse_share(value: object) -> int:
    """Parse a percentage of at most 100 %, and return it in parts per billion."""
    return core.parse_quantity("share", value)


def parse_decibel(value: object) -> int:
    """Parse a ratio in decibels, which may be negative; return it in thousandths of a decibel."""
    return core.parse_quantity("decibel", value)


def parse_power(value: object) -> int:
    """Parse a power in dBm, which may be negative, and return it in thousandths of a dBm."""
    return core.parse_quantity("power", value)


def parse_length(value: object) -> int:
    """Parse a length, which may be negative, and return it in millimetres."""
    return core.parse_quantity("length", value)


def parse_frequency(value: object) -> int:
    """Parse a frequency, and return it in thousandths of a hertz."""
    return core.parse_quantity("frequency", value)


def format_decibel(ratio_mdb: int) -> str:
    """Return a decibel ratio as text, such as "3 dB", which `parse_decibel` reads back exactly."""
    return core.format_quantity("decibel", ratio_mdb)


def format_power(power_mdbm: int) -> str:
    """Return a power in dBm as text, such as "20 dBm", which `parse_power` reads back exactly."""
    return core.format_quantity("power", power_mdbm)


def format_length(length_mm: int) -> str:
    """Return a length as text, such as "10 m", which `parse_length` reads back exactly."""
    return core.format_quantity("length", length_mm)


def format_frequency(frequency_mhz: int) -> str:
    """Return a frequency as text, such as "5 Hz", which `parse_frequency` reads back exactly."""
    return core.format_quantity("frequency", frequency_mhz)


def format_rate(rate_bits_per_sec: int) -> str:
    """Return a rate as text, such as "10 Mbit/s", which `parse_rate` reads back exactly."""
    return core.format_quantity("rate", rate_bits_per_sec)


def format_duration(duration_ns: int) -> str:
    """Return a duration as text, such as "40 ms", which `parse_duration` reads back exactly."""
    return core.format_quantity("duration", duration_ns)


def format_size(size_bytes: int) -> str:
    """Return a size as text, such as "1.5 kB", which `parse_size` reads back exactly."""
    return core.format_quantity("size", size_bytes)


def format_share(share_ppb: int) -> str:
    """Return a percentage as text, such as "1 %", which `parse_share` reads back exactly."""
    return core.format_quantity("share", share_ppb)


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """Maximum length of a queue in packets, bytes or thousandths of a BDP, or no limit."""

    unit: Literal["packets", "bytes", "milli_bdp", "unlimited"]
    count: int = 0

    def __str__(self) -> str:
        """Return the limit as text, such as "50 packets", which `parse_queue` can read."""
        return core.format_queue(self.unit, self.count)


def parse_queue(value: object) -> QueueLimit:
    """Parse the limit of a queue, such as "50 packets"."""
    unit, count = core.parse_queue(value)
    return QueueLimit(unit, count)
