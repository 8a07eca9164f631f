from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cwndlab import core
from cwndlab.errors import CoreMissingError, TraceError
from cwndlab.resolve.drive_test import is_drive_test, to_log
from cwndlab.resolve.traces import read_trace

if TYPE_CHECKING:
    from pathlib import Path

DRIVE = b"""Timestamp,Longitude,CQI,DL_bitrate,UL_bitrate,State
2020.02.14_23.59.58,-8.5,10,0,250,D
2020.02.14_23.59.59,-8.5,-,12500,-,D
2020.02.15_00.00.01,-8.5,11,3001,500,D
"""


def test_a_column_of_a_drive_test_becomes_a_log_across_midnight() -> None:
    assert is_drive_test(DRIVE)
    assert to_log(DRIVE, "DL_bitrate") == b"time_s,rate_mbit_s\n0,0.0\n1,12.5\n3,3.001\n"
    assert to_log(DRIVE, "UL_bitrate") == b"time_s,rate_mbit_s\n0,0.25\n3,0.5\n"


def test_what_is_wrong_with_a_drive_test_is_told() -> None:
    with pytest.raises(ValueError, match='no column "PL_bitrate"; there are DL_bitrate, UL_bit'):
        to_log(DRIVE, "PL_bitrate")
    with pytest.raises(ValueError, match="line 3: `2020-02-14`, `12500` are not a time and a rate"):
        to_log(DRIVE.replace(b"2020.02.14_23.59.59", b"2020-02-14"), "DL_bitrate")


def test_line_ends_of_any_system_are_line_ends() -> None:
    for end in (b"\r\n", b"\r"):
        assert to_log(DRIVE.replace(b"\n", end), "UL_bitrate") == to_log(DRIVE, "UL_bitrate")
    with pytest.raises(ValueError, match=r"line 3: `2020.02.14_23`, `` are not a time and a rate"):
        to_log(DRIVE.replace(b"23.59.59", b"23\r.59.59"), "DL_bitrate")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"DL_bitrate\n1\n", 'no column "Timestamp"'),
        (b"Timestamp,DL_bitrate\n2020.02.14_23.59.58," + b'"' + b"1" * 140_000, "line 2: field"),
        (b"", "this is no drive test"),
    ],
)
def test_what_is_no_drive_test_is_an_error(content: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        to_log(content, "DL_bitrate")


def test_a_file_in_no_known_format_says_which_were_tried(tmp_path: Path) -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    (tmp_path / "drive.csv").write_bytes(DRIVE)
    assert read_trace(tmp_path / "drive.csv").info["mean_rate_mbit_s"] == pytest.approx(
        (0 + 2 * 12.5 + 2 * 3.001) / 5
    )
    (tmp_path / "x.txt").write_text("once upon a time\n")
    with pytest.raises(TraceError, match=r"tried: a Mahimahi trace .* a log .*\n.* a drive test"):
        read_trace(tmp_path / "x.txt")
    with pytest.raises(TraceError, match=r"no column .*this is no drive test"):
        read_trace(tmp_path / "x.txt", "UL_bitrate")
