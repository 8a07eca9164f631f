"""Methods that end slow start and that algorithms share: HyStart, HyStart++ and SEARCH."""

from __future__ import annotations

import polars as pl
import pytest

from cwndlab import core
from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_PLAIN, _HYSTART, _HYSTART_PP, _SEARCH = range(4)
_ALGORITHMS = ("reno", "cubic", "bic", "highspeed", "scalable")
_BDP_PKTS = 332
_LINK = {"rate": "100 Mbit/s", "delay": "20 ms", "queue": "5000 packets"}


def _start(algorithm: str, method: int, **link: str) -> dict[str, pl.DataFrame]:
    return run_once(
        Study(
            algorithm=algorithm,
            duration="3 s",
            link=_LINK | link,
            parameters={algorithm: {"slow_start": method}},
            record={"samples": "1 ms", "events": True},
        )
    )


def _lost(tables: dict[str, pl.DataFrame]) -> int:
    return int(tables["flows"]["retransmitted_pkts"][0])


def _exit_window(tables: dict[str, pl.DataFrame]) -> float:
    """Return the slow-start threshold at the end of slow start."""
    thresholds = tables["samples"]["ssthresh_pkts"].drop_nulls().drop_nans()
    return float(thresholds[0])


@pytest.mark.parametrize("algorithm", _ALGORITHMS)
def test_slow_start_ends_before_the_queue_overflows(algorithm: str) -> None:
    """The earlier slow start ends, the smaller the window: HyStart ends it when the path is full.

    SEARCH ends it two round trips later. HyStart++ detects the growth of the RTT two rounds after
    the path is full; the window then grows by a factor of 1.25^5.
    """
    assert _exit_window(_start(algorithm, _PLAIN)) > 0.5 * (5000 + _BDP_PKTS)
    windows = []
    for method in (_HYSTART, _SEARCH, _HYSTART_PP):
        tables = _start(algorithm, method)
        assert _lost(tables) == 0, f"method {method}"
        windows.append(_exit_window(tables))
    hystart, search, hystart_pp = (window / _BDP_PKTS for window in windows)
    assert 1.0 < hystart < 2.0
    assert 2.0 < search < 5.0
    assert 4 * 1.25**4 < hystart_pp < 4 * 1.25**6


def test_the_default_is_what_it_was() -> None:
    for algorithm in _ALGORITHMS:
        parameters = {each.name: each for each in core.algorithm(algorithm).parameters}
        wanted = _HYSTART if algorithm == "cubic" else _PLAIN
        assert parameters["slow_start"].default == wanted
        assert parameters["slow_start"].max == _SEARCH


def test_hystart_pp_grows_by_a_quarter_once_the_rtt_has_grown() -> None:
    """RFC 9406 section 4.2: the window grows by a quarter per round trip instead of doubling."""
    samples = _start("reno", _HYSTART_PP)["samples"]
    end_s = samples.filter(pl.col("ssthresh_pkts").is_not_nan())["t_s"][0]

    def growth(t_s: float) -> float:
        now = samples.filter(pl.col("t_s") >= t_s).row(0, named=True)
        later = samples.filter(pl.col("t_s") >= t_s + now["srtt_ms"] / 1000)
        return float(later["cwnd_pkts"][0] / now["cwnd_pkts"])

    assert growth(0.15) > 1.7
    assert growth(0.25) > 1.7
    assert 1.15 < growth(end_s - 0.6) < 1.35
    assert 1.15 < growth(end_s - 0.4) < 1.35


def test_search_gives_back_what_two_round_trips_added() -> None:
    samples = _start("reno", _SEARCH)["samples"]
    after = samples.filter(pl.col("ssthresh_pkts").is_not_nan()).row(0, named=True)
    before = samples.filter(pl.col("t_s") < after["t_s"]).row(-1, named=True)
    given_back = before["cwnd_pkts"] - after["cwnd_pkts"]
    # Two initial RTTs at the link's rate are 2 BDP; five whole bins of 14 ms are slightly less.
    assert 1.5 * _BDP_PKTS < given_back < 2 * _BDP_PKTS


def test_cubic_without_hystart_still_starts_until_a_loss() -> None:
    def lost(**parameters: int) -> int:
        study = Study(
            algorithm="cubic", duration="3 s", link=_LINK, parameters={"cubic": parameters}
        )
        return int(run_once(study)["flows"]["retransmitted_pkts"][0])

    assert lost(hystart=0) == lost(slow_start=_PLAIN) > 100
    assert lost(hystart=1) < lost(hystart=0) / 2
