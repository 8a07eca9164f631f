"""What a user may want of a network, and which algorithm serves it: one verdict for each goal.

Each goal has one measure, defined here and nowhere else:

- *throughput*: goodput;
- *latency*: the median round trip;
- *short transfers*: the completion time of flows with an end, by its geometric mean;
- *fairness*: Jain's index over flows that run the same;
- *fairness to CUBIC*: Jain's index of what a flow of it gets and what CUBIC's beside it gets;
- *stability*: the variation of goodput from second to second (standard deviation over mean); beside
  it stands that from repetition to repetition.

Standings are those of `cwndlab.judge.verdict`: relative differences over pairs of runs, two
one-sided tests against the smallest effect of interest, a permutation test with Holm's correction.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.judge.comparison import Comparison, ResultsLike, compare
from cwndlab.judge.goal_measures import BESIDE_CUBIC, SHARE_BESIDE_CUBIC, VARIATION
from cwndlab.judge.plan import needed_repetitions
from cwndlab.judge.verdict import (
    COMPLETION,
    DELAY,
    THROUGHPUT,
    Ranking,
    Standing,
    certainty,
    more_words,
    names_of,
    quoted,
    rank,
    ratio_words,
)
from cwndlab.results.columns import quantity
from cwndlab.text.wording import format_number, join_words

_SEVERAL = 2
_LARGE = 0.5  # a difference that nobody would overlook
_EQUAL = 0.0005  # what one decimal of a per cent shows as nothing
_FEASIBLE = 1000  # repetitions


class Goal(StrEnum):
    """What may matter."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    SHORT_TRANSFERS = "short transfers"
    FAIRNESS = "fairness"
    FAIRNESS_TO_CUBIC = "fairness to CUBIC"
    STABILITY = "stability"


MEASURES: Mapping[Goal, str] = {
    Goal.THROUGHPUT: THROUGHPUT,
    Goal.LATENCY: DELAY,
    Goal.SHORT_TRANSFERS: COMPLETION,
    Goal.FAIRNESS: "jain_index",
    Goal.FAIRNESS_TO_CUBIC: BESIDE_CUBIC,
    Goal.STABILITY: VARIATION,
}

_WHAT_IS_MISSING: Mapping[Goal, str] = {
    Goal.THROUGHPUT: "no flow has a goodput",
    Goal.LATENCY: "no round trips were measured",
    Goal.SHORT_TRANSFERS: "no flow has an end; add flows of a size (compare --bytes 500kB)",
    Goal.FAIRNESS: "each ran alone; add flows (compare --flows 2)",
    Goal.FAIRNESS_TO_CUBIC: 'none ran beside CUBIC; add a [[flow]] with algorithm = "cubic"',
    Goal.STABILITY: "no time series of 10 s or more was recorded (record.samples)",
}


@dataclass(frozen=True)
class GoalVerdict:
    """Which algorithm serves a goal in one setting and direction."""

    goal: Goal
    comparison: Comparison
    ranking: Ranking | None
    """None where data are missing."""
    sentence: str
    recommended: tuple[str, ...]
    """The best and those as good, the best first; empty where data are missing."""
    change: str
    """What would change it."""

    @property
    def is_missing(self) -> bool:
        """Whether the study has no data on this goal."""
        return self.ranking is None

    @property
    def is_decided(self) -> bool:
        """Whether it is known of everyone whether it is as good as the best."""
        if self.ranking is None:
            return False
        differences = self.ranking.differences.values()
        return all(each is None or each.is_settled for each in differences)


@dataclass(frozen=True)
class Direction:
    """One way of the data, and what was measured of it in every setting."""

    name: str
    """`forward` or `reverse`, as flows have it."""
    comparisons: tuple[Comparison, ...]

    @property
    def title(self) -> str:
        """The direction and who sends in it."""
        return "uplink (the client sends)" if self.name == "reverse" else (
            "downlink (the server sends)"
        )  # fmt: skip


def compare_directions(
    results: ResultsLike,
    *,
    beside: pl.DataFrame,
    smallest_effect: float = stats.SMALLEST_EFFECT,
) -> tuple[Direction, ...]:
    """Return the comparisons of every direction in which something under test sent.

    `beside` are the measures that `cwndlab.judge.goal_measures.measures_of_flows` gives.
    """
    flows = results.flows()
    if flows.is_empty():
        return ()
    found = []
    for name in flows["direction"].unique(maintain_order=True).to_list():
        comparisons = compare(
            results,
            smallest_effect=smallest_effect,
            direction=name,
            beside=beside,
        )
        if comparisons:
            found.append(Direction(name, tuple(comparisons)))
    return tuple(found)


def judge_goals(comparison: Comparison) -> tuple[GoalVerdict, ...]:
    """Return the verdict on every goal, those whose data are missing too."""
    return tuple(judge_goal(comparison, goal) for goal in Goal)


def judge_goal(comparison: Comparison, goal: Goal) -> GoalVerdict:
    """Return the verdict on one goal."""
    ranking = _ranking(comparison, goal)
    if ranking is None:
        missing = f"Not measured: {_WHAT_IS_MISSING[goal]}."
        return GoalVerdict(goal, comparison, None, missing, (), "")
    recommended = tuple(_leaders(comparison, goal, ranking))
    return GoalVerdict(
        goal,
        comparison,
        ranking,
        _sentence(comparison, goal, ranking),
        recommended,
        _what_would_change(comparison, ranking),
    )


def _ranking(comparison: Comparison, goal: Goal) -> Ranking | None:
    """Return the standings; None where the study has no data."""
    is_alone = comparison.flows_per_run < _SEVERAL or comparison.is_contest
    if goal is Goal.FAIRNESS and (is_alone or comparison.has(BESIDE_CUBIC)):
        return None
    return rank(comparison, MEASURES[goal])


def _leaders(comparison: Comparison, goal: Goal, ranking: Ranking) -> list[str]:
    """Return the best and those as good: first who is best in what else matters."""
    column = DELAY if goal is Goal.THROUGHPUT else THROUGHPUT
    sign = 1 if column == DELAY else -1

    def rank_of(name: str) -> float:
        interval = comparison.interval(name, column)
        return math.inf if interval is None else sign * interval.estimate

    return sorted(ranking.leaders, key=rank_of)


def _sentence(comparison: Comparison, goal: Goal, ranking: Ranking) -> str:
    """Return which to use, by how much, how sure."""
    leaders = _leaders(comparison, goal, ranking)
    first = leaders[0]
    value = f"{_value(comparison, first, ranking.column)}{_spread_words(comparison, goal, first)}"
    if len(ranking.standings) == 1:
        return f"{quoted(first)}: {value}. Nothing stands beside it to compare with."
    effect = f"{100 * comparison.smallest_effect:g} %"
    if len(leaders) == len(ranking.standings):
        return (
            f"No difference worth caring about: {names_of(leaders)} are within {effect} of each "
            f"other ({value})."
        )
    parts = [f"Use {quoted(first)}: {value}"]
    worse = ranking.those(Standing.WORSE)
    unsure = ranking.those(Standing.UNDECIDED)
    if worse:
        parts.append(_against(comparison, goal, first, worse[0], ranking.column))
    sentences = [f"{'; '.join(parts)}."]
    if leaders[1:]:
        verb = "is" if len(leaders) == 2 else "are"  # noqa: PLR2004  one beside the first
        else_ = (
            ", with longer delay"
            if goal is Goal.THROUGHPUT and _longer(comparison, leaders)
            else ""
        )
        sentences.append(f"{names_of(leaders[1:])} {verb} as good{else_}.")
    if unsure:
        verb = "is" if len(unsure) == 1 else "are"
        sentences.append(f"Not decided: whether {names_of(unsure)} {verb} as good.")
    sentences += [_cost(comparison, goal, first), _shares(comparison, goal)]
    return " ".join(filter(None, sentences))


def _against(comparison: Comparison, goal: Goal, first: str, next_best: str, column: str) -> str:
    """Return by how much the choice is better than the next, and how sure that is."""
    difference = comparison.difference(first, next_best, column)
    if difference is None:
        return f"{quoted(next_best)} is behind"
    by = _by_how_much(goal, difference.relative.estimate, next_best)
    if difference.pairs == 1 or comparison.is_deterministic:
        sure = certainty(comparison, difference)
    else:
        agreeing = max(difference.pairs_above, difference.pairs_below)
        sure = f"sure: {agreeing} of {difference.pairs} pairs"
    return f"{by} ({sure})"


def _longer(comparison: Comparison, leaders: list[str]) -> bool:
    """Whether all but the first have surely longer round trips."""
    differences = [comparison.difference(name, leaders[0], DELAY) for name in leaders[1:]]
    return all(each is not None and each.direction > 0 for each in differences)


def _value(comparison: Comparison, name: str, column: str) -> str:
    interval = comparison.interval(name, column)
    if interval is None:
        return "-"
    about = quantity(column)
    number = format_number(interval.estimate)
    title = about.title if about.title.startswith(("RTT", "Jain")) else about.title.lower()
    return f"{title} {number} {about.unit}".rstrip()


def _by_how_much(goal: Goal, relative: float, other: str) -> str:
    if goal in {Goal.LATENCY, Goal.SHORT_TRANSFERS, Goal.STABILITY}:
        return f"{ratio_words(1 + relative)} that of {quoted(other)}"
    return more_words(relative, other)


def _shares(comparison: Comparison, goal: Goal) -> str:
    """Return, for fairness to CUBIC, what each took of what it and CUBIC got together."""
    if goal is not Goal.FAIRNESS_TO_CUBIC:
        return ""
    shares = [
        f"{quoted(name)} {share.estimate:.0f} %"
        for name in comparison.contestants
        if (share := comparison.interval(name, SHARE_BESIDE_CUBIC)) is not None
    ]
    if not shares:
        return ""
    return f"Of what a flow of it and one of CUBIC got together it took: {join_words(shares)}."


def _spread_words(comparison: Comparison, goal: Goal, name: str) -> str:
    """Return, for stability, how far repetitions are apart."""
    spread = _spread_pct(comparison, name) if goal is Goal.STABILITY else None
    if spread is None:
        return ""
    return f" from second to second, {format_number(spread, 2)} % from repetition to repetition"


def _spread_pct(comparison: Comparison, name: str) -> float | None:
    values = comparison.finite(name, THROUGHPUT)
    if len(values) < _SEVERAL or not values.mean() > 0:
        return None
    return float(100 * values.std(ddof=1) / values.mean())


def _cost(comparison: Comparison, goal: Goal, chosen: str) -> str:
    """Return what the choice costs in throughput, or in latency, where that is worth caring."""
    column = DELAY if goal is Goal.THROUGHPUT else THROUGHPUT
    if goal in {Goal.SHORT_TRANSFERS, Goal.FAIRNESS, Goal.FAIRNESS_TO_CUBIC}:
        return ""
    other = comparison.best(column)
    if other is None or other == chosen:
        return ""
    difference = comparison.difference(chosen, other, column)
    if difference is None or abs(difference.relative.estimate) < comparison.smallest_effect:
        return ""
    if column == DELAY:
        ratio = ratio_words(1 + difference.relative.estimate)
        return f"It costs delay: {ratio} {quoted(other)}'s."
    percent = -100 * difference.relative.estimate
    return f"It costs throughput: {percent:.0f} % less than {quoted(other)}."


def _what_would_change(comparison: Comparison, ranking: Ranking) -> str:
    """Return what would make the verdict another one."""
    if len(ranking.standings) == 1:
        return "Others beside it."
    unsure = ranking.those(Standing.UNDECIDED)
    if unsure:
        return _more_runs(comparison, ranking, unsure)
    if comparison.is_one_run or comparison.is_deterministic:
        return (
            "Another place or time: each ran once under one condition, which says nothing of "
            "others."
        )
    gaps = {
        name: abs(difference.relative.estimate)
        for name, difference in ranking.differences.items()
        if difference is not None
    }
    behind = {name: gap for name, gap in gaps.items() if name not in ranking.leaders}
    if not behind:
        return _smaller_than(max(gaps.values(), default=0.0))
    nearest = min(behind, key=lambda name: behind[name])
    if behind[nearest] > _LARGE:
        return "Another place or time: nobody else comes near."
    return (
        f"Not caring about differences of {_percent(behind[nearest])}: {quoted(nearest)} would do "
        "too."
    )


def _smaller_than(largest: float) -> str:
    if largest < _EQUAL:
        return "Another place or time: here they are the same."
    return f"Caring about differences of {_percent(largest)} and less."


def _more_runs(comparison: Comparison, ranking: Ranking, unsure: list[str]) -> str:
    """Return how many repetitions would decide, were the means what they seem to be."""
    counts = []
    for name in unsure:
        difference = ranking.differences.get(name)
        spread = _spread_of_pairs(comparison, name, ranking.best, ranking.column)
        if difference is None or spread is None:
            continue
        margin = abs(abs(difference.relative.estimate) - comparison.smallest_effect)
        needed = max(margin, abs(difference.relative.estimate))
        count = needed_repetitions(spread, needed, len(ranking.standings) - 1) if needed else None
        counts.append(count)
    if not counts or any(count is None or count > _FEASIBLE for count in counts):
        return f"No feasible number of repetitions: {names_of(unsure)} and the best are too alike."
    # What did not decide this time had bad luck with what is enough on average.
    count = max([2 * comparison.repetitions, *(count for count in counts if count is not None)])
    return f"More repetitions: about {count:,} would decide about {names_of(unsure)}."


def _spread_of_pairs(comparison: Comparison, name: str, other: str, column: str) -> float | None:
    ours, theirs = comparison.values[name].get(column), comparison.values[other].get(column)
    if ours is None or theirs is None:
        return None
    both = np.isfinite(ours) & np.isfinite(theirs)
    if both.sum() < _SEVERAL or not theirs[both].mean() > 0:
        return None
    return float(np.std((ours[both] - theirs[both]) / theirs[both].mean(), ddof=1))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1f} %"  # noqa: PLR2004


def between_places(comparison: Comparison, comparisons: Sequence[Comparison]) -> str:
    """Return how far goodput is apart from place to place; empty where there is one place.

    Settings of `comparisons` count that differ from `comparison` in nothing but the place.
    """
    rest = _but_place(comparison)
    places = [each for each in comparisons if _but_place(each) == rest]
    if len(rest) == len(comparison.cell) or len(places) < _SEVERAL:
        return ""
    parts = []
    for name in comparison.contestants:
        intervals = [each.interval(name, THROUGHPUT) for each in places if name in each.contestants]
        means = np.array([each.estimate for each in intervals if each is not None])
        if len(means) >= _SEVERAL and means.mean() > 0:
            variation = format_number(float(100 * means.std(ddof=1) / means.mean()), 2)
            parts.append(f"{quoted(name)} {variation} %")
    if not parts:
        return ""
    return f"Over the {len(places)} places goodput varies by: {join_words(parts)}."


def _but_place(comparison: Comparison) -> dict[str, object]:
    is_place = {"place", "live.place"}
    return {key: value for key, value in comparison.cell.items() if key not in is_place}
