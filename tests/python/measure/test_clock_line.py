"""One-way delays between clocks with an offset and a drift, from packets in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cwndlab.errors import LinkError
from cwndlab.measure.clock_line import ClockLine, Transits

if TYPE_CHECKING:
    import numpy.typing as npt

MS, S = 1_000_000, 1_000_000_000
START_NS = 1_800_000_000 * S
YEAR_NS = 365 * 24 * 3600 * S


class Clocks:
    """A server's clock with an offset and a drift, and packets with known delays."""

    def __init__(self, offset_ns: int, drift_ppm: float, seed: int = 1) -> None:
        self._offset_ns, self._drift = offset_ns, drift_ppm * 1e-6
        self._random = np.random.default_rng(seed)

    def far(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        elapsed_ns = at_ns - START_NS
        return at_ns + self._offset_ns + (elapsed_ns * self._drift).astype(np.int64)

    def delays_ns(self, count: int, least_ms: float, jitter_ms: float) -> npt.NDArray[np.int64]:
        more_ms = self._random.exponential(jitter_ms, count) if jitter_ms else np.zeros(count)
        return ((least_ms + more_ms) * MS).astype(np.int64)

    def exchange(
        self, up_ns: npt.NDArray[np.int64], down_ns: npt.NDArray[np.int64], every_ms: int
    ) -> tuple[Transits, Transits]:
        """Return packets with these delays that are answered after a millisecond."""
        sent_ns = START_NS + np.arange(len(up_ns)) * every_ms * MS
        there_ns = sent_ns + up_ns
        up = Transits(sent_ns, self.far(there_ns))
        down = Transits(self.far(there_ns + MS), there_ns + MS + down_ns)
        return up, down


@pytest.mark.parametrize("offset_ns", [0, 3_600 * S, -20 * YEAR_NS, 250 * MS])
@pytest.mark.parametrize("drift_ppm", [0, 40, -200])
def test_each_delay_is_recovered_whatever_the_clocks_show(offset_ns: int, drift_ppm: float) -> None:
    """Ten exchanges a second, for a minute, with a mean jitter of 8 ms in each direction."""
    clocks = Clocks(offset_ns, drift_ppm)
    up_ns, down_ns = clocks.delays_ns(600, 15, 8), clocks.delays_ns(600, 15, 8)
    up, down = clocks.exchange(up_ns, down_ns, 100)
    line = ClockLine.of(up, down)
    assert abs(line.drift * 1e6 - drift_ppm) < 10
    assert line.least_ns / MS == pytest.approx(15, abs=0.1)
    # 8 ms / 600 is the mean excess of the smallest of 600 delays; some ends of the line have fewer.
    assert np.abs(line.up_ns(up) - up_ns).max() < 0.5 * MS
    assert np.abs(line.down_ns(down) - down_ns).max() < 0.5 * MS


def test_without_the_drift_a_minute_would_shift_the_delays() -> None:
    """The tolerance of the test above would show a drift that is not corrected."""
    clocks = Clocks(5 * S, 200)
    up, down = clocks.exchange(clocks.delays_ns(600, 15, 8), clocks.delays_ns(600, 15, 8), 100)
    still = ClockLine(START_NS, 5 * S, 0.0, 0.0)
    assert np.abs(still.up_ns(up) - ClockLine.of(up, down).up_ns(up)).max() > 10 * MS


def test_unequal_delays_are_halved_and_their_sum_is_right() -> None:
    clocks = Clocks(-7 * S, 30)
    up_ns, down_ns = clocks.delays_ns(300, 40, 3), clocks.delays_ns(300, 10, 3)
    up, down = clocks.exchange(up_ns, down_ns, 100)
    line = ClockLine.of(up, down)
    found_up_ns, found_down_ns = line.up_ns(up), line.down_ns(down)
    assert found_up_ns.min() == pytest.approx(25 * MS, abs=0.3 * MS)
    assert found_down_ns.min() == pytest.approx(25 * MS, abs=0.3 * MS)
    assert np.allclose(found_up_ns + found_down_ns, up_ns + down_ns, atol=0.01 * MS)
    assert np.ptp(found_up_ns - up_ns) < 0.5 * MS, "the changes of the delay are kept"


def test_a_path_that_becomes_longer_is_not_taken_for_a_drift() -> None:
    clocks = Clocks(1 * S, 20)
    up_ns, down_ns = clocks.delays_ns(600, 15, 2), clocks.delays_ns(600, 15, 2)
    up_ns[300:] += 30 * MS
    down_ns[300:] += 30 * MS
    up, down = clocks.exchange(up_ns, down_ns, 100)
    line = ClockLine.of(up, down)
    assert np.abs(line.up_ns(up) - up_ns).max() < 1 * MS
    assert np.median(line.down_ns(down)[300:]) > 45 * MS


def test_a_direction_with_longer_packets_keeps_its_longer_delays() -> None:
    """Short packets each way determine the line; long packets take 12 ms more on the way up."""
    clocks = Clocks(9 * S, -60)
    up, down = clocks.exchange(clocks.delays_ns(200, 20, 4), clocks.delays_ns(200, 20, 4), 300)
    long_ns = clocks.delays_ns(600, 32, 4)
    long_packets, _ = clocks.exchange(long_ns, long_ns, 100)
    line = ClockLine.of(up + long_packets, down)
    assert np.abs(line.up_ns(long_packets) - long_ns).max() < 1 * MS


def test_one_direction_alone_determines_nothing() -> None:
    packets = Transits.of([(1, 2), (3, 4)])
    with pytest.raises(LinkError, match="no datagram arrived in one direction"):
        ClockLine.of(packets, Transits.of([]))
