"""Scores of a ledger: outcomes, regret, order of algorithms, bars, and the line *in reality*."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cwndlab.judge.ledger import PUBLIC, LedgerEntry, merge, read_ledger
from cwndlab.judge.ledger_scores import better, order, regret, reliability, score
from cwndlab.judge.reality import Miss, Reality, pooled
from cwndlab.judge.record import phrase_of_record
from cwndlab.judge.switchback import MeasuredChange, Verdict
from cwndlab.report.ledger_page import ledger_page
from judge.test_ledger import CLAIM

if TYPE_CHECKING:
    from pathlib import Path


def published(
    challenger: str, predicted: float, measured: float | None, **other: object
) -> LedgerEntry:
    claim = replace(CLAIM, challenger=challenger, change=predicted)
    change = None if measured is None else MeasuredChange(measured, measured, measured, 1, 0.0)
    entry = LedgerEntry(
        claim, Verdict.NOT_ENOUGH, change, "2026-11-28T00:00:00+00:00", source="a table"
    )
    return replace(entry, **other)  # type: ignore[arg-type]


def test_the_interval_decides_a_trial_and_the_sign_a_published_figure() -> None:
    wide = MeasuredChange(0.1, -0.1, 0.3, 6, 0.2)
    trial = LedgerEntry(CLAIM, Verdict.NOT_ENOUGH, wide, "2026-11-28T00:00:00+00:00")
    figure = replace(trial, source="a table")
    assert (better(trial), better(figure), better(figure, decided_only=True)) == (None, 1.0, None)
    assert better(published("bbr", 0.1, 0.0)) == 0.5
    assert better(replace(trial, harm="slow")) == 0.0
    assert better(published("bbr", 0.1, None)) is None
    assert better(published("bbr", 0.1, None, verdict=Verdict.REFUTED, place=2)) == 0.0


def test_the_regret_is_what_the_predicted_best_lacks() -> None:
    question = [published("bbr", 0.3, 0.1), published("vegas", 0.2, 0.25)]
    assert regret(question) == pytest.approx(0.15)
    worse = [published("bbr", -0.3, 0.1), published("vegas", -0.2, 0.25)]
    assert regret(worse) == pytest.approx(0.25)  # the prediction was that CUBIC is the best
    assert regret([published("bbr", 0.3, -0.1), published("vegas", -0.2, -0.25)]) == 0.1
    assert regret([published("bbr", 0.3, None, verdict=Verdict.CONFIRMED, place=1)]) is None


def test_kendalls_tau_counts_pairs_of_algorithms_with_the_baseline() -> None:
    same = [published("bbr", 0.3, 0.1), published("vegas", -0.2, -0.25)]
    assert order(same) == 1
    assert order([published("bbr", 0.3, -0.1), published("vegas", -0.2, 0.25)]) == -1
    # Predicted: bbr, cubic, vegas; measured: bbr, vegas, cubic; two of three pairs agree.
    assert order([published("bbr", 0.3, 0.3), published("vegas", -0.2, 0.1)]) == pytest.approx(
        1 / 3
    )
    assert order(same[:1]) is None
    assert order([published("bbr", 0.3, 0.0), published("vegas", -0.2, 0.0)]) is None
    ranked = [
        published("bbr", 0.3, None, verdict=Verdict.CONFIRMED, place=1),
        published("vegas", 0.2, None, verdict=Verdict.CONFIRMED, place=2),
    ]
    assert order(ranked) == 1
    # One tie among the measured pairs: (1 + 1) / sqrt(3 * 2).
    tied = [published("bbr", 0.3, 0.2), published("vegas", 0.2, 0.2)]
    assert order(tied) == pytest.approx(2 / 6**0.5)


def test_a_bad_record_is_named_and_a_good_one_is_not() -> None:
    def on(n: int, measured: float) -> LedgerEntry:
        entry = published("bbr", 0.2, measured)
        return replace(entry, prediction=replace(entry.prediction, network=f"network {n}"))

    good = score("lte", [on(n, 0.2) for n in range(8)])
    assert good.failures == ()
    bad = score("lte", [on(n, -0.2) for n in range(12)])
    assert bad.failures == ("probabilities", "regret")
    assert bad.gap == pytest.approx(0.8)
    assert (bad.agreed, bad.compared) == (0, 12)
    reality = Reality("LTE", 3, 18, "a table", (Miss("LTE", bad),))
    assert phrase_of_record(reality) == (
        "advice for LTE agreed with 3 of 18 measurements of real networks; published "
        "predictions for this class were poor: "
        "predicted probabilities were off by up to 80 percentage points (predictions of 0.80 came "
        "true in 0 % of 12 cases), the loss from following the advice had a median of 18 % and a "
        "90th percentile of 18 %"
    )
    both = pooled([reality, replace(reality, kind="HSDPA", misses=(Miss("HSDPA", bad),))])
    assert both is not None
    assert phrase_of_record(both).endswith(
        "; published predictions for LTE and HSDPA were poor (see: cwndlab ledger --public)"
    )
    assert "poor" not in phrase_of_record(replace(reality, misses=()))


def test_ledgers_with_sources_are_read_as_they_were_written(tmp_path: Path) -> None:
    entries = [published("bbr", 0.1, 0.2), published("vegas", 0.1, None, place=2)]
    merge(tmp_path / "public.jsonl", entries)
    found = read_ledger(tmp_path / "public.jsonl")
    assert sorted(found, key=lambda e: e.prediction.challenger) == entries


def test_the_published_ledger_is_whole_and_says_where_it_is_from() -> None:
    entries = read_ledger(PUBLIC)
    assert all(each.source for each in entries)
    assert len({each.prediction.id for each in entries}) == len(entries)
    assert sum(each.count for each in reliability(entries)) == len(entries)


def test_the_page_shows_the_diagram_the_scores_and_escapes_names() -> None:
    entry = published("bbr", 0.2, 0.3)
    odd = replace(entry, prediction=replace(entry.prediction, network="<b>lte</b>"))
    page = ledger_page([odd], "Mine")
    assert "<svg" in page
    assert "<circle" in page
    assert "&lt;b&gt;lte&lt;/b&gt;" in page
    assert "<b>lte</b>" not in page
    assert "no prediction has been tested" in ledger_page([], "Mine")
