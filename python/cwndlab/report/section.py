"""The sections of a report; other modules can add their own.

A section is a title and a function that makes its content, or returns None if there is none.  A
`SettingSection` is made once per setting (cell) of the study, a `PageSection` once.  To add one,
write a module with such a constant and put it into `cwndlab.report.SECTIONS`, or pass a changed
tuple to `write_report`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup
from matplotlib.figure import Figure

from cwndlab.report.context import Context, Setting


@dataclass(frozen=True)
class Content:
    """The parts of a section."""

    html: Markup
    charts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Data of the charts in it, by the name that `data-chart` gives."""
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    """Figures to be written as files beside the page, by the name of their file."""


@dataclass(frozen=True)
class SettingSection:
    """A section about one setting; the page shows the section of the chosen setting."""

    anchor: str
    title: str
    build: Callable[[Setting], Content | None]


@dataclass(frozen=True)
class PageSection:
    """A section about the study as a whole."""

    anchor: str
    title: str
    build: Callable[[Context], Content | None]


Sections = tuple[SettingSection | PageSection, ...]


def insert_after(
    sections: Sections, anchor: str, added: Iterable[SettingSection | PageSection]
) -> Sections:
    """Return the sections with others inserted after the one called `anchor`.

    Raises:
        ValueError: There is no such section.
    """
    for at, section in enumerate(sections, start=1):
        if section.anchor == anchor:
            return (*sections[:at], *added, *sections[at:])
    known = ", ".join(section.anchor for section in sections)
    msg = f'the report has no section "{anchor}"; it has {known}'
    raise ValueError(msg)
