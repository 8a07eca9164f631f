"""C4 on whole paths: claims of its drafts on phases, pushes, losses, sharing and resuming."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_LINK = {"rate": "20 Mbit/s", "delay": "40 ms", "queue": "1 BDP"}
_FULL = 20 * 1_448 / 1_514  # goodput of a full link, Mbit/s
_PHASES = {1: "initial", 2: "recovery", 3: "cruising", 4: "pushing"}


def _run(
    flows: list[dict[str, Any]],
    *,
    duration: str = "30 s",
    link: dict[str, Any] | None = None,
    parameters: dict[str, int] | None = None,
) -> dict[str, pl.DataFrame]:
    return run_once(
        Study(
            duration=duration,
            link=_LINK | (link or {}),
            flow=flows,
            parameters={"c4-00": parameters or {}},
            record={"samples": "10 ms", "events": True},
        )
    )


def _phases(tables: dict[str, pl.DataFrame]) -> list[tuple[float, str]]:
    events = tables["events"].filter((pl.col("event") == "phase") & (pl.col("flow") == 0))
    return [(t, _PHASES[int(value)]) for t, value in events.select("t_s", "value").rows()]


def _rate(tables: dict[str, pl.DataFrame], t: float) -> float:
    later = tables["samples"].filter((pl.col("flow") == 0) & (pl.col("t_s") > t + 0.011))
    return float(later["pacing_rate_mbit_s"][0])


def test_the_draft_s_first_test_holds() -> None:
    """10 MB at 20 Mbit/s and 80 ms take at most 5 s; typically 4.85 s, with 0.8 s of initial phase.

    Here, the path is full after 0.7 s. The queue holds the rest of the window, so the phase is not
    ended by a loss but by three eras of 160 ms without growth.
    """
    tables = _run([{"algorithm": "c4-00", "bytes": "10 MB"}])
    assert tables["flows"]["completion_ms"][0] < 5_000
    recovery = next(t for t, phase in _phases(tables) if phase == "recovery")
    assert 0.7 < recovery < 0.7 + 3.5 * 0.16


def test_it_keeps_the_queue_short() -> None:
    """The median RTT is at most 5 % above 80 ms; a push of 17/16 adds 5 ms for one round trip."""
    flow = _run([{"algorithm": "c4-00"}])["flows"].row(0, named=True)
    assert flow["goodput_mbit_s"] > 0.95 * _FULL
    assert flow["rtt_p50_ms"] < 1.05 * 80


def test_it_pushes_by_a_sixteenth_every_sixth_round_trip() -> None:
    tables = _run([{"algorithm": "c4-00"}])
    phases = [entry for entry in _phases(tables) if entry[0] > 10]
    assert {phase for _, phase in phases} == {"recovery", "cruising", "pushing"}
    pushes = [t for t, phase in phases if phase == "pushing"]
    gaps = [b - a for a, b in pairwise(pushes)]
    assert min(gaps) > 6 * 0.08
    assert max(gaps) < 7 * 0.08
    cruising = next(t for t, phase in phases if phase == "cruising")
    nominal = _rate(tables, cruising)
    assert _rate(tables, pushes[1]) == pytest.approx(17 / 16 * nominal, rel=0.01)


def test_after_a_success_it_pushes_by_a_quarter_and_after_three_starts_anew() -> None:
    faster = {"rate": "5 Mbit/s", "schedule": [{"at": "6 s", "rate": "20 Mbit/s"}]}
    tables = _run([{"algorithm": "c4-00"}], link=faster | {"queue": "200 packets"})
    phases = [entry for entry in _phases(tables) if entry[0] > 6]
    anew = next(t for t, phase in phases if phase == "initial")
    assert anew < 6 + 4 * 7 * 0.08
    pushes = [t for t, phase in phases if phase == "pushing" and t < anew]
    before = [max(t for t, phase in _phases(tables) if t < push) for push in pushes]
    gains = [
        _rate(tables, push) / _rate(tables, cruise)
        for push, cruise in zip(pushes, before, strict=True)
    ]
    assert gains[-1] == pytest.approx(5 / 4, rel=0.02)
    assert _run([{"algorithm": "c4-00"}], link=faster)["flows"]["goodput_mbit_s"][0] > 13


def test_single_losses_slow_it_down_to_the_rate_at_which_they_are_below_the_threshold() -> None:
    """One loss adds 1/16 to the smoothed loss rate: the threshold at a sensitivity of 0.915.

    The threshold is 0.02 + 0.5 * (1 - sensitivity); the sensitivity at 973 kB/s is 0.915.
    """
    threshold = 0.973 * 8
    link = {"loss": "1 %"}
    for rate in ("20 Mbit/s", "100 Mbit/s"):
        flow = _run([{"algorithm": "c4-00"}], link=link | {"rate": rate})["flows"]
        assert 0.75 * threshold < flow["goodput_mbit_s"][0] < 1.1 * threshold
    reno = _run([{"algorithm": "reno"}], link=link)["flows"]["goodput_mbit_s"][0]
    assert reno < 0.5 * threshold


def test_the_faster_flow_gives_way() -> None:
    flows = [{"algorithm": "c4-00"}, {"algorithm": "c4-00", "start": "5 s"}]
    early, late = _run(flows, duration="60 s")["flows"]["goodput_mbit_s"].to_list()
    assert max(early, late) < 2 * min(early, late)


def _time_of_200_kb(**parameters: int) -> float:
    flows = [{"algorithm": "c4-00", "bytes": "200 kB"}]
    return float(_run(flows, parameters=parameters)["flows"]["completion_ms"][0])


def test_it_resumes_from_half_of_a_saved_window() -> None:
    tables = _run(
        [{"algorithm": "c4-00"}], duration="2 s", parameters={"saved_cwnd": 200, "saved_rtt": 80}
    )
    acked = 2 * 0.08 + 0.02
    assert _rate(tables, acked) == pytest.approx(100_000 * 8 / 0.08 / 1e6, rel=0.06)
    assert _time_of_200_kb(saved_cwnd=200, saved_rtt=80) < _time_of_200_kb() - 100


@pytest.mark.parametrize("saved_rtt", [7, 170])
def test_it_does_not_resume_on_another_path(saved_rtt: int) -> None:
    """RFC 9959: the RTT is below half of the saved RTT, or above ten times the saved RTT."""
    assert _time_of_200_kb(saved_cwnd=200, saved_rtt=saved_rtt) == _time_of_200_kb()


def test_a_loss_takes_the_saved_window_back() -> None:
    """The path is now 20 times slower than when the window was saved."""
    tables = _run(
        [{"algorithm": "c4-00"}],
        duration="10 s",
        link={"rate": "1 Mbit/s", "queue": "20 packets"},
        parameters={"saved_cwnd": 200, "saved_rtt": 80},
    )
    recovery = next(t for t, phase in _phases(tables) if phase == "recovery")
    assert _rate(tables, recovery) < 1
    assert tables["flows"]["goodput_mbit_s"][0] > 0.6 * _FULL / 20
