"""Pairs of packets: whether a link remembers a packet, and for how long, on links of the simulator.

The truth is the cell's setting: how long it continues to send grants to a user without data.
"""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab import core
from cwndlab.measure.busy import FEWEST_PAIRS, BusyState, Pairs
from cwndlab.schema.direction import Direction
from cwndlab.study.describe import read_link

UP, DOWN = Direction.UPLINK, Direction.DOWNLINK
PAIRS = 192  # as in a recording of a minute
NONE = np.array([])


def pairs_of(spec: str, way: Direction, *, seed: int = 1, count: int = PAIRS) -> Pairs:
    """Send pairs over a simulated link; a timer of the receiver is late by up to 0.1 ms."""
    _, link = read_link(spec)
    random = np.random.default_rng(seed)
    gaps_ms = np.exp(random.uniform(0, np.log(100), count))
    before_ms = random.uniform(100, 120, count)
    sent_ms = np.cumsum(np.column_stack([before_ms, gaps_ms]).ravel())
    sent = [(round(each * 1e6), 92) for each in sent_ms]
    found = core.module().probe(
        link.scenario(10**9, seed).to_json(), link.contents, way.wire, 1, sent
    )
    delays_ms = np.array([np.nan if each is None else each / 1e6 for each in found])
    delays_ms += random.uniform(0, 0.1, len(delays_ms))
    return Pairs.of(sent_ms, delays_ms)


@pytest.mark.parametrize(
    ("spec", "keep_alive_ms"),
    [
        ("lte-good", 5),
        ("lte-good,cell.access.keep_alive=20 ms", 20),
        ("lte-bad", 5),
        ("nr-good", 10),
        ("nr-good,cell.access.keep_alive=40 ms", 40),
        ("nr-bad", 10),
    ],
)
@pytest.mark.parametrize("seed", [11, 12])
def test_a_cell_remembers_a_packet_while_it_keeps_sending_grants(
    spec: str, keep_alive_ms: float, seed: int
) -> None:
    pairs = pairs_of(spec, UP, seed=seed)
    busy = BusyState.of(pairs, NONE)
    assert busy is not None
    # The grants end with a slot, and a retransmission over the air hides some fast packets.
    assert busy.lasts.value_ms == pytest.approx(keep_alive_ms, rel=0.2, abs=2)
    assert busy.lasts.low_ms <= busy.lasts.value_ms <= busy.lasts.high_ms
    assert busy.delay.low_ms <= busy.delay.value_ms <= busy.delay.high_ms
    assert busy.delay.value_ms < pairs.first_ms.min()
    assert busy.delay.value_ms == pytest.approx(pairs.second_ms.min(), abs=2)


@pytest.mark.parametrize(
    "spec",
    [
        "rate=12 Mbit/s,delay=20 ms",
        "rate=1 Mbit/s,delay=20 ms",
        "rate=12 Mbit/s,delay=20 ms,jitter.kind=normal,jitter.sigma=4 ms",
        "wifi-typical",
        "hspa-typical",
    ],
)
@pytest.mark.parametrize("way", Direction)
def test_a_link_that_remembers_nothing_has_no_busy_state(spec: str, way: Direction) -> None:
    for seed in range(20, 30):
        assert BusyState.of(pairs_of(spec, way, seed=seed), NONE) is None, seed


def test_a_downlink_without_requests_has_no_busy_state() -> None:
    for seed in range(40, 45):
        assert BusyState.of(pairs_of("lte-typical", DOWN, seed=seed), NONE) is None, seed


def synthetic(second_ms: float, *, lasts_ms: float = 20, count: int = PAIRS) -> Pairs:
    """Return pairs whose first delay is 20 to 30 ms, and the second `second_ms` for a while."""
    random = np.random.default_rng(count)
    gaps_ms = np.exp(random.uniform(0, np.log(100), count))
    first_ms, later_ms = random.uniform(20, 30, (2, count))
    idle_ms = gaps_ms - (first_ms - second_ms)
    return Pairs(gaps_ms, first_ms, np.where(idle_ms <= lasts_ms, second_ms, later_ms))


def test_a_fast_packet_by_chance_hides_no_busy_state() -> None:
    pairs = synthetic(12)
    pairs.first_ms[7] = 11  # other traffic kept the link busy, or a clock jumped
    busy = BusyState.of(pairs, NONE)
    assert busy is not None
    assert busy.lasts.value_ms == pytest.approx(20, abs=1.5)
    assert busy.delay.value_ms == pytest.approx(12)


def test_too_few_pairs_and_too_small_differences_show_nothing() -> None:
    assert BusyState.of(synthetic(12, count=FEWEST_PAIRS), NONE) is not None
    assert BusyState.of(synthetic(12, count=FEWEST_PAIRS - 1), NONE) is None
    assert BusyState.of(synthetic(20.05), NONE) is None
    assert BusyState.of(synthetic(12, lasts_ms=1000), NONE) is None, "it lasts longer than any gap"


def test_other_packets_on_the_idle_link_count_as_first_ones() -> None:
    pairs = synthetic(12)
    assert BusyState.of(pairs, np.random.default_rng(1).uniform(11, 30, 200)) is None


def test_pairs_with_a_lost_or_a_late_packet_before_them_are_left_out() -> None:
    sent_ms = np.array([0, 5, 110, 120, 230, 260, 370, 380.0])
    delay_ms = np.array([20, 20, 21, 90, 22, 23, np.nan, 20])
    pairs = Pairs.of(sent_ms, delay_ms)
    # The second packet of 120 ms arrived until 210 ms; the pair of 230 ms met a busy link.
    assert pairs.gap_ms.tolist() == [5, 10]
    assert pairs.first_ms.tolist() == [20, 21]
    assert pairs.second_ms.tolist() == [20, 90]
    assert len(Pairs.joined([pairs, pairs])) == 4
    assert len(Pairs.joined([])) == 0
