"""Keys that change the answer, and classes that lose by it, in data with a known truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cwndlab.judge.sensitivity import flips, variance_shares, weigh

ZONE = 0.03
BBR, WESTWOOD, RENO = range(3)
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def keys(draws: int, random: np.random.Generator) -> dict[str, Any]:
    """Draw a server delay of 3 to 80 ms, a queue of 100 kB to 3 MB, coverage, and a discipline."""

    def shares() -> Numbers:
        return (random.permutation(draws) + random.random(draws)) / draws

    return {
        "server": 3 * (80 / 3) ** shares(),
        "queue": 100 * 30 ** shares(),
        "coverage": 8 + 8 * shares(),
        "qdisc": random.choice(["none", "pfifo_fast", "fq"], draws),
    }


def planted(draws: int, seed: int, at_ms: float, noise: float) -> tuple[Numbers, dict[str, Any]]:
    """Draw utilities: BBR leads if the server is nearer than `at_ms`, otherwise WESTWOOD."""
    random = np.random.default_rng(seed)
    found = keys(draws, random)
    utilities = random.normal(0, noise, (3, draws))
    utilities[WESTWOOD] += 0.1 * np.log(found["server"] / at_ms)
    utilities[RENO] -= 0.2
    utilities += 0.5 * np.log(found["queue"] / 300)  # affects all algorithms equally
    return utilities, found


@pytest.mark.parametrize("seed", range(5))
def test_the_planted_key_and_its_break_even_are_found(seed: int) -> None:
    utilities, found = planted(200, seed, 22, 0.05)
    flip = flips(utilities, BBR, found, zone=ZONE, logarithmic=("server", "queue"))[0]
    assert (flip.key, flip.other, flip.side) == ("server", WESTWOOD, "above")
    assert isinstance(flip.break_even, float)
    assert flip.break_even == pytest.approx(22, rel=0.4)
    assert flip.low is not None
    assert flip.high is not None
    assert flip.low <= flip.break_even <= flip.high
    assert flip.share == pytest.approx(math.log(80 / 22) / math.log(80 / 3), abs=0.15)
    assert flip.lead > ZONE


def test_the_interval_of_a_break_even_holds_the_planted_one() -> None:
    shown = []
    for seed in range(60):
        utilities, found = planted(100, 1000 + seed, 22, 0.05)
        turned = flips(utilities, BBR, found, zone=ZONE, logarithmic=("server", "queue"))
        shown += [flip for flip in turned if flip.key == "server"]
    assert len(shown) >= 54
    held = [
        flip.low is not None and flip.high is not None and flip.low <= 22 <= flip.high
        for flip in shown
    ]
    assert sum(held) >= 0.78 * len(held)  # about 0.85; 60 trials see 0.78 to 0.92


def test_a_default_queue_that_decides_is_named() -> None:
    random = np.random.default_rng(4)
    found = keys(120, random)
    utilities = random.normal(0, 0.03, (3, 120))
    utilities[RENO] += np.where(found["queue"] < 250, 0.4, -0.3)
    best = flips(utilities, BBR, found, zone=ZONE, logarithmic=("server", "queue"))[0]
    assert (best.key, best.other, best.side) == ("queue", RENO, "below")
    assert best.break_even == pytest.approx(250, rel=0.1)


def test_a_choice_can_turn_the_answer() -> None:
    random = np.random.default_rng(5)
    found = keys(120, random)
    utilities = random.normal(0, 0.03, (3, 120))
    utilities[WESTWOOD] += np.where(found["qdisc"] == "pfifo_fast", 0.3, -0.2)
    flip = flips(utilities, BBR, found, zone=ZONE)[0]
    assert (flip.key, flip.side, flip.break_even) == ("qdisc", "is", "pfifo_fast")
    assert (flip.low, flip.high) == (None, None)


def test_two_keys_come_in_the_order_of_what_they_decide() -> None:
    random = np.random.default_rng(6)
    found = keys(300, random)
    utilities = random.normal(0, 0.03, (3, 300))
    utilities[WESTWOOD] += np.where(found["server"] > 40, 0.3, -0.3)
    utilities[RENO] += np.where(found["coverage"] < 9, 0.2, -0.3)
    shown = flips(utilities, BBR, found, zone=ZONE, logarithmic=("server", "queue"))
    assert [(flip.key, flip.other) for flip in shown] == [
        ("server", WESTWOOD),
        ("coverage", RENO),
    ]


@pytest.mark.parametrize(("draws", "algorithms"), [(30, 3), (60, 8), (200, 3)])
def test_chance_turns_nothing(draws: int, algorithms: int) -> None:
    false = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        found = keys(draws, random)
        utilities = random.normal(0, 0.3, (algorithms, draws))
        best = int(utilities.mean(axis=1).argmax())
        false += bool(flips(utilities, best, found, zone=ZONE))
    assert false <= 14  # 3 to 7 of 100 are expected; 100 trials may observe up to 14


def test_differences_within_the_zone_turn_nothing() -> None:
    random = np.random.default_rng(8)
    found = keys(200, random)
    utilities = random.normal(0, 0.001, (3, 200))
    utilities[WESTWOOD] += np.where(found["server"] > 20, 0.02, -0.02)
    assert flips(utilities, BBR, found, zone=ZONE) == ()


def test_names_order_and_gaps_change_nothing_else() -> None:
    utilities, found = planted(200, 1, 22, 0.05)
    shown = flips(utilities, BBR, found, zone=ZONE, logarithmic=("server", "queue"))
    turned = flips(utilities[::-1], 2 - BBR, found, zone=ZONE, logarithmic=("server", "queue"))
    assert [(flip.key, 2 - flip.other, flip.break_even) for flip in turned] == [
        (flip.key, flip.other, flip.break_even) for flip in shown
    ]
    utilities[RENO, :10] = np.nan
    assert flips(utilities, BBR, found, zone=ZONE, logarithmic=("server",))[0].key == "server"
    with pytest.raises(ValueError, match="server has 3 values, but there are 200 networks"):
        flips(utilities, BBR, {"server": [1.0, 2.0, 3.0]}, zone=ZONE)


def test_shares_of_the_variance_are_the_planted_ones() -> None:
    random = np.random.default_rng(9)
    found = keys(400, random)
    lead = 3 * np.log(found["server"]) / np.log(80 / 3)  # variance 9 / 12
    lead = lead + (found["qdisc"] == "fq")  # 2 / 9
    lead = lead + random.normal(0, 0.5, 400)  # 1 / 4
    total = 9 / 12 + 2 / 9 + 1 / 4
    shares = variance_shares(np.vstack([np.zeros(400), lead]), 0, 1, found)
    assert shares["server"] == pytest.approx(9 / 12 / total, abs=0.07)
    assert shares["qdisc"] == pytest.approx(2 / 9 / total, abs=0.07)
    assert shares["rest"] == pytest.approx(1 / 4 / total, abs=0.07)
    assert shares["queue"] < 0.05
    assert shares["coverage"] < 0.05


CLASSES = ("lte", "wifi", "satellite")


def test_the_class_that_a_best_mean_starves_is_named() -> None:
    # bbr is slightly better for nearly all users, but starves satellites.
    utilities = [[1.10, 1.10, -0.50], [1.00, 1.00, 1.00]]
    found = weigh(utilities, CLASSES, [60, 38, 2], zone=ZONE)
    assert found.best == 0
    assert found.loser == "satellite"
    assert found.regrets[0] == pytest.approx((0, 0, 1.5))
    assert found.means == pytest.approx((0.98 * 1.1 - 0.02 * 0.5, 1.0))


def test_the_weight_at_which_the_answer_turns() -> None:
    # The others lead by 0.1, the satellite is 1.5 behind: the weight v with 0.1 (1 - v) = 1.5 v.
    utilities = [[1.10, 1.10, -0.50], [1.00, 1.00, 1.00]]
    found = weigh(utilities, CLASSES, [60, 38, 2], zone=ZONE)
    (turn,) = found.turns
    assert (turn.class_name, turn.side, turn.other) == ("satellite", "above", 1)
    assert (turn.weight, turn.at) == pytest.approx((0.02, 0.1 / 1.6))
    beyond = [0.999 * (1 - turn.at) * share for share in (60 / 98, 38 / 98)]
    assert weigh(utilities, CLASSES, [*beyond, turn.at * 1.01], zone=ZONE).best == 1


def test_a_class_can_carry_the_answer_alone() -> None:
    utilities = [[1.5, 0.9, 0.9], [1.0, 1.0, 1.0]]
    found = weigh(utilities, CLASSES, [50, 25, 25], zone=ZONE)
    assert (found.best, found.loser) == (0, "wifi")
    turns = {turn.class_name: turn for turn in found.turns}
    assert turns["lte"].side == "below"
    assert turns["lte"].at == pytest.approx(0.1 / 0.6)
    assert turns["wifi"].side == "above"


def test_nobody_loses_within_the_zone_and_one_class_has_no_turn() -> None:
    found = weigh([[1.0, 1.0], [0.99, 1.02]], ("a", "b"), [1, 1], zone=ZONE)
    assert found.loser is None
    one = weigh([[1.0], [0.5]], ("a",), [3], zone=ZONE)
    assert (one.best, one.turns, one.loser) == (0, (), None)


def test_weights_of_any_sum_and_swapped_classes_say_the_same() -> None:
    utilities = np.array([[1.10, 1.05, -0.50], [1.00, 1.00, 1.00]])
    one = weigh(utilities, CLASSES, [60, 38, 2], zone=ZONE)
    other = weigh(utilities[:, ::-1], CLASSES[::-1], [0.02, 0.38, 0.6], zone=ZONE)
    assert other.means == pytest.approx(one.means)
    assert (other.loser, other.best) == (one.loser, one.best)
    assert [turn.at for turn in other.turns] == pytest.approx([turn.at for turn in one.turns])
    with pytest.raises(ValueError, match="the utility of every algorithm"):
        weigh([[1.0, math.nan]], ("a", "b"), [1, 1], zone=ZONE)
    with pytest.raises(ValueError, match="2 classes and 1 weights do not match"):
        weigh([[1.0, 1.0]], ("a", "b"), [1], zone=ZONE)
