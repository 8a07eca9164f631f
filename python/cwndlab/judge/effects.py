"""Compute how a factor of a study affects each algorithm: means at each level of the factor.

Suppose that a study combines every rate with several delays. The *effect* of the rate is then the
mean result at each rate. The mean covers only the delays that were run at every rate. (In a
factorial design, the differences between these means are called the main effect.)

Different repetitions are independent, but runs of the same repetition can use the same random
numbers. Means are therefore computed within each repetition, and intervals over the repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from cwndlab import stats
from cwndlab.errors import QuantityError
from cwndlab.judge.cell import GEOMETRIC, Comparison
from cwndlab.judge.comparison import contestants_of
from cwndlab.text import quantity as read

EFFECTS = (
    "goodput_mbit_s",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "retransmitted_pct",
    "timeouts",
    "completion_ms",
    "jain_index",
)
"""Columns of results for which a factor's effect is plotted, if the columns were measured."""

_LOGARITHMIC_FROM = 8.0  # smallest ratio of extreme levels for a logarithmic axis
_READERS = (
    read.parse_rate,
    read.parse_duration,
    read.parse_size,
    read.parse_share,
    read.parse_decibel,
    read.parse_power,
    read.parse_length,
    read.parse_frequency,
)

Means = Mapping[str, Sequence[stats.Interval | None]]
"""Maps each algorithm to its means of one column, in the order of the factor's levels. A mean is
None if the column has no values in a network setting with this level."""


@dataclass(frozen=True)
class Effect:
    """A factor of a study, its levels, and each algorithm's mean results at each level."""

    factor: str
    levels: tuple[str, ...]
    """Levels of the factor as written in study files; numeric levels are in ascending order."""
    positions: tuple[float, ...]
    """Positions of the levels on the axis of the plot, from 0 to 1."""
    is_numeric: bool
    """True if the levels are quantities, so that a line between levels is meaningful."""
    means: Mapping[str, Means]
    """Maps each measured column to its means for each algorithm and level."""


def effects(comparisons: Sequence[Comparison]) -> list[Effect]:
    """Return the effects of all factors for which `effect` does not return None."""
    factors = list(dict.fromkeys(name for each in comparisons for name in each.cell))
    found = [effect(comparisons, factor) for factor in factors]
    return [each for each in found if each is not None]


def effect(comparisons: Sequence[Comparison], factor: str) -> Effect | None:
    """Return a factor's effect on the results of each algorithm.

    Return None if the factor has a single level, or if no combination of the other factors' levels
    was run with all levels of this factor.
    """
    values = list(dict.fromkeys(each.cell.get(factor) for each in comparisons))
    amounts = _amounts(values)
    if amounts is not None:
        values = [values[at] for at in np.argsort(amounts)]
        amounts = sorted(amounts)
    balanced = _balanced(comparisons, factor, values)
    if len(values) < 2 or not balanced:  # noqa: PLR2004  a comparison needs two levels
        return None
    names = contestants_of(comparisons)
    means = {
        column: {name: [_mean(cells, name, column) for cells in balanced] for name in names}
        for column in EFFECTS
    }
    measured = {column: own for column, own in means.items() if _is_measured(own)}
    return Effect(
        factor=factor,
        levels=tuple(str(value) for value in values),
        positions=_positions(amounts, len(values)),
        is_numeric=amounts is not None,
        means=measured,
    )


def _balanced(
    comparisons: Sequence[Comparison], factor: str, values: Sequence[object]
) -> list[list[Comparison]]:
    """Return, for each level of a factor, the network settings with this level.

    Each combination of the other factors' levels is included only if it was run with every level of
    this factor.
    """
    by_level: dict[object, dict[tuple[object, ...], Comparison]] = {value: {} for value in values}
    for each in comparisons:
        others = tuple(value for name, value in each.cell.items() if name != factor)
        by_level[each.cell.get(factor)][others] = each
    shared = set.intersection(*(set(own) for own in by_level.values()))
    return [
        [each for key, each in own.items() if key in shared] for own in by_level.values()
    ] * bool(shared)


def _mean(cells: Sequence[Comparison], name: str, column: str) -> stats.Interval | None:
    """Return an algorithm's mean over several network settings and all repetitions.

    In each repetition, values are first averaged over the settings. These averages are then
    averaged over the repetitions.
    """
    own = [each.values[name].get(column) for each in cells if name in each.contestants]
    found = [values for values in own if values is not None and np.isfinite(values).any()]
    if len(found) < len(cells):
        return None
    if len(found) == 1:
        return cells[0].interval(name, column)
    repetitions = min(values.size for values in found)
    table = np.array([values[:repetitions] for values in found])
    if column in GEOMETRIC:
        together = np.exp(np.log(table).mean(axis=0))
        finite = together[np.isfinite(together)]
        return stats.geometric_mean(finite) if finite.size else None
    together = table.mean(axis=0)
    finite = together[np.isfinite(together)]
    return stats.covering_mean(finite) if finite.size else None


def _is_measured(means: Means) -> bool:
    """Return whether at least one mean of a column is known and is not zero.

    Otherwise, a plot of the column would be empty or show only zeros, for example if no run had a
    timeout.
    """
    return any(each is not None and each.estimate != 0 for own in means.values() for each in own)


def _amounts(values: Sequence[object]) -> list[float] | None:
    """Return the levels as numbers in a common unit, or None if the levels are names."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(str(value)) for value in values]
    for reader in _READERS:
        try:
            return [float(reader(value)) for value in values]
        except QuantityError:
            continue
    try:
        limits = [read.parse_queue(value) for value in values]
    except QuantityError:
        return None
    return (
        [float(each.count) for each in limits] if len({each.unit for each in limits}) == 1 else None
    )


def _positions(amounts: Sequence[float] | None, levels: int) -> tuple[float, ...]:
    if amounts is None:
        return tuple((at + 0.5) / levels for at in range(levels))
    low, high = amounts[0], amounts[-1]
    if low > 0 and high / low >= _LOGARITHMIC_FROM:
        return tuple(log(each / low) / log(high / low) for each in amounts)
    return tuple((each - low) / (high - low) for each in amounts)
