"""Write the sections that redraw a paper's figures and compare its numbers with cwndlab's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from cwndlab import core
from cwndlab.figures import Zoom, overlay_figure
from cwndlab.figures.decimate import kept_points
from cwndlab.papers.facts import Paper, PaperFigure
from cwndlab.papers.phases import find_episodes, sawtooth
from cwndlab.papers.reading import Reading, WindowSeries, read_check
from cwndlab.papers.settings import ALGORITHM, difference_of, settings_of, single_changes
from cwndlab.papers.tables import read_table
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded, rounded_all
from cwndlab.report.section import Content, PageSection, Sections
from cwndlab.report.sections.claims import claims_section
from cwndlab.report.sections.paper_plots import plots_section
from cwndlab.results.columns import quantity
from cwndlab.tables import format_difference, format_number, join_words

_MOST_POINTS = 1600


def paper_sections(paper: Paper) -> Sections:
    """Return the sections that compare a paper with cwndlab's runs."""
    return (
        claims_section(paper),
        PageSection(
            "paper-tables", "The paper's tables compared with cwndlab's", partial(_tables, paper)
        ),
        PageSection(
            "paper-numbers", "The paper's numbers compared with cwndlab's", partial(_numbers, paper)
        ),
        PageSection(
            "paper-plausibility", "Are the paper's numbers consistent?", partial(_plausible, paper)
        ),
        plots_section(paper),
        PageSection("paper-figures", "The paper's figures, redrawn", partial(_figures, paper)),
        PageSection(
            "paper-causes", "Why cwndlab's curves differ from the paper's", partial(_causes, paper)
        ),
    )


def series_of(context: Context, variant: str) -> WindowSeries | None:
    """Return the first flow's congestion window over time in a variant's representative run.

    Return None if the variant has no such run, or if the run has no samples.
    """
    for setting in context.settings:
        run = setting.representatives.get(variant)
        if run is None:
            continue
        samples = context.results.samples(run=[run])
        if samples.is_empty():
            continue
        first = samples.filter(pl.col("flow") == samples["flow"].min()).sort("t_s")
        return WindowSeries(
            times_s=first["t_s"].to_numpy(),
            windows_pkts=_floats(first, "cwnd_pkts"),
            thresholds_pkts=_floats(first, "ssthresh_pkts"),
        )
    return None


def readings(paper: Paper, context: Context) -> list[Reading]:
    """Return each number of the paper with cwndlab's value, or with None if no run has a value."""
    series = {variant: series_of(context, variant) for variant in _variants(paper)}
    found = []
    for check in paper.checks:
        own = series[check.variant]
        found.append(
            Reading(check, None, None, 0.0) if own is None else read_check(check, own, paper)
        )
    return found


def _variants(paper: Paper) -> list[str]:
    named = [name for figure in paper.figures for name in figure.variants]
    return list(dict.fromkeys([*named, *(check.variant for check in paper.checks)]))


def _numbers(paper: Paper, context: Context) -> Content | None:
    if not paper.checks:
        return None
    rows = [(reading, _range(reading), _ours(reading), _away(reading)) for reading in
            readings(paper, context)]  # fmt: skip
    agreeing = sum(reading.holds for reading, *_ in rows)
    html = render("paper_numbers.html", paper=paper, rows=rows, agreeing=agreeing)
    return Content(html)


def _tables(paper: Paper, context: Context) -> Content | None:
    if not paper.tables:
        return None
    flows = context.results.flows()
    tables = []
    for table in paper.tables:
        cells = read_table(table, flows)
        width = len(table.columns)
        rows = [cells[at : at + width] for at in range(0, len(cells), width)]
        judged = [cell for cell in cells if cell.holds is not None and cell.ours is not None]
        predicted = [cell for cell in judged if not cell.is_calibrated]
        counts = [
            (sum(cell.holds is True for cell in own), len(own)) for own in (judged, predicted)
        ]
        tables.append((table, rows, *counts))
    absent = _absent(context)
    return Content(render("paper_tables.html", paper=paper, tables=tables, absent=absent))


def _absent(context: Context) -> str:
    """Return the reason why cwndlab has no value for a number that the paper states."""
    if not context.origin.is_complete:
        return "not run yet"
    return (
        ("not in the short version of the study") if context.origin.is_short else "not in the study"
    )


def _plausible(paper: Paper, _context: Context) -> Content | None:
    rows = paper.plausibility
    if not rows:
        return None
    agreeing = sum(row.holds for row in rows)
    return Content(render("paper_plausibility.html", rows=rows, agreeing=agreeing))


def _range(reading: Reading) -> str:
    check = reading.check
    if check.low == check.high:
        return f"{check.low:g}"
    return f"{check.low:g} to {check.high:g}"


def _ours(reading: Reading) -> str:
    return "not run" if reading.ours is None else f"{reading.ours:.4g}"


def _away(reading: Reading) -> str:
    if reading.difference is None:
        return ""
    if reading.is_relative:
        return format_difference(reading.difference)
    return "0" if reading.difference == 0 else f"{reading.difference:+.1f}"


def _figures(paper: Paper, context: Context) -> Content | None:
    drawn = []
    charts: dict[str, Mapping[str, object]] = {}
    figures = {}
    for at, figure in enumerate(paper.figures):
        series = {name: own for name in figure.variants if (own := series_of(context, name))}
        if not series:
            continue
        name = f"paper-figure-{at}"
        charts[name] = _chart(paper, figure, series)
        drawn.append((name, figure))
        file = f"{paper.id}-{figure.name.lower().replace('.', '').replace(' ', '-')}"
        figures[file] = partial(_print_figure, paper, figure, series)
    if not drawn:
        return None
    return Content(render("paper_figures.html", paper=paper, drawn=drawn), charts, figures)


def _chart(
    paper: Paper, figure: PaperFigure, series: Mapping[str, WindowSeries]
) -> Mapping[str, object]:
    about = quantity("cwnd_pkts")
    return {
        "kind": "series",
        "panels": [{"column": "cwnd_pkts", "title": about.title, "unit": about.unit}],
        "lines": [
            {"name": name, "flow": 0, **_line(own, figure.start_s, figure.stop_s)}
            for name, own in series.items()
        ],
        "losses": [],
        "start": figure.start_s,
        "stop": figure.stop_s,
        "paper_label": paper.axis_label,
    }


def _line(series: WindowSeries, start_s: float, stop_s: float) -> Mapping[str, object]:
    # One additional point on each side, so that the line extends to the edges.
    first = max(0, int(np.searchsorted(series.times_s, start_s)) - 1)
    last = int(np.searchsorted(series.times_s, stop_s)) + 1
    times, windows = series.times_s[first:last], series.windows_pkts[first:last]
    kept = kept_points(times, [windows], _MOST_POINTS)
    return {
        "t": [rounded(float(at), 6) for at in times[kept]],
        "values": {"cwnd_pkts": rounded_all(windows[kept])},
    }


def _print_figure(paper: Paper, figure: PaperFigure, series: Mapping[str, WindowSeries]) -> Figure:
    lines = {name: (own.times_s, own.windows_pkts) for name, own in series.items()}
    last = max(float(own.times_s[-1]) for own in series.values())
    is_whole = figure.start_s <= 0 and figure.stop_s >= last
    zooms = [] if is_whole else [Zoom(figure.title, figure.start_s, figure.stop_s)]
    return overlay_figure(
        lines, zooms=zooms, paper_label=paper.axis_label, heading=f"{figure.name}: {figure.title}"
    )


@dataclass(frozen=True)
class SettingEffect:
    """A clear effect of a setting on a measure, such as the first peak of the window."""

    text: str
    factor: float
    """Factor by which the setting changes the measure: larger value divided by smaller value."""


@dataclass(frozen=True)
class SettingChange:
    """A setting in which two variants differ, and its effect on the congestion window."""

    setting: str
    first: str
    second: str
    values: str
    effects: tuple[SettingEffect, ...]

    @property
    def factor(self) -> float:
        """The largest factor by which this setting changes any measure of the congestion window."""
        return max((effect.factor for effect in self.effects), default=1.0)


def changes(paper: Paper, context: Context) -> list[SettingChange]:
    """Return the effects of single settings, from pairs of variants that differ in one setting."""
    settings = _settings(context)
    found = []
    for first, second, changed in single_changes(settings):
        one, other = series_of(context, first), series_of(context, second)
        if one is None or other is None:
            continue
        name = changed[0].name.removeprefix("receiver's ")
        values = f"{_shown(changed[0].first)} \N{RIGHTWARDS ARROW} {_shown(changed[0].second)}"
        found.append(SettingChange(name, first, second, values, tuple(_effects(paper, one, other))))
    return sorted(found, key=lambda change: -change.factor)


def finding(found: Sequence[SettingChange]) -> str:
    """Return a sentence that names the settings that change the curves, congestion control last.

    The sentence calls congestion control a minor cause if its effect is less than half the effect
    of every other cause.
    """
    factors: dict[str, float] = {}
    for change in found:
        factors[change.setting] = max(change.factor, factors.get(change.setting, 1.0))
    others = {name: each for name, each in factors.items() if name != ALGORITHM and each > 1}
    if ALGORITHM not in factors or not others:
        return ""
    causes = join_words([f"{name} ({_times(each)})" for name, each in others.items()])
    own = factors[ALGORITHM]
    if own == 1:
        return f"The curves differ because of {causes}, not because of {ALGORITHM}."
    if own - 1 < min(each - 1 for each in others.values()) / 2:
        return (
            f"The curves differ because of {causes}, and hardly because of {ALGORITHM} "
            f"({_times(own)})."
        )
    return f"The curves differ because of {causes}, and because of {ALGORITHM} ({_times(own)})."


def _times(factor: float) -> str:
    if factor < 2:  # noqa: PLR2004  for larger factors, "times" is clearer than per cent
        return f"{100 * (factor - 1):.0f} %"
    return f"{format_number(factor, 2)} times"


def _effects(paper: Paper, one: WindowSeries, other: WindowSeries) -> list[SettingEffect]:
    """Return the measures, such as the first peak, that clearly differ in two window series."""
    effects = []
    measures: tuple[tuple[str, str, Callable[[WindowSeries], float | None]], ...] = (
        ("first peak", "packets", lambda series: _first(series, "peak_pkts")),
        ("first loss", "s", lambda series: _first(series, "start_s")),
        ("period", "s", lambda series: _regular(series, "period_s")),
        ("saw-tooth peak", "packets", lambda series: _regular(series, "peak_pkts")),
    )
    for name, unit, measure in measures:
        a, b = measure(one), measure(other)
        if a is None or b is None:
            continue
        tolerance = paper.window_tolerance_pkts if unit == "packets" else paper.time_tolerance * a
        if abs(b - a) > tolerance:
            text = f"{name} {format_number(a)} to {format_number(b)} {unit}"
            effects.append(SettingEffect(text, max(a, b) / min(a, b)))
    return effects


def _first(series: WindowSeries, part: str) -> float | None:
    episodes = series.episodes
    return float(getattr(episodes[0], part)) if episodes else None


def _regular(series: WindowSeries, part: str) -> float | None:
    regular = sawtooth(find_episodes(series.times_s, series.windows_pkts)[1:])
    return None if regular is None else float(getattr(regular, part))


def _settings(context: Context) -> dict[str, dict[str, object]]:
    """For each variant that was run, return a dictionary that maps its settings to their values."""
    found: dict[str, dict[str, object]] = {}
    for set_up in context.origin.set_ups:
        variant = str(set_up.labels.get(context.contestant_column, ""))
        if variant in context.contestants and variant not in found:
            found[variant] = settings_of(set_up.scenario, lambda name: core.stack(name).values)
    return found


def _causes(paper: Paper, context: Context) -> Content | None:
    if not paper.figures:
        return None
    settings = _settings(context)
    shown = [name for name in paper.figures[-1].variants if name in settings]
    if len(shown) < 2:  # noqa: PLR2004  a difference requires two variants
        return None
    names = dict.fromkeys(
        setting.name
        for other in shown[1:]
        for setting in difference_of(settings[shown[0]], settings[other])
    )
    rows = [
        (name, [_shown(settings[variant].get(name)) for variant in shown])
        for name in sorted(names, key=lambda name: (name != ALGORITHM, "receiver's" in name))
    ]
    found = changes(paper, context)
    html = render(
        "paper_causes.html",
        paper=paper,
        variants=shown,
        rows=rows,
        changes=found,
        sentence=finding(found),
    )
    return Content(html)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value)
    return str(value)


def _floats(samples: pl.DataFrame, column: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return samples[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
