"""Logs of drive tests: a CSV with a line of column names, one of which is a bit rate in kbit/s.

The format is that of G-NetTrack, in which the 5G data set of University College Cork is written
(Raca et al., MMSys 2020): times of whole seconds as `2020.02.14_09.38.22`, `DL_bitrate` and
`UL_bitrate` in kbit/s, a hyphen where nothing is known. A rate holds until the next one.
"""

from __future__ import annotations

import datetime as dt
import io
from typing import TYPE_CHECKING

from cwndlab.text.untrusted import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_COLUMN = "DL_bitrate"
_TIME_COLUMN = "Timestamp"
_TIME_FORMAT = "%Y.%m.%d_%H.%M.%S"
_UNKNOWN = "-"


def is_drive_test(content: bytes) -> bool:
    """Whether the first line names a time and a bit rate."""
    heading = content[:4096].split(b"\n", 1)[0].decode("ascii", "replace")
    names = {name.strip() for name in heading.split(",")}
    return _TIME_COLUMN in names and any(name.endswith("_bitrate") for name in names)


def to_log(content: bytes, column: str) -> bytes:
    """The log of time and rate that one column is.

    Raises:
        ValueError: there is no such column, or a line is not what it should be; names the line.
    """
    # Any of the usual line ends is one: \r stands in no field.
    rows = csv_rows(io.StringIO(content.decode("utf-8", "replace"), newline=None))
    heading = [name.strip() for name in next(rows, (0, []))[1]]
    names = [name for name in heading if name.endswith("_bitrate")]
    if column not in names:
        there_are = f"there are {', '.join(names)}" if names else "this is no drive test"
        msg = f'no column "{column}"; {there_are}'
        raise ValueError(msg)
    if _TIME_COLUMN not in heading:
        msg = f'no column "{_TIME_COLUMN}"; a drive test has the time of each line there'
        raise ValueError(msg)
    places = heading.index(_TIME_COLUMN), heading.index(column)
    lines = ["time_s,rate_mbit_s\n"]
    lines += (
        f"{time_s:.0f},{rate_kbit_s / 1000}\n" for time_s, rate_kbit_s in _rates(rows, places)
    )
    return "".join(lines).encode("ascii")


def _rates(
    rows: Iterator[tuple[int, list[str]]], places: tuple[int, int]
) -> Iterator[tuple[float, float]]:
    """Seconds since the first row, and the rate in kbit/s, of each row that has one."""
    began: dt.datetime | None = None
    for number, row in rows:
        if not row:
            continue
        time, rate = (row[at] if at < len(row) else "" for at in places)
        if rate == _UNKNOWN:
            continue
        try:
            at = dt.datetime.strptime(time, _TIME_FORMAT)  # noqa: DTZ007  only differences
            rate_kbit_s = float(rate)
        except ValueError:
            msg = f"line {number}: `{time}`, `{rate}` are not a time and a rate in kbit/s"
            raise ValueError(msg) from None
        began = began or at
        yield (at - began).total_seconds(), rate_kbit_s
