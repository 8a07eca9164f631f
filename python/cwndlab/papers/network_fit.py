"""Infer a paper's network from some columns of its tables, and predict the other columns.

Each column belongs to a TCP variant. Every variant is simulated on networks that are drawn from the
ranges of a plan. The columns from which the network is inferred are the *given* columns. The more a
network's simulated numbers resemble the given columns, the larger is the weight of the network.

Each number in the other columns is predicted by the weighted median of the simulated numbers for
its cell, one from each network. Before the median is computed, a regression corrects each simulated
number for the remaining difference between the given columns and the network's simulated numbers in
these columns (`cwndlab.inference.importance`). If a paper has several places with different
networks, the networks of a place are inferred from the given numbers of this place only.

To test whether the predictions are better than chance, the fit is repeated with the names of the
variants shuffled in the paper's tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.inference.importance import Sampler, adjusted_values, adjusting_features
from cwndlab.inference.posterior import LEVEL, quantiles
from cwndlab.papers.network_plan import POINT
from cwndlab.papers.tables import cell_values, relative_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from cwndlab.inference.importance import WeightedPoints
    from cwndlab.papers.facts import PaperTable
    from cwndlab.papers.network_plan import PaperPlan, PlaceNetworks, PossibleNetworks
    from cwndlab.stats.bootstrap import Floats

SHUFFLES = 200
"""Number of times that the fit is repeated with the variants' names shuffled in the tables."""
_SETS = 1000  # sets of networks that are drawn if a paper has several places
_SEED = 1
_SHARES = [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]
_LEAST = 0.01  # smallest value whose logarithm is used, relative to the smallest of the table


@dataclass(frozen=True, slots=True)
class TableNumber:
    """A number in a paper's table, and cwndlab's corresponding number on each simulated network."""

    table: str
    quantity: str
    """Text that names the metric of the table and the direction of its transfers."""
    row: str
    column: str
    low: float
    high: float
    """Upper end of the range that the paper prints; equal to `low` for a single number."""
    place: str
    """Name of the place where the number was measured; empty if the paper has one network."""
    simulated: Floats
    """Natural logarithm of cwndlab's number on each network of this place; NaN if a run failed."""

    @property
    def middle(self) -> float:
        """The number that the paper prints, or the middle of the range that the paper prints."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class PredictedNumber:
    """A number in a paper's table, and its prediction from other columns of the paper's tables."""

    number: TableNumber
    low: float
    median: float
    high: float
    """Upper end of the 90 % interval of the prediction; `low` is the lower end."""
    grand_mean: float
    """Mean of all numbers in the paper's tables that have this number's metric and direction."""

    @property
    def error(self) -> float:
        """Relative difference of the predicted median from the paper's range; 0 inside it."""
        return abs(relative_difference(self.median, self.number.low, self.number.high))

    @property
    def error_of_mean(self) -> float:
        """Relative difference of `grand_mean` from the paper's range; 0 inside it."""
        return abs(relative_difference(self.grand_mean, self.number.low, self.number.high))

    @property
    def is_inside(self) -> bool:
        """True if the 90 % interval contains the paper's number, or a part of the paper's range."""
        return self.low <= self.number.high and self.high >= self.number.low


@dataclass(frozen=True, slots=True)
class PlaceFit:
    """Networks of one place, inferred from the given numbers of this place."""

    networks: PlaceNetworks
    inferred: WeightedPoints
    given: tuple[TableNumber, ...]
    """Those numbers of the paper from which the networks were inferred."""

    @property
    def measured(self) -> Floats:
        """Natural logarithms of the numbers in `given`."""
        return np.log([each.middle for each in self.given])


@dataclass(frozen=True, slots=True)
class NetworkSets:
    """Weighted sets of inferred networks: each set has one network of each place."""

    points: NDArray[np.int64]
    """Levels of the factor `POINT`: one row for each set, one column for each place."""
    weights: Floats
    features: Floats
    """Differences of the sets from the given numbers, by which predictions are corrected."""


@dataclass(frozen=True, slots=True)
class PaperFit:
    """Networks inferred from some columns of a paper's tables, and predictions of the others."""

    plan: PaperPlan
    places: tuple[PlaceFit, ...]
    predicted: tuple[PredictedNumber, ...]

    @property
    def given(self) -> tuple[TableNumber, ...]:
        """Those numbers of the paper from which the networks were inferred."""
        return tuple(number for each in self.places for number in each.given)

    @property
    def error(self) -> float:
        """Mean relative error of the predictions, over all predicted numbers of the paper."""
        return float(np.mean([each.error for each in self.predicted]))

    @property
    def error_of_mean(self) -> float:
        """Mean relative error if each number were predicted to be its metric's `grand_mean`."""
        return float(np.mean([each.error_of_mean for each in self.predicted]))

    def sets(self) -> NetworkSets:
        """Return sets with one inferred network of each place.

        With one place, each inferred network is a set. With several places, which were inferred
        independently, the networks of a set are drawn at random by their weights, so all sets have
        the same weight.
        """
        if len(self.places) == 1:
            chosen = [np.arange(len(self.places[0].inferred.weights))]
            weights = self.places[0].inferred.weights
        else:
            draws = np.random.default_rng(_SEED)
            chosen = [_drawn(each.inferred.weights, draws) for each in self.places]
            weights = np.full(_SETS, 1 / _SETS)
        each_place = list(zip(self.places, chosen, strict=True))
        points = [place.networks.first + place.inferred.places[own] for place, own in each_place]
        numbers = np.hstack([place.inferred.numbers[own] for place, own in each_place])
        measured = np.concatenate([place.measured for place in self.places])
        features = adjusting_features(numbers, measured)
        return NetworkSets(np.column_stack(points), weights, features)


def table_numbers(
    tables: Sequence[PaperTable], networks: PossibleNetworks, flows: pl.DataFrame
) -> list[TableNumber]:
    """Return each number of a paper's tables, with cwndlab's corresponding number on each network.

    A number is left out if the plan of the networks does not name its table, or if its variant or
    its row was not simulated.

    Args:
        tables: the tables of the paper.
        networks: the simulated networks.
        flows: one row for each flow of each run, with the column `point`.
    """
    own_points = {each.name: each.points for each in networks.places}
    found = []
    for table in tables:
        if table.name not in networks.plan.tables:
            continue
        quantity = f"{table.metric} {table.direction}"
        least = _LEAST * min(low for row in table.values for low, _ in row)
        for row, printed in zip(table.rows, table.values, strict=True):
            for column, (low, high) in zip(table.columns, printed, strict=True):
                cell = cell_values(table, flows, row, column, POINT)
                if cell.is_empty():
                    continue
                place = _place(table, row, networks.plan)
                values = np.full(networks.count, np.nan)
                values[cell[POINT].to_numpy()] = np.log(np.maximum(cell["value"], least))
                simulated = values[own_points[place]]
                found.append(
                    TableNumber(table.name, quantity, row, column, low, high, place, simulated)
                )
    return found


def _place(table: PaperTable, row: str, plan: PaperPlan) -> str:
    """Return the name of the place to which a row of a table belongs."""
    if plan.place is None:
        return ""
    return row if table.row_factor == plan.place else table.where[plan.place]


def fit_paper(numbers: Sequence[TableNumber], networks: PossibleNetworks) -> PaperFit:
    """Infer a paper's network from some columns of its tables, and predict the other columns."""
    training = networks.plan.training
    fits = {}
    for place in networks.places:
        given = [each for each in numbers if each.place == place.name and each.column in training]
        fits[place.name] = _fit_place(given, place)
    means = _means(numbers)
    predicted = [
        _predicted(each, fits[each.place], means[each.quantity])
        for each in numbers
        if each.column not in training
    ]
    return PaperFit(networks.plan, tuple(fits.values()), tuple(predicted))


def _fit_place(given: Sequence[TableNumber], networks: PlaceNetworks) -> PlaceFit:
    measured = np.log([each.middle for each in given])
    sampler = Sampler(measured, networks.shares.shape[1], np.random.default_rng(_SEED))
    sampler.propose(len(networks.shares))
    sampler.add(networks.shares, np.column_stack([each.simulated for each in given]))
    return PlaceFit(networks, sampler.result(), tuple(given))


def _predicted(number: TableNumber, fit: PlaceFit, grand_mean: float) -> PredictedNumber:
    inferred = fit.inferred
    features = adjusting_features(inferred.numbers, fit.measured)
    values = adjusted_values(number.simulated[inferred.places], features)
    known = np.isfinite(values)
    low, median, high = np.exp(quantiles(values[known], inferred.weights[known], _SHARES))
    return PredictedNumber(number, low, median, high, grand_mean)


def _drawn(weights: Floats, draws: np.random.Generator) -> NDArray[np.int64]:
    """Draw `_SETS` positions in random order, each about as often as its weight demands."""
    levels = draws.permutation((np.arange(_SETS) + 0.5) / _SETS)
    ends = np.cumsum(weights)
    return np.searchsorted(ends / ends[-1], levels)


def shuffled_errors(
    numbers: Sequence[TableNumber], networks: PossibleNetworks, *, seed: int = 1
) -> Floats:
    """Return the mean relative errors of fits to tables in which variants' names are permuted.

    Each fit uses one random permutation of the variants for all tables. Each variant gets the
    paper's numbers of the variant to which the permutation maps it. In rows in which the paper has
    no such number, the variant keeps its own number.
    """
    draws = np.random.default_rng(seed)
    names = list(dict.fromkeys(each.column for each in numbers))
    errors: list[float] = []
    while len(errors) < SHUFFLES:
        renamed = dict(zip(names, draws.permutation(names).tolist(), strict=True))
        if all(name == other for name, other in renamed.items()):
            continue
        errors.append(fit_paper(_renamed(numbers, renamed), networks).error)
    return np.array(errors)


def _renamed(numbers: Sequence[TableNumber], names: Mapping[str, str]) -> list[TableNumber]:
    """Return the paper's numbers, exchanged between the variants as `names` states.

    Each variant gets the paper's numbers of the variant `names[variant]`. In rows in which the
    paper has no such number, the variant keeps its own number.
    """
    own = {(each.quantity, each.place, each.row, each.column): each for each in numbers}
    found = []
    for each in numbers:
        other = own.get((each.quantity, each.place, each.row, names[each.column]), each)
        found.append(replace(each, low=other.low, high=other.high))
    return found


def _means(numbers: Sequence[TableNumber]) -> dict[str, float]:
    """Return a dictionary that maps each quantity to the mean of all its numbers in the paper."""
    values: dict[str, list[float]] = {}
    for each in numbers:
        values.setdefault(each.quantity, []).append(each.middle)
    return {name: float(np.mean(own)) for name, own in values.items()}
