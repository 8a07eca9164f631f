"""Write the report: its page, and separate files with figures and tables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from cwndlab.figures import save_figure
from cwndlab.judge.answer import known_of
from cwndlab.judge.decision import ZONE
from cwndlab.judge.question import read_question
from cwndlab.papers import find_paper
from cwndlab.report.context import Context, Setting
from cwndlab.report.files import setting_figures, write_files
from cwndlab.report.origin import Origin, origin_of
from cwndlab.report.page import PagePart, assemble
from cwndlab.report.scenario_text import facts
from cwndlab.report.section import Content, PageSection, Sections, SettingSection
from cwndlab.report.sections.answer import ANSWER, TABLE, TRADE_OFF
from cwndlab.report.sections.coexistence import COEXISTENCE
from cwndlab.report.sections.distributions import DISTRIBUTIONS
from cwndlab.report.sections.disturbances import DISTURBANCES
from cwndlab.report.sections.effects import EFFECTS
from cwndlab.report.sections.fairness import FAIRNESS
from cwndlab.report.sections.goals import GOALS
from cwndlab.report.sections.limits import LIMITS
from cwndlab.report.sections.made import MADE, WORDS
from cwndlab.report.sections.methods import METHODS
from cwndlab.report.sections.overview import OVERVIEW
from cwndlab.report.sections.paper import paper_sections
from cwndlab.report.sections.timeline import OPERATING_POINT, TIMELINE
from cwndlab.results.folder import no_result
from cwndlab.results.lock import naming_failures

if TYPE_CHECKING:
    from cwndlab.api.results import Results

SECTIONS: Sections = (
    OVERVIEW,
    EFFECTS,
    ANSWER,
    TRADE_OFF,
    TABLE,
    GOALS,
    METHODS,
    TIMELINE,
    DISTRIBUTIONS,
    OPERATING_POINT,
    LIMITS,
    FAIRNESS,
    COEXISTENCE,
    DISTURBANCES,
    MADE,
    WORDS,
)
"""The default sections of a report, from top to bottom."""

Built = tuple[SettingSection | PageSection, list[tuple[int | None, Content]]]
"""A section, and the list of its contents.

Each item of the list is a pair: the index of a network setting, and the content for this setting.
The index is None if the content belongs to the whole study.
"""

FORMATS = ("svg",)
"""Default formats of the figure files."""


def write_report(
    results: "Results",
    out_dir: str | Path | None = None,
    *,
    formats: Sequence[str] = FORMATS,
    sections: Sections | None = None,
    smallest_effect: float = ZONE,
) -> Path:
    """Write the report of results and return the path of its page.

    Args:
        results: the results to report.
        out_dir: folder for `report.html`, `figures/` and `tables/`. If None, use the folder
            `report` in the folder of the results.
        formats: formats of the figure files: svg, pdf and png; an empty tuple writes none.
        sections: sections of the page. If None or empty, use `SECTIONS`. If the study reproduces a
            paper, sections about this paper precede `SECTIONS`.
        smallest_effect: smallest relative difference that is not negligible.

    Raises:
        ResultsError: no run has a result; or the report's folder cannot be written, or its disk is
            full.
    """
    folder = results.path / "report" if out_dir is None else Path(out_dir)
    context = context_of(results, smallest_effect=smallest_effect)
    with naming_failures(folder):
        return write_page(context, folder, formats=formats, sections=sections or _sections(results))


def context_of(results: "Results", *, smallest_effect: float = ZONE) -> Context:
    """Return the input of a report: the results, and further runs in subfolders of the results."""
    if results.flows().is_empty():
        raise no_result(results.path)
    question = read_question(results.path)
    weights = None if question is None else question.weights_of_users()
    return Context(
        results,
        origin_of(results),
        smallest_effect=smallest_effect,
        question=question,
        knowledge=known_of(results, weights),
    )


def draw_figures(results: "Results") -> Iterator[tuple[str, Figure]]:
    """Yield each figure's path in `figures/`, without the file extension, and the figure."""
    context = context_of(results)
    yield from setting_figures(context)
    for _, contents in _build(context, _sections(results)):
        for _, content in contents:
            yield from ((name, draw()) for name, draw in content.figures.items())


def _sections(results: "Results") -> Sections:
    """Return the sections about the paper that the study reproduces (if any), then `SECTIONS`."""
    paper = find_paper(results.id)
    return SECTIONS if paper is None else (*paper_sections(paper), *SECTIONS)


def write_page(
    context: Context,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    sections: Sections = SECTIONS,
) -> Path:
    """Write the page, the figures and the tables of the report whose input is `context`."""
    built = _build(context, sections)
    folder.mkdir(parents=True, exist_ok=True)
    written = write_files(context, folder, formats)
    for _, contents in built:
        for _, content in contents:
            for name, draw in content.figures.items():
                written += save_figure(draw(), folder / "figures", name, formats)
    path = folder / "report.html"
    path.write_text(_page(context, built, _linked(written, folder)), encoding="utf-8")
    return path


def _linked(written: Sequence[Path], folder: Path) -> dict[str, list[str]]:
    """Map paths of written files to the suffixes of these files, such as `.svg` and `.pdf`.

    Each path is relative to `folder` and has no suffix.
    """
    found: dict[str, list[str]] = {}
    in_order = sorted(
        written, key=lambda path: re.sub(r"\d+", lambda number: number[0].zfill(9), str(path))
    )
    for path in in_order:
        name = path.relative_to(folder).with_suffix("").as_posix()
        found.setdefault(name, []).append(path.suffix)
    return found


def make_page(context: Context, sections: Sections = SECTIONS) -> str:
    """Return the HTML of the report's page as one string."""
    return _page(context, _build(context, sections))


def _build(context: Context, sections: Sections) -> list[Built]:
    """Build all sections, and return the non-empty sections with their content."""
    built = [(section, _contents(section, context)) for section in sections]
    return [(section, contents) for section, contents in built if contents]


def _page(
    context: Context, built: Sequence[Built], files: Mapping[str, Sequence[str]] | None = None
) -> str:
    parts = []
    charts: dict[str, Mapping[str, object]] = {}
    for section, contents in built:
        for _, content in contents:
            charts |= content.charts
        html = tuple((at, content.html) for at, content in contents)
        parts.append(PagePart(section.anchor, section.title, html))
    return assemble(
        title=context.origin.title,
        parts=parts,
        charts=charts,
        styles=context.styles,
        settings=context.settings,
        files=files or {},
        facts=_facts(context.origin, context.settings),
    )


def _contents(
    section: SettingSection | PageSection, context: Context
) -> list[tuple[int | None, Content]]:
    if isinstance(section, PageSection):
        content = section.build(context)
        return [] if content is None else [(None, content)]
    made = [(setting.index, section.build(setting)) for setting in context.settings]
    return [(at, content) for at, content in made if content is not None]


def _facts(origin: Origin, settings: Sequence[Setting]) -> str:
    repetitions = max((each.comparison.repetitions for each in settings), default=0)
    parts = []
    if len(settings) == 1 and settings[0].set_ups:
        parts.append(facts(settings[0].set_ups[0]))
    elif len(settings) > 1:
        parts.append(f"{len(settings)} settings")
    pairs = "paired " if all(each.comparison.is_paired for each in settings) else ""
    parts.append("one run each" if repetitions == 1 else f"{repetitions} {pairs}runs each")
    if origin.is_short:
        parts.append("short version of the study")
    if not origin.is_complete:
        parts.append("some runs of the study are not finished")
    return " \N{MIDDLE DOT} ".join(parts)
