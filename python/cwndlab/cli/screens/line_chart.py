"""Terminal line chart over time, drawn with the Braille patterns of Unicode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.cli.screens.braille import Canvas, round_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.stats.bootstrap import Floats

WIDTH, HEIGHT = 72, 12  # characters


def line_chart(times: Floats, values: Floats, unit: str, end: float) -> list[str]:
    """Return a chart as lines of text, with a scale at the left and times from 0 to `end` below.

    Each column of dots spans the lowest to the highest value in its time interval. The chart
    therefore shows all extreme values.
    """
    highest = round_up(float(np.nanmax(values))) if np.isfinite(values).any() else 1.0
    canvas = Canvas(WIDTH, HEIGHT)
    columns, rows = canvas.columns, canvas.rows
    at = np.minimum((times / end * columns).astype(int), columns - 1)
    previous: int | None = None
    for column in range(columns):
        own = values[at == column]
        own = own[np.isfinite(own)]
        if not own.size:
            continue
        low, high = (
            min(int(value / highest * (rows - 1) + 0.5), rows - 1)
            for value in (own.min(), own.max())
        )
        if previous is not None:
            low, high = min(low, previous), max(high, previous)
        previous = min(int(own[-1] / highest * (rows - 1) + 0.5), rows - 1)
        canvas.draw(column, low, high)
    labels = _scale(highest)
    width = max(len(label) for label in labels)
    body = [f"{label:>{width}} │{canvas.text(row)}" for row, label in enumerate(labels)]
    return [f"{unit:>{width}}", *body, f"{'':>{width}} └{'─' * WIDTH}", _times(width, end)]


def strip(times: Sequence[float], symbols: Sequence[str], end: float) -> str:
    """Return a line of text in which each symbol is repeated until the time of the next symbol."""
    line = [" "] * WIDTH
    for n, (begin, symbol) in enumerate(zip(times, symbols, strict=True)):
        until = times[n + 1] if n + 1 < len(times) else end
        first = min(int(begin / end * WIDTH), WIDTH - 1)
        for column in range(first, max(first + 1, int(until / end * WIDTH))):
            line[min(column, WIDTH - 1)] = symbol
    return "".join(line)


def _scale(highest: float) -> list[str]:
    """Return the labels of the vertical scale, at its top, middle and bottom."""
    labels = [""] * HEIGHT
    labels[0], labels[HEIGHT // 2], labels[-1] = f"{highest:g}", f"{highest / 2:g}", "0"
    return labels


def _times(width: int, end: float) -> str:
    middle, last = f"{end / 2:g}", f"{end:g} s"
    line = f"0{middle:>{WIDTH // 2}}"
    return f"{'':>{width}}  {line}{last:>{WIDTH - len(line)}}"
