"""Writing the report: the page, and beside it figures and tables as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import stats
from cwndlab.report.context import Context, Setting
from cwndlab.report.files import write_files
from cwndlab.report.origin import Origin, origin_of
from cwndlab.report.page import Part, assemble
from cwndlab.report.scenario_text import facts
from cwndlab.report.section import Content, PageSection, Sections, SettingSection
from cwndlab.report.sections.answer import TABLE, TRADE_OFF, VERDICT
from cwndlab.report.sections.distributions import DISTRIBUTIONS
from cwndlab.report.sections.fairness import FAIRNESS
from cwndlab.report.sections.made import MADE, WORDS
from cwndlab.report.sections.overview import OVERVIEW
from cwndlab.report.sections.timeline import OPERATING_POINT, TIMELINE

if TYPE_CHECKING:
    from cwndlab.results import Results

SECTIONS: Sections = (
    OVERVIEW,
    VERDICT,
    TRADE_OFF,
    TABLE,
    TIMELINE,
    DISTRIBUTIONS,
    OPERATING_POINT,
    FAIRNESS,
    MADE,
    WORDS,
)
"""The sections of a report, top to bottom."""

FORMATS = ("svg",)
"""Formats of the figures beside the page, unless others are asked for."""


def write_report(
    results: "Results",
    out_dir: str | Path | None = None,
    *,
    formats: Sequence[str] = FORMATS,
    sections: Sections = SECTIONS,
    smallest_effect: float = stats.SMALLEST_EFFECT,
) -> Path:
    """Write the report of results and return the path of its page.

    Args:
        results: what to report.
        out_dir: folder for `report.html`, `figures/` and `tables/`; `report` in the results' own
            folder if None.
        formats: of the figures beside the page: svg, pdf, png, or none of them.
        sections: what the page consists of; see `cwndlab.report.section`.
        smallest_effect: relative differences below this are too small to care about.
    """
    folder = results.path / "report" if out_dir is None else Path(out_dir)
    context = Context(results, origin_of(results), smallest_effect=smallest_effect)
    return write_page(context, folder, formats=formats, sections=sections)


def write_page(
    context: Context,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    sections: Sections = SECTIONS,
) -> Path:
    """Write page, figures and tables of results that are already compared."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    path.write_text(make_page(context, sections), encoding="utf-8")
    write_files(context, folder, formats)
    return path


def make_page(context: Context, sections: Sections = SECTIONS) -> str:
    """Return the page as one string of HTML."""
    parts = []
    charts: dict[str, object] = {}
    for section in sections:
        contents = _contents(section, context)
        if not contents:
            continue
        for _, content in contents:
            charts.update(content.charts)
        html = tuple((at, content.html) for at, content in contents)
        parts.append(Part(section.anchor, section.title, html))
    scenario = context.settings[0].scenario if len(context.settings) == 1 else None
    return assemble(
        title=context.origin.title,
        parts=parts,
        charts=charts,  # type: ignore[arg-type]
        styles=context.styles,
        origin=context.origin,
        settings=context.settings,
        facts=_facts(context.origin, context.settings, scenario is not None),
    )


def _contents(
    section: SettingSection | PageSection, context: Context
) -> list[tuple[int | None, Content]]:
    if isinstance(section, PageSection):
        content = section.build(context)
        return [] if content is None else [(None, content)]
    made = [(setting.index, section.build(setting)) for setting in context.settings]
    return [(at, content) for at, content in made if content is not None]


def _facts(origin: Origin, settings: Sequence[Setting], is_one_set_up: bool) -> str:  # noqa: FBT001
    repetitions = max((each.comparison.repetitions for each in settings), default=0)
    runs = "one run each" if repetitions == 1 else f"{repetitions} paired runs each"
    parts = []
    if is_one_set_up and settings[0].scenario is not None:
        parts.append(facts(settings[0].scenario))
    elif len(settings) > 1:
        parts.append(f"{len(settings)} settings")
    parts.append(runs)
    if not origin.is_complete:
        parts.append("not all runs of the study are finished")
    return " \N{MIDDLE DOT} ".join(parts)
