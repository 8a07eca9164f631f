"""Runs that something befell, so that no reader takes it for an algorithm's doing."""

import polars as pl

from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection


def _befell(context: Context) -> Content | None:
    runs = context.results.runs()
    if "flags" not in runs.columns:
        return None
    flagged = runs.filter(pl.col("flags").is_not_null())
    if flagged.is_empty():
        return None
    factors = [name for name in context.results.factors if name in flagged.columns]
    rows = [
        ([str(row[name]) for name in factors], row["repetition"], row["flags"].split("; "))
        for row in flagged.to_dicts()
    ]
    return Content(render("befell.html", factors=factors, rows=rows, total=runs.height))


BEFELL = PageSection("befell", "What befell the runs", _befell)
