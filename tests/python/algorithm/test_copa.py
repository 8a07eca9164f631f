"""Copa on whole paths: claims of its paper on the default and the competitive mode."""

from __future__ import annotations

from typing import Any

import polars as pl

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_LINK = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "200 packets"}
_PHASES = {1: "slow_start", 2: "default", 3: "competitive"}


def _run(
    flows: list[dict[str, Any]], *, mode_switching: int = 1, **link: str
) -> dict[str, pl.DataFrame]:
    return run_once(
        Study(
            duration="20 s",
            warm_up="5 s",
            link=_LINK | link,
            flow=flows,
            parameters={"copa": {"mode_switching": mode_switching}},
            record={"samples": "10 ms", "events": True},
        )
    )


def test_it_fills_the_link_with_a_short_queue() -> None:
    flow = _run([{"algorithm": "copa"}])["flows"].row(0, named=True)
    assert flow["goodput_mbit_s"] > 0.97 * 20 * 1_448 / 1_514
    assert flow["rtt_p50_ms"] < 45
    assert flow["retransmitted_pkts"] == 0


def test_flows_share_equally_and_keep_two_packets_each_in_the_queue() -> None:
    flows = [{"algorithm": "copa", "count": 4, "start_jitter": "1 s"}]
    tables = _run(flows, mode_switching=0)
    rates = tables["flows"]["goodput_mbit_s"].to_list()
    assert min(rates) > 0.8 * max(rates)
    # Mean queue from section 2.1 of the paper: about 1.25 / delta packets per flow, so 2.5 for
    # each.
    queue = tables["samples"].filter(pl.col("t_s") > 5)["queue_pkts"].to_list()
    assert 5 < sum(queue) / len(queue) < 20


def test_the_queue_is_nearly_empty_every_five_round_trips() -> None:
    tables = _run([{"algorithm": "copa", "count": 2}], mode_switching=0)
    samples = tables["samples"].filter((pl.col("flow") == 0) & (pl.col("t_s") > 10))
    queue = samples["queue_pkts"].to_list()
    span = 22  # five round trips of 44 ms, in samples of 10 ms
    lowest = [min(queue[n : n + span]) for n in range(0, len(queue) - span, span)]
    assert max(lowest) <= 4


def test_it_holds_its_own_against_cubic() -> None:
    def share(mode_switching: int) -> float:
        flows = [{"algorithm": "copa"}, {"algorithm": "cubic"}]
        rates = _run(flows, mode_switching=mode_switching)["flows"]["goodput_mbit_s"].to_list()
        return float(rates[0] / sum(rates))

    assert share(0) < 0.2
    assert 1 / 3 < share(1) < 2 / 3


def test_random_loss_does_not_slow_it_down() -> None:
    flow = _run([{"algorithm": "copa"}], loss="1 %")["flows"].row(0, named=True)
    assert flow["goodput_mbit_s"] > 0.95 * 20 * 1_448 / 1_514


def test_a_timeout_begins_slow_start_anew() -> None:
    study = Study(
        algorithm="copa",
        duration="10 s",
        link=_LINK | {"outages": [{"start": "5 s", "stop": "6 s"}]},
        record={"events": True},
    )
    tables = run_once(study)
    assert tables["flows"]["timeouts"][0] > 0
    events = tables["events"].filter((pl.col("event") == "phase") & (pl.col("t_s") > 5))
    phases = [_PHASES[int(value)] for value in events["value"]]
    assert "slow_start" in phases
    assert "default" in phases[phases.index("slow_start") :]
