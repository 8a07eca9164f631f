"""Write the sections "A typical run over time" and "Data in flight of each flow"."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.figures.decimate import kept_points
from cwndlab.figures.over_time import is_loss
from cwndlab.report.context import MOST_TIMELINES, Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded, rounded_all
from cwndlab.report.scenario_text import bdp_pkts
from cwndlab.report.section import Content, SettingSection
from cwndlab.results.columns import quantity

if TYPE_CHECKING:
    from cwndlab.stats.bootstrap import Floats

_PANELS = ("throughput_mbit_s", "rtt_ms", "cwnd_pkts", "queue_pkts")
_MOST_POINTS = 2400  # points of one line: twice the width of a screen
_MOST_POINTS_IN_ALL = 12_000  # points of all lines and settings; more make the page large
_FEWEST_POINTS = 500
_MOST_FLOWS = 4
_MOST_FLOWS_OF_RUN = 16
_MOST_LOSSES = 400
_MOST_DOTS = 260


def _timeline(setting: Setting) -> Content | None:
    if not setting.has_timeline or setting.samples.is_empty():
        return None
    samples = setting.samples
    panels = [name for name in _PANELS if name in samples.columns and samples[name].count() > 0]
    if not panels:
        return None
    columns = [*panels, *(["ssthresh_pkts"] if "ssthresh_pkts" in samples.columns else [])]
    shown = min(len(setting.context.settings), MOST_TIMELINES)
    flows = min(setting.comparison.flows_per_run, _MOST_FLOWS) * len(setting.representatives)
    most = min(_MOST_POINTS, max(_FEWEST_POINTS, _MOST_POINTS_IN_ALL // (shown * flows)))
    lines = []
    for name in setting.representatives:
        own = samples.filter(pl.col("contestant") == name)
        for flow in own["flow"].unique(maintain_order=True).to_list()[:_MOST_FLOWS]:
            line = _line(own.filter(pl.col("flow") == flow), columns, most)
            lines.append({"name": name, "flow": flow, **line})
    chart = _series(panels, lines, _losses(setting))
    name = setting.chart("timeline")
    hidden_flows = max(0, setting.comparison.flows_per_run - _MOST_FLOWS)
    html = render(
        "timeline.html", setting=setting, chart=name, panels=panels, hidden_flows=hidden_flows
    )
    return Content(html, {name: chart})


def run_series(samples: pl.DataFrame, events: pl.DataFrame) -> dict[str, Any]:
    """Return the data of a chart that shows one run over time, with a line for each flow."""
    panels = [name for name in _PANELS if name in samples.columns and samples[name].count() > 0]
    columns = [*panels, *(["ssthresh_pkts"] if "ssthresh_pkts" in samples.columns else [])]
    lines = []
    for flow in samples["flow"].unique(maintain_order=True).to_list()[:_MOST_FLOWS_OF_RUN]:
        own = samples.filter(pl.col("flow") == flow)
        name = str(own["algorithm"][0]) if "algorithm" in own.columns else f"flow {flow}"
        lines.append({"name": name, "flow": flow, **_line(own, columns, _MOST_POINTS)})
    name = lines[0]["name"]
    return _series(panels, lines, [_losses_of(str(name), events)])


def _series(panels: list[str], lines: list[Any], losses: list[Any]) -> dict[str, Any]:
    return {
        "kind": "series",
        "panels": [
            {"column": name, "title": quantity(name).title, "unit": quantity(name).unit}
            for name in panels
        ],
        "lines": lines,
        "losses": losses,
    }


def _line(flow: pl.DataFrame, columns: list[str], most: int) -> dict[str, object]:
    flow = flow.sort("t_s")
    times = flow["t_s"].to_numpy()
    values: list[Floats] = [
        flow[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in columns
    ]
    kept = kept_points(times, values, most)
    return {
        "t": [rounded(float(at), 6) for at in times[kept]],
        "values": {name: rounded_all(own[kept]) for name, own in zip(columns, values, strict=True)},
    }


def _losses(setting: Setting) -> list[dict[str, object]]:
    return [
        _losses_of(name, setting.events.filter(pl.col("contestant") == name))
        for name in setting.representatives
    ]


def _losses_of(name: str, events: pl.DataFrame) -> dict[str, object]:
    losses = [
        (float(at), str(event) == "timeout")
        for at, event in zip(events["t_s"], events["event"], strict=True)
        if is_loss(str(event))
    ]
    step = max(1, len(losses) // _MOST_LOSSES)
    return {
        "name": name,
        "count": len(losses),
        "t": [rounded(at, 6) for at, _ in losses[::step]],
        "timeouts": [rounded(at, 6) for at, is_timeout in losses if is_timeout],
    }


def _operating_point(setting: Setting) -> Content | None:
    if not setting.has_timeline or setting.samples.is_empty():
        return None
    samples = setting.samples
    has_rate = "delivery_rate_mbit_s" in samples.columns
    rate = "delivery_rate_mbit_s" if has_rate else "throughput_mbit_s"
    if not {"inflight_pkts", rate, "rtt_ms"} <= set(samples.columns):
        return None
    capacity = bdp_pkts(setting.scenario) if setting.scenario is not None else None
    marks: list[dict[str, object]] = []
    if capacity is not None:
        bdp, queue = capacity
        marks.append({"x": rounded(bdp, 4), "text": "BDP"})
        if queue is not None:
            marks.append({"x": rounded(bdp + queue, 4), "text": "BDP + queue"})
    charts = {}
    names = []
    for column in (rate, "rtt_ms"):
        groups = [
            {"name": name, "points": _dots(samples.filter(pl.col("contestant") == name), column)}
            for name in setting.representatives
        ]
        about = quantity(column)
        name = setting.chart(f"operating-{column}")
        charts[name] = {
            "kind": "dots",
            "groups": groups,
            "marks": marks,
            "x": {"title": "In flight", "unit": "packets"},
            "y": {"title": about.title, "unit": about.unit},
        }
        names.append((name, about))
    html = render("operating.html", setting=setting, charts=names, marks=marks)
    return Content(html, charts)


def _dots(samples: pl.DataFrame, column: str) -> list[list[float | None]]:
    rows = samples.drop_nulls(["inflight_pkts", column])
    step = max(1, -(-len(rows) // _MOST_DOTS))
    x = rows["inflight_pkts"].cast(pl.Float64).to_numpy()[::step]
    y = rows[column].cast(pl.Float64).to_numpy()[::step]
    return [[rounded(a, 4), rounded(b, 4)] for a, b in zip(x.tolist(), y.tolist(), strict=True)]


TIMELINE = SettingSection("timeline", "A typical run over time", _timeline)
OPERATING_POINT = SettingSection("in-flight", "Data in flight of each flow", _operating_point)
