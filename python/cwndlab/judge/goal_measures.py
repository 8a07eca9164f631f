"""The measures of goals that no table has: how steady a flow was, and how it shared with CUBIC."""

from typing import Protocol

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.judge.comparison import ResultsLike, contestant_factor
from cwndlab.stats.bootstrap import Floats

VARIATION = "goodput_variation_pct"
BESIDE_CUBIC = "jain_index_beside_cubic"
SHARE_BESIDE_CUBIC = "share_beside_cubic_pct"
_SEVERAL = 2
_FEWEST_SECONDS = 10
_CUBIC = "cubic"
_FLOW = ("run", "flow")


class WithSeries(ResultsLike, Protocol):
    """What is read of results; `cwndlab.Results` is one."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table that is read when it is needed."""


def measures_of_flows(results: WithSeries) -> pl.DataFrame:
    """Return the goals' measures that no table has: one row a flow, by `run` and `flow`."""
    flows = results.flows().select("run", "flow")
    return flows.join(_variation(results), on=list(_FLOW), how="left").join(
        _beside_cubic(results), on=list(_FLOW), how="left"
    )


def _variation(results: WithSeries) -> pl.DataFrame:
    """Return the variation of each flow's goodput from second to second, warm-up left out."""
    empty = pl.DataFrame(schema={"run": pl.String, "flow": pl.Int64, VARIATION: pl.Float64})
    samples = results.scan("samples")
    columns = samples.collect_schema().names()
    times = results.flows()
    needed = {"start_s", "end_s", "window_s"}
    if not {"goodput_mbit_s", "t_s"} <= set(columns) or not needed <= set(times.columns):
        return empty
    # Flows with an end have no rate to hold.
    bulk = (
        times.filter(pl.col("completion_ms").is_null())
        if "completion_ms" in times.columns
        else times
    )
    windows = bulk.lazy().select(
        "run", "flow", "end_s", begin_s=pl.col("end_s") - pl.col("window_s")
    )
    second = (pl.col("t_s") - pl.col("begin_s")).floor()
    value = pl.col("goodput_mbit_s")
    per_second = (
        samples.select("run", "flow", "t_s", "goodput_mbit_s")
        .join(windows, on=list(_FLOW), how="inner")
        .filter((pl.col("t_s") > pl.col("begin_s")) & (pl.col("t_s") <= pl.col("end_s")))
        .group_by("run", "flow", second.alias("second"))
        .agg(value.mean())
    )
    return (
        per_second.group_by("run", "flow")
        .agg(
            pl.when((pl.len() >= _FEWEST_SECONDS) & (value.mean() > 0))
            .then(100 * value.std() / value.mean())
            .alias(VARIATION)
        )
        .collect()
    )


def _beside_cubic(results: ResultsLike) -> pl.DataFrame:
    """Return how each flow under test and CUBIC's flows of the same run shared the link."""
    columns = (BESIDE_CUBIC, SHARE_BESIDE_CUBIC)
    schema = {"run": pl.String, "flow": pl.Int64, **dict.fromkeys(columns, pl.Float64)}
    flows = results.flows()
    if "algorithm" not in flows.columns or contestant_factor(results) != "algorithm":
        return pl.DataFrame(schema=schema)
    rows: list[dict[str, object]] = []
    only_cubic = []
    for (run, _), group in flows.group_by(["run", "direction"], maintain_order=True):
        names = group["algorithm"].cast(pl.String)
        cubic = _goodputs(group.filter(names == _CUBIC))
        others = [name for name in names.unique(maintain_order=True) if name != _CUBIC]
        if not others and len(cubic) >= _SEVERAL:
            only_cubic.append((str(run), group["flow"].to_list(), cubic))
        for name in others:
            own = group.filter(names == name)
            if len(goodputs := _goodputs(own)) and len(cubic):
                pair = np.array([goodputs.mean(), cubic.mean()])
                rows += [_shared(str(run), flow, pair) for flow in own["flow"]]
    if rows and "factor_algorithm" in flows.columns:
        # Where it is asked who gets along with CUBIC, CUBIC beside CUBIC is one of the answers.
        rows += [_shared(run, flow, got) for run, ids, got in only_cubic for flow in ids]
    return pl.DataFrame(rows, schema=schema)


def _goodputs(flows: pl.DataFrame) -> Floats:
    return flows["goodput_mbit_s"].drop_nulls().to_numpy().astype(np.float64)


def _shared(run: str, flow: int, goodputs: Floats) -> dict[str, object]:
    total = float(goodputs.sum())
    return {
        "run": run,
        "flow": flow,
        BESIDE_CUBIC: stats.jain_index(goodputs),
        SHARE_BESIDE_CUBIC: 100 * float(goodputs[0]) / total if total > 0 else None,
    }
