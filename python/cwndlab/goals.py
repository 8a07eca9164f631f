"""What a user may want of a network, and which algorithm serves it: one verdict for each goal.

Each goal has one measure, defined here and nowhere else:

- *throughput*: goodput;
- *latency*: the median round trip;
- *short transfers*: the completion time of flows with an end, by its geometric mean;
- *fairness*: Jain's index over flows that run the same;
- *fairness to CUBIC*: Jain's index of what a flow of it gets and what CUBIC's beside it gets;
- *stability*: the variation of goodput from second to second (standard deviation over mean); beside
  it stands that from repetition to repetition.

Standings are those of `cwndlab.verdict`: relative differences over pairs of runs, two one-sided
tests against the smallest effect of interest, a permutation test with Holm's correction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cwndlab import stats
from cwndlab.columns import quantity
from cwndlab.comparison import Comparison, compare
from cwndlab.goal_measures import BESIDE_CUBIC, VARIATION, WithSeries, measures_of_flows
from cwndlab.plan import needed_repetitions
from cwndlab.tables.formatting import format_number
from cwndlab.verdict import (
    COMPLETION,
    DELAY,
    THROUGHPUT,
    Ranking,
    Standing,
    certainty,
    names_of,
    quoted,
    rank,
    ratio_words,
)

_SEVERAL = 2


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
        return self.ranking is not None and not self.ranking.those(Standing.UNDECIDED)


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
    results: WithSeries,
    *,
    smallest_effect: float = stats.SMALLEST_EFFECT,
    confidence: float = stats.CONFIDENCE,
) -> tuple[Direction, ...]:
    """Return the comparisons of every direction in which something under test sent."""
    flows = results.flows()
    if flows.is_empty():
        return ()
    beside = measures_of_flows(results)
    found = []
    for name in flows["direction"].unique(maintain_order=True).to_list():
        comparisons = compare(
            results,
            smallest_effect=smallest_effect,
            confidence=confidence,
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
    recommended = (ranking.best, *ranking.those(Standing.AS_GOOD))
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


def _sentence(comparison: Comparison, goal: Goal, ranking: Ranking) -> str:
    """Return which to use, by how much, how sure."""
    best = ranking.best
    if len(ranking.standings) == 1:
        return f"{quoted(best)}: {_value(comparison, best, ranking.column)}. It stands alone."
    leaders = ranking.leaders
    effect = f"{100 * comparison.smallest_effect:g} %"
    if len(leaders) == len(ranking.standings):
        return (
            f"No difference worth caring about: {names_of(leaders)} are within {effect} of "
            f"{_value(comparison, best, ranking.column)}{_spread_words(comparison, goal)}."
        )
    rest = [name for name in ranking.standings if name not in leaders]
    unsure = ranking.those(Standing.UNDECIDED)
    named = names_of(leaders, "or")
    rival = next((name for name in rest if name not in unsure), rest[0])
    difference = comparison.difference(best, rival, ranking.column)
    value = _value(comparison, best, ranking.column)
    how = ""
    if difference is not None:
        how = (
            f"; {_by_how_much(goal, difference.relative.estimate)} {quoted(rival)}, "
            f"{certainty(comparison, difference)}"
        )
    head = f"Use {named}: {value}{_spread_words(comparison, goal)}{how}."
    if unsure:
        head += f" Not decided: whether {names_of(unsure)} {_do(unsure)} as well."
    cost = _cost(comparison, goal, best)
    return f"{head} {cost}" if cost else head


def _do(names: list[str]) -> str:
    return "does" if len(names) == 1 else "do"


def _value(comparison: Comparison, name: str, column: str) -> str:
    interval = comparison.interval(name, column)
    if interval is None:
        return "-"
    about = quantity(column)
    number = format_number(interval.estimate)
    title = about.title if about.title.startswith(("RTT", "Jain")) else about.title.lower()
    return f"{title} {number} {about.unit}".rstrip()


def _by_how_much(goal: Goal, relative: float) -> str:
    if goal in {Goal.LATENCY, Goal.SHORT_TRANSFERS, Goal.STABILITY}:
        return f"{ratio_words(1 + relative)} that of"
    percent = 100 * relative
    shown = f"{percent:.0f}" if abs(percent) >= 1 else f"{percent:.1f}"
    return f"{shown} % more than"


def _spread_words(comparison: Comparison, goal: Goal) -> str:
    """Return, for stability, how far repetitions are apart."""
    if goal is not Goal.STABILITY or comparison.is_one_run:
        return ""
    spreads = {name: _spread_pct(comparison, name) for name in comparison.contestants}
    known = [spread for spread in spreads.values() if spread is not None]
    if not known:
        return ""
    low, high = format_number(min(known), 2), format_number(max(known), 2)
    return f" (from repetition to repetition {low} to {high} %)"


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
    rest = ranking.those(Standing.WORSE)
    if not rest:
        gap = max(
            (abs(d.relative.estimate) for d in ranking.differences.values() if d is not None),
            default=0.0,
        )
        return f"Caring about differences of {_percent(gap)} and less."
    gaps = {
        name: abs(difference.relative.estimate)
        for name in rest
        if (difference := ranking.differences.get(name)) is not None
    }
    if not gaps:
        return "Nothing that was measured."
    nearest = min(gaps, key=lambda name: gaps[name])
    nearest_gap = _percent(gaps[nearest])
    return f"{quoted(nearest)} would do as well if differences of {nearest_gap} did not matter."


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
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return "More repetitions."
    # What did not decide this time had bad luck with what was enough on average.
    count = max(*known, 2 * comparison.repetitions) if known else 2 * comparison.repetitions
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
