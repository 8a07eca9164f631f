"""Assemble the page of a report: sections, styles, scripts and data in one file."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cwndlab.figures.style import Style
from cwndlab.report.glossary import term
from cwndlab.text.wording import format_bounds, format_number

_MINUS = re.compile(r"(?<![\w-])-(?=\d)")
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=%|(?:[kMG]?bit/s|[kMG]?B|ns|us|ms|s|min|h|dB|dBm|[kMG]?Hz|km|m|BDP)\b)"
)
_STYLES = ("vendor/uplot/uPlot.min.css", "page.css", "charts.css")
_STYLES_WITHOUT_SCRIPTS = ("page.css", "plain.css")
_SCRIPTS = (
    "vendor/uplot/uPlot.iife.min.js",
    "core.js",
    "svg.js",
    "series.js",
    "records.js",
    "save.js",
    "page.js",
)


@dataclass(frozen=True)
class PagePart:
    """A section of the page: its anchor, its heading, and its HTML for each network setting."""

    anchor: str
    title: str
    html: tuple[tuple[int | None, Markup], ...]
    """Pairs of the index of a network setting and the section's HTML for this setting. The index is
    None if the section is about the whole study."""


def render(template: str, **values: object) -> Markup:
    """Return the HTML of a template, with the given values inserted and escaped."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704  escaped


def assemble(
    *,
    title: str,
    parts: Iterable[PagePart],
    charts: Mapping[str, Mapping[str, object]],
    styles: Mapping[str, Style],
    **values: object,
) -> str:
    """Return the HTML of the whole page of a report."""
    data = {
        "charts": charts,
        "algorithms": [
            {
                "name": name,
                "colour": style.colour,
                "dark": style.dark_colour,
                "dashes": list(style.dashes),
                "marker": style.marker,
            }
            for name, style in styles.items()
        ],
    }
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            parts=list(parts),
            styles=styles,
            css=[asset(name) for name in _STYLES],
            has_scripts=True,
            scripts=[asset(name) for name in _SCRIPTS],
            library=asset("vendor/uplot/SOURCE").partition(", npm")[0],
            library_licence=asset("vendor/uplot/LICENSE"),
            data=script_json(data),
            **values,
        )
    )


def page_without_scripts(template: str, **values: object) -> str:
    """Return the HTML of a page without scripts, and thus without interactive charts."""
    css = [asset(name) for name in _STYLES_WITHOUT_SCRIPTS]
    return str(render(template, css=css, has_scripts=False, **values))


def script_json(value: object) -> Markup:
    """Return a value as JSON without "<", so that the JSON is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(safe)  # noqa: S704  characters that end a script are escaped above


@lru_cache(maxsize=32)
def asset(name: str) -> Markup:
    """Return the content of a file in the folder `assets`: a style sheet, script or licence."""
    content = files("cwndlab.report").joinpath("assets", *name.split("/")).read_text("utf-8")
    return Markup(content)  # noqa: S704  a file of this package


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cwndlab.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["term"] = term
    environment.filters["number"] = format_number
    environment.filters["bounds"] = format_bounds
    environment.filters["typeset"] = typeset
    return environment


def typeset(text: str) -> str:
    """Return a text with proper minus signs, and with no line break between number and unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", _MINUS.sub("\N{MINUS SIGN}", text))
