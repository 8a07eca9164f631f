"""Evaluate algorithms by runs on simulated networks that are similar to the user's link."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import core
from cwndlab.errors import ResultsError
from cwndlab.judge import distances
from cwndlab.judge.decision import ZONE
from cwndlab.judge.networks import Networks, Turn
from cwndlab.judge.question import DRAWS
from cwndlab.judge.sensitivity import flips
from cwndlab.text.wording import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cwndlab.judge.decision import GainsAndCosts
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.networks import Distance
    from cwndlab.judge.sampling import Sample
    from cwndlab.stats.bootstrap import Floats

_CELL = "draw"
_MS_PER_UNIT = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_TURNS = 2  # number of keys in the answer; a reader would ignore more


@dataclass(frozen=True, slots=True)
class DrawnKey:
    """A property (key) of the network whose value is uncertain, and therefore drawn at random."""

    name: str
    unit: str
    is_log: bool


@dataclass(frozen=True, slots=True)
class DrawnNetwork:
    """One random draw: a network with a random value for each uncertain key of the link.

    For a population (several weighted classes of users), a draw contains one network for each
    class. If the classes are alternative estimates of a single network, a draw contains a network
    of only one class.
    """

    keys: Mapping[str, float | str]
    """Maps the name of each uncertain key to its drawn value; empty for a population of users."""
    levels: Mapping[str, float]
    """Maps the name of each network in this draw to the network's weight. If the draw contains a
    single network, the weight is 1. Otherwise, it is the weight of the network's class of users."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Randomly drawn networks that resemble the link, and the keys whose values were drawn."""

    keys: tuple[DrawnKey, ...]
    drawn: tuple[DrawnNetwork, ...]


def networks(
    names: Sequence[str],
    runs: GainsAndCosts,
    choice: str,
    goal: Goal,
    measured: pl.DataFrame,
    folder: Path,
) -> Networks | None:
    """Evaluate an algorithm on networks similar to the link.

    Return None if there are no results.

    Args:
        names: names of the algorithms.
        runs: runs on the link itself; their variance shows the effect of chance.
        choice: the algorithm to evaluate.
        goal: the goal of the decision.
        measured: flows of the runs on other networks. The columns include `draw`, `algorithm`, and
            the gain and the cost of the goal.
        folder: folder of the runs on other networks.
    """
    draws = read_draws(folder)
    utilities = utilities_by_draw(measured, goal, names, draws)
    is_good = _share_of_good(utilities, runs.utilities(goal), names.index(choice))
    if is_good is None:
        return None
    whole = utilities[:, np.isfinite(utilities).all(axis=0)]
    regrets = (whole.max(axis=0) - whole).mean(axis=1)
    safest = int(regrets.argmin())
    is_safest_good = _share_of_good(utilities, runs.utilities(goal), safest)
    return Networks(
        draws=whole.shape[1],
        is_good=is_good,
        is_safest_good=is_good if is_safest_good is None else is_safest_good,
        regrets=dict(zip(names, regrets.tolist(), strict=True)),
        turns=_turns(utilities, names, names[safest], draws),
        distances=_distances(utilities, names, draws),
    )


def _share_of_good(utilities: Floats, runs: Floats, choice: int) -> float | None:
    """Return the probability that an algorithm is nearly the best on a network like the link.

    Args:
        utilities: mean utilities of shape (algorithms, networks); NaN if a run is missing.
        runs: utilities of shape (algorithms, runs) on the link.
        choice: row number of the algorithm.
    """
    weights = [1.0] * utilities.shape[1]
    noise = _noise(runs, choice).tolist()
    found = core.robustness(utilities.tolist(), weights, choice, noise, ZONE)
    return None if found is None else found["is_good"]


def _distances(utilities: Floats, names: Sequence[str], draws: Draws) -> tuple[Distance, ...]:
    """Return the recommended algorithms for each class of distances to the server.

    The result is empty if the distance to the server was not drawn at random.
    """
    units = {key.name: key.unit for key in draws.keys}
    if units.get(distances.KEY) not in _MS_PER_UNIT:
        return ()
    unit_ms = _MS_PER_UNIT[units[distances.KEY]]
    server_ms = [unit_ms * float(each.keys[distances.KEY]) for each in draws.drawn]
    return distances.by_distance(utilities, names, server_ms)


def _turns(utilities: Floats, names: Sequence[str], safest: str, draws: Draws) -> tuple[Turn, ...]:
    """Return the network properties that change the recommendation, with break-even values.

    `safest` is the algorithm with the highest mean utility. Beyond the break-even value of a
    property, another algorithm is better than `safest`. The properties are ordered by how much
    utility this other algorithm gains, the largest gain first. At most two are returned.
    """
    columns: Mapping[str, Any] = {  # for each key, all values are numbers or all are texts
        key.name: [each.keys[key.name] for each in draws.drawn] for key in draws.keys
    }
    units = {key.name: key.unit for key in draws.keys}
    found = flips(
        utilities,
        names.index(safest),
        columns,
        zone=ZONE,
        logarithmic=[key.name for key in draws.keys if key.is_log],
    )
    return tuple(
        Turn(
            key=flip.key,
            side=flip.side,
            value=_value(flip.break_even, units[flip.key]),
            instead=names[flip.other],
            share=flip.share,
        )
        for flip in found[:_TURNS]
    )


def _value(value: float | str, unit: str) -> str:
    return value if isinstance(value, str) else f"{format_number(value, 2)} {unit}".rstrip()


def utilities_by_draw(
    measured: pl.DataFrame, goal: Goal, names: Sequence[str], draws: Draws
) -> Floats:
    """Return mean utilities, with a row for each algorithm and a column for each drawn network."""
    utility = pl.col(goal.gain)
    if goal.cost and goal.price:
        utility -= goal.price * pl.col(goal.cost)
    means = measured.group_by(_CELL, "algorithm").agg(utility.mean().alias("utility"))
    known = {(cell, name): value for cell, name, value in means.iter_rows() if value is not None}
    return np.array(
        [
            [
                sum(
                    weight * known.get((level, name), np.nan)
                    for level, weight in each.levels.items()
                )
                for each in draws.drawn
            ]
            for name in names
        ]
    )


def _noise(utilities: Floats, choice: int) -> Floats:
    """Return how much each algorithm's lead over the algorithm `choice` varies between runs.

    The lead is a difference in utility. The result is the standard deviation of the lead.
    """
    apart = utilities - utilities[choice]
    whole = apart[:, np.isfinite(apart).all(axis=0)]
    spread: Floats = whole.std(axis=1, ddof=1) if whole.shape[1] > 1 else np.zeros(len(apart))
    return spread


def draws_of_link(sample: Sample) -> Draws:
    """Return, as `Draws`, the networks that were drawn for one link."""
    keys = tuple(DrawnKey(key.name, key.unit, key.is_log) for key in sample.keys)
    return Draws(keys, tuple(DrawnNetwork(dict(d.keys), {d.name: 1.0}) for d in sample.draws))


def draws_of_population(levels: Sequence[Mapping[str, float]]) -> Draws:
    """Return, as `Draws`, the networks that were drawn at random for a population of users.

    One draw can contain several networks. Each entry of `levels` describes one draw: it maps the
    name of each network in the draw to the weight of this network.
    """
    return Draws((), tuple(DrawnNetwork({}, dict(each)) for each in levels))


def write_draws(folder: Path, draws: Draws) -> None:
    """Write the randomly drawn networks to a file in the folder of the runs on these networks."""
    text = json.dumps(asdict(draws), indent=1) + "\n"
    (folder / DRAWS).write_text(text, encoding="utf-8")


def read_draws(folder: Path) -> Draws:
    """Read the drawn networks that `write_draws` stored in a folder.

    Raises:
        ResultsError: the file does not exist, cannot be read, or does not describe networks.
    """
    path = folder / DRAWS
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Draws(
            tuple(DrawnKey(**key) for key in document["keys"]),
            tuple(DrawnNetwork(**each) for each in document["drawn"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: the file is missing or damaged ({error}); run `cwndlab advise` again"
        raise ResultsError(msg) from None
