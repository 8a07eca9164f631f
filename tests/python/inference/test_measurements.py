"""Measurements of other programs: smoothed round-trip times, noise, and no like simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cwndlab as cw
from cwndlab.api.fitting import measured_flow
from cwndlab.inference import fitting
from cwndlab.inference.choice import Chosen
from cwndlab.inference.families import families
from cwndlab.inference.fitting import fit_flow
from cwndlab.inference.importance import WeightedPoints
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.posterior import Check
from cwndlab.inference.simulation import Simulation
from cwndlab.inference.summaries import by_second, summarize

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.stats.bootstrap import Floats

_PERCENTILES = ("rtt_p95_ms", "rtt_p99_ms")


def as_iperf3_reports(flow: MeasuredFlow) -> MeasuredFlow:
    """Return a flow with only what the JSON output of an iperf3 client contains."""
    smoothed = flow.samples["srtt_ms"][flow.samples["srtt_ms"] > 0]
    hidden = dict.fromkeys((*_PERCENTILES, "recoveries", "timeouts", "retransmission_bursts"))
    base = {"rtt_base_ms": smoothed.min(), "rtt_p50_ms": float(np.median(smoothed))}
    samples = {name: flow.samples[name] for name in ("t_s", "srtt_ms", "cwnd_pkts")}
    return MeasuredFlow(flow.place, {**flow.row, **hidden, **base}, samples, flow.losses_s)


@pytest.mark.parametrize(("interval", "most"), [("1 s", 80.0), ("100 ms", 50.0)])
def test_the_delay_of_a_queue_that_never_empties_is_not_taken_for_that_of_the_path(
    interval: str, most: float, tmp_path: Path
) -> None:
    """The path takes 40 ms, and all samples once a second 80 ms or more, because of the queue."""
    study = cw.Study(
        link="rate=4 Mbit/s,delay=20 ms,queue=80 packets",
        algorithm="cubic",
        duration="15 s",
        record={"samples": interval},
    )
    flow = as_iperf3_reports(measured_flow(study.run(tmp_path / "measured")))
    assert flow.is_smoothed
    assert "rtt_base" not in flow.numbers()
    found = fit_flow(flow, jobs=2, kind="wire", rounds=3)
    round_trip = found.estimates()[1]
    assert round_trip.low <= 40 <= round_trip.high
    assert round_trip.value < most
    assert found.check.widening < 2


def test_only_round_trip_times_of_the_same_kind_are_compared(tmp_path: Path) -> None:
    study = cw.Study(
        link="rate=4 Mbit/s,delay=20 ms,queue=20 packets",
        algorithm="cubic",
        duration="12 s",
        record={"samples": "1 s"},
    )
    flow = measured_flow(study.run(tmp_path / "measured"))
    assert not flow.is_smoothed
    assert {"rtt_base", "rtt_p50"} <= flow.numbers().keys()
    assert "srtt_mid" not in flow.numbers()
    assert flow.numbers()["srtt_least"] >= flow.numbers()["rtt_base"]
    smoothed = as_iperf3_reports(flow)
    assert not {"rtt_base", "rtt_p50"} & smoothed.numbers().keys()
    assert {"srtt_least", "srtt_mid"} <= smoothed.numbers().keys()


def test_a_path_may_be_much_shorter_than_the_minimum_of_smoothed_samples() -> None:
    for is_smoothed, low in ((False, 60.0), (True, 10.0)):
        for family in families(5.0, 100.0, "wire", is_smoothed=is_smoothed):
            trip = next(each for each in family.parameters if each.name == "round_trip")
            assert (trip.low, trip.high) == pytest.approx((low, 102.0))


@pytest.mark.parametrize(("shortest_ms", "longest_ms"), [(6.0, 7.0), (6.3, 6.426), (100.0, 102.0)])
def test_a_path_may_be_longer_than_a_minimum_of_whole_milliseconds(
    shortest_ms: float, longest_ms: float
) -> None:
    """After a loss, round-trip times are those of timestamps, whose unit is 1 ms."""
    for family in families(5.0, shortest_ms):
        for each in family.parameters:
            if each.name in ("round_trip", "server"):
                ways = 1 if each.name == "round_trip" else 2
                assert each.high * ways == pytest.approx(longest_ms), family.name


def test_reports_that_are_milliseconds_late_belong_to_their_second() -> None:
    late = np.array([1.004, 2.0001, 3.0, 4.009, 5.0, 6.012, 7.0, 8.0, 9.006, 10.0, 11.0, 12.01])
    assert len(by_second({"t_s": late, "srtt_ms": late})["srtt_ms"]) == 9
    row = {"window_s": 60.0}
    late_losses, losses = (
        summarize(row, {}, np.array([10.0 + late, 20.0, 30.0 + late])) for late in (0.012, 0.0)
    )
    assert late_losses == losses


@pytest.mark.parametrize(
    ("step_s", "interval_s"), [(0.01, 0.1), (0.1, 0.1), (0.5, 0.5), (1.13, 1.0), (5.0, 1.0)]
)
def test_links_are_sampled_as_often_as_the_measurement(step_s: float, interval_s: float) -> None:
    samples: dict[str, Floats] = {"t_s": (np.arange(1, 30) * step_s).astype(np.float64)}
    assert MeasuredFlow("here", {}, samples).interval_s == pytest.approx(interval_s)
    simulation = Simulation(3.0, 1, interval_s)
    family = families(3.0, 40.0, "wire")[0]
    point = np.full(len(family.parameters), 0.4)
    (flow,) = simulation.flows([(family, point, 1)], "cubic")
    assert flow is not None
    assert np.diff(flow.samples["t_s"]) == pytest.approx(interval_s)


def test_a_window_does_not_depend_on_how_often_samples_are_taken() -> None:
    often = np.arange(0.1, 20.05, 0.1)
    once = often[9::10]
    rows = [{"t_s": at, "cwnd_pkts": 10 + at, "goodput_mbit_s": 1 + at} for at in (often, once)]
    windows = [by_second(samples)["cwnd_pkts"] for samples in rows]
    assert windows[0] == pytest.approx(windows[1])


def test_variations_below_one_per_cent_are_no_correlation() -> None:
    at = np.arange(1.0, 61.0)
    wave = np.sin(at)
    samples = {"t_s": at, "cwnd_pkts": 30 * np.exp(0.3 * wave)}
    for variation, low, high in ((0.002, 0.0, 0.3), (0.1, 0.9, 1.0)):
        moved = samples | {"srtt_ms": 50 * np.exp(variation * wave)}
        assert low < summarize({"window_s": 60.0}, moved)["window_and_rtt"] < high


@pytest.mark.parametrize("is_helpful", [True, False])
def test_a_correction_that_leads_away_from_the_measurement_is_dropped(
    is_helpful: bool,  # noqa: FBT001  a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Links of 3 Mbit/s reproduce the measurement, and links of 20 Mbit/s do not."""
    link = "rate=3 Mbit/s,delay=20 ms,queue=40 packets"
    study = cw.Study(link=link, algorithm="cubic", duration="12 s", record={"samples": "1 s"})
    flow = measured_flow(study.run(tmp_path / "measured"))
    draws = np.random.default_rng(4)
    right = np.array([0.06, 0.95, 0.73, 0.1, 0.1, 0.1, 0.1]) + draws.uniform(0, 0.02, (60, 7))
    wrong = right + np.array([0.8, 0, 0, 0, 0, 0, 0])
    corrected, raw = (right, wrong) if is_helpful else (wrong, right)

    def chosen(_measured: Floats, _dimensions: list[int], simulate: Any, **_: object) -> list[Any]:  # noqa: ANN401
        weights = np.full(60, 1 / 60)
        numbers = simulate(0, right, 0)
        points = WeightedPoints(corrected, weights, raw, numbers, np.arange(60))
        return [Chosen(0, 1.0, points)]

    monkeypatch.setattr(fitting, "choose", chosen)
    monkeypatch.setattr(Check, "is_explained", False)
    found = fitting.fit_flow(flow, jobs=2, kind="wire")
    rate = found.estimates()[0]
    assert rate.value == pytest.approx(3, rel=0.15)
