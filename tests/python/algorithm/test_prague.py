"""Prague on whole paths: the delay, sharing and fall-backs that its draft requires."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_MBIT_S = 40
_LINK = {"rate": f"{_MBIT_S} Mbit/s", "delay": "10 ms", "aqm": "dualpi2"}
_FULL = _MBIT_S * 1_448 / 1_514  # goodput of a full link
_BASE_MS = 20


def _run(*algorithms: str, link: dict[str, Any] = _LINK, **keys: Any) -> dict[str, pl.DataFrame]:  # noqa: ANN401
    flows = [{"algorithm": name} for name in algorithms]
    return run_once(
        Study(
            duration="40 s",
            warm_up="10 s",
            link=link,
            flow=flows,
            record={"samples": "10 ms", "events": True},
            **keys,
        )
    )


def _goodput(tables: dict[str, pl.DataFrame]) -> list[float]:
    return tables["flows"]["goodput_mbit_s"].to_list()


def test_alone_it_fills_the_link_without_a_loss_and_waits_less_than_two_milliseconds() -> None:
    flow = _run("prague")["flows"].row(0, named=True)
    assert flow["goodput_mbit_s"] > 0.95 * _FULL
    assert flow["retransmitted_pkts"] == 0
    assert flow["rtt_p99_ms"] - _BASE_MS < 2


def test_beside_cubic_it_waits_less_than_two_milliseconds_and_takes_its_share() -> None:
    tables = _run("prague", "cubic")
    prague, cubic = _goodput(tables)
    assert 0.5 < prague / cubic < 2
    assert prague + cubic > 0.9 * _FULL
    delays = tables["flows"]["rtt_p99_ms"] - _BASE_MS
    assert delays[0] < 2 < delays[1]


def test_two_of_them_share_a_link() -> None:
    first, second = _goodput(_run("prague", "prague"))
    assert 0.8 < first / second < 1.25


def test_marks_are_as_many_as_hold_a_window_where_they_come_at_random_or_at_a_step() -> None:
    # A reduction subtracts half of the packets marked in a round trip; growth adds one packet. Two
    # random marks per round trip are therefore in balance. At a step, all packets are marked in one
    # of sqrt(w / 2) round trips (Alizadeh et al., SIGCOMM 2010, section 3.3).
    tables = _run("prague")
    flow, link = tables["flows"].row(0, named=True), tables["links"].row(0, named=True)
    rounds = 30 / (flow["rtt_mean_ms"] / 1e3)
    assert 2 < link["marked_pkts"] / rounds < (2 * flow["cwnd_mean_pkts"]) ** 0.5


def test_without_marks_it_is_reno() -> None:
    link = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "70 packets"}
    prague, reno = (_run(name, link=link) for name in ("prague", "reno"))
    assert _goodput(prague)[0] == pytest.approx(_goodput(reno)[0], rel=0.05)
    # Pacing removes the bursts, so losses occur a little later.
    lost = [run["flows"]["retransmitted_pkts"][0] for run in (prague, reno)]
    assert 0 < lost[0] < 3 * lost[1]


def test_a_receiver_that_knows_only_the_ecn_of_1999_makes_it_reno_with_ect0() -> None:
    flow = {"algorithm": "prague", "receiver_algorithm": "reno"}
    tables = run_once(
        Study(
            duration="40 s",
            warm_up="10 s",
            link=_LINK,
            flow=[flow],
            record={"samples": "10 ms", "events": True},
        )
    )
    row = tables["flows"].row(0, named=True)
    phases = tables["events"].filter(pl.col("event") == "phase")["value"].to_list()
    assert set(phases) == {3}  # classic
    # DualPI2's target for the classic queue is 15 ms.
    assert 5 < row["rtt_p95_ms"] - _BASE_MS < 40
    assert row["goodput_mbit_s"] > 0.85 * _FULL


def test_on_a_short_path_a_long_flow_grows_as_if_the_round_trip_took_25_ms() -> None:
    short = {"rate": "40 Mbit/s", "delay": "2 ms", "aqm": "dualpi2"}
    shares = []
    for rounds in (100_000, 0):
        flows = [{"algorithm": "prague"}, {"algorithm": "prague", "access_delay": "10 ms"}]
        tables = run_once(
            Study(
                duration="60 s",
                warm_up="20 s",
                link=short,
                flow=flows,
                parameters={"prague": {"rtt_virt_rounds": rounds}},
            )
        )
        near, far = _goodput(tables)
        shares.append(near / far)
    assert shares[0] > 2
    assert 0.6 < shares[1] < 1.6
