"""Effects of factors: main effects of a factorial design, computed by hand."""

import numpy as np
import pytest

from cwndlab.judge.cell import Comparison
from cwndlab.judge.effects import effect, effects


def setting(goodput: dict[str, list[float]], **cell: object) -> Comparison:
    repetitions = len(next(iter(goodput.values())))
    return Comparison(
        cell=cell,
        contestants=tuple(goodput),
        seeds=tuple(range(repetitions)),
        repetitions=repetitions,
        is_paired=True,
        values={name: {"goodput_mbit_s": np.array(own)} for name, own in goodput.items()},
        runs=dict.fromkeys(goodput, ("run",) * repetitions),
        flow_ids=dict.fromkeys(goodput, (0,)),
        flows_per_run=1,
    )


def estimates(found: object, name: str = "cubic") -> list[float | None]:
    own = found.means["goodput_mbit_s"][name]  # type: ignore[attr-defined]
    return [None if each is None else each.estimate for each in own]


def test_an_effect_is_the_mean_over_the_other_factors_in_each_repetition() -> None:
    comparisons = [
        setting({"cubic": [1.0, 3.0]}, rate="2 Mbit/s", delay="10 ms"),
        setting({"cubic": [5.0, 7.0]}, rate="2 Mbit/s", delay="20 ms"),
        setting({"cubic": [10.0, 10.0]}, rate="20 Mbit/s", delay="10 ms"),
        setting({"cubic": [20.0, 20.0]}, rate="20 Mbit/s", delay="20 ms"),
    ]
    rate, delay = effects(comparisons)
    assert (rate.factor, rate.levels) == ("rate", ("2 Mbit/s", "20 Mbit/s"))
    assert estimates(rate) == [4.0, 15.0]
    assert estimates(delay) == [6.0, 13.0]
    low = rate.means["goodput_mbit_s"]["cubic"][0]
    assert low is not None
    assert low.runs == 2  # the number of repetitions, not of settings times repetitions


def test_only_settings_that_every_level_has_are_averaged() -> None:
    comparisons = [
        setting({"cubic": [1.0]}, rate="2 Mbit/s", delay="10 ms"),
        setting({"cubic": [100.0]}, rate="2 Mbit/s", delay="90 ms"),
        setting({"cubic": [10.0]}, rate="4 Mbit/s", delay="10 ms"),
    ]
    found = effect(comparisons, "rate")
    assert found is not None
    assert estimates(found) == [1.0, 10.0]


def test_levels_that_share_no_setting_have_no_effect() -> None:
    comparisons = [
        setting({"cubic": [1.0]}, rate="2 Mbit/s", delay="10 ms"),
        setting({"cubic": [10.0]}, rate="4 Mbit/s", delay="20 ms"),
    ]
    assert effect(comparisons, "rate") is None


@pytest.mark.parametrize(
    ("levels", "ordered", "positions"),
    [
        (["2 s", "500 ms", "1 s"], ("500 ms", "1 s", "2 s"), (0.0, 1 / 3, 1.0)),
        (["1 kB", "100 kB", "10 kB"], ("1 kB", "10 kB", "100 kB"), (0.0, 0.5, 1.0)),
        ([4, 2, 3], ("2", "3", "4"), (0.0, 0.5, 1.0)),
        (["2 BDP", "1 BDP"], ("1 BDP", "2 BDP"), (0.0, 1.0)),
        (["lte-good", "3 s"], ("lte-good", "3 s"), (0.25, 0.75)),
        (["1 BDP", "10 packets"], ("1 BDP", "10 packets"), (0.25, 0.75)),
    ],
)
def test_amounts_ascend_and_names_stay(
    levels: list[object], ordered: tuple[str, ...], positions: tuple[float, ...]
) -> None:
    found = effect([setting({"cubic": [1.0]}, level=each) for each in levels], "level")
    assert found is not None
    assert found.levels == ordered
    assert found.positions == pytest.approx(positions)
    assert found.is_numeric == (positions[0] == 0.0)


def test_an_algorithm_without_a_run_at_a_level_has_a_gap() -> None:
    found = effect(
        [setting({"cubic": [1.0], "bbr": [2.0]}, n=1), setting({"cubic": [3.0]}, n=2)], "n"
    )
    assert found is not None
    assert estimates(found, "bbr") == [2.0, None]


def test_one_setting_has_no_effects() -> None:
    assert effects([setting({"cubic": [1.0]})]) == []
