"""Light traces: what the arrivals of trains show about an idle link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cwndlab.errors import LinkError
from cwndlab.measure.clock_line import ClockLine
from cwndlab.measure.light import IDLE_MS, LightDirection, Train, TrainSeries, light_after_ms
from cwndlab.measure.record import RecordedDirection, Recording, warnings_of
from cwndlab.measure.wire import protocol
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

MS = 1_000_000
START_NS = 1_800_000_000_000 * MS
AHEAD_NS = 700 * MS
GAP_MS, APART_MS = 100, 2
CLOCK = ClockLine(START_NS, AHEAD_NS, 0.0, 0.0)
UP, DOWN = Direction.UPLINK, Direction.DOWNLINK


def series(
    delays_ms: Sequence[float],
    *,
    direction: Direction = UP,
    lost: Collection[tuple[int, int]] = (),
    begins_ms: float = 0,
    lasts_ms: float = 1e9,
) -> TrainSeries:
    """Return trains of four packets, with the delay of each train's first packet."""
    request = protocol.Trains(
        direction=direction.wire,
        series=0,
        packets=4,
        payload_bytes=1472,
        packet_bytes=1500,
        gaps_ns=[GAP_MS * MS] * len(delays_ms),
    )
    ahead_ns = AHEAD_NS if direction is UP else -AHEAD_NS
    arrivals = []
    for train, delay_ms in enumerate(delays_ms):
        sent_ns = START_NS + train * GAP_MS * MS
        for place in range(4):
            at_ns = sent_ns + ahead_ns + int((delay_ms + APART_MS * place) * MS)
            if (train, place) not in lost:
                arrivals.append((train, place, sent_ns + place * 1_000, at_ns))
    return TrainSeries(arrivals, request, begins_ms, lasts_ms)


@pytest.mark.parametrize("direction", Direction)
def test_a_line_has_the_time_the_base_delay_and_the_arrivals(direction: Direction) -> None:
    pieces = [
        series([20, 21.5, 25], direction=direction, lost=[(1, 2)], lasts_ms=300),
        series([30], direction=direction, begins_ms=300, lasts_ms=300),
    ]
    light = LightDirection.of(direction, pieces, CLOCK)
    assert light.trace() == (
        "0.000 20.000 0.000 2.000 4.000 6.000\n"
        "100.000 21.500 0.000 2.000 6.000\n"
        "200.000 25.000 0.000 2.000 4.000 6.000\n"
        "300.000 30.000 0.000 2.000 4.000 6.000\n"
    )
    assert light.base_ms == pytest.approx(tuple(np.percentile([20, 21.5, 25, 30], [10, 50, 90])))
    assert light.train_ms == pytest.approx(6)
    assert light.lost_in_trains_pct == pytest.approx(100 / 16)
    assert light.lost_trains_pct == 0


def test_a_train_without_its_first_packet_is_lost() -> None:
    lost = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    light = LightDirection.of(UP, [series([20, 20, 20], lost=lost)], CLOCK)
    assert light.trace() == "200.000 20.000 0.000 2.000 4.000 6.000\n", "its time remains right"
    assert light.lost_trains_pct == pytest.approx(200 / 3)
    assert light.lost_in_trains_pct == 0
    (train,) = light.trains
    # The train before arrived until 100 + 20 + 6 ms; this one reached the link 20 ms later.
    assert train.idle_ms == pytest.approx(94)


def test_a_packet_that_overtakes_the_first_one_is_the_first_arrival() -> None:
    (whole,) = [series([20])]
    swapped = [(t, p, sent, at + (5 * MS if p == 0 else 0)) for t, p, sent, at in whole.arrivals]
    light = LightDirection.of(UP, [replace(whole, arrivals=swapped)], CLOCK)
    assert light.trace() == "0.000 22.000 0.000 2.000 3.000 4.000\n"


def test_a_train_that_caught_up_with_the_train_before_is_not_in_the_trace() -> None:
    delays_ms = [20, 20, 180, 130, 60, 20]
    light = LightDirection.of(UP, [series(delays_ms)], CLOCK)
    assert [train.at_ms for train in light.recorded] == [0, 100, 200, 500], "two waited"
    assert light.trains[3].idle_ms == pytest.approx(300 - (200 + 180 + 6 - 20))


def test_trains_after_the_piece_only_serve_to_compare_idle_times() -> None:
    light = LightDirection.of(UP, [series([20] * 5, lasts_ms=250)], CLOCK)
    assert [train.at_ms for train in light.trains] == [0, 100, 200, None, None]
    assert len(light.trace().splitlines()) == 3


def test_no_train_at_all_is_an_error() -> None:
    lost = [(0, 0), (1, 0)]
    with pytest.raises(LinkError, match="uplink: no train arrived"):
        LightDirection.of(UP, [series([20, 20], lost=lost)], CLOCK)
    with pytest.raises(LinkError, match="downlink: no train arrived"):
        LightDirection.of(DOWN, [series([20, 20], direction=DOWN, lasts_ms=0)], CLOCK)


def after(
    base_ms: Callable[[int], float], last_ms: Callable[[int], float], count: int = 20
) -> list[Train]:
    """Return trains after each idle time, with a jitter of 3 ms."""
    random = np.random.default_rng(3)
    return [
        Train(
            None,
            base_ms(idle) + random.normal(0, 3),
            (0.0, last_ms(idle)),
            idle * 1.1,
            is_whole=True,
        )
        for idle in IDLE_MS
        for _ in range(count)
    ]


def test_the_idle_time_after_which_the_link_is_light_is_found() -> None:
    def steady(_: int) -> float:
        return 9.0

    def wakes(idle_ms: int) -> float:
        return 30.0 if idle_ms >= 50 else 12.0

    assert light_after_ms(after(wakes, steady)) == 50
    assert light_after_ms(after(steady, wakes)) == 50
    assert light_after_ms(after(steady, steady)) == 5
    assert light_after_ms(after(lambda idle: 9 * np.log(idle), steady)) == 200
    assert light_after_ms(after(steady, steady, count=7)) is None, "too few to say"
    halting = after(lambda idle: 30 if idle in {5, 20} else 12, steady)
    assert light_after_ms(halting) == 50, "not 10: the link is different again after 20 ms"
    fine = after(lambda idle: 12 + 0.9 * (idle < 50), steady)
    assert light_after_ms(fine) == 5, "a trace cannot show less than a millisecond"


def recording(base_ms: Sequence[float], lost: Collection[tuple[int, int]] = ()) -> Recording:
    per_ms = np.full(10, 1500)
    light = []
    for direction in Direction:
        trains = series(base_ms, direction=direction, lost=lost)
        light.append(LightDirection.of(direction, [trains], CLOCK))
    heavy = tuple(RecordedDirection(each, per_ms, 20, 10, 40.0) for each in Direction)
    return Recording(heavy, 44.0, tuple(light))


def test_the_link_refers_to_the_light_traces_and_has_no_other_delay(tmp_path: Path) -> None:
    paths = recording([20] * 5).write(tmp_path / "home")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "home-downlink.light",
        "home-downlink.trace",
        "home-uplink.light",
        "home-uplink.trace",
        "home.toml",
    ]
    assert (
        paths[".toml"].read_text(encoding="utf-8")
        == """\
title = "recorded link home"
description = "From cwndlab link record --light-heavy; the light traces contain all delays."

[link]
trace = "home-downlink.trace"
delay = "0 ms"
light_trace = "home-downlink.light"
light_after = "100 ms"

[reverse_link]
trace = "home-uplink.trace"
delay = "0 ms"
light_trace = "home-uplink.light"
light_after = "100 ms"
"""
    )


def test_files_are_all_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "home-uplink.light").mkdir()  # cannot be replaced by a file
    (tmp_path / "home-uplink.light" / "x").touch()
    with pytest.raises(OSError, match=r"home-uplink\.light"):
        recording([20] * 5).write(tmp_path / "home")
    assert not list(tmp_path.glob("*.part"))
    assert not (tmp_path / "home.toml").exists()


def test_doubtful_recordings_are_called_so() -> None:
    def warned(of: Recording) -> str:
        return " ".join(warnings_of(of))

    usual = warned(recording([20, 22, 25, 30] * 5))
    assert "too few trains" in usual
    assert "light_after is 100 ms" in usual
    assert "queued" not in usual
    assert "lost" not in usual
    busy = warned(recording([20] * 17 + [90] * 3))
    assert "15 % of the trains on the uplink were queued behind other traffic" in busy
    half = warned(recording([20] * 4, lost=[(0, 0), (1, 0)]))
    assert "50 % of the trains on the downlink were lost" in half
