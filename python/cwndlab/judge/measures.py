"""Compute measures of flows that are not columns of results, and the logarithms of all measures.

Logarithms are computed for each flow and then averaged over flows and runs, so that fast flows do
not hide a starved flow. A goodput below 10 kbit/s is treated as 10 kbit/s. An unfinished transfer
is treated as if it had ended with its run.

The *gain* of a goal is the quantity that should be high (see `cwndlab.judge.goals`). A gain can be
computed from complete files, responses or pieces of a video. If none of the compared algorithms
delivers any in a repetition, for example because the runs are too short to load a web page, this
gain has no value (null) in the repetition. Otherwise, all algorithms would have nearly the same
gain, and would wrongly seem to be equally good.
"""

from typing import Protocol

import numpy as np
import polars as pl

from cwndlab import core, stats
from cwndlab.judge.comparison import ResultsLike, cell_factors, contestant_factor
from cwndlab.judge.goals import (
    DELAY_FLOOR_MS,
    RPC,
    SHORT_TRANSFERS,
    STARVED_MBIT_S,
    VIDEO,
    WEB,
)
from cwndlab.judge.uses import gains_of_uses
from cwndlab.stats.bootstrap import Floats

VARIATION = "goodput_variation_pct"
BESIDE_CUBIC = "jain_index_beside_cubic"
QUEUEING_DELAY = "queueing_delay_p95_ms"
SHARE_BESIDE_CUBIC = "share_beside_cubic_pct"
_SEVERAL = 2
_FEWEST_SECONDS = 10
_CUBIC = "cubic"
_FLOW = ("run", "flow")
_WAITED_MS = "waited_ms"
_SIZED = ("sized", "http", "sftp")
"""Applications that always transfer a fixed size."""
_ARRIVED = {
    SHORT_TRANSFERS.gain: "completion_ms",
    WEB.gain: "response_p95_ms",
    RPC.gain: "response_p99_ms",
    VIDEO.gain: "video_bitrate_mbit_s",
}
"""Maps the gain column of a goal to the measured column from which the gain is computed. The
measured column has a value only if data arrived."""


class WithSeries(ResultsLike, Protocol):
    """Those methods of `cwndlab.Results` that this module uses."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a Polars lazy frame, which reads rows only when they are needed."""


def measures_of_flows(results: WithSeries, *, floor_ms: float = DELAY_FLOOR_MS) -> pl.DataFrame:
    """Return the measures that are not columns of results, with one row for each `run` and `flow`.

    `floor_ms` is added to the queueing delay before its logarithm is computed. Differences between
    delays far below `floor_ms` therefore hardly matter.
    """
    flows = results.flows()
    measured = (
        flows.select(*_FLOW)
        .join(_variation(results), on=list(_FLOW), how="left")
        .join(_beside_cubic(results), on=list(_FLOW), how="left")
        .join(_queueing_delay(flows), on=list(_FLOW), how="left")
        .join(gains_of_uses(flows), on=list(_FLOW), how="left")
    )
    extra = [name for name in ("goodput_mbit_s", *_ARRIVED.values()) if name in flows.columns]
    joined = measured.join(flows.select(*_FLOW, *extra, _waited(flows)), on=list(_FLOW), how="left")
    known = _without_idle_repetitions(results, logarithms(joined, floor_ms=floor_ms))
    return known.drop(*extra, _WAITED_MS)


def _waited(flows: pl.DataFrame) -> pl.Expr:
    """Return how long, in ms, a user waited for each flow that transfers a fixed size.

    The value is null for a flow whose application does not transfer a fixed size.
    """
    if not {"application", "start_s", "end_s"} <= set(flows.columns):
        return pl.lit(None, dtype=pl.Float64).alias(_WAITED_MS)
    waited_ms = 1000 * (pl.col("end_s") - pl.col("start_s")).cast(pl.Float64)
    return pl.when(pl.col("application").is_in(_SIZED)).then(waited_ms).alias(_WAITED_MS)


def _without_idle_repetitions(results: ResultsLike, measured: pl.DataFrame) -> pl.DataFrame:
    """Set a goal's gain to null in repetitions in which no algorithm delivered data for the goal.

    `_ARRIVED` names the column from which each gain is computed. If this column is null for all
    algorithms in a repetition, the gain is set to null in this repetition.
    """
    setting = [*cell_factors(results), "repetition"]
    runs = results.runs()
    if not set(setting) <= set(runs.columns):
        return measured
    joined = measured.join(runs.select("run", *setting), on="run", how="left")
    return joined.with_columns(
        pl.when(pl.col(arrived).is_not_null().any().over(setting)).then(pl.col(gain)).alias(gain)
        for gain, arrived in _ARRIVED.items()
        if {gain, arrived} <= set(joined.columns)
    ).drop(setting)


def logarithms(flows: pl.DataFrame, *, floor_ms: float = DELAY_FLOOR_MS) -> pl.DataFrame:
    """Add the columns with logarithms, such as `log_goodput`, from which goals compute utility.

    A column is omitted if `flows` lacks the quantity whose logarithm it would contain.
    """
    return flows.with_columns(
        [
            sign * _logarithm(flows.select(column.alias(name)).to_series())
            for name, (sign, column) in _measures(floor_ms).items()
            if set(column.meta.root_names()) <= set(flows.columns)
        ]
    )


def _logarithm(values: pl.Series) -> pl.Series:
    """Return natural logarithms; the Rust core computes them identically on all computers."""
    found = core.logarithms(values.fill_null(np.nan).to_list())
    known = values.is_not_null().to_list()
    logs = [log if is_known else None for log, is_known in zip(found, known, strict=True)]
    return pl.Series(values.name, logs, dtype=pl.Float64)


def _measures(floor_ms: float) -> dict[str, tuple[int, pl.Expr]]:
    """Map the name of each column with logarithms to a sign and a quantity.

    The column contains the sign times the logarithm of the quantity. The sign is -1 if the column
    is the gain of a goal, but lower values of the quantity are better (as for a completion time).
    """

    def number(column: str) -> pl.Expr:
        return pl.col(column).cast(pl.Float64)  # a column without any value has no type

    return {
        "log_goodput": (1, number("goodput_mbit_s").clip(STARVED_MBIT_S)),
        "log_queueing_delay": (1, number(QUEUEING_DELAY) + floor_ms),
        "log_completion_speed": (-1, pl.coalesce(number("completion_ms"), number(_WAITED_MS))),
        "log_steadiness": (-1, 100 + number(VARIATION)),
        "log_jain_index_beside_cubic": (1, number(BESIDE_CUBIC)),
    }


def _queueing_delay(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the 95th percentile of the queueing delay of each flow.

    The queueing delay is the round-trip time minus the shortest round-trip time in the run between
    the same two hosts. The other flows between these hosts are included, because a flow that starts
    late may never send a packet through an empty queue. If a flow carried no data, its whole
    duration is taken as its queueing delay.
    """
    needed = {"rtt_p95_ms", "rtt_base_ms", "goodput_mbit_s", "window_s"}
    if not needed <= set(flows.columns):
        return pl.DataFrame(schema={"run": pl.String, "flow": pl.Int64, QUEUEING_DELAY: pl.Float64})
    hosts = [name for name in ("run", "user") if name in flows.columns]
    shortest = pl.col("rtt_base_ms").min().over(hosts)
    starved = pl.when(pl.col("goodput_mbit_s") == 0).then(1000 * pl.col("window_s"))
    delay = (pl.col("rtt_p95_ms") - shortest).clip(0)
    return flows.select(*_FLOW, pl.coalesce(delay, starved).alias(QUEUEING_DELAY))


def _variation(results: WithSeries) -> pl.DataFrame:
    """Return, in percent, the coefficient of variation of each flow's one-second mean goodputs."""
    empty = pl.DataFrame(schema={"run": pl.String, "flow": pl.Int64, VARIATION: pl.Float64})
    samples = results.scan("samples")
    columns = samples.collect_schema().names()
    times = results.flows()
    needed = {"start_s", "end_s", "window_s"}
    if not {"goodput_mbit_s", "t_s"} <= set(columns) or not needed <= set(times.columns):
        return empty
    # A transfer of fixed size that completes has no constant rate to maintain.
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
    """Return Jain's index and the goodput share for all flows that competed with CUBIC flows.

    In each run, both values are computed from two numbers: the mean goodput of one algorithm's
    flows, and the mean goodput of the CUBIC flows. All flows of this algorithm in the run therefore
    have the same index and the same share.
    """
    columns = (BESIDE_CUBIC, SHARE_BESIDE_CUBIC)
    schema = {"run": pl.String, "flow": pl.Int64, **dict.fromkeys(columns, pl.Float64)}
    flows = results.flows()
    if "algorithm" not in flows.columns or contestant_factor(results) != "algorithm":
        return pl.DataFrame(schema=schema)
    rows: list[dict[str, object]] = []
    only_cubic = []
    beside_others = flows.filter(pl.len().over("run", "direction") >= _SEVERAL)
    for (run, _), group in beside_others.group_by(["run", "direction"], maintain_order=True):
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
        # If algorithms compete with CUBIC, runs of CUBIC against CUBIC are included for comparison.
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
