"""LEDBAT++ on whole paths: claims of its draft on delay, yielding, latecomers and slowdowns."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_LINK = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "500 packets"}
_FULL = 20 * 1_448 / 1_514  # goodput of a full link, Mbit/s
_PHASES = {1: "slow_start", 2: "avoidance", 3: "slowdown", 4: "ramp_up"}


def _run(flows: list[dict[str, Any]], *, duration: str = "60 s", **keys: Any) -> Any:  # noqa: ANN401
    return run_once(
        Study(
            duration=duration,
            warm_up="20 s",
            link=_LINK,
            flow=flows,
            record={"samples": "10 ms", "events": True},
            **keys,
        )
    )


def _phases(tables: dict[str, pl.DataFrame]) -> list[tuple[float, str]]:
    events = tables["events"].filter((pl.col("event") == "phase") & (pl.col("flow") == 0))
    return [(t, _PHASES[int(value)]) for t, value in events.select("t_s", "value").rows()]


def test_it_uses_the_link_and_keeps_the_queue_at_its_target() -> None:
    tables = _run([{"algorithm": "ledbat-pp"}])
    flow = tables["flows"].row(0, named=True)
    # A tenth of the time is spent in slowdowns, during which the queue lasts for a while.
    assert flow["goodput_mbit_s"] > 0.88 * _FULL
    assert flow["retransmitted_pkts"] == 0
    assert 40 + 45 < flow["rtt_p95_ms"] < 40 + 66


@pytest.mark.parametrize("target", [20, 100])
def test_the_target_is_a_parameter(target: int) -> None:
    tables = _run([{"algorithm": "ledbat-pp"}], parameters={"ledbat-pp": {"target": target}})
    assert tables["flows"]["rtt_p95_ms"][0] == pytest.approx(40 + target, abs=0.15 * target + 2)


def test_the_first_slowdown_comes_two_round_trips_after_slow_start_and_the_next_after_nine() -> (
    None
):
    phases = _phases(_run([{"algorithm": "ledbat-pp"}]))
    assert [phase for _, phase in phases[:6]] == [
        *("slow_start", "avoidance", "slowdown", "ramp_up", "avoidance", "slowdown"),
    ]
    times = [t for t, _ in phases]
    round_trip = 0.04 + 0.045
    assert times[2] - times[1] == pytest.approx(2 * round_trip, abs=0.08)
    assert times[5] - times[4] == pytest.approx(9 * (times[4] - times[2]), abs=0.1)


def test_two_packets_are_left_for_two_round_trips_of_a_slowdown() -> None:
    tables = _run([{"algorithm": "ledbat-pp"}])
    starts = [t for t, phase in _phases(tables) if phase == "slowdown"]
    samples = tables["samples"].filter(pl.col("flow") == 0)
    for start in starts:
        within = samples.filter(pl.col("t_s").is_between(start + 0.01, start + 0.09))
        assert within["cwnd_pkts"].to_list() == [2] * within.height
        empty = samples.filter(pl.col("t_s").is_between(start, start + 0.3))["queue_pkts"]
        assert empty.min() == 0


def test_it_makes_way_for_cubic() -> None:
    flows = [{"algorithm": "ledbat-pp"}, {"algorithm": "cubic"}]
    rates = _run(flows)["flows"]["goodput_mbit_s"].to_list()
    assert rates[0] < 0.05 * sum(rates)


@pytest.mark.parametrize(("slowdowns", "is_fair"), [(1, True), (0, False)])
def test_slowdowns_take_the_advantage_from_a_latecomer(*, slowdowns: int, is_fair: bool) -> None:
    flows = [{"algorithm": "ledbat-pp"}, {"algorithm": "ledbat-pp", "start": "10 s"}]
    keys = {"parameters": {"ledbat-pp": {"slowdowns": slowdowns}}}
    early, late = _run(flows, duration="120 s", **keys)["flows"]["goodput_mbit_s"].to_list()
    assert (max(early, late) < 1.5 * min(early, late)) == is_fair


def test_after_a_timeout_it_ramps_up() -> None:
    study = Study(
        algorithm="ledbat-pp",
        duration="20 s",
        link=_LINK | {"outages": [{"start": "5 s", "stop": "7 s"}]},
        record={"events": True},
    )
    tables = run_once(study)
    assert tables["flows"]["timeouts"][0] > 0
    later = [phase for t, phase in _phases(tables) if t > 5]
    assert later[:2] == ["ramp_up", "avoidance"]
