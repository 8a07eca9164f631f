"""Draw distributions over runs or flows: cumulative distributions and box plots."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from cwndlab.figures.canvas import house_style, legend_above
from cwndlab.figures.labels import name_ticks
from cwndlab.figures.style import styles_of
from cwndlab.results.columns import quantity
from cwndlab.stats import box_summary, empirical_cdf

_FEWEST_FOR_BOX = 5  # fewer values are drawn as points, because quartiles are useless
_LEAST_SPAN = 0.06
"""Minimum range of an axis, as a fraction of its largest value. A smaller range would exaggerate
differences."""


def plot_cdf(
    axes: Axes, values: Mapping[str, npt.ArrayLike], column: str, *, of: str = "runs"
) -> None:
    """Draw the cumulative distribution of the quantity `column` for each algorithm.

    `of` completes the axis label: "cumulative share of runs" or "cumulative share of flows".
    """
    styles = styles_of(values)
    with house_style():
        for name, own in values.items():
            data, shares = empirical_cdf(own)
            if not data.size:
                continue
            style = styles[name]
            axes.step(
                [data[0], *data],
                [0.0, *shares],
                where="post",
                color=style.colour,
                linestyle=style.line_style,
                linewidth=1.4,
                label=name,
            )
        _keep_small(axes, "x")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(quantity(column).header)
        axes.set_ylabel(f"cumulative share of {of}")
        legend_above(axes, columns=2)


def plot_box(
    axes: Axes,
    values: Mapping[str, npt.ArrayLike],
    column: str,
    *,
    has_outliers: bool = True,
) -> None:
    """Draw a box for each algorithm: quartiles, whiskers to 1.5 IQR, and the mean as a cross.

    If there are fewer than five values, they are drawn as points, because a box would be
    misleading.
    """
    styles = styles_of(values)
    with house_style():
        for at, (name, own) in enumerate(values.items()):
            colour = styles[name].colour
            data = np.asarray(own, dtype=np.float64)
            data = data[np.isfinite(data)]
            if data.size == 0:
                continue
            if data.size < _FEWEST_FOR_BOX:
                axes.plot(np.full(data.size, at), data, "o", color=colour, alpha=0.7, markersize=4)
                axes.plot([at], [data.mean()], "x", color="#222222", markersize=6)
                continue
            box = box_summary(data)
            axes.bxp(
                [
                    {
                        "med": box.median,
                        "q1": box.first_quartile,
                        "q3": box.third_quartile,
                        "whislo": box.whisker_low,
                        "whishi": box.whisker_high,
                        "mean": box.mean,
                        "fliers": list(box.outliers) if has_outliers else [],
                    }
                ],
                positions=[at],
                widths=0.5,
                showmeans=True,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": f"{colour}33", "edgecolor": colour},
                medianprops={"color": colour, "linewidth": 1.8},
                whiskerprops={"color": colour},
                capprops={"color": colour},
                meanprops={"marker": "x", "markeredgecolor": "#222222", "markersize": 6},
                flierprops={"marker": ".", "markeredgecolor": colour, "markersize": 4},
            )
        name_ticks(axes, list(values))
        axes.set_xlim(-0.6, len(values) - 0.4)
        _keep_small(axes, "y")
        axes.grid(visible=False, axis="x")
        axes.set_ylabel(quantity(column).header)


def _keep_small(axes: Axes, which: Literal["x", "y"]) -> None:
    """Extend an axis to a minimum range, so that small differences do not look large."""
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    missing = _LEAST_SPAN * max(abs(low), abs(high)) - (high - low)
    if missing > 0:
        wide = (low - missing / 2, high + missing / 2)
        axes.set(**{f"{which}lim": wide})
