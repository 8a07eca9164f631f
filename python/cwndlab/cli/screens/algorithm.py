"""Terminal chart of the congestion window over time, with the algorithm's phases below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.cli.screens.line_chart import line_chart, strip

if TYPE_CHECKING:
    from cwndlab.algorithm.page import Page


def window_chart(page: Page) -> list[str]:
    """Return the lines of the chart; a symbol below each column shows the phase at that time."""
    times = page.samples["t_s"].to_numpy()
    values = page.samples["cwnd_pkts"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    lines = line_chart(times, values, "cwnd, packets", page.duration_s)
    phases = page.events.filter(pl.col("event") == "phase")
    if phases.is_empty():
        return lines
    symbols = _symbols(page.algorithm.phases)
    numbers = [int(value) for value in phases["value"]]
    shown = strip(phases["t_s"].to_list(), [symbols.get(n, "?") for n in numbers], page.duration_s)
    used = ", ".join(
        f"{symbol} {page.algorithm.phases[n]}" for n, symbol in symbols.items() if n in numbers
    )
    margin = " " * (len(lines[-1]) - len(lines[-1].lstrip()))
    return [*lines, f"{margin}{shown}", f"{margin}{used}"]


def _symbols(phases: tuple[str, ...]) -> dict[int, str]:
    """Return a symbol for each phase: a dot for phase 0, else an unused letter of its name."""
    symbols: dict[int, str] = {}
    for number, name in enumerate(phases):
        if number == 0:
            symbols[0] = "."
            continue
        free = [letter for letter in f"{name}ABCDEFGHIJ" if letter not in symbols.values()]
        symbols[number] = free[0]
    return symbols
