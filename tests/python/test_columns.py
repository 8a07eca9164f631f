"""Columns have one list: what the core returns is named there, and described in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from cwndlab import _core
from cwndlab.results import tables
from cwndlab.results.columns import all_columns, quantity, unit_of

ROOT = Path(__file__).parents[2]
CORE = [column for column in _core.columns() if column["table"] != "saturation"]
COMPUTED = {  # by judge, measure and imports
    "sent_by",
    "jain_index",
    "goodput_variation_pct",
    "jain_index_beside_cubic",
    "share_beside_cubic_pct",
    "call_loss_pct",
    "call_delay_p95_ms",
}


@pytest.mark.parametrize("tool", ["make_stub", "make_columns_page"])
def test_what_is_made_of_the_columns_is_up_to_date(tool: str) -> None:
    command = [sys.executable, f"tools/{tool}.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_and_python_know_the_same_columns() -> None:
    described = {column.column for column in all_columns()}
    assert described - COMPUTED == {column["name"] for column in CORE}
    assert len(described) == len(list(all_columns())), "each has one row"


def test_units_and_types_are_those_of_the_core() -> None:
    kinds = {"text": pl.String, "integer": pl.Int64}
    for column in CORE:
        name = column["name"]
        assert unit_of(name) == column["unit"], name
        of_files = tables._type_of(name)  # noqa: SLF001  as files have it
        if column["type"] != "real" or of_files is not pl.Int64:
            assert of_files is kinds.get(column["type"], pl.Float64), name


def test_every_column_says_what_it_is_and_when_it_is_undefined() -> None:
    for about in all_columns():
        assert about.title, about
        assert about.explanation.endswith("."), about
    for column in CORE:
        if column["can_be_undefined"] and column["name"] != "flow":
            assert quantity(column["name"]).undefined, column["name"]
