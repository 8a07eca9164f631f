"""Which algorithm for what: a verdict for each goal, in each direction of the data."""

from dataclasses import dataclass

from cwndlab.judge.comparison import Comparison
from cwndlab.judge.goals import GoalVerdict, between_places, judge_goals
from cwndlab.judge.verdict import Standing
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.section import Content, SettingSection
from cwndlab.results.columns import quantity
from cwndlab.stats import Difference
from cwndlab.tables import format_difference, format_estimate, format_reach

_STANDINGS = {
    Standing.BEST: "best",
    Standing.AS_GOOD: "as good",
    Standing.WORSE: "worse",
    Standing.UNDECIDED: "not decided",
}


@dataclass(frozen=True)
class _Row:
    name: str
    value: str
    difference: str
    bounds: str
    pairs: str
    standing: str


def _goals(setting: Setting) -> Content | None:
    if len(setting.comparison.contestants) < 2:  # noqa: PLR2004  nothing to choose from
        return None
    directions = []
    for direction, comparison in setting.directions:
        verdicts = judge_goals(comparison)
        measured = [(each, _rows(comparison, each)) for each in verdicts if not each.is_missing]
        missing = [each for each in verdicts if each.is_missing]
        places = between_places(comparison, direction.comparisons)
        directions.append((direction, measured, missing, places))
    return Content(
        render(
            "goals.html",
            setting=setting,
            directions=directions,
            effect_pct=f"{100 * setting.comparison.smallest_effect:g}",
            quantity=quantity,
        )
    )


def _rows(comparison: Comparison, verdict: GoalVerdict) -> list[_Row]:
    ranking = verdict.ranking
    if ranking is None:
        return []
    rows = []
    for name, standing in ranking.standings.items():
        interval = comparison.interval(name, ranking.column)
        difference = ranking.differences.get(name)
        rows.append(
            _Row(
                name=name,
                value="-" if interval is None else format_estimate(interval),
                difference=_relative(difference),
                bounds=_bounds(difference),
                pairs=_pairs(difference),
                standing=_STANDINGS[standing],
            )
        )
    return rows


def _relative(difference: Difference | None) -> str:
    return "" if difference is None else format_difference(difference.relative.estimate)


def _bounds(difference: Difference | None) -> str:
    return "" if difference is None else format_reach(difference.relative)


def _pairs(difference: Difference | None) -> str:
    if difference is None or difference.pairs == 1:
        return ""
    agreeing = max(difference.pairs_above, difference.pairs_below)
    return f"{agreeing} of {difference.pairs}"


GOALS = SettingSection("goals", "Which one for what", _goals)
