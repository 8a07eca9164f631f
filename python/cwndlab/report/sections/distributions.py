"""Write the section with box plots of each measure over the runs, and distributions of RTTs."""

import numpy as np
import polars as pl

from cwndlab.judge.cell import Comparison
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import quantile_points, rounded, rounded_all
from cwndlab.report.section import Content, SettingSection
from cwndlab.results.columns import quantity
from cwndlab.stats import box_summary

_COLUMNS = ("goodput_mbit_s", "rtt_p50_ms", "rtt_p95_ms", "retransmitted_pct", "completion_ms")
_MOST_POINTS = 200
_FEWEST_RUNS = 3


def _distributions(setting: Setting) -> Content | None:
    comparison = setting.comparison
    charts: dict[str, dict[str, object]] = {}
    boxes = []
    if comparison.repetitions >= _FEWEST_RUNS and not comparison.is_deterministic:
        for column in _COLUMNS:
            if _scatters(comparison, column):
                name = setting.chart(f"box-{column}")
                charts[name] = _box_chart(comparison, column)
                boxes.append((name, quantity(column)))
    cdf = None
    if setting.has_timeline and (chart := _delay_chart(setting)) is not None:
        cdf = setting.chart("cdf-rtt")
        charts[cdf] = chart
    if not charts:
        return None
    return Content(render("distributions.html", setting=setting, boxes=boxes, cdf=cdf), charts)


def _scatters(comparison: Comparison, column: str) -> bool:
    values = [comparison.finite(name, column) for name in comparison.contestants]
    return any(own.size > 1 and np.ptp(own) > 0 for own in values)


def _box_chart(comparison: Comparison, column: str) -> dict[str, object]:
    groups = []
    for name in comparison.contestants:
        values = comparison.finite(name, column)
        if not values.size:
            continue
        box = box_summary(values)
        groups.append(
            {
                "name": name,
                "values": rounded_all(quantile_points(values, _MOST_POINTS)),
                "mean": rounded(box.mean),
                "median": rounded(box.median),
                "q1": rounded(box.first_quartile),
                "q3": rounded(box.third_quartile),
                "low": rounded(box.whisker_low),
                "high": rounded(box.whisker_high),
            }
        )
    about = quantity(column)
    return {
        "kind": "box",
        "groups": groups,
        "effect": comparison.smallest_effect,
        "y": {"title": about.title, "unit": about.unit},
    }


def _delay_chart(setting: Setting) -> dict[str, object] | None:
    samples = setting.samples
    if "rtt_ms" not in samples.columns:
        return None
    groups = []
    for name in setting.comparison.contestants:
        own = samples.filter(pl.col("contestant") == name)["rtt_ms"]
        values = own.cast(pl.Float64).fill_null(np.nan).to_numpy()
        points = quantile_points(values, _MOST_POINTS)
        if points.size:
            groups.append({"name": name, "values": rounded_all(points)})
    if not groups:
        return None
    return {"kind": "cdf", "groups": groups, "x": {"title": "RTT", "unit": "ms"}}


DISTRIBUTIONS = SettingSection("distributions", "Variation between runs", _distributions)
