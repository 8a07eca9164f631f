"""Methods of slow start that algorithms share: HyStart, HyStart++, SEARCH and Careful Resume."""

from __future__ import annotations

import polars as pl
import pytest

from cwndlab import core
from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_PLAIN, _HYSTART, _HYSTART_PP, _SEARCH, _RESUME = range(5)
_ALGORITHMS = (
    "reno",
    "cubic",
    "bic",
    "highspeed",
    "scalable",
    "westwood",
    "westwood-2001",
    "veno",
    "illinois",
    "htcp",
    "compound",
    "yeah",
)
# These end slow start or grow by rules of their own, with every method.
_OWN_RULES = ("cdg", "dctcp", "hybla", "nv", "prague", "vegas")
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


@pytest.mark.parametrize("algorithm", [each for each in _ALGORITHMS if each != "yeah"])
def test_slow_start_ends_before_the_queue_overflows(algorithm: str) -> None:
    """The earlier slow start ends, the smaller the window: HyStart ends it when the path is full.

    SEARCH ends it two round trips later. HyStart++ detects the growth of the RTT two rounds after
    the path is full; the window then grows by a factor of 1.25^5.
    YeAH ends its slow start when a queue builds up.
    """
    plain = _start(algorithm, _PLAIN)
    assert max(plain["samples"]["cwnd_pkts"].to_list()) > 6 * _BDP_PKTS
    windows = []
    for method in (_HYSTART, _SEARCH, _HYSTART_PP):
        tables = _start(algorithm, method)
        assert _lost(tables) == 0, f"method {method}"
        windows.append(_exit_window(tables))
    hystart, search, hystart_pp = (window / _BDP_PKTS for window in windows)
    assert 1.0 < hystart < 2.0
    assert 2.0 < search < 5.0
    assert 4 * 1.25**4 < hystart_pp < 4 * 1.25**6


@pytest.mark.parametrize("algorithm", ["dctcp", "hybla", "prague"])
def test_methods_end_the_slow_start_of_algorithms_that_only_grow_differently(
    algorithm: str,
) -> None:
    """Nothing marks packets here, so only the method or a loss ends slow start."""
    windows = [
        _exit_window(_start(algorithm, method))
        for method in (_HYSTART, _SEARCH, _HYSTART_PP, _PLAIN)
    ]
    assert windows[0] < 3 * _BDP_PKTS
    assert windows[1] < 12 * _BDP_PKTS
    assert windows[:3] == sorted(windows[:3]) or algorithm == "hybla"
    assert max(windows[:3]) < windows[3]


@pytest.mark.parametrize("algorithm", ["nv", "vegas"])
def test_a_queue_ends_slow_start_with_every_method(algorithm: str) -> None:
    own = _exit_window(_start(algorithm, _PLAIN))
    for method in (_HYSTART, _HYSTART_PP, _SEARCH):
        tables = _start(algorithm, method)
        assert _exit_window(tables) <= own
        assert _lost(tables) == 0


def test_the_method_takes_the_place_of_cdgs_own_hystart() -> None:
    hystart, hystart_pp, search = (
        _exit_window(_start("cdg", method)) for method in (_PLAIN, _HYSTART_PP, _SEARCH)
    )
    assert hystart < 1.6 * _BDP_PKTS
    assert min(hystart_pp, search) > 2 * _BDP_PKTS


def test_the_default_is_what_it_was() -> None:
    for algorithm in _ALGORITHMS + _OWN_RULES:
        parameters = {each.name: each for each in core.algorithm(algorithm).parameters}
        wanted = _HYSTART if algorithm == "cubic" else _PLAIN
        assert parameters["slow_start"].default == wanted
        assert parameters["slow_start"].max == _RESUME
        assert parameters["saved_cwnd"].default == 0


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


# A receiver of Linux would offer 64 kB at first, which the jump exceeds.
_WHOLE_WINDOW = {"receive_window_opens_by_arrivals": False, "receive_buffer_bytes": 4_000_000}


def _resume(
    algorithm: str = "reno",
    *,
    saved_kb: int = 480,
    saved_rtt_ms: int = 40,
    size: str | None = "1 MB",
    **link: str,
) -> dict[str, pl.DataFrame]:
    flow: dict[str, object] = {"algorithm": algorithm}
    saved = {"saved_cwnd": saved_kb, "saved_rtt": saved_rtt_ms}
    return run_once(
        Study(
            duration="10 s",
            link=_LINK | link,
            flow=[flow if size is None else flow | {"bytes": size}],
            stack_overrides=_WHOLE_WINDOW,
            parameters={algorithm: {"slow_start": _RESUME} | saved},
            record={"samples": "1 ms", "events": True},
        )
    )


def _completion_ms(tables: dict[str, pl.DataFrame]) -> float:
    return float(tables["flows"]["completion_ms"][0])


@pytest.mark.parametrize("algorithm", _ALGORITHMS + _OWN_RULES)
def test_careful_resume_saves_round_trips(algorithm: str) -> None:
    """The saved window is 332 packets, a BDP: after the first window, half of it is sent.

    Slow start needs four more round trips to get from 10 to 166 packets.
    """
    plain = _completion_ms(_resume(algorithm, saved_kb=0))
    assert _completion_ms(_resume(algorithm)) < plain - 2 * 40


def test_careful_resume_jumps_to_half_of_the_saved_window() -> None:
    samples = _resume()["samples"]
    # The first window of 10 is acknowledged after two round trips, handshake included.
    before = samples.filter(pl.col("t_s") < 0.079)["cwnd_pkts"]
    after = samples.filter((pl.col("t_s") > 0.084) & (pl.col("t_s") < 0.118))["cwnd_pkts"]
    assert before.unique().to_list() == [10]
    assert after.unique().to_list() == [480_000 // 1_448 // 2]
    # It is paced, and validated a round trip later: then slow start continues.
    assert max(samples.filter(pl.col("t_s") > 0.2)["cwnd_pkts"].to_list()) > 200


@pytest.mark.parametrize("saved_rtt_ms", [3, 90])
def test_careful_resume_stays_away_from_another_path(saved_rtt_ms: int) -> None:
    """RFC 9959: the RTT is at most half of the saved RTT, or more than ten times as long."""
    plain = _completion_ms(_resume(saved_kb=0))
    assert _completion_ms(_resume(saved_rtt_ms=saved_rtt_ms)) == plain


def test_careful_resume_retreats_to_half_of_what_the_path_carried() -> None:
    """The path carries 3.3 packets per RTT and queues 20, not the saved 332."""
    tables = _resume(size=None, rate="1 Mbit/s", queue="20 packets")
    lost = tables["events"].filter(pl.col("event").is_in(["recovery", "loss"]))["t_s"][0]
    threshold = tables["samples"].filter(pl.col("t_s") > lost + 0.002)["ssthresh_pkts"][0]
    assert 10 <= threshold <= 20
    assert tables["flows"]["goodput_mbit_s"][0] > 0.85


def test_prague_retreats_at_a_mark() -> None:
    """A mark during the jump leaves half of what the path has carried, not 1 - alpha / 2.

    Until the first ACK of a marked packet, 100 Mbit/s have carried the first window of ten packets.
    """
    tables = _resume("prague", size=None, saved_kb=4_800, aqm="dualpi2")
    windows = tables["samples"].filter(pl.col("t_s") < 0.2)["cwnd_pkts"].to_list()
    assert max(windows) == 4_800_000 // 1_448 // 2
    assert windows[-1] == 10
