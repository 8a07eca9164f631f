"""Write figures and tables as separate files, for papers and slides."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from cwndlab.figures import (
    new_figure,
    operating_point_figure,
    over_time_figure,
    plot_bars,
    plot_box,
    plot_cdf,
    plot_throughput_delay,
    save_figure,
    window_figure,
)
from cwndlab.report.context import Context, Setting
from cwndlab.report.scenario_text import bdp_pkts
from cwndlab.tables import comparison_table, write_tables

_BAR_COLUMNS = ("goodput_mbit_s", "rtt_p50_ms")


def write_files(context: Context, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write a table for each network setting, and figures in `formats`; return the paths."""
    written = []
    for setting in context.settings:
        name = _folder(setting)
        table = comparison_table(setting.comparison, title=setting.name)
        written += write_tables(table, folder / "tables" / name, "comparison")
    if formats:
        for name, figure in setting_figures(context):
            path = folder / "figures" / name
            written += save_figure(figure, path.parent, path.name, formats)
    return written


def setting_figures(context: Context) -> Iterator[tuple[str, Figure]]:
    """Yield each figure with its path below `figures/`, without suffix."""
    for setting in context.settings:
        if setting.has_timeline:
            for title, figure in _figures(setting):
                yield "/".join(filter(None, (_folder(setting), title))), figure


def _folder(setting: Setting) -> str:
    return f"setting-{setting.index}" if len(setting.context.settings) > 1 else ""


def _figures(setting: Setting) -> Iterator[tuple[str, Figure]]:
    comparison = setting.comparison
    if comparison.has("rtt_p50_ms"):
        figure, axes = new_figure()
        plot_throughput_delay(axes[0], comparison)
        yield "throughput-delay", figure
    shown = [column for column in _BAR_COLUMNS if comparison.has(column)]
    if shown:
        figure, axes = new_figure(1, len(shown))
        for panel, column in zip(axes, shown, strict=True):
            plot_bars(panel, comparison, column)
        yield "means", figure
    if shown and not comparison.is_one_run:
        figure, axes = new_figure(2, len(shown), height_in=5.6)
        for at, column in enumerate(shown):
            values = {name: comparison.finite(name, column) for name in comparison.contestants}
            plot_box(axes[at], values, column)
            plot_cdf(axes[len(shown) + at], values, column)
        yield "distributions", figure
    samples, events = setting.samples, setting.events
    if samples.is_empty():
        return
    yield "timeline", over_time_figure(samples, contestant="contestant", events=events)
    yield "windows", window_figure(samples, contestant="contestant", events=events)
    capacity = bdp_pkts(setting.scenario) if setting.scenario is not None else None
    bdp, queue = capacity if capacity is not None else (None, None)
    if "inflight_pkts" in samples.columns:
        yield (
            "in-flight",
            operating_point_figure(
                samples, contestant="contestant", bdp_pkts=bdp, queue_pkts=queue
            ),
        )
