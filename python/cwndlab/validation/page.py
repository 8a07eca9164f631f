"""Write the report of `cwndlab validate`: an HTML page that needs no network access."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from cwndlab.results.columns import quantity
from cwndlab.text.files import write_text
from cwndlab.validation.judge import COMPARED, GOODPUT_BOUND, RTT_BOUND, Agreement
from cwndlab.validation.replays import LEAST_CALLS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.validation.judge import CellAgreement, Pair
    from cwndlab.validation.replays import Replayed
    from cwndlab.validation.run import Validation

_WIDTH, _HEIGHT = 640, 120
_STRIP = 300
"""Width in pixels of a strip plot: a plot that shows each run as a dot on one axis."""
_DRAWN = ("goodput_mbit_s", "rtt_p50_ms")


def write_page(
    done: Validation, replays: Sequence[Replayed], path: Path, why_not: str = ""
) -> Path:
    """Write the report to the file `path`, and return `path`.

    If `replays` is empty, the report quotes `why_not`: the reason why no calls were replayed.
    """
    environment = Environment(
        loader=PackageLoader("cwndlab.validation"), autoescape=True, undefined=StrictUndefined
    )
    judgements = done.judgements
    rows = [
        {
            "cell": ", ".join(str(value) for value in each.cell.values()),
            "verdict": each.verdict.value,
            "verdict_text": verdict_of(each),
            "values": [_value(each.pairs[name]) for name in COMPARED],
            "distance": percent(each.cwnd_distance).lstrip("+"),
            "top": number(_top(done, each)),
            "lines": [
                _line(results, each, _top(done, each))
                for results in (done.simulated, done.measured)
            ],
            "strips": [
                {"name": quantity(name).header, **_strip(each.pairs[name])} for name in _DRAWN
            ],
        }
        for each in judgements
    ]
    counts = {
        verdict.value: sum(each.verdict is verdict for each in judgements) for verdict in Agreement
    }
    text = environment.get_template("validation.html").render(
        title=done.simulated.title,
        counts=counts,
        count=len(judgements),
        kernel=done.measured.history[-1]["kernel"],
        lateness=_lateness(done.measured),
        heads=[quantity(name).header for name in COMPARED],
        rows=rows,
        replays=replays,
        why_not=why_not,
        least_calls=LEAST_CALLS,
        width=_WIDTH,
        height=_HEIGHT,
        strip=_STRIP,
        goodput_bound=f"{100 * GOODPUT_BOUND:.0f} %",
        rtt_bound=f"{100 * RTT_BOUND:.0f} %",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def percent(part: float) -> str:
    """Format a fraction as a percentage with "+" or "-"; return an empty string for NaN."""
    if math.isnan(part):
        return ""
    rounded = round(100 * part, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def number(value: float) -> str:
    """Return a number as text with three significant digits, or a dash for NaN.

    A number whose absolute value is at least 100 is rounded to an integer instead.
    """
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004  three digits


def verdict_of(judgement: CellAgreement) -> str:
    """Return the verdict as text; "overlaps" includes the share of runs in the common range."""
    if judgement.verdict is not Agreement.OVERLAPS:
        return str(judgement.verdict.value)
    return f"overlaps ({100 * judgement.common:.0f} % of {2 * judgement.seeds} runs)"


def _value(pair: Pair) -> tuple[str, str, str]:
    simulated, measured = pair.medians
    return number(simulated), number(measured), percent(pair.difference)


def _lateness(measured: Results) -> str:
    """Return how late, in µs, packets left the emulated link in the worst run; "" if unknown.

    The lateness of a run is the 99th percentile over its packets.
    """
    entries = [entry["emulator"] for entry in measured.history if "emulator" in entry]
    lateness_us: list[float] = [entry["lateness"]["p99_us"] for entry in entries]
    return f"{max(lateness_us):.0f}" if lateness_us else ""


def _strip(pair: Pair) -> dict[str, object]:
    """Return the dots of a strip plot, one for each run, and the limits of its axis.

    The middle of the axis is the number midway between the smallest and the largest value. Each end
    of the axis differs from this number by at least 5 %.
    """
    values = [*pair.simulated, *pair.measured]
    if not values:
        return {"dots": [], "low": "-", "high": "-"}
    middle = (min(values) + max(values)) / 2
    half = max((max(values) - min(values)) / 2, 0.05 * abs(middle), 1e-9) * 1.1
    low = middle - half

    def place(value: float) -> str:
        return f"{_STRIP * (value - low) / (2 * half):.1f}"

    dots = [
        (name, place(value))
        for name, each in (("sim", pair.simulated), ("kernel", pair.measured))
        for value in each
    ]
    return {"dots": dots, "low": number(low), "high": number(middle + half)}


def _top(done: Validation, judgement: CellAgreement) -> float:
    """Return the upper end of the axis for congestion windows, in packets.

    It is the larger of the simulator's and the kernel's 99.9th percentile, but at least 1.
    """
    tops = [
        float(samples["cwnd_pkts"].quantile(0.999) or 1)
        for results in (done.simulated, done.measured)
        if not (samples := results.samples(**judgement.cell)).is_empty()
    ]
    return max([1.0, *tops])


def _line(results: Results, judgement: CellAgreement, top: float) -> str:
    """Return SVG points of the first flow's congestion window over time in the first repetition.

    The text is empty if there are no samples.
    """
    samples = results.samples(**judgement.cell)
    if samples.is_empty():
        return ""
    first = samples.filter(
        (pl.col("repetition") == samples["repetition"].min())
        & (pl.col("flow") == samples["flow"].min())
    )
    times, windows = first["t_s"].to_numpy(), first["cwnd_pkts"].to_numpy()
    end = max(float(times.max()), 1e-9)
    return " ".join(
        f"{_WIDTH * t / end:.1f},{_HEIGHT * (1 - min(w / top, 1)):.1f}"
        for t, w in zip(times, windows, strict=True)
    )
