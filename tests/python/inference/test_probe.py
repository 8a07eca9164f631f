"""Links are inferred from a probe: a bulk phase, a pause, and a ramp of rates."""

from __future__ import annotations

import itertools
from dataclasses import replace
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import cwndlab as cw
from cwndlab.api.fitting import measured_flow, measured_flows
from cwndlab.cli.live import folders_of_probes, live_command
from cwndlab.errors import MeasurementError
from cwndlab.inference import wires
from cwndlab.inference.fitting import PROBE_INTERVAL_S, PROBE_S, Fit, fit_flow
from cwndlab.inference.importance import WeightedPoints
from cwndlab.inference.posterior import Check, Member, Posterior
from cwndlab.inference.probe import Ramp, bulk_samples, of_ramp
from cwndlab.inference.simulation import Simulation
from cwndlab.measure.wire.schedules import ramp_writes
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


def test_every_finished_probe_has_a_folder_of_its_own(tmp_path: Path) -> None:
    first = tmp_path / "probe-live"
    assert folders_of_probes(first) == [first]
    first.mkdir()  # a probe that failed
    assert folders_of_probes(first) == [first]
    for name in ("probe-live", "probe-live-2"):
        assert folders_of_probes(first)[-1].name == name
        cw.Study(link=LINK, algorithm="cubic", duration="1 s").run(tmp_path / name)
    names = [each.name for each in folders_of_probes(first)]
    assert names == ["probe-live", "probe-live-2", "probe-live-3"]


def test_the_status_of_a_probe_is_that_of_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("probe-live", "probe-live-2"):
        cw.Study(link=LINK, algorithm="cubic", duration="1 s").run(tmp_path / "results" / name)
    shown: list[Path] = []

    def rows(_: object, folder: Path) -> list[dict[str, str]]:
        shown.append(folder)
        return []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cwndlab.cli.live.status_rows", rows)
    found = CliRunner().invoke(live_command, ["--probe", "--status", "--server", "127.0.0.1"])
    assert found.exit_code == 0, found.output
    assert [each.name for each in shown] == ["probe-live-2"]


def test_a_probe_without_a_ramp_has_no_statistics_of_light_load(tmp_path: Path) -> None:
    results = probed(tmp_path / "probe")
    samples = {
        name: results.samples()[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ("t_s", "goodput_mbit_s", "srtt_ms")
    }
    ramp = Ramp.of(STANDARD_PROBE, 3.86, 30.0)
    assert ramp.half_step == 4  # 1 Mbit/s; 2 Mbit/s would be more than half
    names = {"light_trip", "light_spread", "half_trip", "half_spread"}
    assert set(of_ramp(samples, ramp)) == names
    cut = bulk_samples(samples, STANDARD_PROBE)
    assert cut["t_s"].max() == pytest.approx(18, abs=0.03)
    assert of_ramp(cut, ramp) == {}
    assert of_ramp({}, ramp) == {}


def test_the_step_of_medium_load_is_one_that_the_probe_reaches() -> None:
    assert Ramp.of(STANDARD_PROBE, 10_000.0, 30.0).half_step == 10
    assert Ramp.of(STANDARD_PROBE, 0.1, 30.0).half_step < 1
    assert Ramp.of(STANDARD_PROBE, 4.0, 15.0).half_step < 1  # the probe ended before its ramp
    assert Ramp.of(STANDARD_PROBE, float("nan"), 30.0).half_step == 0


def test_unexplained_probes_are_scaled_by_a_simulated_probe(tmp_path: Path) -> None:
    """On the true link, a bulk flow is predicted as it is, although the probe carried less."""
    flow = measured_flow(probed(tmp_path / "probe"))
    assert flow.row["goodput_mbit_s"] < 3.4
    family = replace(wires.wire(3.0, wires.round_trip(40.0)), build=lambda *_: {"link": LINK})
    chosen = WeightedPoints(
        np.full((1, 7), 0.5), np.ones(1), np.full((1, 7), 0.5), np.ones((1, 1)), np.zeros(1, int)
    )
    posterior = Posterior((Member(family, 1.0, chosen),), {"goodput": 1.0}, np.ones((1, 1)))
    check = Check(0.01, "goodput", is_above=True, excess=2.0)
    found = Fit((flow,), posterior, check, Simulation(30.0, 2))
    (reno,) = found.predict(["reno"])
    assert reno.goodput_mbit_s[1] == pytest.approx(3.83, rel=0.02)


def test_probes_of_two_links_are_not_taken_for_one(tmp_path: Path) -> None:
    study = cw.Study(
        link=[LINK, LINK.replace("4 Mbit/s", "8 Mbit/s")],
        algorithm="cubic",
        duration="30 s",
        application="probe",
        record={"samples": "100 ms"},
    )
    with pytest.raises(MeasurementError, match="contains 2 runs"):
        measured_flows(study.run(tmp_path / "two"))


def test_several_measurements_of_a_path_are_read_together(tmp_path: Path) -> None:
    results = [probed(tmp_path / "one"), probed(tmp_path / "two")]
    assert len(measured_flows(results)) == 2


def test_the_server_writes_when_the_simulator_writes() -> None:
    """The times are those of the simulator's tests: 92.672 ms for a segment at 125 kbit/s."""
    times_ns, sizes = zip(*itertools.islice(ramp_writes(STANDARD_PROBE), 14), strict=True)
    assert times_ns[:2] == (92_672_000, 185_344_000)
    assert set(sizes) == {1448}
    assert times_ns[10] == 1_009_696_000  # after 10.79 segments in the first second
