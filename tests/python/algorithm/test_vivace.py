"""PCC Vivace on wires: claims of its paper on small queues, random loss, delay and fairness."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

_LINK = {"rate": "100 Mbit/s", "delay": "15 ms", "queue": "75 kB"}
_FULL = 100 * 1_448 / 1_514  # goodput of a full link, Mbit/s


def _flows(*algorithms: str, duration: str = "60 s", **keys: Any) -> pl.DataFrame:  # noqa: ANN401
    study = Study(
        duration=duration,
        warm_up="20 s",
        link=_LINK | keys.pop("link", {}),
        flow=[{"algorithm": name} for name in algorithms],
        **keys,
    )
    return run_once(study)["flows"]


@pytest.mark.parametrize("queue", ["4 packets", "75 kB", "3 MB"])
def test_it_fills_the_link_behind_any_queue_and_keeps_the_queue_short(queue: str) -> None:
    flow = _flows("vivace", link={"queue": queue}).row(0, named=True)
    assert flow["goodput_mbit_s"] > 0.9 * _FULL
    assert flow["rtt_p95_ms"] < 30 + 3
    assert flow["retransmitted_pct"] < 0.5


def test_random_losses_of_3_percent_cost_it_little() -> None:
    lossy = {"loss": "3 %"}
    vivace, cubic = (_flows(name, link=lossy)["goodput_mbit_s"][0] for name in ("vivace", "cubic"))
    assert vivace > 0.6 * _FULL
    assert cubic < 0.05 * _FULL


def test_losses_beyond_what_its_utility_bears_make_it_slow() -> None:
    some, many = (_flows("vivace", link={"loss": f"{n} %"})["goodput_mbit_s"][0] for n in (2, 10))
    assert many < 0.5 * some


def _on_preset(preset: str, *, falling: int) -> tuple[float, float]:
    """Return goodput in Mbit/s and retransmissions in %, as means over three channels."""
    flows = pl.concat(
        run_once(
            Study(
                duration="30 s",
                link={"preset": preset},
                algorithm="vivace",
                parameters={"vivace": {"falling": falling}},
                seed=seed,
            )
        )["flows"].select("goodput_mbit_s", "retransmitted_pct")
        for seed in (1, 2, 3)
    )
    goodput, retransmitted = flows.mean().row(0)
    return goodput, retransmitted


@pytest.mark.parametrize(
    ("preset", "least_mbit_s"),
    [("wifi-typical", 35), ("lte-typical", 5), ("lte-bad", 1.5), ("nr-typical", 35)],
)
def test_long_queues_of_radio_links_do_not_make_it_lose_most_packets(
    preset: str, least_mbit_s: float
) -> None:
    goodput, retransmitted = _on_preset(preset, falling=1)
    assert retransmitted < 10
    assert goodput > least_mbit_s


@pytest.mark.parametrize("preset", ["lte-typical", "nr-typical"])
def test_it_is_faster_on_radio_links_if_a_falling_rtt_adds_nothing(preset: str) -> None:
    (paper, _), (later, retransmitted) = (_on_preset(preset, falling=n) for n in (1, 0))
    assert later > 1.15 * paper
    assert retransmitted < 3


def test_two_of_them_share_a_link() -> None:
    rates = _flows("vivace", "vivace", duration="200 s")["goodput_mbit_s"].to_list()
    assert sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)) > 0.98
    assert sum(rates) > 0.85 * _FULL


def test_it_follows_the_rate_of_the_link() -> None:
    study = Study(
        duration="60 s",
        link={
            **_LINK,
            "schedule": [{"at": "20 s", "rate": "20 Mbit/s"}, {"at": "40 s", "rate": "100 Mbit/s"}],
        },
        algorithm="vivace",
        record={"samples": "1 s"},
    )
    samples = run_once(study)["samples"]

    def mean(start: float, end: float) -> float:
        within = samples.filter(pl.col("t_s").is_between(start, end, closed="right"))
        rates: list[float] = within["goodput_mbit_s"].to_list()
        return sum(rates) / len(rates)

    assert mean(30, 40) > 0.8 * _FULL / 5
    assert mean(52, 60) > 0.8 * _FULL
