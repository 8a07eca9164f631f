"""Write names next to lines and points instead of a legend, without overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.transforms
from matplotlib.axes import Axes

_FONT_SIZE = 8
_LINE_HEIGHT_PT = 10.0
_CHARACTER_PT = 5.0
"""Width of a letter in points, including part of the gap between two names."""


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A name, with the data coordinates of the point that it labels."""

    text: str
    x: float
    y: float
    colour: str


def name_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Label the positions 0, 1, ... of the x axis, and rotate labels that would overlap."""
    width_in = axes.get_position().width * axes.figure.figure.get_size_inches()[0]
    room_pt = 72 * width_in / max(1, len(names))
    longest = max((len(name) for name in names), default=0)
    is_tight = _CHARACTER_PT * longest > room_pt
    axes.set_xticks(range(len(names)), list(names))
    if is_tight:
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def room_for_labels_in(count: int) -> float:
    """Return the height in inches that the labels of `count` lines need in a panel."""
    return count * _LINE_HEIGHT_PT / 72


def label_line_ends(labels_of: Mapping[Axes, Sequence[PlacedLabel]]) -> None:
    """Write each name to the right of its axes, next to the end of its line.

    Call this function last: titles and axis labels that are drawn later would change the layout.
    """
    for figure in {axes.figure.figure for axes in labels_of}:
        figure.draw_without_rendering()  # compute the layout, which determines heights
    for axes, labels in labels_of.items():
        _label_line_ends(axes, labels)


def _label_line_ends(axes: Axes, labels: Sequence[PlacedLabel]) -> None:
    height_pt = axes.get_window_extent().height * 72 / axes.figure.dpi
    low, high = axes.get_ylim()
    heights = [(label.y - low) / (high - low) * height_pt for label in labels]
    moved = spread(heights, _LINE_HEIGHT_PT, 0.0, height_pt)
    blended = matplotlib.transforms.blended_transform_factory(axes.transAxes, axes.transAxes)
    for label, height in zip(labels, moved, strict=True):
        axes.annotate(
            label.text,
            xy=(1.0, height / height_pt),
            xycoords=blended,
            xytext=(4, 0),
            textcoords="offset points",
            color=label.colour,
            fontsize=_FONT_SIZE,
            va="center",
            annotation_clip=False,
        )


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as possible, so that they are at least `gap` apart."""
    order = sorted(range(len(places)), key=lambda at: places[at])
    groups: list[tuple[float, list[int]]] = []  # (centre, members) of labels that touch each other
    for at in order:
        groups.append((min(max(places[at], low), high), [at]))
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            (_, first), (_, second) = groups[-2], groups[-1]
            members = first + second
            centre = sum(places[member] for member in members) / len(members)
            half = gap * (len(members) - 1) / 2
            centre = min(max(centre, low + half), max(high - half, low + half))
            groups[-2:] = [(centre, members)]
    moved = [0.0] * len(places)
    for centre, members in groups:
        for rank, at in enumerate(members):
            moved[at] = centre + gap * (rank - (len(members) - 1) / 2)
    return moved


def _touch(lower: tuple[float, list[int]], upper: tuple[float, list[int]], gap: float) -> bool:
    top = lower[0] + gap * (len(lower[1]) - 1) / 2
    bottom = upper[0] - gap * (len(upper[1]) - 1) / 2
    return bottom - top < gap
