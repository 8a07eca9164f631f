"""Write names in figures without overlap: next to lines and points, at ticks, and in legends."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import matplotlib.transforms
from matplotlib.artist import Artist
from matplotlib.axes import Axes

_FONT_SIZE = 8
_LINE_HEIGHT_PT = 10.0
_CHARACTER_PT = 5.0
"""Assumed width of a letter in points, large enough to leave a gap between two names."""
_MARKER_PT = 8.0
_HANDLE_PT = 40.0
"""Width in points of the line or marker in a legend entry, with the gaps around it."""
_NAME_PT = 9.0
"""Height of the text of a name in a figure, in points."""
_NEAR_ROWS, _FARTHEST_ROW = 3, 40
LONGEST_NAME = 36
"""Maximum number of characters of a name in a figure; narrow panels shorten names even more."""
_SHORTEST_LIMIT = 12


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A name, with the data coordinates of the point that it labels."""

    text: str
    x: float
    y: float
    colour: str


def short_names(names: Iterable[str], longest: int = LONGEST_NAME) -> dict[str, str]:
    """Return a short text for each name in a figure; long names lose their middle.

    If several names are shortened to the same text, a number is added to all but the first.
    """
    head_length = 3 * longest // 5
    tail_length = longest - 1 - head_length
    short: dict[str, str] = {}
    for name in names:
        if len(name) <= longest:
            short[name] = name
            continue
        head, tail = name[:head_length], name[-tail_length:]
        text = f"{head.rstrip()}\N{HORIZONTAL ELLIPSIS}{tail.lstrip()}"
        taken = {each for other, each in short.items() if other != name}
        numbers = (f"{text} ({n})" for n in count(2))
        short[name] = next(each for each in chain([text], numbers) if each not in taken)
    return short


def name_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Write `names` at 0, 1, ... on the x axis, and rotate them if they would overlap."""
    short = short_names(names, _longest_in(axes))
    names = [short[name] for name in names]
    width_in = axes.get_position().width * axes.figure.figure.get_size_inches()[0]
    room_pt = 72 * width_in / max(1, len(names))
    longest = max((len(name) for name in names), default=0)
    is_tight = _CHARACTER_PT * longest > room_pt
    axes.set_xticks(range(len(names)), list(names))
    if is_tight:
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def room_for_labels_in(lines: int) -> float:
    """Return the height in inches of a panel that has room for the labels of `lines` lines."""
    return lines * _LINE_HEIGHT_PT / 72


def legend_names(axes: Axes, columns: int) -> tuple[list[Artist], list[str], int]:
    """Return a legend's symbols, short names and number of columns, which is at most `columns`."""
    handles, names = axes.get_legend_handles_labels()
    short = short_names(names, _longest_in(axes))
    longest = max(map(len, short.values()), default=0)
    fitting = int(_panel_width_pt(axes) // (_CHARACTER_PT * longest + _HANDLE_PT))
    return handles, [short[name] for name in names], max(1, min(columns, fitting))


def _longest_in(axes: Axes) -> int:
    """Return how many characters a name at a tick or in the legend may have."""
    half = int(_panel_width_pt(axes) / 2 / _CHARACTER_PT)
    return min(LONGEST_NAME, max(half, _SHORTEST_LIMIT))


def _panel_width_pt(axes: Axes) -> float:
    """Estimate the width of the axes with their labels, without computing the layout."""
    place = axes.get_subplotspec()
    beside = 1 if place is None else place.get_gridspec().ncols
    return 72 * float(axes.figure.figure.get_size_inches()[0]) / beside


def label_line_ends(labels_of: Mapping[Axes, Sequence[PlacedLabel]]) -> None:
    """Write each name to the right of the axes, next to the end of the line that it names.

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
    short = short_names(label.text for label in labels)
    blended = matplotlib.transforms.blended_transform_factory(axes.transAxes, axes.transAxes)
    for label, height in zip(labels, moved, strict=True):
        axes.annotate(
            short[label.text],
            xy=(1.0, height / height_pt),
            xycoords=blended,
            xytext=(4, 0),
            textcoords="offset points",
            color=label.colour,
            fontsize=_FONT_SIZE,
            va="center",
            annotation_clip=False,
        )


def label_points(axes: Axes, labels: Sequence[PlacedLabel]) -> None:
    """Write the name of each point beside the point, without covering another name or point.

    A line connects a distant name with its point. Set the limits of the axes before you call this
    function.
    """
    axes.figure.figure.draw_without_rendering()  # compute the layout, which determines places
    scale = 72 / axes.figure.dpi
    points = [scale * axes.transData.transform((label.x, label.y)) for label in labels]
    markers = [Box(x, y, 0.0, 0.0).grown(_MARKER_PT / 2) for x, y in points]
    room = Box(*(scale * value for value in axes.bbox.bounds))
    short = short_names(label.text for label in labels)
    widths = [_CHARACTER_PT * len(short[label.text]) for label in labels]
    places = free_places(markers, widths, room)
    for label, marker, place in zip(labels, markers, places, strict=True):
        is_far = not marker.grown(_LINE_HEIGHT_PT).meets(place)
        line = {"arrowstyle": "-", "color": label.colour, "linewidth": 0.5, "shrinkB": 3}
        axes.annotate(
            short[label.text],
            xy=(label.x, label.y),
            xytext=(place.x - marker.x - _MARKER_PT / 2, place.y - marker.y - _MARKER_PT / 2),
            textcoords="offset points",
            color=label.colour,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8},
            arrowprops=line if is_far else None,
        )


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in points; `x` and `y` are its lower left corner."""

    x: float
    y: float
    width: float
    height: float

    def grown(self, by: float) -> "Box":
        """Return a box that extends this box by `by` points on each side."""
        return Box(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def meets(self, other: "Box") -> bool:
        """Return whether the two boxes overlap."""
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def holds(self, other: "Box") -> bool:
        """Return whether the other box is inside this box."""
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.x + other.width <= self.x + self.width
            and other.y + other.height <= self.y + self.height
        )


def free_places(markers: Sequence[Box], widths: Sequence[float], room: Box) -> list[Box]:
    """Return a box for each marker's name: the nearest free place inside `room`.

    A place is free if it overlaps no marker and no other name. If no place is free, the name is
    put at the upper right of the marker, over other boxes.
    """
    placed: list[Box] = []
    for own, width in zip(markers, widths, strict=True):
        others = [*(marker for marker in markers if marker is not own), *placed]
        candidates = _places_around(own, width)
        placed.append(
            next(
                (
                    box
                    for box in candidates
                    if room.holds(box) and not any(box.meets(other) for other in others)
                ),
                candidates[0],
            )
        )
    return placed


def _places_around(marker: Box, width: float) -> list[Box]:
    """Return places for a name beside a marker, from near to far; the first is upper right."""
    right, left = marker.x + marker.width + 3, marker.x - width - 3
    rows = [row for n in range(_FARTHEST_ROW) for row in (n, -n - 1)]
    return [
        Box(x + far, marker.y + marker.height / 2 + 4 + _LINE_HEIGHT_PT * row, width, _NAME_PT)
        for row in rows
        for far in ((0.0,) if abs(row) < _NEAR_ROWS else (0.0, width / 2, -width / 2))
        for x in (right, left)
    ]


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart, as little as possible, until neighbours are at least `gap` apart.

    The moved positions lie between `low` and `high`, unless they need more room.
    """
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
