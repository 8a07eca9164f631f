"""Compute the metrics of a run from its flows and links.

Totals and means cover all flows of the run, in both directions. Jain's index and the choice of the
most representative run are implemented in `cwndlab.stats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab import stats
from cwndlab.results.columns import Together, all_columns

if TYPE_CHECKING:
    from collections.abc import Collection

_COUNTS = frozenset(each.column for each in all_columns() if each.together is Together.SUM)
TOTALS = _COUNTS | {each.column for each in all_columns() if each.together is Together.RATE}
"""Columns with counts or rates, which are totalled over flows; other columns are averaged."""

_OF_RUNS = (
    "goodput_mbit_s",
    "throughput_mbit_s",
    "delivered_bytes",
    "sent_pkts",
    "retransmitted_pkts",
    "timeouts",
    "utilisation_pct",
    "rtt_mean_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_base_ms",
    "queueing_delay_mean_ms",
    "completion_ms",
)


def run_metrics(flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return a table of metrics with one row per run; missing metrics are null."""
    if flows.is_empty():
        return pl.DataFrame(schema={"run": pl.String, "algorithm": pl.String})
    per_run = flows.group_by("run", maintain_order=True).agg(
        pl.col("algorithm").unique(maintain_order=True).str.join("+").alias("algorithm"),
        *[together(name, flows.columns) for name in _OF_RUNS],
        pl.col("goodput_mbit_s").alias("shares"),
    )
    fairness = [stats.jain_index(shares) for shares in per_run["shares"].to_list()]
    resent = 100 * pl.col("retransmitted_pkts") / pl.col("sent_pkts")
    per_run = per_run.with_columns(
        pl.when(pl.col("sent_pkts") > 0).then(resent).alias("retransmitted_pct"),
        pl.Series("jain_index", fairness, dtype=pl.Float64),
    ).drop("shares")
    if links.is_empty():
        return per_run
    # Of all queues on a path, the longest queue represents the path.
    queues = links.group_by("run", maintain_order=True).agg(
        pl.col("queue_mean_pkts").max(),
        pl.col("queue_max_pkts").max(),
        _sum("dropped_pkts"),
    )
    return per_run.join(queues, on="run", how="left", maintain_order="left")


def relative_to_best_pct(values: pl.Series, *, is_higher_better: bool = True) -> pl.Series:
    """Return each value minus the best value (maximum or minimum), in percent of the best value."""
    best = values.max() if is_higher_better else values.min()
    return 100 * (values - best) / best


def most_representative_run(
    runs: pl.DataFrame,
    measures: tuple[str, ...] = ("goodput_mbit_s", "rtt_mean_ms", "timeouts"),
    *,
    is_scaled: bool = False,
) -> str:
    """Return the key of the most representative run: the run nearest to the mean of all runs.

    The distance is the Euclidean distance between vectors of goodput, RTT and number of timeouts,
    without scaling (De Cicco and Mascolo, 2010, section V). With `is_scaled`, each measure is
    divided by its standard deviation.
    """
    table = runs.select(pl.col(name).cast(pl.Float64) for name in measures).to_numpy()
    return str(runs["run"][stats.most_representative(table, is_scaled=is_scaled)])


def together(name: str, columns: Collection[str]) -> pl.Expr:
    """Return a Polars expression that combines a column's values over a group of flows.

    Counts are added. A rate is the data of all flows, divided by the time during which at least
    one flow was measured. Therefore, the rates of simultaneous flows add up, but the rates of
    consecutive flows do not. A flow is measured during the `window_s` seconds before `end_s`; if
    `end_s` or `window_s` is unknown, the flows are assumed to be simultaneous. All other columns
    are averaged.

    Args:
        name: a column of flows.
        columns: the columns of the table.
    """
    if name not in TOTALS:
        return pl.col(name).mean()
    added = _sum(name)
    if name in _COUNTS or not {"end_s", "window_s"} <= set(columns):
        return added
    rate, length, end = pl.col(name), pl.col("window_s"), pl.col("end_s")
    is_known = rate.is_not_null()
    begin = (end - length).filter(is_known)
    ends = end.filter(is_known).sort_by(begin)
    covered = ends.cum_max().shift(1)
    measured_s = (ends - pl.max_horizontal(begin.sort_by(begin), covered)).clip(0).sum()
    has_windows = (is_known & (end - length).is_null()).sum() == 0
    return (
        pl.when((is_known.sum() > 1) & has_windows & (measured_s > 0))
        .then((rate * length).sum() / measured_s)
        .otherwise(added)
        .alias(name)
    )


def _sum(name: str) -> pl.Expr:
    """Return a Polars expression for a column's sum; the sum is null if no flow has a value."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
