"""Write the section on what limited each flow in the most representative run of an algorithm."""

import polars as pl

from cwndlab.judge.limits import READ_OF_FLOWS, Limit, limits
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.section import Content, SettingSection

_LEAST_SHARE = 0.01


def _limits(setting: Setting) -> Content | None:
    results = setting.context.results
    runs = setting.representatives
    if not set(READ_OF_FLOWS) <= set(results.flows().columns):
        return None
    found = limits(results, list(runs.values()))
    rows = []
    for name, run in runs.items():
        for flow in found.filter(pl.col("run") == run).iter_rows(named=True):
            shares = sorted(((flow[limit.value], limit.value) for limit in Limit), reverse=True)
            most, *others = [each for each in shares if each[0] >= _LEAST_SHARE]
            rest = ", ".join(f"{limit} {_percent(share)}" for share, limit in others)
            rows.append((name, flow["flow"], most[1], _percent(most[0]), rest))
    if not rows:
        return None
    return Content(render("limits.html", rows=rows))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


LIMITS = SettingSection("limits", "Limits of each flow", _limits)
