"""Write the section on the effect of each factor, with confidence intervals."""

import re
from functools import partial
from itertools import count

from cwndlab.figures.effects import effect_figure
from cwndlab.judge.effects import Effect, effects
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded
from cwndlab.report.section import Content, PageSection
from cwndlab.results.columns import quantity


def _effects(context: Context) -> Content | None:
    found = effects(context.comparisons)
    if not found:
        return None
    charts: dict[str, dict[str, object]] = {}
    figures = {}
    shown = []
    numbers = count()
    for effect in found:
        panels = []
        for column in effect.means:
            name = f"effect-{next(numbers)}"
            charts[name] = _chart(effect, column, context.smallest_effect)
            figures[_file(effect.factor, column)] = partial(effect_figure, effect, column)
            panels.append((name, quantity(column)))
        shown.append((effect, panels))
    is_several = len(found) > 1
    return Content(render("effects.html", effects=shown, is_several=is_several), charts, figures)


def _file(factor: str, column: str) -> str:
    return f"effect-{re.sub(r'[^A-Za-z0-9_.-]', '_', factor)}-{column}"


def _chart(effect: Effect, column: str, smallest_effect: float) -> dict[str, object]:
    about = quantity(column)
    lines = [
        {
            "name": name,
            "points": [
                None
                if each is None
                else [rounded(each.estimate), rounded(each.low), rounded(each.high)]
                for each in own
            ],
        }
        for name, own in effect.means[column].items()
        if any(each is not None for each in own)
    ]
    return {
        "kind": "effect",
        "levels": list(effect.levels),
        "at": [rounded(position) for position in effect.positions],
        "joined": effect.is_numeric,
        "lines": lines,
        "effect": smallest_effect,
        "x": {"title": effect.factor},
        "y": {"title": about.title, "unit": about.unit},
    }


EFFECTS = PageSection("effects", "Effects of each factor", _effects)
