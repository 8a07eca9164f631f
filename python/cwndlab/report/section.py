"""Define the types of a report's sections; other modules can add sections.

A section has a title and a function that returns its content, or None if the section is empty. A
`SettingSection` appears once for each network setting of the study, a `PageSection` once in each
report. To add a section, define it as a constant in a module. Then insert the constant into
`cwndlab.report.SECTIONS`, or into the tuple of sections for `write_report`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup
from matplotlib.figure import Figure

from cwndlab.report.context import Context, Setting


@dataclass(frozen=True)
class Content:
    """The content of a section: HTML, charts in the HTML, and figures in separate files."""

    html: Markup
    charts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Maps the attribute `data-chart` of each chart in the section to the data of this chart."""
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    """Maps the name of each separate file, without suffix, to a function that draws its figure."""


@dataclass(frozen=True)
class SettingSection:
    """A section about one network setting; the page shows the sections of the selected setting."""

    anchor: str
    title: str
    build: Callable[[Setting], Content | None]


@dataclass(frozen=True)
class PageSection:
    """A section about the whole study."""

    anchor: str
    title: str
    build: Callable[[Context], Content | None]


Sections = tuple[SettingSection | PageSection, ...]


def insert_after(
    sections: Sections, anchor: str, added: Iterable[SettingSection | PageSection]
) -> Sections:
    """Return the sections with `added` inserted after the section with the anchor `anchor`.

    Raises:
        ValueError: no section has this anchor.
    """
    for at, section in enumerate(sections, start=1):
        if section.anchor == anchor:
            return (*sections[:at], *added, *sections[at:])
    known = ", ".join(section.anchor for section in sections)
    msg = f'the report has no section "{anchor}"; its sections are {known}'
    raise ValueError(msg)
