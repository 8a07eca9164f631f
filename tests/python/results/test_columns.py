"""Columns have one list: the core's columns are in it, and Python describes them."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from pathlib import Path

import polars as pl

from cwndlab import _core
from cwndlab.results import tables
from cwndlab.results.columns import all_columns, quantity, unit_of

ROOT = Path(__file__).parents[3]
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


def test_the_stub_has_the_columns_of_the_core() -> None:
    command = [sys.executable, "tools/make_stub.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_and_python_know_the_same_columns() -> None:
    described = {column.column for column in all_columns()}
    assert described - COMPUTED == {column["name"] for column in CORE}
    assert len(described) == len(list(all_columns())), "each has one row"


def test_units_are_those_of_the_core_and_files_have_its_types() -> None:
    row = dict.fromkeys((column["name"] for column in CORE if column["table"] == "flows"), ())
    (content,) = tables.encode_result("key", {"flows": row}).values()
    types = pl.read_parquet(io.BytesIO(content)).schema
    kinds = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
    for column in CORE:
        name = column["name"]
        assert unit_of(name) == column["unit"], name
        if column["table"] == "flows":
            assert types[name] == kinds[column["type"]], name


def test_counts_that_may_be_undefined_are_whole_numbers_in_files() -> None:
    samples = {"ssthresh_pkts": [math.nan, 3.0], "host_queue_pkts": [0.0, math.nan]}
    (content,) = tables.encode_result("key", {"samples": samples}).values()
    assert pl.read_parquet(io.BytesIO(content)).drop("run").to_dict(as_series=False) == {
        "ssthresh_pkts": [None, 3],
        "host_queue_pkts": [0, None],
    }


def test_every_column_says_what_it_is_and_when_it_is_undefined() -> None:
    for about in all_columns():
        assert about.title, about
        assert about.explanation.endswith("."), about
    for column in CORE:
        if column["can_be_undefined"] and column["name"] != "flow":
            assert quantity(column["name"]).undefined, column["name"]
