"""The judgement as a page that opens without a network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from cwndlab.columns import quantity
from cwndlab.validation.judge import COMPARED, GOODPUT_BOUND, RTT_BOUND, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.results import Results
    from cwndlab.validation.judge import Judgement, Pair

_WIDTH, _HEIGHT = 640, 120


def write_page(
    judgements: Sequence[Judgement], simulated: Results, measured: Results, path: Path
) -> Path:
    """Write the page to `path`."""
    environment = Environment(
        loader=PackageLoader("cwndlab.validation"), autoescape=True, undefined=StrictUndefined
    )
    rows = [
        {
            "cell": ", ".join(str(value) for value in each.cell.values()),
            "verdict": each.verdict.value,
            "values": [_value(each.pairs[name]) for name in COMPARED],
            "distance": percent(each.cwnd_distance),
            "lines": [_line(results, each) for results in (simulated, measured)],
        }
        for each in judgements
    ]
    agreeing = sum(each.verdict is Verdict.AGREES for each in judgements)
    text = environment.get_template("validation.html").render(
        title=simulated.title,
        agreeing=agreeing,
        count=len(judgements),
        kernel=measured.manifest[-1]["kernel"],
        heads=[quantity(name).header for name in COMPARED],
        rows=rows,
        width=_WIDTH,
        height=_HEIGHT,
        goodput_bound=f"{100 * GOODPUT_BOUND:.0f} %",
        rtt_bound=f"{100 * RTT_BOUND:.0f} %",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def percent(part: float) -> str:
    """A part of one, with its sign; nothing if it is undefined."""
    return "" if math.isnan(part) else f"{100 * part:+.1f} %"


def number(value: float) -> str:
    """Three digits that count; a dash if there is none."""
    return "-" if math.isnan(value) else f"{value:.3g}"


def _value(pair: Pair) -> tuple[str, str, str]:
    simulated, measured = pair.medians
    return number(simulated), number(measured), percent(pair.difference)


def _line(results: Results, judgement: Judgement) -> str:
    """The window of the first repetition's first flow over time, as points of an SVG."""
    samples = results.samples(**judgement.cell)
    if samples.is_empty():
        return ""
    first = samples.filter(
        (pl.col("repetition") == samples["repetition"].min())
        & (pl.col("flow") == samples["flow"].min())
    )
    times, windows = first["t_s"].to_numpy(), first["cwnd_pkts"].to_numpy()
    most = max(float(samples["cwnd_pkts"].quantile(0.999) or 1), 1.0)
    end = max(float(times.max()), 1e-9)
    return " ".join(
        f"{_WIDTH * t / end:.1f},{_HEIGHT * (1 - min(w / most, 1)):.1f}"
        for t, w in zip(times, windows, strict=True)
    )
