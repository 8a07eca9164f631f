"""Convert a figure into a script for Matplotlib and a CSV file with the figure's lines.

The script contains every drawn element at its final position. Authors of a paper can change sizes,
colours and texts in the script, and run the script without cwndlab.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pprint import pformat
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation
from matplotlib.ticker import NullFormatter, NullLocator, ScalarFormatter
from matplotlib.transforms import Transform

from cwndlab.figures import house_style

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_HEAD = '''"""{title}

The script needs only Matplotlib and {name}.csv, which contains the lines of the figure.
`python {name}.py` draws {name}.pdf.
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Outline

here = Path(__file__).resolve().parent
plt.rcParams.update({style})

lines = {{}}  # by panel and line: x and y
with open(here / "{name}.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        x, y = lines.setdefault((int(row["panel"]), int(row["line"])), ([], []))
        x.append(float(row["x"]))
        y.append(float(row["y"]))

figure = plt.figure(figsize={size})
'''
_TAIL = """
figure.savefig(here / "{name}.pdf")
print(here / "{name}.pdf")
"""
_STYLE_KEYS = ("axes.", "figure.dpi", "font.", "grid.", "legend.", "lines.", "pdf.fonttype")


@dataclass
class _Script:
    """Collects the lines of a Matplotlib script, and the rows of the script's CSV file."""

    code: list[str] = field(default_factory=list)
    rows: list[tuple[int, int, str, float, float]] = field(default_factory=list)

    def call(self, name: str, *positional: str, **named: object) -> None:
        """Add a function call to the script; arguments that are None are omitted."""
        given = [f"{key}={_literal(value)}" for key, value in named.items() if value is not None]
        self.code.append(f"{name}({', '.join([*positional, *given])})")


class _Code(str):
    """A Python expression that is written into the script unchanged."""

    __slots__ = ()


def script_of(figure: Figure, name: str, title: str) -> tuple[str, str]:
    """Return the text of a script that draws a figure again, and the text of its CSV file.

    Args:
        figure: the figure; its layout is computed here.
        name: name of the script and of the CSV file, without suffix.
        title: title of the figure, for the docstring of the script.

    Raises:
        TypeError: an element of the figure cannot be converted into code.
    """
    with house_style():
        figure.draw_without_rendering()
        style = {
            key: value
            for key, value in mpl.rcParams.items()
            if key.startswith(_STYLE_KEYS)
            and isinstance(value, str | float | int | list)
            and value != mpl.rcParamsDefault[key]
        }
    style.pop("figure.constrained_layout.use", None)
    script = _Script()
    for at, axes in enumerate(each for each in figure.axes if each.get_visible()):
        _panel(script, at, axes)
    if figure.get_suptitle():
        heading = vars(figure)["_suptitle"]  # Matplotlib has no public attribute for it
        x, y = (float(each) for each in heading.get_position())
        script.call(
            "figure.suptitle",
            _literal(heading.get_text()),
            x=x,
            y=y,
            ha=heading.get_horizontalalignment(),
            va=heading.get_verticalalignment(),
            fontsize=float(heading.get_fontsize()),
        )
    size = tuple(float(each) for each in figure.get_size_inches())
    head = _HEAD.format(title=title, name=name, style=pformat(style, width=88), size=size)
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["panel", "line", "name", "x", "y"])
    writer.writerows(script.rows)
    return head + "\n".join(script.code) + "\n" + _TAIL.format(name=name), table.getvalue()


def _panel(script: _Script, at: int, axes: Axes) -> None:
    bounds = [round(float(each), 6) for each in axes.get_position().bounds]
    script.code.append("")
    script.call("panel = figure.add_axes", _literal(bounds))
    for row, line in enumerate(axes.lines):
        _line(script, axes, line, (at, row))
    for artist in (*axes.collections, *axes.patches, *axes.texts, *axes.child_axes):
        _artist(script, axes, artist)
    for which in ("x", "y"):
        _axis(script, axes, which)
    if axes.get_title(loc="left"):
        script.call("panel.set_title", _literal(axes.get_title(loc="left")))
    _legend(script, axes)


def _line(script: _Script, axes: Axes, line: Line2D, place: tuple[int, int]) -> None:
    label = str(line.get_label())
    x, y = (np.asarray(each, dtype=float) for each in line.get_data(orig=False))
    name = "" if label.startswith("_") else label
    style = _line_style(line) | {"transform": _transform(axes, line)}
    script.rows.extend((*place, name, float(a), float(b)) for a, b in zip(x, y, strict=True))
    script.call(
        "panel.add_line",
        f"Line2D(*lines.get({place!r}, ([], [])), {_arguments(style)})",
    )


def _line_style(line: Line2D) -> dict[str, object]:
    offset, dashes = vars(line)["_unscaled_dash_pattern"]  # Matplotlib has no public attribute
    style: dict[str, object] = {
        "color": _hex(line.get_color()),
        "linewidth": float(line.get_linewidth()),
        "linestyle": "None"
        if line.get_linestyle() == "None"
        else (offset, tuple(map(float, dashes)))
        if dashes
        else "-",
        "drawstyle": line.get_drawstyle(),
        "zorder": float(line.get_zorder()),
        "clip_on": line.get_clip_on(),
    }
    if line.get_alpha() is not None:
        style["alpha"] = line.get_alpha()
    if line.get_marker() not in {"None", None, "", " "}:
        style |= {
            "marker": line.get_marker(),
            "markersize": float(line.get_markersize()),
            "markerfacecolor": _hex(line.get_markerfacecolor()),
            "markeredgecolor": _hex(line.get_markeredgecolor()),
            "markeredgewidth": float(line.get_markeredgewidth()),
        }
    if not str(line.get_label()).startswith("_"):
        style["label"] = line.get_label()
    return style


def _artist(script: _Script, axes: Axes, artist: Artist) -> None:
    if isinstance(artist, LineCollection):
        segments = [_numbers(each) for each in artist.get_segments()]
        collection = "LineCollection"
        _collection(script, axes, artist, collection, segments, colors=_colours(artist))
    elif isinstance(artist, PolyCollection):
        outlines = [_numbers(np.asarray(path.vertices)) for path in artist.get_paths()]
        faces = [_hex(each) for each in artist.get_facecolor()]
        _collection(script, axes, artist, "PolyCollection", outlines, facecolors=faces)
    elif isinstance(artist, Patch):
        _patch(script, axes, artist)
    elif isinstance(artist, Annotation):
        _annotation(script, axes, artist)
    elif isinstance(artist, SecondaryAxis):
        script.call("beside = panel.secondary_yaxis", _literal("right"))
        label = artist.yaxis.get_label()
        script.call("beside.set_ylabel", _literal(label.get_text()), color=str(label.get_color()))
    else:
        msg = f"a figure element of type {type(artist).__name__} cannot be converted into code"
        raise TypeError(msg)


def _colours(artist: LineCollection) -> list[str]:
    return [_hex(each) for each in artist.get_color()]


def _collection(
    script: _Script,
    axes: Axes,
    artist: LineCollection | PolyCollection,
    kind: str,
    shapes: object,
    **style: object,
) -> None:
    style |= {
        "linewidths": [float(each) for each in np.atleast_1d(artist.get_linewidth())],
        "zorder": float(artist.get_zorder()),
        "transform": _transform(axes, artist),
    }
    script.call("panel.add_collection", f"{kind}({_literal(shapes)}, {_arguments(style)})")


def _patch(script: _Script, axes: Axes, patch: Patch) -> None:
    """Write the code that draws a filled bar, box or band from its outline."""
    base, code = _coordinates(axes, patch)
    path = (patch.get_transform() - base).transform_path(patch.get_path())
    codes = None if path.codes is None else np.asarray(path.codes, dtype=int).tolist()
    outline = f"Outline({_literal(_numbers(np.asarray(path.vertices)))}, {_literal(codes)})"
    style = _face(patch) | {"zorder": float(patch.get_zorder()), "transform": code}
    script.call("panel.add_patch", f"PathPatch({outline}, {_arguments(style)})")


def _annotation(script: _Script, axes: Axes, text: Annotation) -> None:
    if text.arrow_patch is not None:
        msg = "the arrow of an annotation cannot be converted into code"
        raise TypeError(msg)
    xy: tuple[float, ...] = tuple(float(each) for each in text.xy)
    coordinates: object = text.xycoords
    if isinstance(coordinates, Transform):
        in_axes = (coordinates - axes.transAxes).transform(xy)
        xy, coordinates = tuple(float(each) for each in in_axes), "axes fraction"
    frame = text.get_bbox_patch()
    box = None
    if frame is not None:
        pad = getattr(frame.get_boxstyle(), "pad", 0.3)
        box = {
            "facecolor": _hex(frame.get_facecolor()),
            "edgecolor": _hex(frame.get_edgecolor()),
            "boxstyle": f"square,pad={float(pad):.4f}",
        }
    script.call(
        "panel.annotate",
        _literal(text.get_text()),
        xy=xy,
        xycoords=coordinates,
        xytext=tuple(float(each) for each in text.xyann),
        textcoords=text.anncoords,
        color=_hex(text.get_color()),
        fontsize=float(text.get_fontsize()),
        ha=text.get_horizontalalignment(),
        va=text.get_verticalalignment(),
        bbox=box,
        annotation_clip=text.get_annotation_clip(),
    )


def _axis(script: _Script, axes: Axes, which: str) -> None:
    axis: Axis = getattr(axes, f"{which}axis")
    if axis.get_scale() != "linear":
        script.call(f"panel.set_{which}scale", _literal(axis.get_scale()))
    low, high = (float(each) for each in getattr(axes, f"get_{which}lim")())
    script.call(f"panel.set_{which}lim", repr(low), repr(high))
    formatter = axis.get_major_formatter()
    if isinstance(axis.get_major_locator(), NullLocator):
        script.call(f"panel.set_{which}ticks", "[]")
    elif axis.get_scale() == "linear" and not isinstance(formatter, ScalarFormatter):
        _named_ticks(script, axis, which, is_empty=isinstance(formatter, NullFormatter))
    ticks = axis.get_major_ticks()
    if ticks and not ticks[0].label1.get_visible():
        script.call(
            "panel.tick_params",
            axis=which,
            **{f"label{'bottom' if which == 'x' else 'left'}": False},
        )
    if axis.get_label_text():
        script.call(f"panel.set_{which}label", _literal(axis.get_label_text()))
    if not any(line.get_visible() for line in axis.get_gridlines()):
        script.call("panel.grid", visible=False, axis=which)


def _named_ticks(script: _Script, axis: Axis, which: str, *, is_empty: bool) -> None:
    labels = axis.get_ticklabels()
    first = labels[0] if labels else None
    script.call(
        f"panel.set_{which}ticks",
        _literal([float(each) for each in axis.get_majorticklocs()]),
        _literal(["" if is_empty else label.get_text() for label in labels]),
        rotation=float(first.get_rotation()) if first is not None else None,
        ha=first.get_horizontalalignment() if first is not None and which == "x" else None,
        rotation_mode=first.get_rotation_mode() if first is not None else None,
    )


def _legend(script: _Script, axes: Axes) -> None:
    legend = axes.get_legend()
    if legend is None:
        return
    box = legend.get_window_extent().transformed(axes.transAxes.inverted())
    handles = []
    drawn, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, drawn, strict=True))
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        shown = known.get(text.get_text(), handle)
        handles.append(_handle(shown, text.get_text()))
    script.call(
        "panel.legend",
        handles=_Code(f"[{', '.join(handles)}]"),
        loc="lower left",
        bbox_to_anchor=(round(float(box.x0), 6), round(float(box.y0), 6)),
        ncols=vars(legend)["_ncols"],  # Matplotlib has no public attribute for it
        handlelength=float(legend.handlelength),
        columnspacing=float(legend.columnspacing),
        borderaxespad=0.0,
        fontsize=float(legend.get_texts()[0].get_fontsize()),
    )


def _handle(shown: object, label: str) -> str:
    """Return code that draws a legend symbol: a line, or a box in the colours of a bar or band."""
    first = shown.lines[0] if isinstance(shown, ErrorbarContainer) else shown
    first = first.patches[0] if isinstance(first, BarContainer) else first
    if isinstance(first, Line2D):
        return f"Line2D([], [], {_arguments(_line_style(first) | {'label': label})})"
    if isinstance(first, Patch):
        return f"Patch({_arguments(_face(first) | {'label': label})})"
    msg = f"a legend symbol of type {type(first).__name__} cannot be converted into code"
    raise TypeError(msg)


def _face(patch: Patch) -> dict[str, object]:
    return {
        "facecolor": _hex(patch.get_facecolor()),
        "edgecolor": _hex(patch.get_edgecolor()),
        "linewidth": float(patch.get_linewidth()),
    }


def _arguments(style: dict[str, object]) -> str:
    return ", ".join(f"{key}={_literal(value)}" for key, value in style.items())


def _coordinates(axes: Axes, artist: Artist) -> tuple[Transform, _Code]:
    """Return the coordinate system of a figure element, and the code that selects this system."""
    transform = artist.get_transform()
    x_data, y_data = transform.contains_branch_seperately(axes.transData)
    if x_data and y_data:
        return axes.transData, _Code("panel.transData")
    if x_data:
        return axes.get_xaxis_transform(), _Code("panel.get_xaxis_transform()")
    if y_data:
        return axes.get_yaxis_transform(), _Code("panel.get_yaxis_transform()")
    return axes.transAxes, _Code("panel.transAxes")


def _transform(axes: Axes, artist: Artist) -> _Code:
    return _coordinates(axes, artist)[1]


def _hex(colour: object) -> str:
    return to_hex(cast("str", colour), keep_alpha=True)


def _numbers(values: npt.ArrayLike) -> list[Any]:
    return [[float(x), float(y)] for x, y in np.asarray(values, dtype=float)]


def _literal(value: object) -> str:
    if isinstance(value, _Code):
        return str(value)
    return repr(value)
