"""How flows that ran at the same time shared the link."""

import numpy as np
import polars as pl

from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded
from cwndlab.report.section import Content, SettingSection
from cwndlab.stats import mean_interval
from cwndlab.tables import format_bounds, format_estimate

_SEVERAL = 2


def _fairness(setting: Setting) -> Content | None:
    comparison = setting.comparison
    if comparison.flows_per_run < _SEVERAL or not comparison.has("jain_index"):
        return None
    flows = setting.context.results.flows()
    groups = []
    rows = []
    for name in comparison.contestants:
        runs = [run for run in comparison.runs[name] if run is not None]
        own = flows.filter(pl.col("run").is_in(runs))
        shares = []
        for flow in own["flow"].unique(maintain_order=True).sort().to_list():
            values = own.filter(pl.col("flow") == flow)["goodput_mbit_s"].drop_nulls().to_numpy()
            if values.size:
                shares.append((flow, mean_interval(values.astype(np.float64))))
        index = comparison.interval(name, "jain_index")
        if index is None or not shares:
            continue
        groups.append(
            {
                "name": name,
                "bars": [[rounded(s.estimate), rounded(s.low), rounded(s.high)] for _, s in shares],
                "labels": [f"flow {flow}" for flow, _ in shares],
            }
        )
        ratio = max(s.estimate for _, s in shares) / max(min(s.estimate for _, s in shares), 1e-9)
        rows.append((name, format_estimate(index), format_bounds(index), f"{ratio:.2f}"))
    if not rows:
        return None
    name = setting.chart("fairness")
    chart = {"kind": "bars", "groups": groups, "y": {"title": "Goodput", "unit": "Mbit/s"}}
    html = render("fairness.html", setting=setting, chart=name, rows=rows)
    return Content(html, {name: chart})


FAIRNESS = SettingSection("fairness", "How flows shared the link", _fairness)
