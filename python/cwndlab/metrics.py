"""Metrics of a run, computed from its flows and links.

Sums and means are over all flows of the run, whichever way they send. Jain's index and the choice
of the most representative run are those of `cwndlab.stats`.
"""

from __future__ import annotations

import polars as pl

from cwndlab import stats

_SUMS = (
    "goodput_mbit_s",
    "throughput_mbit_s",
    "delivered_bytes",
    "sent_pkts",
    "retransmitted_pkts",
    "timeouts",
    "utilisation_pct",
)
_MEANS = (
    "rtt_mean_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_base_ms",
    "queueing_delay_mean_ms",
    "completion_ms",
)


def run_metrics(flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """One row a run, in the order of `flows`; undefined where no flow has a value."""
    if flows.is_empty():
        return pl.DataFrame(schema={"run": pl.String, "algorithm": pl.String})
    per_run = flows.group_by("run", maintain_order=True).agg(
        pl.col("algorithm").unique(maintain_order=True).str.join("+").alias("algorithm"),
        *[_sum(name) for name in _SUMS],
        *[pl.col(name).mean() for name in _MEANS],
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
    # The queue of a path is the longest of its queues.
    queues = links.group_by("run", maintain_order=True).agg(
        pl.col("queue_mean_pkts").max(),
        pl.col("queue_max_pkts").max(),
        _sum("dropped_pkts"),
    )
    return per_run.join(queues, on="run", how="left", maintain_order="left")


def relative_to_best_pct(values: pl.Series, *, is_higher_better: bool = True) -> pl.Series:
    """How far each value lies from the best one, in percent of it; 0 for the best."""
    best = values.max() if is_higher_better else values.min()
    return 100 * (values - best) / best


def most_representative_run(
    runs: pl.DataFrame,
    measures: tuple[str, ...] = ("goodput_mbit_s", "rtt_mean_ms", "timeouts"),
    *,
    is_scaled: bool = False,
) -> str:
    """Key of the run that is nearest to the mean of `runs` in all measures.

    The definition of the HSDPA paper (2010, section V): Euclidean distance between the vectors of
    goodput, RTT and number of timeouts, as they are; `is_scaled` counts each in its own standard
    deviations instead.
    """
    table = runs.select(pl.col(name).cast(pl.Float64) for name in measures).to_numpy()
    return str(runs["run"][stats.most_representative(table, is_scaled=is_scaled)])


def _sum(name: str) -> pl.Expr:
    """A sum of nothing is nothing, not zero."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
