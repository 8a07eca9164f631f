"""Plot a saturated link: capacity, delay and queue over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt

from cwndlab.errors import LinkError
from cwndlab.run.saturation import Saturated, saturate
from cwndlab.schema.direction import Direction
from cwndlab.study.describe import describe_path, path_lines, read_link

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BIN_MS = 100
_MOST_POINTS = 20_000
_ENDINGS = (".svg", ".pdf", ".png")
_PANELS = ("capacity (Mbit/s)", "one-way delay (ms)", "queue (packets)")


def plot_link(spec: str, out: Path, duration_ns: int) -> Path:
    """Plot a saturated link, and return the path of the picture.

    A direction without a rate limit is left out.

    Raises:
        LinkError: the suffix of the file name is unknown, or neither direction has a rate limit.
    """
    if out.suffix not in _ENDINGS:
        msg = f"{out}: choose a file name that ends in {', '.join(_ENDINGS)}"
        raise LinkError(msg)
    _, resolved = read_link(spec)
    found: dict[Direction, Saturated] = {}
    problem = ""
    for direction in Direction:
        try:
            found[direction] = saturate(resolved, direction, duration_ns)
        except LinkError as error:
            problem = str(error)
    if not found:
        msg = f"{spec}: nothing can be plotted ({problem})"
        raise LinkError(msg)
    figure = draw_link(
        spec, found, path_lines(describe_path(resolved.path, resolved.traces, resolved.server_ns))
    )
    figure.savefig(out)
    plt.close(figure)
    return out


def draw_link(title: str, found: dict[Direction, Saturated], lines: list[str]) -> Figure:
    """Plot the directions in `found` side by side, and write `lines`, a description, below them."""
    # A constant SINR is not plotted.
    has_ratio = any(np.ptp(each.block_sinr_db) > 0 for each in found.values() if each.has_blocks)
    panels = [*_PANELS, *(["SINR (dB)"] if has_ratio else [])]
    figure, axes = plt.subplots(
        len(panels),
        len(found),
        sharex=True,
        squeeze=False,
        figsize=(6 * len(found), 1.9 * len(panels) + 0.18 * len(lines)),
    )
    for column, (direction, saturated) in enumerate(found.items()):
        _draw(list(axes[:, column]), saturated)
        rate = f"{saturated.rate_mbit_s:.2f} Mbit/s"
        axes[0, column].set_title(f"{direction.title}: {rate}", loc="left", fontsize="medium")
        axes[-1, column].set_xlabel("time (s)")
    for axis, label in zip(axes[:, 0], panels, strict=True):
        axis.set_ylabel(label)
    figure.align_ylabels(axes[:, 0])
    figure.suptitle(title, x=0.01, ha="left")
    figure.text(0.01, 0.005, "\n".join(lines), family="monospace", fontsize=7, va="bottom")
    height_inches = figure.get_size_inches()[1]
    figure.tight_layout(rect=(0, (0.1 + 0.14 * len(lines)) / height_inches, 1, 1))
    return figure


def _draw(axes: list[Axes], saturated: Saturated) -> None:
    """Plot capacity, delay and queue of one direction, and the SINR if there is a fourth panel."""
    rates_mbit_s = saturated.rates_mbit_s(_BIN_MS)
    times_s = np.arange(len(rates_mbit_s)) * _BIN_MS / 1000
    axes[0].step(times_s, rates_mbit_s, where="post", linewidth=0.8)
    step = max(len(saturated.at_ns) // _MOST_POINTS, 1)
    at_s = saturated.at_ns[::step] / 1e9
    axes[1].plot(at_s, saturated.delay_ns[::step] / 1e6, ".", markersize=0.8)
    queue_pkts = saturated.queue_pkts[:: max(len(saturated.queue_pkts) // _MOST_POINTS, 1)]
    queue_s = np.linspace(0, saturated.duration_ns / 1e9, len(queue_pkts))
    axes[2].plot(queue_s, queue_pkts, linewidth=0.6)
    if len(axes) > len(_PANELS) and saturated.has_blocks:
        step = max(len(saturated.block_at_ns) // _MOST_POINTS, 1)
        block_s = saturated.block_at_ns[::step] / 1e9
        axes[3].plot(block_s, saturated.block_sinr_db[::step], linewidth=0.6)
    for axis in axes[: len(_PANELS)]:
        axis.margins(y=0.1)
        axis.set_ylim(bottom=0)
    for axis in axes:
        axis.grid(alpha=0.3)
