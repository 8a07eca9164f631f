"""Write the section with information for checking or reproducing the report."""

from cwndlab.report.context import Context
from cwndlab.report.glossary import GLOSSARY
from cwndlab.report.page import render
from cwndlab.report.scenario_text import details
from cwndlab.report.section import Content, PageSection

_MOST_SEEDS = 40


def _made(context: Context) -> Content:
    set_ups = [
        (setting, details(setting.set_ups)) for setting in context.settings if setting.set_ups
    ]
    seeds = sorted({seed for each in context.comparisons for seed in each.seeds})
    return Content(
        render(
            "made.html",
            context=context,
            origin=context.origin,
            set_ups=set_ups,
            seeds=seeds[:_MOST_SEEDS],
            more_seeds=max(0, len(seeds) - _MOST_SEEDS),
        )
    )


def _words(_context: Context) -> Content:
    return Content(render("glossary.html", glossary=sorted(GLOSSARY.items(), key=_in_order)))


def _in_order(entry: tuple[str, str]) -> str:
    return entry[0].lower()


MADE = PageSection("made", "How this report was made", _made)
WORDS = PageSection("words", "Glossary", _words)
