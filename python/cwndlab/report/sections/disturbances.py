"""Write the section on runs that the network or the machine disturbed."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection


def _disturbances(context: Context) -> Content | None:
    runs = context.results.runs()
    if "flags" not in runs.columns:
        return None
    flagged = runs.filter(pl.col("flags").is_not_null())
    if flagged.is_empty():
        return None
    flags = context.results.scan("flags").select("run", "flag", "what").collect()
    rows = [
        (
            _name(context.results.factors, row),
            [f"{each['flag']}: {each['what']}" for each in flags.filter(run=row["run"]).to_dicts()],
        )
        for row in flagged.to_dicts()
    ]
    return Content(render("disturbances.html", rows=rows, total=runs.height))


def _name(factors: Sequence[str], row: Mapping[str, Any]) -> str:
    """Return text that identifies a run: its factor levels and its repetition."""
    labels = [str(row[name]) for name in factors if name in row]
    return ", ".join([*labels, f"repetition {row['repetition']}"])


DISTURBANCES = PageSection("disturbances", "Disturbed runs", _disturbances)
