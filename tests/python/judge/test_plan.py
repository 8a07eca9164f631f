"""The cost and the needs of a campaign, checked against tables, simulation and a pilot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cwndlab as cw
from cwndlab.judge.plan import LEVEL, needed_repetitions, plan_study
from cwndlab.papers import paper_studies
from cwndlab.stats.students_t import quantile

if TYPE_CHECKING:
    from pathlib import Path

LINK = "rate=10 Mbit/s,delay=10 ms,loss=0.5 %"


def power_of_t_test(pairs: int, spread: float, effect: float) -> float:
    """Return the share of simulated campaigns whose paired t test detects the effect."""
    draws = np.random.default_rng(6).normal(effect, spread, (20_000, pairs))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / np.sqrt(pairs))
    return float((np.abs(t) > quantile(1 - LEVEL / 2, pairs - 1)).mean())


@pytest.mark.parametrize(
    ("spread", "effect"), [(0.05, 0.05), (0.1, 0.05), (0.2, 0.1), (0.02, 0.05)]
)
def test_the_number_has_the_power_that_it_claims(spread: float, effect: float) -> None:
    """Simulated, not computed: the test detects the effect in at least four of five campaigns."""
    count = needed_repetitions(spread, effect)
    assert count is not None
    assert power_of_t_test(count, spread, effect) > 0.77
    if count > 5:
        assert power_of_t_test(count - 3, spread, effect) < 0.8


def test_more_spread_smaller_effects_and_more_pairs_need_more() -> None:
    base = needed_repetitions(0.1, 0.05) or 0
    assert (needed_repetitions(0.2, 0.05) or 0) > 3 * base
    assert (needed_repetitions(0.1, 0.025) or 0) > 3 * base
    assert (needed_repetitions(0.1, 0.05, comparisons=6) or 0) > base
    assert needed_repetitions(0.0, 0.05) == 2
    assert needed_repetitions(100.0, 0.01) is None


def study(folder: Path, text: str) -> cw.Study:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return cw.Study.load(path, is_live=True)


LIVE = """
[study]
duration = "60 s"
repetitions = 5
{more}
[live]
pause = "10 s"
[factors]
algorithm = ["reno", "cubic"]
direction = ["downlink", "uplink"]
"""


def test_runs_hours_and_gigabytes_are_counted(tmp_path: Path) -> None:
    plan = plan_study(
        study(tmp_path, LIVE.format(more="")), pilot=None, effect=0.05, bits_per_sec=20_000_000
    )
    assert plan.runs == 20
    assert plan.hours == pytest.approx(20 * (60 + 10 + 2) / 3600)
    assert plan.gigabytes == pytest.approx(20 * 60 * 20e6 / 8 / 1e9)


@pytest.mark.parametrize(
    ("name", "bits_per_sec", "runs", "hours", "gigabytes"),
    [
        # 5 algorithms in both directions for 1, 5 and 10 min, plus 1 min down over Wi-Fi; ten
        # times.
        ("nr-5g-vaasa-2023", 40_000_000, 350, 10 * (10 * 960 + 5 * 60) / 3600, 495),
        # 60 downloading combinations take 234 s each at that rate, 64 uploading ones 17 s.
        ("lte-4g-vaasa-2013", 10_000_000, 1240, 10 * (60 * 234.4 + 64 * 17.17) / 3600, 189.5),
    ],
)
def test_the_theses_campaigns_are_planned_by_what_they_move(
    name: str, bits_per_sec: int, runs: int, hours: float, gigabytes: float
) -> None:
    study = cw.Study.load(paper_studies()[f"{name}-live"], is_live=True)
    plan = plan_study(study, pilot=None, effect=0.05, bits_per_sec=bits_per_sec)
    assert plan.runs == runs
    # Each run adds a pause of 5 s and about 2 s for connecting.
    assert plan.hours == pytest.approx(hours + runs * 7 / 3600, rel=0.01)
    assert plan.gigabytes == pytest.approx(gigabytes, rel=0.01)


def test_what_nothing_tells_is_unknown_and_not_zero(tmp_path: Path) -> None:
    unknown = plan_study(
        study(tmp_path, LIVE.format(more="")), pilot=None, effect=0.05, bits_per_sec=None
    )
    assert unknown.gigabytes is None
    assert unknown.needed_repetitions is None
    sized = LIVE.format(more='[application]\nkind = "sized"\nbytes = "3 MB"')
    known = plan_study(study(tmp_path, sized), pilot=None, effect=0.05, bits_per_sec=None)
    assert known.gigabytes == pytest.approx(20 * 3e6 / 1e9)


def test_a_pilot_tells_rate_and_repetitions(tmp_path: Path) -> None:
    pilot = cw.Study(link=LINK, algorithm=["reno", "cubic"], duration="5 s", repetitions=6).run(
        tmp_path / "pilot"
    )
    plan = plan_study(
        study(tmp_path, LIVE.format(more="")), pilot=pilot, effect=0.05, bits_per_sec=None
    )
    (need,) = plan.needs
    flows = pilot.flows()
    by_name = {
        name: flows.filter(factor_algorithm=name).sort("repetition")["goodput_mbit_s"].to_numpy()
        for name in ("reno", "cubic")
    }
    one, other = (by_name[name] for name in need.pair)
    spread = float(np.std((one - other) / other.mean(), ddof=1))
    assert need.spread_pct == pytest.approx(100 * spread)
    assert need.repetitions == needed_repetitions(spread, 0.05)
    mean = float(flows["throughput_mbit_s"].to_numpy().mean())
    assert plan.gigabytes == pytest.approx(20 * 60 * mean * 1e6 / 8 / 1e9)


def test_a_pilot_of_one_repetition_is_no_variance(tmp_path: Path) -> None:
    pilot = cw.Study(link=LINK, algorithm=["reno", "cubic"], duration="2 s").run(tmp_path / "p")
    plan = plan_study(
        study(tmp_path, LIVE.format(more="")), pilot=pilot, effect=0.05, bits_per_sec=None
    )
    assert [need.repetitions for need in plan.needs] == [None]
