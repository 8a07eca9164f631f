"""Paths that belong to no family: what reveals them, and what a fit then states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cwndlab.cli.fitting import fitted_users
from cwndlab.inference.families import families
from cwndlab.inference.fitting import HOST_DELAY_MS, Fit
from cwndlab.inference.importance import WeightedPoints
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.posterior import Check, Member, Posterior
from cwndlab.inference.simulation import Simulated
from cwndlab.inference.summaries import summarize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.inference.simulation import PlacedPoint, Simulation
    from cwndlab.stats.bootstrap import Floats

_POINTS = 300


def _member(number: int, probability: float, numbers: Floats) -> Member:
    """Return a family whose simulated links are all alike but have different statistics."""
    family = families(3.0, 40.0)[number]
    draws = np.random.default_rng(number)
    points = np.clip(
        0.5 + 0.05 * draws.standard_normal((len(numbers), len(family.parameters))), 0, 1
    )
    weights = np.full(len(numbers), 1 / len(numbers))
    return Member(
        family,
        probability,
        WeightedPoints(points, weights, points, numbers, np.arange(len(numbers))),
    )


@pytest.mark.parametrize(("goodput", "is_explained"), [(0.0, False), (1.0, True)])
def test_two_families_on_both_sides_of_a_measurement_do_not_explain_it(
    goodput: float,
    is_explained: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """The logarithms of the goodput are near -1 in one family and near 1 in the other."""
    draws = np.random.default_rng(1)
    sides = [side + 0.1 * draws.standard_normal((_POINTS, 1)) for side in (-1.0, 1.0)]
    members = tuple(_member(n, 0.5, numbers) for n, numbers in enumerate(sides))
    found = Posterior(members, {"goodput": goodput}, np.vstack(sides)).check()
    assert found.is_explained is is_explained


@pytest.mark.parametrize(("timeouts_per_minute", "is_explained"), [(1.0, True), (30.0, False)])
def test_a_single_timeout_is_not_surprising_even_if_no_simulation_has_one(
    timeouts_per_minute: float,
    is_explained: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    row = {"window_s": 60.0, "timeouts": timeouts_per_minute}
    measured = {"timeouts": summarize(row, {})["timeouts"]}
    found = Posterior((), measured, np.zeros((100, 1))).check()
    assert found.is_explained is is_explained


def test_a_long_stall_does_not_conceal_that_the_rate_varies() -> None:
    """A splitting proxy lets the rate vary; in the last third, the flow waits for a packet."""
    at = np.arange(1.0, 31.0)
    waves = np.where(at % 2 == 0, 0.5, 2.0)
    steps = []
    for moving in (np.ones_like(at), waves):
        goodput = np.where(at > 20, 0.0, moving)
        trip = 100 * np.exp(0.05 * at) * np.where(at > 20, 1.0, 1 / np.sqrt(moving))
        samples = {"t_s": at, "goodput_mbit_s": goodput, "srtt_ms": trip}
        steps.append(summarize({"window_s": 30.0}, samples))
    assert steps[0]["variation"] == pytest.approx(steps[1]["variation"], abs=0.1)
    assert steps[1]["goodput_step"] > steps[0]["goodput_step"] + 1
    assert steps[1]["srtt_step"] > steps[0]["srtt_step"] + 0.5


def test_a_change_of_the_shortest_path_shows_in_the_halves_of_the_run() -> None:
    at = np.arange(1.0, 31.0)
    samples = {"t_s": at, "srtt_ms": np.where(at > 16, 200.0, 40.0) + 5 * (at % 3)}
    found = summarize({"window_s": 30.0}, samples)
    assert found["floor_change"] == pytest.approx(np.log(5), abs=0.01)
    assert found["srtt_jump"] == pytest.approx(0.5 * np.log(np.log(5)), abs=0.2)
    assert summarize({"window_s": 30.0}, {}).keys() == set()


class _Links:
    """Links on which bbr gets twice the goodput and half the queueing delay of cubic."""

    duration_s = 30.0

    def flows(self, draws: Sequence[PlacedPoint], algorithm: str) -> list[Simulated | None]:
        found: list[Simulated | None] = []
        factor = {"cubic": 1.0, "bbr": 2.0}[algorithm]
        for n in range(len(draws)):
            goodput, delay = 5.0 + 0.1 * n, 95.0 + n
            row = {
                "goodput_mbit_s": goodput * factor,
                "rtt_base_ms": 40.0,
                "rtt_p95_ms": 40.0 + (delay + 5) / factor - 5,
            }
            found.append(Simulated(row, {}, np.empty(0)))
        return found


def test_predictions_of_an_unexplained_fit_are_relative_to_the_measured_flow() -> None:
    """All links are faster than the measured path, but the ratio of the algorithms is certain."""
    row: dict[str, Any] = {
        "algorithm": "cubic",
        "goodput_mbit_s": 1.0,
        "rtt_base_ms": 40.0,
        "rtt_p95_ms": 60.0,
    }
    flow = MeasuredFlow("here", row, {"t_s": np.arange(9.0), "srtt_ms": np.full(9, 50.0)})
    members = (_member(0, 1.0, np.zeros((_POINTS, 1))),)
    posterior = Posterior(members, {"goodput": 0.0}, np.zeros((100, 1)))
    links: Simulation = _Links()  # type: ignore[assignment]
    check = Check(0.01, "goodput", is_above=False, excess=2.0)
    found = Fit((flow,), posterior, check, links)
    own, other = found.predict(["cubic", "bbr"])
    assert own.goodput_mbit_s == pytest.approx((1 / 1.05, 1, 1.05), rel=0.01)
    assert other.goodput_mbit_s == pytest.approx((2 / 1.05, 2, 2 * 1.05), rel=0.01)
    assert other.queueing_delay_p95_ms[1] == pytest.approx(7.5)
    assert found.estimates()[0].high > posterior.estimates()[0].high
    narrow = found.posterior.estimates()[0]
    wide = found.estimates()[0]
    assert wide.high / wide.low > (narrow.high / narrow.low) ** 1.8
    assert wide.known < narrow.known


@pytest.mark.parametrize("excess", [0.5, 2.0])
def test_a_decision_on_links_that_do_not_explain_the_measurement_is_called_doubtful(
    excess: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The output format is JSON, which contains only the decision."""
    posterior = Posterior(
        (_member(0, 1.0, np.zeros((_POINTS, 1))),), {"goodput": 0.0}, np.zeros((100, 1))
    )
    links: Simulation = _Links()  # type: ignore[assignment]
    check = Check(0.01, "goodput", is_above=False, excess=excess)
    found = Fit((MeasuredFlow("here", {"algorithm": "cubic"}, {}),), posterior, check, links)
    monkeypatch.setattr("cwndlab.cli.fitting.fitted", lambda *_: found)
    monkeypatch.chdir(tmp_path)
    out, algorithm = fitted_users(tmp_path, 1, "json")
    assert (out.exists(), algorithm) == (True, "cubic")
    printed = capsys.readouterr()
    assert not printed.out
    assert ("the decision may be wrong" in printed.err) is (excess > 1)


def test_intervals_of_a_delay_contain_what_computers_add() -> None:
    row = {"algorithm": "cubic", "goodput_mbit_s": 1.0, "rtt_base_ms": 40.0}
    posterior = Posterior(
        (_member(0, 1.0, np.zeros((_POINTS, 1))),), {"goodput": 0.0}, np.zeros((100, 1))
    )
    links: Simulation = _Links()  # type: ignore[assignment]
    explained = Check(0.5, "goodput", is_above=False, excess=0.5)
    found = Fit((MeasuredFlow("here", row, {}),), posterior, explained, links)
    (prediction,) = found.predict(["cubic"])
    low, _, high = prediction.queueing_delay_p95_ms
    outcomes = found.outcomes(["cubic"]).queueing_delay_p95_ms["cubic"]
    assert low == pytest.approx(np.quantile(outcomes, 0.05) - HOST_DELAY_MS)
    assert high == pytest.approx(np.quantile(outcomes, 0.95) + HOST_DELAY_MS)
