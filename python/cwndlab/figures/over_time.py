"""Plot throughput, round-trip time, congestion window and queue over time, and mark losses."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.figures.canvas import house_style, new_figure, title
from cwndlab.figures.decimate import decimate
from cwndlab.figures.labels import PlacedLabel, label_line_ends, room_for_labels_in, short_names
from cwndlab.figures.style import styles_of
from cwndlab.results.columns import quantity
from cwndlab.stats.bootstrap import Floats

STANDARD_COLUMNS = ("throughput_mbit_s", "rtt_ms", "cwnd_pkts", "queue_pkts")
_MOST_POINTS = 4000
_NOTICED_LOSSES = frozenset({"recovery", "timeout"})


def plot_over_time(
    axes: Axes,
    samples: pl.DataFrame,
    column: str,
    *,
    contestant: str = "algorithm",
    events: pl.DataFrame | None = None,
) -> None:
    """Draw a quantity over time for one run of each algorithm, with a line for each flow.

    Short strokes at the upper edge, in the algorithm's colour, mark the losses in `events`.
    """
    with house_style():
        label_line_ends({axes: _plot_lines(axes, samples, column, contestant, events)})


def _plot_lines(
    axes: Axes, samples: pl.DataFrame, column: str, contestant: str, events: pl.DataFrame | None
) -> list[PlacedLabel]:
    """Draw lines and losses, and return a label for the line end of each algorithm."""
    names = samples[contestant].unique(maintain_order=True).to_list()
    styles = styles_of(names)
    labels = []
    with house_style():
        for name in names:
            style = styles[name]
            for times, values in flow_lines(samples.filter(pl.col(contestant) == name), column):
                axes.plot(times, values, color=style.colour, linewidth=1.1, label=name)
                finite = values[np.isfinite(values)]
                end = float(finite[-1]) if finite.size else 0.0
            labels.append(PlacedLabel(name, 1.0, end, style.colour))
        axes.set_ylabel(quantity(column).header)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0, right=float(samples["t_s"].max() or 1.0))  # type: ignore[arg-type]
        if events is not None:
            _mark_losses(axes, events, contestant)
    return labels


def over_time_figure(
    samples: pl.DataFrame,
    columns: Sequence[str] = STANDARD_COLUMNS,
    *,
    contestant: str = "algorithm",
    events: pl.DataFrame | None = None,
    heading: str = "",
) -> Figure:
    """Return a figure with one panel for each quantity; all panels share the time axis."""
    shown = [name for name in columns if name in samples.columns and samples[name].count() > 0]
    panel_in = max(1.55, 0.3 + room_for_labels_in(samples[contestant].n_unique()))
    height_in = 0.5 + panel_in * len(shown)
    figure, axes = new_figure(max(1, len(shown)), height_in=height_in, share_x=True)
    labels = {
        panel: _plot_lines(panel, samples, column, contestant, events)
        for panel, column in zip(axes, shown, strict=False)
    }
    axes[-1].set_xlabel(_time_label(events))
    title(axes[0], heading)
    with house_style():
        label_line_ends(labels)
    return figure


def window_figure(
    samples: pl.DataFrame,
    *,
    contestant: str = "algorithm",
    events: pl.DataFrame | None = None,
    heading: str = "",
) -> Figure:
    """Return a figure of congestion window and slow-start threshold, with a panel per algorithm."""
    names = samples[contestant].unique(maintain_order=True).to_list()
    figure, axes = new_figure(
        max(1, len(names)), height_in=0.5 + 1.35 * len(names), share_x=True, share_y=True
    )
    for panel, name in zip(axes, names, strict=False):
        own = samples.filter(pl.col(contestant) == name)
        losses = None if events is None else events.filter(pl.col(contestant) == name)
        plot_window(panel, own, contestant=contestant, events=losses)
        panel.set_ylabel("packets")
    windows = samples["cwnd_pkts"].max() if "cwnd_pkts" in samples.columns else None
    axes[0].set_ylim(0, 1.08 * float(windows or 1.0))  # type: ignore[arg-type]
    axes[-1].set_xlabel(_time_label(events))
    title(axes[0], heading or "Congestion window and slow-start threshold (dashed)")
    return figure


def plot_window(
    axes: Axes,
    samples: pl.DataFrame,
    *,
    contestant: str = "algorithm",
    events: pl.DataFrame | None = None,
) -> None:
    """Draw an algorithm's congestion window (solid line) and slow-start threshold (dashed line)."""
    name = str(samples[contestant][0])
    style = styles_of([name])[name]
    with house_style():
        for times, values in flow_lines(samples, "cwnd_pkts"):
            axes.plot(times, values, color=style.colour, linewidth=1.2, label="cwnd")
        if "ssthresh_pkts" in samples.columns:
            for times, values in flow_lines(samples, "ssthresh_pkts"):
                axes.plot(
                    times,
                    values,
                    color=style.colour,
                    linewidth=0.9,
                    linestyle=(0, (3, 2)),
                    alpha=0.75,
                    drawstyle="steps-post",
                    label="ssthresh",
                )
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0, right=float(samples["t_s"].max() or 1.0))  # type: ignore[arg-type]
        if events is not None:
            _mark_losses(axes, events, contestant)
        axes.annotate(
            short_names([name])[name],
            xy=(1.0, 0.5),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            color=style.colour,
            va="center",
        )


def flow_lines(samples: pl.DataFrame, column: str) -> Iterator[tuple[Floats, Floats]]:
    """Yield the times and values of `column` for each flow; `decimate` shortens long series."""
    flows = samples.partition_by("flow") if "flow" in samples.columns else [samples]
    for flow in flows:
        series = flow.sort("t_s")
        values = series[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        yield decimate(series["t_s"].to_numpy(), values, _MOST_POINTS)


def is_loss(event: str) -> bool:
    """Return whether an event is the sender's reaction to a loss: a fast recovery or a timeout.

    The result is False for `queue_overflow` and `link_loss`, which occur on the path for each lost
    packet. A sender reacts only once to all losses in a round trip.
    """
    return event in _NOTICED_LOSSES


def loss_times(events: pl.DataFrame) -> list[float]:
    """Return the times at which the sender noticed losses, in seconds."""
    return [
        float(at)
        for at, name in zip(events["t_s"], events["event"], strict=True)
        if is_loss(str(name))
    ]


def _time_label(events: pl.DataFrame | None) -> str:
    label = quantity("t_s").header
    return label if events is None else f"{label}; strokes above a panel mark losses"


def _mark_losses(axes: Axes, events: pl.DataFrame, contestant: str) -> None:
    if events.is_empty():
        return
    styles = styles_of(events[contestant].unique(maintain_order=True).to_list())
    for name, style in styles.items():
        times = loss_times(events.filter(pl.col(contestant) == name))
        if not len(times):  # a line without points disturbs the layout
            continue
        axes.plot(
            times,
            [1.0] * len(times),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="|",
            markersize=7,
            markeredgewidth=1.0,
            color=style.colour,
            clip_on=False,
        )
