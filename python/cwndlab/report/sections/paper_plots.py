"""Write the section that redraws a paper's distributions and means with cwndlab's results."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.figures.canvas import new_figure, title
from cwndlab.figures.distributions import plot_box, plot_cdf
from cwndlab.figures.effects import plot_effect
from cwndlab.figures.standings import plot_grouped_bars
from cwndlab.judge.decision import ZONE
from cwndlab.judge.effects import Effect
from cwndlab.papers.facts import Paper, PaperPlot
from cwndlab.papers.tables import paper_values, read_plot
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.rounding import quantile_points, rounded, rounded_all
from cwndlab.report.section import Content, PageSection
from cwndlab.results.columns import quantity
from cwndlab.stats import Interval, box_summary, mean_interval
from cwndlab.stats.bootstrap import Floats
from cwndlab.text.wording import join_words

_MOST_POINTS = 200
_ACROSS = 2  # number of panels in a row

Panel = Mapping[str, Floats]
Printed = Mapping[str, Mapping[str, tuple[float, float]]]
"""For each panel of a plot, maps each variant to the range that the paper states for this panel and
variant. If the paper states a single number, both ends of the range equal this number."""


def plots_section(paper: Paper) -> PageSection:
    """Return the section that redraws a paper's plots with cwndlab's runs."""
    return PageSection(
        "paper-plots", "The paper's plots, redrawn from cwndlab's runs", partial(_plots, paper)
    )


def _plots(paper: Paper, context: Context) -> Content | None:
    flows = context.results.flows()
    charts: dict[str, Mapping[str, object]] = {}
    figures = {}
    drawn = []
    for at, plot in enumerate(paper.plots):
        panels = read_plot(plot, flows, context.contestant_column, context.contestants)
        known = [
            (name, own)
            for name, panel in zip(plot.panels, panels, strict=True)
            if (own := {variant: each for variant, each in panel.items() if each.size})
        ]
        if not known:
            continue
        printed = dict(
            zip(
                plot.panels,
                paper_values(plot, paper.tables, context.contestant_column),
                strict=True,
            )
        )
        if plot.kind == "bars":
            own_charts = [(_order(plot, known), _bar_chart(plot, known, printed))]
        elif plot.kind == "lines":
            own_charts = [("", _line_chart(plot, known, printed))]
        else:
            axis = _axis(plot) | _shared_limits(plot, [own for _, own in known])
            own_charts = [
                (f"{plot.panel_factor} {label}" if label else "", _chart(plot, own, axis))
                for label, own in known
            ]
        named = {f"paper-plot-{at}-{number}": each for number, each in enumerate(own_charts)}
        charts |= {name: chart for name, (_, chart) in named.items()}
        labels = [(name, label) for name, (label, _) in named.items()]
        drawn.append((plot, quantity(plot.metric), labels))
        words = re.sub(r"[^a-z0-9]+", "-", plot.name.lower()).strip("-")
        figures[f"{paper.id}-{words}"] = partial(_figure, plot, known, printed)
    if not drawn:
        return None
    return Content(render("paper_plots.html", paper=paper, drawn=drawn), charts, figures)


def _shared_limits(plot: PaperPlot, panels: Sequence[Panel]) -> dict[str, object]:
    """Return the axis limits that all panels of a plot share."""
    if plot.kind == "cdf":
        ends = [float(each) for panel in panels for own in panel.values() for each in _ends(own)]
    else:
        boxes = [box_summary(own) for panel in panels for own in panel.values()]
        ends = [end for box in boxes for end in (box.whisker_low, box.whisker_high, box.mean)]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low)
    least = low if low < 0 else 0.0
    return {"low": rounded(max(least, low - room)), "high": rounded(high + room)}


def _ends(values: Floats) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _chart(plot: PaperPlot, panel: Panel, axis: Mapping[str, object]) -> Mapping[str, object]:
    if plot.kind == "cdf":
        groups = [
            {"name": name, "values": rounded_all(quantile_points(own, _MOST_POINTS))}
            for name, own in panel.items()
        ]
        return {"kind": "cdf", "groups": groups, "x": axis, "of": _counted(plot)}
    return {"kind": "box", "groups": _boxes(panel), "effect": ZONE, "y": axis}


def _bar_chart(
    plot: PaperPlot, known: Sequence[tuple[str, Panel]], printed: Printed
) -> Mapping[str, object]:
    groups = [
        {
            "name": name,
            "bars": [_bounded(each) for each in own.values()],
            "paper": [printed[label].get(name) for label in own],
            "labels": [f"{plot.panel_factor or ''} {label}".strip() for label in own],
        }
        for name, own in _means(known).items()
    ]
    return {"kind": "bars", "groups": groups, "y": _axis(plot)}


def _line_chart(
    plot: PaperPlot, known: Sequence[tuple[str, Panel]], printed: Printed
) -> Mapping[str, object]:
    effect = _effect(plot, known)
    lines = [
        {
            "name": name,
            "points": [None if each is None else _bounded(each) for each in own],
            "paper": [printed[level].get(name) for level in effect.levels],
        }
        for name, own in effect.means[plot.metric].items()
    ]
    return {
        "kind": "effect",
        "levels": list(effect.levels),
        "at": [rounded(position) for position in effect.positions],
        "joined": True,
        "lines": lines,
        "effect": ZONE,
        "x": {"title": effect.factor},
        "y": _axis(plot),
    }


def _effect(plot: PaperPlot, known: Sequence[tuple[str, Panel]]) -> Effect:
    """Return each variant's mean of the plotted metric at each level of the panels' factor."""
    levels = tuple(label for label, _ in known)
    positions = tuple(at / max(1, len(levels) - 1) for at in range(len(levels)))
    means = {name: tuple(own.get(level) for level in levels) for name, own in _means(known).items()}
    return Effect(plot.panel_factor or "", levels, positions, True, {plot.metric: means})  # noqa: FBT003  a field


def _bounded(interval: Interval) -> list[float | None]:
    return [rounded(interval.estimate), rounded(interval.low), rounded(interval.high)]


def _order(plot: PaperPlot, known: Sequence[tuple[str, Panel]]) -> str:
    """Return a label that lists the factor levels of a variant's bars; "" if there is only one."""
    levels = join_words([label for label, _ in known])
    return f"{plot.panel_factor} {levels}, from left to right" if len(known) > 1 else ""


def _axis(plot: PaperPlot) -> dict[str, object]:
    about = quantity(plot.metric)
    title = f"{about.title}, all flows" if plot.total else about.title
    return {"title": title, "unit": about.unit}


def _counted(plot: PaperPlot) -> str:
    return "runs" if plot.total else "flows"


def _boxes(panel: Panel) -> list[Mapping[str, object]]:
    groups: list[Mapping[str, object]] = []
    for name, values in panel.items():
        box = box_summary(values)
        inside = values[(values >= box.whisker_low) & (values <= box.whisker_high)]
        groups.append(
            {
                "name": name,
                "values": rounded_all(quantile_points(inside, _MOST_POINTS)),
                "mean": rounded(box.mean),
                "median": rounded(box.median),
                "q1": rounded(box.first_quartile),
                "q3": rounded(box.third_quartile),
                "low": rounded(box.whisker_low),
                "high": rounded(box.whisker_high),
            }
        )
    return groups


def _means(known: Sequence[tuple[str, Panel]]) -> dict[str, dict[str, Interval]]:
    """Return the mean of the plotted metric for each variant and each panel of a plot."""
    variants = dict.fromkeys(name for _, panel in known for name in panel)
    return {
        name: {label: mean_interval(panel[name]) for label, panel in known if name in panel}
        for name in variants
    }


def _figure(plot: PaperPlot, known: Sequence[tuple[str, Panel]], printed: Printed) -> Figure:
    heading = f"{plot.name}: {plot.title}"
    if plot.kind in {"bars", "lines"}:
        figure, axes = new_figure()
        variants = dict.fromkeys(name for _, panel in known for name in panel)
        by_variant = {
            name: ranges
            for name in variants
            if (ranges := {label: own[name] for label, own in printed.items() if name in own})
        }
        if plot.kind == "bars":
            plot_grouped_bars(axes[0], _means(known), plot.metric, by_variant)
        else:
            plot_effect(axes[0], _effect(plot, known), plot.metric, by_variant)
        figure.suptitle(heading, fontsize=10, x=0.01, ha="left")
        return figure
    across = min(_ACROSS, len(known))
    down = -(-len(known) // across)
    figure, axes = new_figure(down, across, height_in=0.3 + 2.7 * down)
    for panel, (label, own) in zip(axes, known, strict=False):
        if plot.kind == "cdf":
            plot_cdf(panel, own, plot.metric, of=_counted(plot))
        else:
            plot_box(panel, own, plot.metric, has_outliers=False)
            title(panel, f"{plot.panel_factor} {label}" if label else "")
    _share(axes[: len(known)], "x" if plot.kind == "cdf" else "y")
    for empty in axes[len(known) :]:
        empty.set_visible(False)
    figure.suptitle(heading, fontsize=10, x=0.01, ha="left")
    return figure


def _share(panels: Sequence[Axes], which: Literal["x", "y"]) -> None:
    """Set the same limits of the x-axis or y-axis (`which`) for all panels."""
    limits = [panel.get_xlim() if which == "x" else panel.get_ylim() for panel in panels]
    shared = (min(low for low, _ in limits), max(high for _, high in limits))
    for panel in panels:
        panel.set(**{f"{which}lim": shared})
