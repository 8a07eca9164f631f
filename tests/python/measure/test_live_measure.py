"""The interval over which a live transfer's goodput is measured: begin, end, and clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.measure.tables import measured
from cwndlab.measure.wire.probes import Clock, ProbeResult
from cwndlab.measure.wire.transfer import Transfer

if TYPE_CHECKING:
    from pathlib import Path

MS = 10**6
BEGAN_NS = 1_700_000_000 * 10**9
AHEAD_NS = 3_600 * 10**9
"""The server's clock is an hour ahead."""
BYTES = 1_000_000


def end(began_ms: int, ended_ms: int, read: list[tuple[int, int]] | None = None) -> dict[str, Any]:
    """Return an end's record: times after the client's begin, and bytes read by then."""
    read = read or []
    return {
        "algorithm": "reno",
        "kernel_name": None,
        "kernel": "6.1",
        "began_ns": BEGAN_NS + began_ms * MS,
        "ended_ns": BEGAN_NS + ended_ms * MS,
        "moved_bytes": BYTES,
        "error": None,
        "at_ns": [BEGAN_NS + at_ms * MS for at_ms, _ in read],
        "application_bytes": [size for _, size in read],
        "info": {"pmtu": [1_500 for _ in read]},
    }


def there(seen: dict[str, Any]) -> dict[str, Any]:
    """Return the record with times of the server's clock."""
    shifted = {key: seen[key] + AHEAD_NS for key in ("began_ns", "ended_ns")}
    return seen | shifted | {"at_ns": [at_ns + AHEAD_NS for at_ns in seen["at_ns"]]}


STUDY = """
[study]
id = "mine"
duration = "10 s"
warm_up = "{warm_up}"
direction = "{direction}"
algorithm = "reno"

[application]
{application}

[live]
place = "here"
"""
SIZED = 'kind = "sized"\nbytes = "1 MB"'
HTTP = 'kind = "http"\nbytes = "1 MB"'
ASKED = 'kind = "request_response"\nrequest = "100 bytes"\nresponse = "1 MB"\ncount = 1'


def row_of(
    folder: Path,
    direction: str,
    application: str,
    near: dict[str, Any],
    far: dict[str, Any],
    warm_up: str = "0 s",
) -> dict[str, Any]:
    """Return the flow's row."""
    path = folder / "mine.toml"
    text = STUDY.format(direction=direction, application=application, warm_up=warm_up)
    path.write_text(text, encoding="utf-8")
    scenario = cw.Study.load(path, is_live=True).matrix.runs[0].scenario
    (flow,) = scenario.flows
    transfer = Transfer(
        near={flow.id: near},
        far={flow.id: there(far)},
        probes=[],
        probes_sent=0,
        clock=Clock.of([ProbeResult(0, AHEAD_NS, AHEAD_NS, 0)]),
        began_ns=BEGAN_NS,
        server={"kernel": "6.1", "default_algorithm": "cubic"},
    )
    files = measured("key", scenario, transfer, {flow.id: "reno"}).files
    return pl.read_parquet(files["flows.parquet"]).to_dicts()[0]


HALF_AT_500_MS = [(0, 0), (500, BYTES // 2), (990, BYTES - 10_000), (1_100, BYTES)]
"""What the receiver's samples tell of a transfer whose last byte was read at 1,000 ms."""


@pytest.mark.parametrize(
    ("direction", "application", "began_ms"),
    [
        ("downlink", SIZED, -20),  # the server starts a one-way delay before the client
        ("uplink", SIZED, 0),
        ("downlink", HTTP, 0),  # the client requests the data
        ("uplink", HTTP, 0),
        ("downlink", ASKED, 0),
        ("uplink", ASKED, -20),  # the client sends data, so the server requests them
    ],
    ids=["raw down", "raw up", "web down", "web up", "asked for, down", "asked for, up"],
)
def test_the_window_begins_with_who_acts_first_and_ends_with_the_last_byte(
    direction: str, application: str, began_ms: int, tmp_path: Path
) -> None:
    near, far = end(0, 1_000), end(-20, 1_000)
    receiver = near if direction == "downlink" else far
    receiver |= {
        "at_ns": [BEGAN_NS + at_ms * MS for at_ms, _ in HALF_AT_500_MS],
        "application_bytes": [size for _, size in HALF_AT_500_MS],
        "info": {"pmtu": [1_500] * len(HALF_AT_500_MS)},
    }
    row = row_of(tmp_path, direction, application, near, far)
    window_s = 1.0 - began_ms / 1e3
    assert row["start_s"] == pytest.approx(began_ms / 1e3)
    assert row["window_s"] == pytest.approx(window_s)
    assert row["completion_ms"] == pytest.approx(1e3 * window_s)
    assert row["goodput_mbit_s"] == pytest.approx(8e-6 * BYTES / window_s, rel=1e-6), "to the byte"


def test_the_warm_up_is_counted_from_there(tmp_path: Path) -> None:
    near = end(0, 1_000, HALF_AT_500_MS)
    row = row_of(tmp_path, "downlink", SIZED, near, end(-20, 1_000), warm_up="520 ms")
    assert row["window_s"] == pytest.approx(0.5)
    assert row["goodput_mbit_s"] == pytest.approx(8, rel=1e-6)


def test_samples_that_came_late_take_nothing_away(tmp_path: Path) -> None:
    """On a busy machine, the first sample may contain bytes that were read long before."""
    near = end(0, 1_000, [(300, BYTES // 4)])
    row = row_of(tmp_path, "downlink", SIZED, near, end(-20, 1_000))
    assert row["goodput_mbit_s"] == pytest.approx(8e-6 * BYTES / 1.02, rel=1e-6)
