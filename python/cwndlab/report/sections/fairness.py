"""Write the section on how flows shared the link."""

import numpy as np
import polars as pl

from cwndlab.judge.cell import Comparison
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded
from cwndlab.report.section import Content, SettingSection
from cwndlab.stats import Interval, mean_interval
from cwndlab.tables import format_bounds, format_estimate

_SEVERAL = 2


def _fairness(setting: Setting) -> Content | None:
    comparison = setting.comparison
    if comparison.flows_per_run < _SEVERAL and not comparison.is_contest:
        return None
    flows = setting.context.results.flows()
    groups = []
    rows = []
    for name in comparison.contestants:
        shares = _shares(comparison, name, flows)
        measure = _share_of_all(comparison, name) if comparison.is_contest else _index(
            comparison, name
        )  # fmt: skip
        if measure is None or not shares:
            continue
        bars = [[rounded(s.estimate), rounded(s.low), rounded(s.high)] for _, s in shares]
        labels = [f"flow {flow}" for flow, _ in shares]
        groups.append({"name": name, "bars": bars, "labels": labels})
        estimates = [share.estimate for _, share in shares]
        ratio = max(estimates) / max(min(estimates), 1e-9)
        rows.append((name, format_estimate(measure), format_bounds(measure), f"{ratio:.2f} to 1"))
    if not rows:
        return None
    name = setting.chart("fairness")
    chart = {"kind": "bars", "groups": groups, "y": {"title": "Goodput", "unit": "Mbit/s"}}
    html = render("fairness.html", setting=setting, chart=name, rows=rows)
    return Content(html, {name: chart})


def _shares(
    comparison: Comparison, contestant: str, flows: pl.DataFrame
) -> list[tuple[int, Interval]]:
    """Return the ID and the mean goodput of each flow that uses the algorithm `contestant`."""
    runs = [run for run in comparison.runs[contestant] if run is not None]
    own = flows.filter(pl.col("run").is_in(runs))
    shares = []
    for flow in comparison.flow_ids[contestant]:
        values = own.filter(pl.col("flow") == flow)["goodput_mbit_s"].drop_nulls().to_numpy()
        if values.size:
            shares.append((flow, mean_interval(values.astype(np.float64))))
    return shares


def _index(comparison: Comparison, contestant: str) -> Interval | None:
    """Return Jain's fairness index over the flows of an algorithm."""
    return comparison.interval(contestant, "jain_index")


def _share_of_all(comparison: Comparison, contestant: str) -> Interval | None:
    """Return the share of an algorithm in the total goodput, in percent."""
    column = "goodput_mbit_s"
    together = sum(comparison.values[name][column] for name in comparison.contestants)
    shares = 100 * comparison.values[contestant][column] / together
    shares = shares[np.isfinite(shares)]
    return mean_interval(shares) if shares.size else None


FAIRNESS = SettingSection("fairness", "How flows shared the link", _fairness)
