from __future__ import annotations

import polars as pl
import pytest

from cwndlab.results.metrics import (
    most_representative_run,
    relative_to_best_pct,
    run_metrics,
    together,
)


def runs(*rows: tuple[float, float, int]) -> pl.DataFrame:
    goodput, rtt, timeouts = zip(*rows, strict=True)
    return pl.DataFrame(
        {
            "run": [f"r{n}" for n in range(len(rows))],
            "goodput_mbit_s": goodput,
            "rtt_mean_ms": rtt,
            "timeouts": timeouts,
        }
    )


def test_the_most_representative_run_is_nearest_to_the_mean() -> None:
    # Means: 2 Mbit/s, 200 ms, 2 timeouts.
    found = most_representative_run(runs((1, 100, 0), (2, 210, 2), (3, 290, 4)))
    assert found == "r1"


def test_by_the_papers_definition_the_largest_unit_decides() -> None:
    table = runs((1.0, 205.0, 9), (2.0, 230.0, 2), (3.0, 165.0, 1))
    assert most_representative_run(table) == "r0"
    assert most_representative_run(table, is_scaled=True) == "r1"


def test_the_difference_to_the_best_is_relative_to_it() -> None:
    goodput = pl.Series([10.0, 8.0, None])
    assert relative_to_best_pct(goodput).to_list() == [0.0, pytest.approx(-20.0), None]
    rtt = pl.Series([50.0, 40.0])
    assert relative_to_best_pct(rtt, is_higher_better=False).to_list() == [25.0, 0.0]


def test_a_run_without_any_value_has_none_rather_than_zero() -> None:
    names = ("goodput_mbit_s", "throughput_mbit_s", "utilisation_pct", "completion_ms")
    more = ("rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "rtt_base_ms")
    flows = pl.DataFrame(
        {
            "run": ["a", "a"],
            "algorithm": ["reno", "cubic"],
            **{name: [None, None] for name in (*names, *more, "queueing_delay_mean_ms")},
            **{name: [0, 0] for name in ("delivered_bytes", "sent_pkts", "timeouts")},
            "retransmitted_pkts": [0, 0],
        },
        schema_overrides=dict.fromkeys((*names, *more, "queueing_delay_mean_ms"), pl.Float64),
    )
    row = run_metrics(flows, pl.DataFrame()).row(0, named=True)
    assert row["algorithm"] == "reno+cubic"
    assert row["goodput_mbit_s"] is None
    assert row["jain_index"] is None
    assert row["retransmitted_pct"] is None
    assert row["timeouts"] == 0


def of_flows(*rows: tuple[float | None, float | None, float]) -> pl.DataFrame:
    """Return flows, each given as (goodput, begin and end of its window)."""
    return pl.DataFrame(
        {
            "goodput_mbit_s": [row[0] for row in rows],
            "window_s": [None if row[1] is None else row[2] - row[1] for row in rows],
            "end_s": [row[2] for row in rows],
            "timeouts": [1 for _ in rows],
            "rtt_p50_ms": [10.0 * number for number, _ in enumerate(rows)],
        },
        schema_overrides=dict.fromkeys(("goodput_mbit_s", "window_s", "end_s"), pl.Float64),
    )


@pytest.mark.parametrize(
    ("flows", "goodput_mbit_s"),
    [
        (of_flows((12, 0, 10)), 12),
        # At the same time: the flows share the link.
        (of_flows((5, 0, 10), (7, 0, 10)), 12),
        # One after the other: each had the whole link, and the gaps do not count.
        (of_flows((12, 0, 10), (12, 10, 20), (12, 50, 60)), 12),
        (of_flows((12, 50, 60), (6, 0, 10)), 9),
        # The second flow began when the first was half done; then both had half of the link.
        (of_flows((9, 0, 20), (6, 10, 20)), 12),
        # One within another, then one across the end: 5 x 20 + 4 x 5 + 6 x 10 Mbit in 25 s.
        (of_flows((5, 0, 20), (4, 5, 10), (6, 15, 25)), 180 / 25),
        # A flow without a window ran in parallel with the others; one without goodput did not run.
        (of_flows((5, None, 10), (7, 0, 10)), 12),
        (of_flows((None, None, 10), (7, 0, 10), (7, 10, 30)), 7),
        (of_flows((None, None, 10)), None),
    ],
)
def test_rates_of_flows_add_up_only_where_they_ran_at_the_same_time(
    flows: pl.DataFrame, goodput_mbit_s: float | None
) -> None:
    columns = ("goodput_mbit_s", "timeouts", "rtt_p50_ms")
    for grouped in (flows, flows.reverse()):
        found = grouped.select(together(name, flows.columns) for name in columns)
        assert found["goodput_mbit_s"].to_list() == [pytest.approx(goodput_mbit_s)]
        assert found["timeouts"].to_list() == [flows.height]
        assert found["rtt_p50_ms"].to_list() == [5.0 * (flows.height - 1)]


def test_groups_are_put_together_each_by_itself() -> None:
    flows = pl.concat(
        [
            of_flows((12, 0, 10), (12, 10, 20)).with_columns(run=pl.lit("apart")),
            of_flows((12, 0, 10), (12, 0, 10)).with_columns(run=pl.lit("beside")),
        ]
    )
    found = flows.group_by("run", maintain_order=True).agg(
        together("goodput_mbit_s", flows.columns)
    )
    assert found.rows() == [("apart", pytest.approx(12)), ("beside", pytest.approx(24))]
