"""Draw figures for print and notebooks, with units on all axes and a colour per algorithm."""

from cwndlab.figures.canvas import FORMATS, house_style, new_figure, save_figure
from cwndlab.figures.decimate import decimate, kept_points
from cwndlab.figures.distributions import plot_box, plot_cdf
from cwndlab.figures.effects import effect_figure, plot_effect
from cwndlab.figures.operating_point import operating_point_figure, plot_over_inflight
from cwndlab.figures.over_time import (
    is_loss,
    loss_times,
    over_time_figure,
    plot_over_time,
    plot_window,
    window_figure,
)
from cwndlab.figures.overlay import Zoom, add_paper_axis, overlay_figure, plot_windows
from cwndlab.figures.standings import plot_bars, plot_throughput_delay
from cwndlab.figures.style import Style, style_of, styles_of

__all__ = [
    "FORMATS",
    "Style",
    "Zoom",
    "add_paper_axis",
    "decimate",
    "effect_figure",
    "house_style",
    "is_loss",
    "kept_points",
    "loss_times",
    "new_figure",
    "operating_point_figure",
    "over_time_figure",
    "overlay_figure",
    "plot_bars",
    "plot_box",
    "plot_cdf",
    "plot_effect",
    "plot_over_inflight",
    "plot_over_time",
    "plot_throughput_delay",
    "plot_window",
    "plot_windows",
    "save_figure",
    "style_of",
    "styles_of",
    "window_figure",
]
