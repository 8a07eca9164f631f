"""Write the report: one page that works offline, and separate figures and tables."""

from cwndlab.report.context import Context, Setting
from cwndlab.report.origin import Origin, SetUp, origin_of
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection, Sections, SettingSection, insert_after
from cwndlab.report.writer import (
    FORMATS,
    SECTIONS,
    draw_figures,
    make_page,
    write_page,
    write_report,
)

__all__ = [
    "FORMATS",
    "SECTIONS",
    "Content",
    "Context",
    "Origin",
    "PageSection",
    "Sections",
    "SetUp",
    "Setting",
    "SettingSection",
    "draw_figures",
    "insert_after",
    "make_page",
    "origin_of",
    "render",
    "write_page",
    "write_report",
]
