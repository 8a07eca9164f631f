"""Links are inferred from a probe: a bulk phase, a pause, and a ramp of rates."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import cwndlab as cw
from cwndlab.api.fitting import measured_flow, measured_flows
from cwndlab.cli.live import live_command, unused
from cwndlab.errors import MeasurementError
from cwndlab.inference.fitting import PROBE_INTERVAL_S, PROBE_S, fit_flow
from cwndlab.inference.probe import bulk_samples, of_ramp
from cwndlab.schema.application import STANDARD_PROBE
from cwndlab.study.definition import StudyDefinition

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results

LINK = "rate=4 Mbit/s,delay=20 ms,queue=60 packets"


def probed(folder: Path, algorithm: list[str] | str = "cubic") -> Results:
    """Simulate the standard probe on a wire, and return the results."""
    study = cw.Study(
        link=LINK,
        algorithm=algorithm,
        duration="30 s",
        application="probe",
        record={"samples": "100 ms", "events": True},
    )
    return study.run(folder)


def test_light_load_shows_the_path_and_bulk_shows_the_queue(tmp_path: Path) -> None:
    flow = measured_flow(probed(tmp_path / "probe"))
    assert flow.probe == STANDARD_PROBE
    numbers = flow.numbers()
    assert np.exp(numbers["rtt_base"]) == pytest.approx(40, abs=1)
    assert 40 < np.exp(numbers["light_trip"]) < 60  # the first seconds are still smoothed
    assert np.exp(numbers["half_trip"]) == pytest.approx(45, abs=3)
    assert np.exp(numbers["srtt_high"]) > 150  # the queue holds 180 ms
    assert np.exp(numbers["quarter_2"]) == pytest.approx(3.86, abs=0.1)


def test_the_link_of_a_probe_is_inferred_and_bulk_flows_are_predicted(tmp_path: Path) -> None:
    found = fit_flow(measured_flow(probed(tmp_path / "probe")), jobs=2, kind="wire", rounds=3)
    rate, round_trip, queue, *_ = found.estimates()
    assert rate.low <= 4 <= rate.high
    assert round_trip.value == pytest.approx(40, rel=0.1)
    assert queue.low <= 4.5 <= queue.high
    (reno,) = found.predict(["reno"])
    assert reno.goodput_mbit_s[1] == pytest.approx(3.85, rel=0.05)
    assert found.probed(["goodput"]) is None  # a second probe would reveal nothing new


def test_all_probes_of_a_folder_are_used_together(tmp_path: Path) -> None:
    results = probed(tmp_path / "probes", ["cubic", "reno"])
    assert [each.algorithm for each in measured_flows(results)] == ["cubic", "reno"]
    bulk = cw.Study(link=LINK, algorithm=["cubic", "reno"], duration="10 s").run(tmp_path / "bulk")
    with pytest.raises(MeasurementError, match="contains 2 runs"):
        measured_flows(bulk)


def test_the_packaged_study_measures_the_probe_that_predictions_assume() -> None:
    with as_file(files("cwndlab").joinpath("data", "probe.toml")) as path:
        (run,) = StudyDefinition.load(path, is_live=True).matrix.runs
    (flow,) = run.scenario.flows
    assert flow.application == STANDARD_PROBE
    assert flow.sender.algorithm == "cubic"
    assert run.scenario.duration_ns == PROBE_S * 1e9
    assert run.scenario.record.sample_interval_ns == PROBE_INTERVAL_S * 1e9


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "name a STUDY"), (["mine.toml", "--probe"], "takes no STUDY")]
)
def test_live_measures_either_a_study_or_a_probe(arguments: list[str], said: str) -> None:
    found = CliRunner().invoke(live_command, [*arguments, "--server", "127.0.0.1"])
    assert found.exit_code == 2
    assert said in found.output


def test_every_probe_has_a_folder_of_its_own(tmp_path: Path) -> None:
    first = tmp_path / "probe-live"
    for name in ("probe-live", "probe-live-2", "probe-live-3"):
        folder = unused(first)
        assert folder.name == name
        folder.mkdir()


def test_a_probe_without_a_ramp_has_no_statistics_of_light_load(tmp_path: Path) -> None:
    results = probed(tmp_path / "probe")
    samples = {
        name: results.samples()[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ("t_s", "goodput_mbit_s", "srtt_ms")
    }
    assert {"light_trip", "light_spread", "half_trip", "half_spread"} == set(
        of_ramp(samples, STANDARD_PROBE)
    )
    cut = bulk_samples(samples, STANDARD_PROBE)
    assert cut["t_s"].max() == pytest.approx(18, abs=0.03)
    assert of_ramp(cut, STANDARD_PROBE) == {}
