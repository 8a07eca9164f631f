"""Plot comparisons of algorithms as bars with intervals, or as throughput against delay."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from cwndlab.figures.canvas import house_style, legend_above
from cwndlab.figures.labels import PlacedLabel, label_points, name_ticks
from cwndlab.figures.style import styles_of
from cwndlab.judge.cell import Comparison
from cwndlab.results.columns import quantity
from cwndlab.stats import Interval, pareto_front
from cwndlab.text.wording import format_number


def plot_bars(axes: Axes, comparison: Comparison, column: str) -> None:
    """Draw the mean of a quantity for each algorithm, with its 95 % confidence interval."""
    styles = styles_of(comparison.contestants)
    with house_style():
        for at, name in enumerate(comparison.contestants):
            interval = comparison.interval(name, column)
            if interval is None:
                continue
            below, above = _reach(interval)
            axes.bar(
                at, interval.estimate, width=0.62, color=f"{styles[name].colour}cc", linewidth=0
            )
            if above or below:
                axes.errorbar(
                    at, interval.estimate, yerr=[[below], [above]], color="#222222", capsize=3
                )
            axes.annotate(
                format_number(interval.estimate, 4),
                xy=(at, interval.estimate + above),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
        name_ticks(axes, comparison.contestants)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(quantity(column).header)


def plot_grouped_bars(
    axes: Axes,
    means: Mapping[str, Mapping[str, Interval]],
    column: str,
    printed: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
) -> None:
    """Draw a group of bars for each level of a factor: the means with their 95 % intervals.

    Args:
        axes: the axes.
        means: the intervals by algorithm and level.
        column: the column of the table `flows` that the axis shows.
        printed: ranges of the numbers that a paper prints, by algorithm and level. Each number is
            drawn as a white diamond, and its range as a line.
    """
    styles = styles_of(means)
    levels = list(dict.fromkeys(level for own in means.values() for level in own))
    width = 0.8 / max(1, len(means))
    with house_style():
        for at, (name, own) in enumerate(means.items()):
            for level, interval in own.items():
                x = levels.index(level) + (at - (len(means) - 1) / 2) * width
                below, above = _reach(interval)
                axes.bar(
                    x,
                    interval.estimate,
                    width=0.92 * width,
                    color=f"{styles[name].colour}cc",
                    linewidth=0,
                    label=name if level == next(iter(own)) else None,
                )
                if above or below:
                    axes.errorbar(
                        x, interval.estimate, yerr=[[below], [above]], color="#222222", capsize=2
                    )
            for level, (low, high) in (printed or {}).get(name, {}).items():
                if level in levels:
                    x = levels.index(level) + (at - (len(means) - 1) / 2) * width
                    draw_printed(axes, x, low, high)
        if printed:
            name_printed(axes)
        name_ticks(axes, levels)
        axes.grid(visible=False, axis="x")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(quantity(column).header)
        legend_above(axes, columns=min(6, len(means) + bool(printed)))


def draw_printed(axes: Axes, x: float, low: float, high: float, colour: str = "#222222") -> None:
    """Draw a paper's number, given as a range: a line over the range, a diamond at its centre."""
    axes.errorbar(
        x,
        (low + high) / 2,
        yerr=(high - low) / 2,
        color=colour,
        marker="D",
        markersize=4.5,
        markerfacecolor="white",
        linestyle="none",
        zorder=4,
    )


def name_printed(axes: Axes) -> None:
    """Add the entry "the paper" to the legend, for the diamonds that `draw_printed` draws."""
    axes.plot(
        [],
        [],
        color="#222222",
        marker="D",
        markersize=4.5,
        markerfacecolor="white",
        linestyle="none",
        label="the paper",
    )


def plot_throughput_delay(
    axes: Axes,
    comparison: Comparison,
    throughput: str = "goodput_mbit_s",
    delay: str = "rtt_p50_ms",
) -> None:
    """Draw each algorithm as a point with intervals; the best points are at the upper left.

    The grey line connects the Pareto front: the points for which no other point is better in both
    quantities.
    """
    styles = styles_of(comparison.contestants)
    points = [
        (name, up, right)
        for name in comparison.contestants
        if (up := comparison.interval(name, throughput)) is not None
        and (right := comparison.interval(name, delay)) is not None
    ]
    with house_style():
        if points:
            ups = np.array([up.estimate for _, up, _ in points])
            rights = np.array([right.estimate for _, _, right in points])
            front = pareto_front(ups, rights)
            axes.plot(rights[front], ups[front], color="#bbbbbb", linewidth=1.2, zorder=1)
        for name, up, right in points:
            style = styles[name]
            axes.errorbar(
                right.estimate,
                up.estimate,
                xerr=[[bound] for bound in _reach(right)],
                yerr=[[bound] for bound in _reach(up)],
                color=style.colour,
                marker=style.marker,
                markersize=7,
                capsize=2.5,
            )
        axes.set_xlabel(quantity(delay).header)
        axes.set_ylabel(quantity(throughput).header)
        axes.margins(x=0.18)
        if points:
            _show_what_matters(axes, float(ups.min()), float(ups.max()), comparison.smallest_effect)
        # Above the plot, because the plot's points cannot cover this place.
        axes.annotate(
            "\N{NORTH WEST ARROW} better",
            xy=(1, 1),
            xycoords="axes fraction",
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
            color="#666666",
            fontsize=7.5,
        )
        label_points(
            axes,
            [
                PlacedLabel(name, right.estimate, up.estimate, styles[name].colour)
                for name, up, right in points
            ],
        )


def _show_what_matters(axes: Axes, least: float, most: float, effect: float) -> None:
    """Let the y axis show all values, and shade those that differ negligibly from the best."""
    span = max(most - least, 4 * effect * most)
    axes.set_ylim(max(0.0, most - 1.15 * span), most + 0.3 * span)
    axes.axhspan((1 - effect) * most, most, color="#eef2f0", zorder=0)
    axes.annotate(
        f"within {100 * effect:g} % of the best",
        xy=(0.99, (1 - effect) * most),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        color="#666666",
    )


def _reach(interval: Interval) -> tuple[float, float]:
    """Return the distances of an interval's bounds from its estimate; 0 if it has no bounds."""
    if interval.low is None or interval.high is None:
        return 0.0, 0.0
    return max(0.0, interval.estimate - interval.low), max(0.0, interval.high - interval.estimate)
