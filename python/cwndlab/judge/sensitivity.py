"""Find the network properties and the weights of user classes that change a recommendation.

Utilities are natural logarithms, so a difference of 0.03 is 3 %. In a matrix of utilities, each
row is an algorithm, and each column is a drawn network (*draw*); NaN marks a missing run.

*Flips.* A flip is a network property (*key*) with a threshold. On one side of the threshold
(*beyond* it), another algorithm is better than the recommended one. The *lead* in a draw is the
other algorithm's utility minus that of the recommended one. A *rule* consists of a threshold, a
side and another algorithm. A key's best rule has the largest sum of leads in all draws beyond the
threshold. At this threshold, the isotonic regression of the lead on the key crosses zero (Barlow
and others, "Statistical Inference under Order Restrictions", 1972).

Even pure noise can yield a rule. Each key is therefore cross-validated: the best rule of nine
tenths of the draws is applied to the other (*held-out*) tenth, for each tenth in turn. The key is a
flip if the mean lead in the held-out draws beyond the thresholds is at least `zone`, and is
significant (one-sided t test; its level is 10 %, divided by the number of keys that have a rule).

*Turns.* If the weight of one class changes and the other classes keep their proportions, the mean
utility of each algorithm is linear in this weight. The recommendation changes at the weight at
which another algorithm's mean utility exceeds that of the recommended algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cwndlab.stats import students_t

if TYPE_CHECKING:
    from cwndlab.stats.bootstrap import Floats

Values: TypeAlias = Sequence[float] | Sequence[str]
Side = Literal["above", "below", "is"]

FOLDS = 10
LEVEL = 0.1
RESAMPLES = 400
INTERVAL = 0.9  # confidence of the interval of a break-even value
FEWEST_BEYOND = 3  # draws beyond a threshold, both fitted and held out
_SEED = 20_120_112


@dataclass(frozen=True, slots=True)
class Flip:
    """A network property (key) with the break-even value at which the recommendation changes."""

    key: str
    other: int
    """Row, in the matrix of utilities, of the algorithm that is better beyond the break-even."""
    side: Side
    """Values of the key for which `other` is better: "above" or "below" the number `break_even`, or
    "is" for the name `break_even`, if the key's values are names."""
    break_even: float | str
    """Break-even value in the key's unit. If the values of the key are names instead of numbers,
    this is the name of the value for which the algorithm `other` is better."""
    low: float | None
    high: float | None
    """Upper end of the 90 % bootstrap interval of the break-even value; `low` is the lower end.
    Both are None if the values of the key are names instead of numbers.

    The interval is slightly too narrow: it contains the true value in about 85 of 100 cases.
    """
    lead: float
    """Mean utility of `other` minus that of the recommended algorithm, computed by cross-validation
    on the networks beyond the break-even value."""
    share: float
    """Fraction of the drawn networks that lie beyond the break-even value."""
    p_value: float
    """p value of a one-sided t test of whether the mean lead on held-out networks is above 0. The p
    value is already multiplied by the number of keys that were tested."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule: for some values of a key, `other` is used in place of the recommended algorithm."""

    other: int
    side: Side
    threshold: float | str
    total: float  # sum of the other algorithm's leads over all draws beyond the threshold


def flips(
    utilities: npt.ArrayLike,
    answer: int,
    keys: Mapping[str, Values],
    *,
    zone: float,
    logarithmic: Sequence[str] = (),
) -> tuple[Flip, ...]:
    """Return the keys of the network whose values change the recommendation.

    Another algorithm is better beyond a key's break-even value, or for one of the key's names. Keys
    are sorted by the gain of utility in cross-validation, highest first.

    Args:
        utilities: array of shape (algorithms, draws); a draw is a simulated network.
        answer: the row of the recommended algorithm, which must have the highest mean. For any
            other row, the test reports too many flips that are due to chance.
        keys: for each key, its value in each draw: a number or a name.
        zone: differences in utility below this value are negligible.
        logarithmic: keys for which the break-even value between two draws is interpolated on a
            logarithmic scale.

    Raises:
        ValueError: the number of values of a key differs from the number of draws.
    """
    leads, kept = _leads(utilities, answer)
    tried: list[tuple[str, _Rule, Floats]] = []
    for name, values in keys.items():
        if len(values) != len(kept):
            msg = f"the key {name} has {len(values)} values, but there are {len(kept)} networks"
            raise ValueError(msg)
        column = np.asarray(values)[kept]
        rule = _best_rule(leads, column, is_log=name in logarithmic)
        if rule is not None:
            held_out = _held_out(leads, column, is_log=name in logarithmic)
            tried.append((name, rule, held_out))
    found: list[tuple[float, Flip]] = []
    for name, rule, held_out in tried:
        p_value = min(1.0, _p_of_gain(held_out) * len(tried))
        if p_value > LEVEL or held_out.mean() < zone:
            continue
        column = np.asarray(keys[name])[kept]
        low, high = _interval(leads, column, rule, is_log=name in logarithmic)
        share = float(_beyond(column, rule).mean())
        lead = float(held_out.mean())
        flip = Flip(name, rule.other, rule.side, rule.threshold, low, high, lead, share, p_value)
        found.append((float(held_out.sum()), flip))
    found.sort(key=lambda item: (-item[0], item[1].key))
    return tuple(flip for _, flip in found)


def variance_shares(
    utilities: npt.ArrayLike, answer: int, other: int, keys: Mapping[str, Values]
) -> dict[str, float]:
    """Return the share of the lead's variance that each key explains, and the remaining `rest`.

    The lead is the utility of `other` minus the utility of `answer`, the recommended algorithm.
    For each key, the draws are grouped by the key's value: one group for each name, or groups of
    equal size along the range. The share is the correlation ratio over these groups, minus the
    share expected by chance (epsilon squared, Kelley 1935). Interactions between keys and the
    effect of seeds are part of `rest`.
    """
    leads, kept = _leads(utilities, answer)
    lead = leads[other]
    shares = {}
    for name, values in keys.items():
        column = np.asarray(values)[kept]
        shares[name] = _correlation_ratio(lead, _parts(column))
    shares["rest"] = max(0.0, 1.0 - sum(shares.values()))
    return shares


@dataclass(frozen=True, slots=True)
class ShareTurn:
    """The weight of one class of users at which the recommendation for all users changes."""

    class_name: str
    weight: float
    """Current weight of the class of users, from 0 to 1."""
    at: float
    """Break-even weight of the class of users: at this weight, the recommendation changes."""
    side: Literal["above", "below"]
    other: int
    """Row, in the matrix of utilities, of the best algorithm on this side of `at`."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """Recommendation for a whole population of networks, and its effect on each class."""

    best: int
    """Row number of the algorithm with the highest weighted mean utility."""
    means: tuple[float, ...]
    """Weighted mean utility of each algorithm."""
    regrets: tuple[tuple[float, ...], ...]
    """Loss of utility with each algorithm (row) in each class (column), compared with the best
    algorithm for the class."""
    loser: str | None
    """The class that loses the most utility with the algorithm `best`; None if it loses little."""
    turns: tuple[ShareTurn, ...]
    """For each class, the smallest change of its weight that changes the recommendation, if there
    is one. The smallest of these changes comes first."""


def weigh(
    utilities: npt.ArrayLike, classes: Sequence[str], weights: Sequence[float], *, zone: float
) -> Weighing:
    """Compute the recommendation for a population that consists of weighted classes.

    Args:
        utilities: mean utilities of shape (algorithms, classes), without missing values.
        classes: names of the classes.
        weights: weight of each class; their sum can be any number.
        zone: differences in utility below this value are negligible.

    Raises:
        ValueError: a utility is missing, a weight is negative, the weights sum to 0, or the number
            of classes differs from the number of weights or of columns in `utilities`.
    """
    by_class = np.asarray(utilities, dtype=np.float64)
    shares = np.asarray(weights, dtype=np.float64)
    if by_class.shape[1:] != (len(classes),) or shares.shape != (len(classes),):
        msg = (
            f"{len(classes)} classes and {shares.size} weights do not match utilities of shape "
            f"{by_class.shape} (algorithms, classes)"
        )
        raise ValueError(msg)
    if not np.isfinite(by_class).all() or (shares < 0).any() or not shares.sum() > 0:
        msg = (
            "a population needs the utility of every algorithm in every class, no negative weight, "
            "and a sum of weights above 0"
        )
        raise ValueError(msg)
    shares = shares / shares.sum()
    means = by_class @ shares
    best = int(np.argmax(means))
    regrets = by_class.max(axis=0) - by_class
    worst = int(np.argmax(regrets[best]))
    turns = [
        turn
        for n, name in enumerate(classes)
        if (turn := _nearest_turn(by_class, shares, best, n, name)) is not None
    ]
    turns.sort(key=lambda turn: abs(turn.at - turn.weight))
    return Weighing(
        best,
        tuple(means.tolist()),
        tuple(tuple(row) for row in regrets.tolist()),
        classes[worst] if regrets[best, worst] > zone else None,
        tuple(turns),
    )


def _nearest_turn(
    by_class: Floats, shares: Floats, best: int, n: int, name: str
) -> ShareTurn | None:
    """Return the break-even weight nearest to the current weight of class `n`, if there is any."""
    weight = float(shares[n])
    if weight >= 1:
        return None
    rest = (by_class @ shares - by_class[:, n] * weight) / (1 - weight)
    outside = rest[best] - rest  # lead of the best algorithm in the other classes
    inside = by_class[best, n] - by_class[:, n]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = outside / (outside - inside)
    at[~((outside * inside < 0) & (at >= 0) & (at <= 1))] = math.nan
    if np.isnan(at).all():
        return None
    other = int(np.nanargmin(np.abs(at - weight)))
    side: Literal["above", "below"] = "above" if inside[other] < 0 else "below"
    return ShareTurn(name, weight, float(at[other]), side, other)


def _leads(utilities: npt.ArrayLike, answer: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return how much more utility each algorithm (row) has than the recommended algorithm.

    If the utility of any algorithm is missing on a network (column), this network is removed. The
    second result is the mask of the networks that were kept.
    """
    matrix = np.asarray(utilities, dtype=np.float64)
    kept = np.asarray(np.isfinite(matrix).all(axis=0))
    whole = matrix[:, kept]
    return whole - whole[answer], kept


def _best_rule(leads: Floats, column: npt.NDArray[np.generic], *, is_log: bool) -> _Rule | None:
    """Return the rule (see `_Rule`) that gains the most utility; None if no rule gains utility."""
    rules = (
        _rules_of_choices(leads, column)
        if column.dtype.kind == "U"
        else _rules_of_numbers(leads, column.astype(np.float64), is_log=is_log)
    )
    return max(rules, key=lambda rule: rule.total, default=None)


def _rules_of_choices(leads: Floats, column: npt.NDArray[np.generic]) -> list[_Rule]:
    rules = []
    for choice in sorted(set(column.tolist())):
        is_choice = column == choice
        if FEWEST_BEYOND <= is_choice.sum() < len(column):
            totals = leads[:, is_choice].sum(axis=1)
            other = int(np.argmax(totals))
            if totals[other] > 0:
                rules.append(_Rule(other, "is", str(choice), float(totals[other])))
    return rules


def _rules_of_numbers(leads: Floats, column: Floats, *, is_log: bool) -> list[_Rule]:
    """Return a numeric key's best rule with the side "above", and its best rule with "below".

    The two thresholds can differ. A rule (see `_Rule`) that gains no utility is omitted.
    """
    order = np.argsort(column, kind="stable")
    values = column[order]
    cuts = np.flatnonzero(np.diff(values) > 0) + 1  # draws before a cut lie below the threshold
    cuts = cuts[(cuts >= FEWEST_BEYOND) & (cuts <= len(values) - FEWEST_BEYOND)]
    if not len(cuts):
        return []
    below = np.cumsum(leads[:, order], axis=1)
    sides: tuple[tuple[Side, Floats], ...] = (
        ("above", below[:, -1:] - below[:, cuts - 1]),
        ("below", below[:, cuts - 1]),
    )
    rules = []
    for side, totals in sides:
        other, cut = np.unravel_index(int(np.argmax(totals)), totals.shape)
        if totals[other, cut] > 0:
            one, two = float(values[cuts[cut] - 1]), float(values[cuts[cut]])
            middle = math.sqrt(one * two) if is_log else (one + two) / 2
            rules.append(_Rule(int(other), side, middle, float(totals[other, cut])))
    return rules


def _beyond(column: npt.NDArray[np.generic], rule: _Rule) -> npt.NDArray[np.bool_]:
    if isinstance(rule.threshold, str):
        return np.asarray(column == rule.threshold)
    values = column.astype(np.float64)
    return values > rule.threshold if rule.side == "above" else values < rule.threshold


def _held_out(leads: Floats, column: npt.NDArray[np.generic], *, is_log: bool) -> Floats:
    """Return the gains in utility from a key's best rule (see `_Rule`), by cross-validation.

    Each tenth of the networks is held out in turn, and the best rule is found on the other
    networks. The result contains the gain on each held-out network to which this rule applies.
    """
    folds = np.arange(leads.shape[1]) % FOLDS
    found = []
    for fold in range(FOLDS):
        is_out = folds == fold
        rule = _best_rule(leads[:, ~is_out], column[~is_out], is_log=is_log)
        if rule is not None:
            found.append(leads[rule.other, is_out][_beyond(column[is_out], rule)])
    return np.concatenate(found) if found else np.empty(0)


def _p_of_gain(gains: Floats) -> float:
    """Return the p value of a one-sided t test of whether the mean of `gains` is above 0."""
    if len(gains) < FEWEST_BEYOND:
        return 1.0
    spread = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if spread == 0:
        return 0.0 if gains.mean() > 0 else 1.0
    return 1.0 - students_t.cumulative_probability(float(gains.mean()) / spread, len(gains) - 1)


def _interval(
    leads: Floats, column: npt.NDArray[np.generic], rule: _Rule, *, is_log: bool
) -> tuple[float | None, float | None]:
    """Return the bootstrap 90 % interval of a rule's threshold.

    Both are None if the key's values are names, or if no resample has a rule with the same side.
    """
    if isinstance(rule.threshold, str):
        return None, None
    values = column.astype(np.float64)
    random = np.random.Generator(np.random.PCG64(_SEED))
    lead = leads[rule.other][None]
    found = []
    for drawn in random.integers(len(values), size=(RESAMPLES, len(values))):
        rules = _rules_of_numbers(lead[:, drawn], values[drawn], is_log=is_log)
        found += [one.threshold for one in rules if one.side == rule.side]
    numbers = [one for one in found if not isinstance(one, str)]
    if not numbers:
        return None, None
    tail = (1 - INTERVAL) / 2
    low, high = np.quantile(numbers, [tail, 1 - tail])
    return float(low), float(high)


def _parts(column: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Group the networks by the value of a key; return the group number of each network.

    If the values are names, or only a few different numbers, each value has its own group. Many
    different numbers are divided into ranges (groups) with the same number of networks.
    """
    values, ranks = np.unique(column, return_inverse=True)
    most = max(2, round(math.sqrt(len(column)) / 2))
    if column.dtype.kind == "U" or len(values) <= most:
        return np.asarray(ranks)
    order = np.argsort(np.argsort(column, kind="stable"), kind="stable")
    return np.asarray(order * most // len(column))


def _correlation_ratio(lead: Floats, parts: npt.NDArray[np.intp]) -> float:
    total = float(((lead - lead.mean()) ** 2).sum())
    groups = [lead[parts == part] for part in np.unique(parts)]
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    if total <= 0 or len(lead) <= len(groups):
        return 0.0
    noise = within / (len(lead) - len(groups))
    return max(0.0, (total - within - (len(groups) - 1) * noise) / total)
