"""Plot several congestion windows in one figure, with enlarged time intervals below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.figures.canvas import house_style, legend_above, new_figure, title
from cwndlab.figures.decimate import decimate
from cwndlab.figures.style import styles_of
from cwndlab.results.columns import quantity
from cwndlab.stats.bootstrap import Floats

_MOST_POINTS = 6000
_SHADE = "#e8edf3"

PlottedLine = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Zoom:
    """A time interval that is shown enlarged in a separate panel."""

    title: str
    start_s: float
    stop_s: float


def overlay_figure(
    lines: Mapping[str, PlottedLine],
    *,
    zooms: Sequence[Zoom] = (),
    paper_label: str = "",
    heading: str = "",
) -> Figure:
    """Plot congestion windows over the whole time; plots below enlarge the intervals of `zooms`.

    If a paper labels its axis with a wrong unit, pass the paper's label as `paper_label`. A second
    y axis then shows the same numbers with this label.
    """
    rows = 1 + len(zooms)
    figure, axes = new_figure(rows, height_in=0.6 + 2.1 * rows)
    plot_windows(axes[0], lines)
    legend_above(axes[0], columns=4)
    if heading:
        with house_style():
            figure.suptitle(heading, x=0.01, ha="left", fontsize=9, fontweight="bold")
    for panel, zoom in zip(axes[1:], zooms, strict=True):
        plot_windows(panel, lines, zoom.start_s, zoom.stop_s)
        title(panel, zoom.title)
        with house_style():
            axes[0].axvspan(zoom.start_s, zoom.stop_s, color=_SHADE, zorder=0)
    if paper_label:
        for panel in axes:
            add_paper_axis(panel, paper_label)
    axes[-1].set_xlabel(quantity("t_s").header)
    return figure


def plot_windows(
    axes: Axes,
    lines: Mapping[str, PlottedLine],
    start_s: float = 0.0,
    stop_s: float = float("inf"),
) -> None:
    """Draw the congestion windows of several flows, from `start_s` to `stop_s`."""
    top = 0.0
    with house_style():
        for name, style in styles_of(lines).items():
            times, values = lines[name]
            # One additional point on each side, so that lines extend to the panel's edges.
            first = max(0, int(np.searchsorted(times, start_s)) - 1)
            last = int(np.searchsorted(times, stop_s)) + 1
            shown_times, shown = decimate(times[first:last], values[first:last], _MOST_POINTS)
            axes.plot(
                shown_times,
                shown,
                color=style.colour,
                linestyle=style.line_style,
                linewidth=1.2,
                label=name,
            )
            finite = shown[np.isfinite(shown)]
            top = max(top, float(finite.max()) if finite.size else 0.0)
        ends = [float(times[-1]) for times, _ in lines.values() if len(times)]
        axes.set_xlim(start_s, min(stop_s, max(ends, default=1.0)))
        axes.set_ylim(0, 1.08 * top if top > 0 else 1.0)
        axes.set_ylabel(quantity("cwnd_pkts").header)


def add_paper_axis(axes: Axes, label: str) -> None:
    """Add a second y axis with the scale of the first axis and the label from the paper."""
    with house_style():
        twin = axes.secondary_yaxis("right")
        twin.set_ylabel(label, color="#666666")
        twin.tick_params(colors="#666666")
