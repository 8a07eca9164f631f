"""Write the section that names the best algorithm for each goal, for uploads and downloads."""

from dataclasses import dataclass

from cwndlab.judge.decision import Decision, Entrant
from cwndlab.judge.directions import between_places
from cwndlab.judge.goals import GOALS as ALL_GOALS
from cwndlab.judge.sentences import headline, sentences
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.section import Content, SettingSection
from cwndlab.text.wording import percent

_SEVERAL = 2


@dataclass(frozen=True)
class _Card:
    """The recommendation for one goal, as text for the report's page."""

    decision: Decision
    headline: str
    sentences: list[str]
    rows: list["_GoalRow"]


@dataclass(frozen=True)
class _GoalRow:
    name: str
    behind: str
    """Percentage by which the algorithm's utility for the goal is below the best, as text."""
    standing: str


def _goals(setting: Setting) -> Content | None:
    if len(setting.comparison.contestants) < _SEVERAL:
        return None
    directions = []
    for direction, comparison in setting.directions:
        decisions = [setting.decide(goal, comparison) for goal in ALL_GOALS.values()]
        cards = [_card(each) for each in decisions if each.best]
        missing = [each.goal for each in decisions if not each.best]
        places = between_places(comparison, direction.comparisons)
        directions.append((direction, cards, missing, places))
    return Content(render("goals.html", setting=setting, directions=directions))


def _card(decision: Decision) -> _Card:
    rows = [_row(decision, each) for each in decision.entrants]
    return _Card(decision, headline(decision), sentences(decision), rows)


def _row(decision: Decision, entrant: Entrant) -> _GoalRow:
    if entrant.name == decision.first:
        return _GoalRow(entrant.name, "", "first")
    if entrant.is_good:
        standing = "as good"
    else:
        standing = "may be the best" if entrant.name in decision.candidates else "worse"
    return _GoalRow(entrant.name, percent(entrant.loss), standing)


GOALS = SettingSection("goals", "The best algorithm for each goal", _goals)
