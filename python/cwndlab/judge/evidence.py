"""What runs on networks like the link say of the choice: read from beside the results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import core
from cwndlab.errors import ResultsError
from cwndlab.judge.decision import ZONE, rows
from cwndlab.judge.networks import Networks, Turn
from cwndlab.judge.question import DRAWS
from cwndlab.judge.sensitivity import flips
from cwndlab.text.wording import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cwndlab.judge.comparison import Comparison
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.sampling import Sample
    from cwndlab.stats.bootstrap import Floats

_CELL = "draw"
_TURNS = 2  # keys that are named: more would be read by nobody


@dataclass(frozen=True, slots=True)
class DrawnKey:
    """One thing that was assumed and is otherwise on other networks."""

    name: str
    unit: str
    is_log: bool


@dataclass(frozen=True, slots=True)
class Draws:
    """Networks like the link: by name the values of their keys."""

    keys: tuple[DrawnKey, ...]
    values: Mapping[str, Mapping[str, float | str]]


def networks(
    comparison: Comparison, choice: str, goal: Goal, measured: pl.DataFrame, folder: Path
) -> Networks | None:
    """Return how good a choice is on networks like the link; None where none has a result.

    Args:
        comparison: the link's own runs; their scatter is what chance does to one run.
        choice: the algorithm that is judged.
        goal: what counts.
        measured: flows of the runs on other networks, with the goal's gain and cost; the columns
            `draw` and `algorithm` say which.
        folder: of those runs.
    """
    names = comparison.contestants
    drawn = read_draws(folder)
    utilities = _by_draw(measured, goal, names, tuple(drawn.values))
    found = core.robustness(
        utilities.tolist(),
        [1.0] * len(drawn.values),
        names.index(choice),
        _noise(comparison, goal, choice).tolist(),
        ZONE,
    )
    if found is None:
        return None
    return Networks(
        draws=int(np.isfinite(utilities).all(axis=0).sum()),
        is_good=found["is_good"],
        regret=found["regret"],
        safest=names[found["leader"]],
        turns=_turns(utilities, names, choice, drawn),
    )


def _turns(
    utilities: Floats, names: tuple[str, ...], choice: str, drawn: Draws
) -> tuple[Turn, ...]:
    """Return the keys that turn the answer, the most decisive first."""
    columns: Mapping[str, Any] = {  # of each key all numbers or all texts
        key.name: [each[key.name] for each in drawn.values.values()] for key in drawn.keys
    }
    units = {key.name: key.unit for key in drawn.keys}
    found = flips(
        utilities,
        names.index(choice),
        columns,
        zone=ZONE,
        logarithmic=[key.name for key in drawn.keys if key.is_log],
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


def _by_draw(
    measured: pl.DataFrame, goal: Goal, names: tuple[str, ...], draws: tuple[str, ...]
) -> Floats:
    """Return the mean utility of each algorithm (rows) in each draw (columns)."""
    utility = pl.col(goal.gain)
    if goal.cost and goal.price:
        utility -= goal.price * pl.col(goal.cost)
    means = measured.group_by(_CELL, "algorithm").agg(utility.mean().alias("utility"))
    table = np.full((len(names), len(draws)), np.nan)
    row = {name: at for at, name in enumerate(names)}
    column = {name: at for at, name in enumerate(draws)}
    for draw, algorithm, value in means.iter_rows():
        if algorithm in row and draw in column and value is not None:
            table[row[algorithm], column[draw]] = value
    return table


def _noise(comparison: Comparison, goal: Goal, choice: str) -> Floats:
    """Return how far chance moves each algorithm's distance to the choice in one run."""
    utilities = rows(comparison, goal.gain)
    if goal.cost and goal.price:
        utilities = utilities - goal.price * rows(comparison, goal.cost)
    apart = utilities - utilities[comparison.contestants.index(choice)]
    whole = apart[:, np.isfinite(apart).all(axis=0)]
    spread: Floats = whole.std(axis=1, ddof=1) if whole.shape[1] > 1 else np.zeros(len(apart))
    return spread


def write_draws(folder: Path, sample: Sample) -> None:
    """Keep the values of the keys of each draw beside the runs."""
    document = {
        "keys": [{"name": k.name, "unit": k.unit, "is_log": k.is_log} for k in sample.keys],
        "draws": {draw.name: dict(draw.keys) for draw in sample.draws},
    }
    text = json.dumps(document, indent=1) + "\n"
    (folder / DRAWS).write_text(text, encoding="utf-8")


def read_draws(folder: Path) -> Draws:
    """Read what `write_draws` has kept.

    Raises:
        ResultsError: the file is damaged.
    """
    path = folder / DRAWS
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Draws(tuple(DrawnKey(**key) for key in document["keys"]), document["draws"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: damaged ({error}); ask again"
        raise ResultsError(msg) from None
