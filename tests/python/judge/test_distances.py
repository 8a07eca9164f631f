"""The answer for near, national and intercontinental servers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cwndlab import core
from cwndlab.errors import CoreMissingError
from cwndlab.judge.decision import decide
from cwndlab.judge.distances import FEWEST_DRAWS, by_distance
from cwndlab.judge.goals import BALANCE
from cwndlab.judge.networks import Distance, Networks
from cwndlab.judge.sentences import sentences
from made_up import FAST_OR_SHORT

NAMES = ("bbr", "westwood", "reno")


@pytest.fixture(autouse=True)
def needs_core() -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))


def test_each_distance_has_the_winner_that_was_planted() -> None:
    random = np.random.default_rng(3)
    server_ms = 3 * (80 / 3) ** random.random(120)
    utilities = random.normal(0, 0.02, (3, 120))
    utilities[0] += np.where(server_ms < 6, 0.2, 0.0)
    utilities[1] += np.where(server_ms >= 30, 0.2, 0.0)
    utilities[2] -= 0.5
    utilities[2, 5] = math.nan
    near, national, far = by_distance(utilities, NAMES, list(server_ms))
    assert (near.name, near.best) == ("near", ("bbr",))
    assert set(national.best) == {"bbr", "westwood"}
    assert (far.name, far.best, far.most_ms) == ("intercontinental", ("westwood",), math.inf)
    assert near.draws + national.draws + far.draws == 119
    assert far.to_json()["most_ms"] is None


def test_few_networks_at_a_distance_have_no_recommendation() -> None:
    server_ms = [10.0] * 20 + [50.0] * (FEWEST_DRAWS - 1)
    national, far = by_distance(np.zeros((3, len(server_ms))), NAMES, server_ms)
    assert (national.name, set(national.best)) == ("national", set(NAMES))
    assert (far.name, far.draws, far.best) == ("intercontinental", FEWEST_DRAWS - 1, ())


def said_of(*distances: Distance) -> list[str]:
    decision = decide(FAST_OR_SHORT, BALANCE)
    regrets = {each.name: 0.0 for each in decision.entrants}
    return sentences(replace(decision, networks=Networks(40, 0.95, 0.95, regrets, (), distances)))


def test_the_answer_says_it() -> None:
    near = Distance("near", 0.0, 6.0, 20, ("bbr",))
    far = Distance("intercontinental", 30.0, math.inf, 20, ("vegas", "cubic"))
    expected = (
        "By distance to the server: bbr for near (below 6 ms one way) servers; vegas or cubic for "
        "intercontinental (30 ms or more) servers."
    )
    assert expected in said_of(near, far)


def test_the_same_recommendation_at_every_distance_is_said_once() -> None:
    near = Distance("near", 0.0, 6.0, 20, ("bbr", "vegas"))
    far = Distance("intercontinental", 30.0, math.inf, 20, ("vegas", "bbr"))
    expected = (
        "By distance to the server: bbr or vegas for near (below 6 ms one way) and "
        "intercontinental (30 ms or more) servers."
    )
    assert expected in said_of(near, far)


def test_distances_of_too_few_networks_are_named() -> None:
    near = Distance("near", 0.0, 6.0, 5, ())
    national = Distance("national", 6.0, 30.0, 12, ("bbr",))
    far = Distance("intercontinental", 30.0, math.inf, 7, ("bbr",))
    expected = (
        "By distance to the server: bbr for national (6 ms to 30 ms) and intercontinental (30 ms "
        "or more) servers; unknown for near servers, because too few of these networks have such "
        "a server."
    )
    assert expected in said_of(near, national, far)
    assert not any("By distance" in sentence for sentence in said_of(near))
