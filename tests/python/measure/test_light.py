"""Light traces: what the arrivals of trains show about an idle link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cwndlab.errors import LinkError
from cwndlab.measure.clock_line import ClockLine
from cwndlab.measure.light import LightDirection, TrainSeries
from cwndlab.measure.record import RecordedDirection, Recording, warnings_of
from cwndlab.measure.wire import protocol
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

MS = 1_000_000
START_NS = 1_800_000_000_000 * MS
AHEAD_NS = 700 * MS
GAP_MS, APART_MS = 100, 2
CLOCK = ClockLine(START_NS, AHEAD_NS, 0.0, 0.0)
UP, DOWN = Direction.UPLINK, Direction.DOWNLINK


def request_of(direction: Direction, packets: int, gaps_ns: list[int]) -> protocol.Trains:
    """Return a request for trains of a packet of 64 bytes and full packets."""
    return protocol.Trains(
        direction=direction.wire,
        series=0,
        packets=packets,
        first_payload_bytes=64,
        payload_bytes=1472,
        packet_bytes=1500,
        gaps_ns=gaps_ns,
    )


def series(
    delays_ms: Sequence[float],
    *,
    direction: Direction = UP,
    lost: Collection[tuple[int, int]] = (),
    begins_ms: float = 0,
    lasts_ms: float = 1e9,
) -> TrainSeries:
    """Return trains of four packets, with the delay of each train's first packet."""
    request = request_of(direction, 4, [GAP_MS * MS] * len(delays_ms))
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
    light = LightDirection.of(direction, pieces, [], CLOCK)
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
    light = LightDirection.of(UP, [series([20, 20, 20], lost=lost)], [], CLOCK)
    assert light.trace() == "200.000 20.000 0.000 2.000 4.000 6.000\n", "its time remains right"
    assert light.lost_trains_pct == pytest.approx(200 / 3)
    assert light.lost_in_trains_pct == 0
    (train,) = light.trains
    # The train before arrived until 100 + 20 + 6 ms; this one reached the link 20 ms later.
    assert train.idle_ms == pytest.approx(94)


def test_a_packet_that_overtakes_the_first_one_is_the_first_arrival() -> None:
    (whole,) = [series([20])]
    swapped = [(t, p, sent, at + (5 * MS if p == 0 else 0)) for t, p, sent, at in whole.arrivals]
    light = LightDirection.of(UP, [replace(whole, arrivals=swapped)], [], CLOCK)
    assert light.trace() == "0.000 22.000 0.000 2.000 3.000 4.000\n"


def test_a_train_that_caught_up_with_the_train_before_is_not_in_the_trace() -> None:
    delays_ms = [20, 20, 180, 130, 60, 20]
    light = LightDirection.of(UP, [series(delays_ms)], [], CLOCK)
    assert [train.at_ms for train in light.recorded] == [0, 100, 200, 500], "two waited"
    assert light.trains[3].idle_ms == pytest.approx(300 - (200 + 180 + 6 - 20))


def test_late_trains_after_the_piece_are_not_in_the_trace() -> None:
    light = LightDirection.of(UP, [series([20] * 5, lasts_ms=250)], [], CLOCK)
    assert [train.at_ms for train in light.trains] == [0, 100, 200, None, None]
    assert len(light.trace().splitlines()) == 3


def test_no_train_at_all_is_an_error() -> None:
    lost = [(0, 0), (1, 0)]
    with pytest.raises(LinkError, match="uplink: no packet train arrived"):
        LightDirection.of(UP, [series([20, 20], lost=lost)], [], CLOCK)
    with pytest.raises(LinkError, match="downlink: no packet train arrived"):
        LightDirection.of(DOWN, [series([20, 20], direction=DOWN, lasts_ms=0)], [], CLOCK)


def pairs_of(second_ms: float, *, direction: Direction = UP, count: int = 60) -> TrainSeries:
    """Return pairs: the delay is 20 ms, or `second_ms` if the link has been idle for 30 ms."""
    random = np.random.default_rng(count)
    gaps_ms = np.column_stack([np.exp(random.uniform(0, np.log(100), count)), np.full(count, 110)])
    request = request_of(direction, 1, (gaps_ms * MS).astype(int).ravel().tolist())
    sent_ns = START_NS + np.cumsum([0, *request.gaps_ns[:-1]])
    ahead_ns = AHEAD_NS if direction is UP else -AHEAD_NS
    arrivals = []
    for train, at_ns in enumerate(sent_ns.tolist()):
        is_warm = train % 2 == 1 and gaps_ms[train // 2, 0] - (20 - second_ms) <= 30
        delay_ms = second_ms if is_warm else 20
        arrivals.append((train, 0, at_ns, at_ns + ahead_ns + int(delay_ms * MS)))
    return TrainSeries(arrivals, request, 0, 0)


@pytest.mark.parametrize("direction", Direction)
def test_pairs_show_the_delay_of_the_busy_link(direction: Direction) -> None:
    trains = [series([20] * 20, direction=direction)]
    pairs = [pairs_of(12, direction=direction)]
    light = LightDirection.of(direction, trains, pairs, CLOCK)
    assert len(light.pairs) == 60
    assert light.has_enough_pairs
    assert light.busy is not None
    assert tuple(light.busy.delay) == pytest.approx((12, 12, 12))
    assert light.busy.lasts.low_ms <= 30 <= light.busy.lasts.high_ms + 2
    keys = light.keys()
    assert keys["busy_delay"] == "12.000 ms"
    assert float(keys["light_after"].removesuffix(" ms")) == pytest.approx(30, abs=2)


def test_the_busy_delay_is_at_most_the_shortest_of_the_trace() -> None:
    light = LightDirection.of(UP, [series([10.5] + [20] * 60)], [pairs_of(12)], CLOCK)
    assert light.keys()["busy_delay"] == "10.500 ms"


def test_without_a_difference_the_keys_keep_their_defaults() -> None:
    light = LightDirection.of(UP, [series([20] * 20)], [pairs_of(20)], CLOCK)
    assert light.has_enough_pairs
    assert light.busy is None
    assert light.keys() == {"light_first": "92 B"}


def test_a_pair_of_which_a_packet_was_lost_does_not_count() -> None:
    whole = pairs_of(12)
    arrivals = [each for each in whole.arrivals if each[0] not in {0, 3}]
    pairs = [replace(whole, arrivals=arrivals), whole]
    light = LightDirection.of(UP, [series([20] * 20)], pairs, CLOCK)
    assert len(light.pairs) == 58 + 60


def recording(base_ms: Sequence[float], lost: Collection[tuple[int, int]] = ()) -> Recording:
    per_ms = np.full(10, 1500)
    light = []
    for direction in Direction:
        trains = series(base_ms, direction=direction, lost=lost)
        light.append(LightDirection.of(direction, [trains], [], CLOCK))
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
description = "Recorded by cwndlab link record --light-heavy; delays are in light_trace files."

[link]
trace = "home-downlink.trace"
delay = "0 ms"
light_trace = "home-downlink.light"
light_first = "92 B"

[reverse_link]
trace = "home-uplink.trace"
delay = "0 ms"
light_trace = "home-uplink.light"
light_first = "92 B"
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
    assert "too few pairs of packets arrived on the uplink" in usual
    assert "queued" not in usual
    assert "lost" not in usual
    busy = warned(recording([20] * 17 + [90] * 3))
    assert "15 % of the packet trains on the uplink were queued behind other traffic" in busy
    half = warned(recording([20] * 4, lost=[(0, 0), (1, 0)]))
    assert "50 % of the packet trains on the downlink were lost" in half
