from __future__ import annotations

import polars as pl
import pytest

from cwndlab.metrics import most_representative_run, relative_to_best_pct, run_metrics


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
