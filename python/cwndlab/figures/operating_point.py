"""Plot delivery rate and RTT over the data in flight: the operating point of a flow.

Below the bandwidth-delay product (BDP), more data in flight increases the delivery rate. Between
BDP and BDP plus queue, more data increases only the delay. Above BDP plus queue, packets are lost
(N. Cardwell et al., "BBR: Congestion-based congestion control", ACM Queue 14 (2016), figure 1).
"""

import math

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.figures.canvas import house_style, new_figure
from cwndlab.figures.labels import legend_names
from cwndlab.figures.style import styles_of
from cwndlab.results.columns import quantity

_MOST_DOTS = 1500
_MOST_INSIDE = 8
"""Largest number of names in a legend inside a panel; a legend with more names is placed above
the panels."""
_LEGEND_COLUMNS = 5
_LEGEND_ROW_IN = 0.2


def operating_point_figure(
    samples: pl.DataFrame,
    *,
    contestant: str = "algorithm",
    bdp_pkts: float | None = None,
    queue_pkts: float | None = None,
) -> Figure:
    """Return a figure of delivery rate and RTT over packets in flight.

    The figure marks the BDP, and the sum of BDP and queue size, if these are given.
    """
    count = samples[contestant].n_unique()
    above = math.ceil(count / _LEGEND_COLUMNS) if count > _MOST_INSIDE else 0
    figure, axes = new_figure(2, height_in=4.6 + _LEGEND_ROW_IN * above, share_x=True)
    rate = "delivery_rate_mbit_s" if _has(samples, "delivery_rate_mbit_s") else "throughput_mbit_s"
    for panel, column in zip(axes, (rate, "rtt_ms"), strict=True):
        plot_over_inflight(panel, samples, column, contestant=contestant)
        mark_capacity(panel, bdp_pkts=bdp_pkts, queue_pkts=queue_pkts, is_named=panel is axes[0])
    axes[1].set_xlabel(quantity("inflight_pkts").header)
    with house_style():
        if above:
            *names, columns = legend_names(axes[0], _LEGEND_COLUMNS)
            figure.legend(*names, loc="outside upper left", ncols=columns, markerscale=2.5)
        else:
            handles, labels, _ = legend_names(axes[0], 1)
            axes[0].legend(handles, labels, loc="lower right", markerscale=2.5)
    return figure


def plot_over_inflight(
    axes: Axes, samples: pl.DataFrame, column: str, *, contestant: str = "algorithm"
) -> None:
    """Draw one quantity against the packets in flight, with a dot for each sample.

    If an algorithm has many samples, only every n-th sample is drawn.
    """
    names = samples[contestant].unique(maintain_order=True).to_list()
    with house_style():
        for name, style in styles_of(names).items():
            own = samples.filter(pl.col(contestant) == name).drop_nulls(["inflight_pkts", column])
            step = max(1, len(own) // _MOST_DOTS)
            axes.plot(
                own["inflight_pkts"].to_numpy()[::step],
                own[column].to_numpy()[::step],
                linestyle="none",
                marker=style.marker,
                markersize=2.6,
                markeredgewidth=0,
                alpha=0.55,
                color=style.colour,
                label=name,
            )
        axes.set_ylabel(quantity(column).header)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)


def mark_capacity(
    axes: Axes, *, bdp_pkts: float | None, queue_pkts: float | None, is_named: bool
) -> None:
    """Mark two amounts of data in flight, BDP and BDP + queue.

    BDP fills the path without queueing; BDP + queue fills the path and the queue.

    Args:
        axes: the axes, whose x axis shows the packets in flight.
        bdp_pkts: bandwidth-delay product; None marks nothing.
        queue_pkts: size of the queue; None marks only the BDP.
        is_named: if true, write the name of each mark above it.
    """
    places = []
    if bdp_pkts is not None:
        places.append((bdp_pkts, "BDP"))
        if queue_pkts is not None and np.isfinite(queue_pkts):
            places.append((bdp_pkts + queue_pkts, "BDP + queue"))
    for place, name in places:
        # Extend the axis to the mark: otherwise, the layout shrinks the axes to fit a name beyond
        # them.
        axes.set_xlim(right=max(axes.get_xlim()[1], 1.05 * place))
        axes.axvline(place, color="#666666", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        if is_named:
            axes.annotate(
                name,
                xy=(place, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color="#444444",
            )


def _has(samples: pl.DataFrame, column: str) -> bool:
    return column in samples.columns and samples[column].count() > 0
