"""Links inferred from one flow: the method on cases with a known answer, and as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import cwndlab as cw
from cwndlab.api.fitting import measured_flow
from cwndlab.cli.fitting import fit_command
from cwndlab.errors import MeasurementError
from cwndlab.inference import choice, fitting
from cwndlab.inference.choice import choose
from cwndlab.inference.families import families
from cwndlab.inference.fitting import Outcomes
from cwndlab.inference.importance import (
    WeightedPoints,
    adjusted_values,
    adjusting_features,
    infer,
)
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.next_measurement import PROBED, next_measurement
from cwndlab.inference.posterior import Member, Posterior, population, quantiles
from cwndlab.inference.simulation import Simulation
from cwndlab.inference.summaries import summarize
from cwndlab.judge.populations import load_population
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.stats.bootstrap import Floats

LINK = "rate=3 Mbit/s,delay=20 ms,queue=40 packets"


@pytest.mark.parametrize("goodput", [3.0, 30.0])
def test_points_of_every_family_are_classes_of_users_that_can_be_run(
    goodput: float, tmp_path: Path
) -> None:
    draws = np.random.default_rng(1)
    links = [
        (family, draws.random(len(family.parameters)))
        for family in families(goodput, 40.0)
        for _ in range(4)
    ]
    file = tmp_path / "fitted.toml"
    file.write_text(write_toml(population(links, "here", 30, 1.0)))
    classes = load_population(str(file)).classes
    for n, ((family, point), users) in enumerate(zip(links, classes, strict=True)):
        settings = family.settings(point, 30, n)
        both = [{"link": users.link, **users.changes}, settings]
        paths = [
            cw.Study(**{"algorithm": "cubic", "duration": "30 s"} | each).matrix.runs[0].scenario
            for each in both
        ]
        assert paths[0] == paths[1], family.name


def test_all_families_carry_about_what_was_measured() -> None:
    """Otherwise, a family would have no chance, regardless of the measurement."""
    draws = np.random.default_rng(2)
    simulation = Simulation(10.0, 1)
    for family in families(5.0, 60.0):
        points = draws.random((12, len(family.parameters)))
        flows = simulation.flows([(family, point, n) for n, point in enumerate(points)], "cubic")
        rates = [flow.row["goodput_mbit_s"] for flow in flows if flow is not None]
        assert min(rates) < 10 < 12 * max(rates), family.name


def test_the_family_that_gives_the_numbers_is_chosen() -> None:
    """One statistic follows the coordinate; the other is the number of the family."""

    def simulate(position: int, points: Floats, first: int) -> Floats:
        noise = np.random.default_rng([position, first]).standard_normal((len(points), 2))
        return np.stack([points[:, 0], np.full(len(points), position)], axis=1) + 0.05 * noise

    measured = np.array([0.4, 1.0])
    first, *others = choose(measured, [1, 1], simulate, seed=1, rounds=4)
    assert first.position == 1
    assert first.probability > 0.95
    assert sum(each.probability for each in [first, *others]) == pytest.approx(1, abs=0.05)


def test_families_that_give_the_same_are_equally_probable() -> None:
    def simulate(position: int, points: Floats, first: int) -> Floats:
        noise = np.random.default_rng([position, first]).standard_normal(points.shape)
        return points + 0.05 * noise

    found = choose(np.array([0.3, 0.6]), [2, 2], simulate, seed=1, rounds=4)
    assert [each.probability for each in found] == pytest.approx([0.5, 0.5], abs=0.15)


@pytest.mark.parametrize(("useless", "widest"), [(0, 1.25), (40, 1.4)])
def test_a_normal_mean_is_inferred_as_widely_as_it_is_known(useless: int, widest: float) -> None:
    """Each of two statistics is a coordinate plus noise, so the posterior is a known normal.

    Statistics that contain only noise must not make it narrower.
    """
    noise, inside, widths = 0.03, 0, []
    for seed in range(20):
        draws = np.random.default_rng(seed)
        truth = draws.uniform(0.2, 0.8, 2)
        measured = np.hstack([truth, np.zeros(useless)])
        measured += noise * draws.standard_normal(2 + useless)

        def simulate(points: Floats, first: int) -> Floats:
            known: Floats = np.hstack([points, np.zeros((len(points), useless))])
            steps: Floats = np.random.default_rng(first + 1).standard_normal(known.shape)
            return known + noise * steps

        found = infer(measured, 2, simulate, seed=seed, rounds=5)
        for n in range(2):
            low, high = quantiles(found.points[:, n], found.weights, [0.05, 0.95])
            inside += low <= truth[n] <= high
            widths.append(high - low)
    assert 30 <= inside <= 40  # at 90 %, 36 of 40 are expected
    assert 0.75 < np.mean(widths) / (2 * 1.645 * noise) < widest


def test_a_value_near_the_end_of_its_range_is_inferred_without_bias() -> None:
    """The statistics are the coordinates; after one round, the points are still far from them."""
    for seed in range(4):
        truth = np.array([0.06, *np.random.default_rng(seed).uniform(0.2, 0.8, 4)])
        found = infer(truth, 5, lambda points, _: points, seed=seed, rounds=1)
        low, middle, high = quantiles(found.points[:, 0], found.weights, [0.05, 0.5, 0.95])
        assert middle == pytest.approx(0.06, abs=0.008)
        assert high - low < 0.025


def test_links_that_begin_far_too_fast_are_left_out() -> None:
    family, draws = families(3.0, 40.0)[0], np.random.default_rng(3)
    points = [(family, point, n) for n, point in enumerate(draws.random((12, 7)))]
    simulation = Simulation(15.0, 1)
    whole = simulation.numbers(points, "cubic", ["start", "goodput"])
    some = simulation.numbers(points, "cubic", ["start", "goodput"], 6.0)
    is_fast = np.exp(whole[:, 0]) > 6.0
    assert 0 < is_fast.sum() < len(points)
    assert np.isnan(some[is_fast]).all()
    assert (some[~is_fast] == whole[~is_fast]).all()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("measured") / "cubic"
    study = cw.Study(link=LINK, algorithm="cubic", duration="12 s", record={"samples": "1 s"})
    return study.run(folder)


def test_algorithms_that_were_not_measured_are_predicted(results: Results) -> None:
    found = fitting.fit_flow(measured_flow(results), jobs=2, kind="wire", rounds=5)
    assert found.posterior.members[0].family.name == "wire"
    rate, round_trip, *_ = found.estimates()
    assert rate.low <= 3.0 <= rate.high
    assert rate.high < 4.0
    assert round_trip.value == pytest.approx(40, rel=0.1)
    assert found.check.is_explained
    truth = cw.Study(link=LINK, algorithm=["reno", "bbr"], duration="12 s").run(
        results.path.parent / "truth"
    )
    goodput = dict(truth.flows().select("algorithm", "goodput_mbit_s").iter_rows())
    for prediction in found.predict(["reno", "bbr"]):
        low, usual, high = prediction.goodput_mbit_s
        assert usual == pytest.approx(goodput[prediction.algorithm], rel=0.1)
        assert low <= usual <= high


def test_the_links_are_a_population_that_advise_takes(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cwndlab.api.fitting.fit_flow", _coarse)
    monkeypatch.setattr(choice, "FIRST", 80)
    monkeypatch.setattr(choice, "SECOND", 40)
    out = tmp_path / "fitted.toml"
    ran = CliRunner().invoke(
        fit_command, [str(results.path), "--out", str(out), "--family", "wire"]
    )
    assert ran.exit_code == 0, ran.output
    assert "Kinds of links, by probability: wired links" in ran.output
    assert "These links explain the measurement" in ran.output
    advice = cw.advise(
        users=str(out), algorithms=["cubic", "reno"], budget_s=1, folder=tmp_path / "advice"
    )
    assert set(advice.decision.best) <= {"cubic", "reno"}


def _coarse(flow: MeasuredFlow, **options: Any) -> fitting.Fit:  # noqa: ANN401  as they are
    return fitting.fit_flow(flow, rounds=2, **options)


def _flow(**changes: Any) -> MeasuredFlow:  # noqa: ANN401  columns of a table
    seconds = np.arange(1.0, 31.0)
    row = {
        "algorithm": "cubic",
        "start_s": 0.0,
        "end_s": 30.0,
        "window_s": 30.0,
        "goodput_mbit_s": 9.0,
        "rtt_base_ms": 40.0,
        "rtt_p50_ms": 60.0,
        "rtt_p95_ms": 80.0,
        "busy_s": 30.0,
    }
    samples = {
        "t_s": seconds,
        "goodput_mbit_s": 9 + np.sin(seconds),
        "srtt_ms": 60 + 9 * np.sin(seconds),
        "cwnd_pkts": 60 + 9 * np.sin(seconds),
    }
    return MeasuredFlow("here", row | changes, samples | changes.pop("samples", {}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"end_s": 3.0}, r"lasted 3 s .*; measure 10 s or more"),
        ({"algorithm": None}, "does not state the sender's congestion control"),
        ({"goodput_mbit_s": 0.0}, "carried no data"),
        ({"goodput_mbit_s": None}, "the goodput is missing.*; use the client's file"),
        ({"completion_ms": 900.0}, "was a transfer of fixed size"),
        ({"busy_s": 12.0}, "had no data to send for 60 % of the time"),
        ({"sndbuf_limited_s": 15.0}, "was limited by the send buffer for 50 % of the time"),
        ({"rwnd_limited_s": 9.0}, "was limited by the receiver's window for 30 % of the time"),
        ({"samples": {"t_s": np.r_[1:20, 5:16].astype(float)}}, "the clock was set back"),
        ({"rtt_base_ms": None}, "does not contain a round-trip time for each second"),
    ],
)
def test_a_measurement_that_does_not_show_its_link_is_refused(
    changes: dict[str, Any], reason: str
) -> None:
    assert _flow().numbers()
    with pytest.raises(MeasurementError, match=f"here: .*{reason}"):
        _flow(**changes).numbers()
    with pytest.raises(MeasurementError, match=f"here: .*{reason}"):
        fitting.points_to_simulate([_flow(**changes)], "wire")


def test_runs_and_flows_that_are_not_one_are_refused(tmp_path: Path) -> None:
    two = cw.Study(link=LINK, algorithm="cubic", duration="2 s", repetitions=2, start_jitter="1 ms")
    ran = two.run(tmp_path / "two")
    with pytest.raises(MeasurementError, match=r"contains 2 runs; choose the run .* with --run"):
        measured_flow(ran)
    with pytest.raises(MeasurementError, match="contains no run nobody"):
        measured_flow(ran, "nobody")


def test_a_measurement_of_two_algorithms_is_fitted_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statistic of both flows counts, and statistics of the two flows are not confused."""
    study = cw.Study(
        link=LINK, algorithm=["cubic", "vegas"], duration="12 s", record={"samples": "1 s"}
    )
    ran = study.run(tmp_path / "two")
    keys = ran.flows()["run"].to_list()
    seen = {}

    def chosen(measured: Floats, dimensions: list[int], simulate: Any, **_: object) -> list[Any]:  # noqa: ANN401
        seen["measured"] = measured
        seen["simulated"] = simulate(0, np.full((3, dimensions[0]), 0.5), 0)
        return []

    monkeypatch.setattr(fitting, "choose", chosen)
    with pytest.raises(MeasurementError, match="no family of links"):
        cw.fit(ran, run=keys, family="wire")
    alone = [len(measured_flow(ran, key).numbers()) for key in keys]
    assert len(seen["measured"]) == sum(alone)
    assert seen["simulated"].shape == (3, sum(alone))
    assert np.isfinite(seen["simulated"]).all()


def _posterior(measured: float) -> Posterior:
    """Return a posterior: one measured statistic, and replicates that are normal around 0."""
    replicates = np.random.default_rng(1).standard_normal((100, 1))
    return Posterior((), {"goodput": measured}, replicates)


def test_what_is_strange_is_widened_and_what_is_far_off_is_refused() -> None:
    inside, strange, off = (_posterior(value).check() for value in (0.7, 6.0, 30.0))
    assert inside.is_explained
    assert inside.widening == 1
    assert not strange.is_explained
    assert 2 < strange.widening < 5
    assert not strange.is_refused
    assert strange.is_above
    assert off.is_refused


def test_an_unexplained_fit_writes_wider_links() -> None:
    family = families(3.0, 40.0, "wire")[0]
    draws = np.random.default_rng(1)
    points = np.clip(0.5 + 0.05 * draws.standard_normal((200, len(family.parameters))), 0, 1)
    weighted = WeightedPoints(points, np.full(200, 1 / 200), points, points, np.arange(200))
    posterior = Posterior((Member(family, 1.0, weighted),), {}, np.empty((0, 0)))
    near = np.array([point for _, point in posterior.draw(50)])
    wide = posterior.draw(50, 3.0)
    assert np.array([point for _, point in wide]).std(axis=0) == pytest.approx(
        3 * near.std(axis=0), rel=0.15
    )
    written = population(wide, "here", 30.0, 3.0)
    assert "widened by a factor of 3" in written["description"]
    assert (written["classes"], written["explained"]) == ("estimates", False)
    written = population(wide, "here", 30.0, 1.0)
    assert "widened" not in written["description"]
    assert written["explained"]


def test_the_next_measurement_is_the_one_that_tells_the_links_apart() -> None:
    """On half of the links bbr is best, on the others reno; only vegas differs between them."""
    kinds = np.arange(40) % 2 == 0
    same = np.full(40, 5.0)
    found = Outcomes(
        {
            "cubic": same,
            "bbr": np.where(kinds, 9.0, 6.0),
            "reno": np.where(kinds, 6.0, 9.0),
            "vegas": np.where(kinds, 2.0, 4.0),
        },
        dict.fromkeys(("cubic", "bbr", "reno", "vegas"), same),
        np.full(40, 40.0),
    )
    best = next_measurement(found, {"cubic", "bbr", "reno"})
    assert best is not None
    assert best.command == "iperf3 -c SERVER -t 60 -C vegas -i 0.1 --json"
    assert best.is_worthwhile
    assert best.regret > 0.1
    assert best.regret_after < 0.01
    assert next_measurement(found, set(found.goodput_mbit_s)) is None


def test_a_probe_is_proposed_where_only_light_load_tells_the_links_apart() -> None:
    kinds = np.arange(40) % 2 == 0
    same = np.full(40, 5.0)
    goodput = {"cubic": same, "bbr": np.where(kinds, 9.0, 6.0), "reno": np.where(kinds, 6.0, 9.0)}
    found = Outcomes(goodput, dict.fromkeys(goodput, same), np.full(40, 40.0))
    probed = np.zeros((len(PROBED), 40))
    probed[list(PROBED).index("light_trip")] = np.where(kinds, 0.0, 0.5)
    best = next_measurement(found, set(goodput), probed)
    assert best is not None
    assert best.command == "cwndlab live --probe --server SERVER"
    assert best.regret_after < 0.01 < best.regret
    probed[list(PROBED).index("half_trip")] = np.nan  # a link that is faster than the ramp
    probed[:, 3] = np.nan  # a failed simulation
    again = next_measurement(found, set(goodput), probed)
    assert again is not None
    assert again.regret_after < 0.05
    assert next_measurement(found, set(goodput), np.full_like(probed, np.nan)) is None


def test_losses_are_numbers_of_their_seconds() -> None:
    row = {"window_s": 60.0, "goodput_mbit_s": 3.0}
    even = summarize(row, {}, np.arange(5.5, 60, 5))
    bunched = summarize(row, {}, np.r_[10.1, 10.2, 11.5, 40.5, 41.5, 59.5])
    assert even["loss_regularity"] == pytest.approx(0, abs=1e-9)
    assert bunched["loss_regularity"] > 0.9
    assert even["loss_gap"] == pytest.approx(0.5 * np.log(5))
    assert "loss_gap" not in summarize(row, {}, None)
    never = summarize(row, {}, np.empty(0))
    assert never["loss_seconds"] == 0
    assert never["first_loss"] > even["first_loss"]


def test_predictions_are_moved_to_where_the_measurement_is() -> None:
    """A prediction that follows a statistic is as certain as the prediction's own noise."""
    draws = np.random.default_rng(3)
    numbers = draws.standard_normal((100, 2))
    values = 2 * numbers[:, 0] + 0.1 * draws.standard_normal(100)
    values[7] = np.nan
    moved = adjusted_values(values, adjusting_features(numbers, np.array([1.0, 0.0])))
    assert np.isnan(moved[7])
    assert np.nanmedian(moved) == pytest.approx(2.0, abs=0.15)
    assert np.nanstd(moved) < 0.3 * np.nanstd(values)


def test_predictions_do_not_become_more_certain_by_useless_statistics() -> None:
    """In a regression fitted to all values, 30 useless features remove 30 % of the variance."""
    ratios = []
    for seed in range(10):
        draws = np.random.default_rng(seed)
        values, numbers = draws.standard_normal(100), draws.standard_normal((100, 30))
        moved = adjusted_values(values, adjusting_features(numbers, np.zeros(30)))
        ratios.append(moved.std() / values.std())
    assert np.mean(ratios) > 1.0


def test_predictions_are_not_moved_beyond_the_simulations() -> None:
    """A measurement ten deviations away moves predictions by a few; one at the edge, completely."""
    draws = np.random.default_rng(3)
    numbers = draws.standard_normal((100, 2))
    values = 2 * numbers[:, 0]
    edge, far = (
        adjusted_values(values, (numbers - measured) / 1.0)
        for measured in (np.array([2.0, 0.0]), np.array([10.0, 0.0]))
    )
    assert np.median(edge) == pytest.approx(4.0, abs=0.3)
    assert 4.0 < np.median(far) < 8.0


def test_inferred_points_are_not_moved_beyond_the_simulations() -> None:
    """No point varies the second statistic, so the regression cannot use it."""
    draws = np.random.default_rng(6)

    def simulate(points: Floats, _: int) -> Floats:
        return np.hstack([points, points + 0.02 * draws.standard_normal(points.shape)])

    inside, outside = (
        infer(np.array(measured), 1, simulate, rounds=3) for measured in ([0.5, 0.5], [0.5, 0.95])
    )
    assert np.median(inside.points) == pytest.approx(0.5, abs=0.02)
    assert outside.points.min() > outside.raw.min() - 0.1
    assert outside.points.max() < outside.raw.max() + 0.1


def test_a_measurement_unlike_new_simulations_on_the_inferred_links_is_strange() -> None:
    """The measurement is common among the simulations from which the links were inferred."""
    draws = np.random.default_rng(5)
    family = families(3.0, 40.0, "wire")[0]
    points, numbers = draws.random((200, len(family.parameters))), draws.standard_normal((200, 4))
    weighted = WeightedPoints(points, np.full(200, 1 / 200), points, numbers, np.arange(200))
    measured = dict(zip("abcd", np.full(4, 0.5), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cwndlab.inference.posterior.title", str)
        checks = [
            Posterior((Member(family, 1.0, weighted),), measured, replicates).check()
            for replicates in (numbers[:100], 0.3 * numbers[:100] - 0.5)
        ]
    assert [each.is_explained for each in checks] == [True, False]


def test_quarters_of_the_run_show_when_others_came() -> None:
    seconds = np.arange(1.0, 21.0)
    samples = {"t_s": seconds, "goodput_mbit_s": np.where(seconds <= 10, 4.0, 1.0)}
    found = summarize({"window_s": 20.0}, samples)
    quarters = np.exp([found[f"quarter_{n}"] for n in range(1, 5)])
    assert quarters == pytest.approx([4, 4, 1, 1])


def test_reordering_is_a_number_where_the_states_of_the_sender_are_known(
    tmp_path: Path,
) -> None:
    late = {"kind": "late", "share": "50 %", "delay": "30 ms"}
    link = {"rate": "3 Mbit/s", "delay": "20 ms", "queue": "40 packets"}
    counts = []
    for name, changes in (("whole", {}), ("late", {"reorder": late})):
        study = cw.Study(
            link=link | changes, algorithm="cubic", duration="12 s", record={"events": True}
        )
        counts.append(measured_flow(study.run(tmp_path / name)).row["disorders"])
    assert counts[0] < 10 < counts[1]
    assert "disorders" not in summarize({"window_s": 20.0}, {})


def test_competing_flows_stay_within_the_runs_of_advice(tmp_path: Path) -> None:
    family = next(each for each in families(1.0, 20.0) if each.name == "shared")
    late = np.array([0.1, 0.9, 0.5, 0.1, 0.1, 0.99, 0.5])
    file = tmp_path / "shared.toml"
    file.write_text(write_toml(population([(family, late)], "here", 40.0, 1.0)))
    advice = cw.advise(users=str(file), algorithms=["cubic"], budget_s=1, folder=tmp_path / "out")
    assert advice.decision.best == ("cubic",)


def test_numbers_that_do_not_go_together_are_strange() -> None:
    """Each statistic alone has a common value, but the combination never occurs."""
    draws = np.random.default_rng(4)
    common = draws.standard_normal((200, 1))
    near = common + 0.1 * draws.standard_normal((200, 6))
    usual = Posterior((), dict(zip("abcdef", np.full(6, 1.2), strict=True)), near)
    mixed = dict(zip("abcdef", [1.2, -1.2] * 3, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cwndlab.inference.posterior.title", str)
        assert usual.check().is_explained
        assert not Posterior((), mixed, near).check().is_explained
