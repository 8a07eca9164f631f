"""Create figures and write them to files, so that equal input produces equal bytes.

Figures are created without pyplot, so no global state changes, and several threads can draw at
once. To make the bytes equal, identifiers in SVG files are hashed with a fixed salt, and no file
contains a date.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cwndlab.figures.labels import legend_names

FORMATS = ("svg", "pdf", "png")
WIDTH_IN = 6.3  # text width of an A4 page with margins of 25 mm

_STYLE: dict[Any, Any] = {  # the type of the keys differs between releases of matplotlib
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelcolor": "#222222",
    "axes.labelsize": 8.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "font.family": "DejaVu Sans",  # part of matplotlib, so it is the same on all computers
    "font.size": 8.5,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,  # TrueType, because journals refuse Type 3 fonts
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "cwndlab",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
_NO_DATES: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "cwndlab"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "cwndlab", "Producer": "matplotlib"},
    "png": {"Software": "cwndlab"},
}


@contextmanager
def house_style() -> Iterator[None]:
    """Return a context in which matplotlib uses cwndlab's fonts, grid and line widths."""
    with mpl.rc_context(_STYLE):
        yield


def new_figure(
    rows: int = 1,
    columns: int = 1,
    *,
    height_in: float = 3.4,
    width_in: float = WIDTH_IN,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Return a new figure in the project's style, and its axes as a list, row by row."""
    with house_style():
        figure = Figure(figsize=(width_in, height_in))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    return figure, list(axes.flat)


def title(axes: Axes, text: str) -> None:
    """Set the title of a panel, unless the title is empty."""
    if text:
        with house_style():
            axes.set_title(text)


def legend_above(axes: Axes, columns: int) -> None:
    """Place the legend above the axes, where it covers no line."""
    handles, names, fitting = legend_names(axes, columns)
    with house_style():
        axes.legend(
            handles,
            names,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=fitting,
            handlelength=2.6,
            borderaxespad=0.2,
            columnspacing=1.4,
        )


def save_figure(
    figure: Figure, folder: Path, name: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write `folder/name.svg`, `.pdf` and `.png`, or only the given `formats`; return the paths.

    Raises:
        ValueError: a format is not svg, pdf or png.
    """
    unknown = [extension for extension in formats if extension not in _NO_DATES]
    if unknown:
        msg = f'figures cannot be written as "{unknown[0]}"; formats are {", ".join(FORMATS)}'
        raise ValueError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{extension}" for extension in formats]
    with house_style(), _laid_out(figure):
        for extension, path in zip(formats, paths, strict=True):
            figure.savefig(path, format=extension, metadata=_NO_DATES[extension])
    return paths


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Compute the layout of a figure once, and keep it while the files are written."""
    engine = figure.get_layout_engine()
    figure.draw_without_rendering()
    with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
        figure.set_layout_engine(None)
        try:
            yield
        finally:
            figure.set_layout_engine(engine)
