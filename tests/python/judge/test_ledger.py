"""Registered predictions and their ledger."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cwndlab.cli import run as cwndlab
from cwndlab.errors import ResultsError
from cwndlab.judge.ledger import (
    LedgerEntry,
    ledger_of_user,
    merge,
    read_ledger,
)
from cwndlab.judge.ledger_scores import reliability, scores
from cwndlab.judge.prediction import RegisteredPrediction, chances, read_prediction
from cwndlab.judge.reality import reality_of
from cwndlab.judge.switchback import MeasuredChange, Verdict

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = RegisteredPrediction(
    goal="balance",
    challenger="bbr",
    baseline="cubic",
    network="lte-typical",
    network_class="lte",
    probability=0.8,
    change=0.2,
    low=-0.1,
    high=0.5,
    networks=24,
    version="0.2.0, epoch 12",
    study="0" * 64,
    registered="2026-11-26T00:00:00+00:00",
    blocks=6,
    period_s=60,
    washout_s=5,
    seed=1,
)


def entry(n: int, gain: float, **claim: object) -> LedgerEntry:
    change = MeasuredChange(gain, gain - 0.05, gain + 0.05, 6, 0.1)
    verdict = Verdict.CONFIRMED if gain > 0 else Verdict.REFUTED
    prediction = replace(CLAIM, seed=n, **claim)  # type: ignore[arg-type]
    return LedgerEntry(prediction, verdict, change, f"2026-11-27T00:00:{n % 60:02}+00:00")


def test_a_registered_prediction_is_neither_replaced_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "prediction.json"
    CLAIM.write(path)
    assert read_prediction(path) == CLAIM
    with pytest.raises(ResultsError, match="already contains a registered prediction"):
        replace(CLAIM, probability=0.9).write(path)
    path.write_text(path.read_text().replace("0.8", "0.6"))
    with pytest.raises(ResultsError, match="was changed after its registration"):
        read_prediction(path)
    path.write_text("[]")
    with pytest.raises(ResultsError, match="does not contain a registered prediction"):
        read_prediction(path)
    with pytest.raises(ResultsError, match="cwndlab trial register"):
        read_prediction(tmp_path / "none.json")


def test_few_networks_are_no_certainty() -> None:
    probability, change, low, high = chances(np.array([0.1, 0.2, np.nan, 0.3]))
    assert probability == pytest.approx(3.5 / 4)
    assert change == pytest.approx(0.2)
    assert low < change < high


def test_ledgers_merge_and_a_second_verdict_of_the_same_trial_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ledger.jsonl"
    assert merge(path, [entry(1, 0.2), entry(2, -0.2)]) == 2
    later = replace(entry(1, 0.2), ended="2026-12-01T00:00:00+00:00")
    assert merge(path, [later]) == 0
    assert merge(path, [later, entry(3, 0.2)]) == 1
    assert [each.prediction.seed for each in read_ledger(path)].count(1) == 1
    assert entry(1, 0.2) in read_ledger(path)
    path.write_text(path.read_text().replace('"lte-typical"', '"nr-typical"'))
    with pytest.raises(ResultsError, match=r"ledger\.jsonl, line 1: the prediction was changed"):
        read_ledger(path)


def test_another_outcome_of_the_same_prediction_is_refused_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs, joined = (tmp_path / name for name in ("ours", "theirs", "joined"))
    merge(ours, [entry(1, 0.2), entry(2, -0.2)])
    merge(theirs, [entry(3, 0.1), entry(1, -0.3)])
    before = ours.read_bytes(), theirs.read_bytes()
    assert cwndlab(["ledger", "--ledger", str(ours), str(theirs)]) == 2
    said = capsys.readouterr().err
    assert f"{theirs}: the outcome of prediction {entry(1, 0).prediction.id[:16]} is" in said
    assert f"is refuted, -25.9 % here, but confirmed, +22.1 % in {ours}; nothing was added" in said
    assert (ours.read_bytes(), theirs.read_bytes()) == before
    joined.write_bytes(before[0] + before[0])  # as `cat` joins files
    assert read_ledger(joined) == read_ledger(ours)
    joined.write_bytes(before[0] + before[1])
    with pytest.raises(
        ResultsError, match=r"joined, line \d: the outcome of prediction .* here, but"
    ):
        read_ledger(joined)


def with_claim(**changes: object) -> str:
    """Return a line whose SHA-256 is right, but whose prediction is invalid."""
    return lines_with(prediction=replace(CLAIM, **changes))  # type: ignore[arg-type]


def lines_with(**changes: object) -> str:
    """Return a line whose SHA-256 is right, but whose fields are invalid."""
    return json.dumps(replace(entry(1, 0.2), **changes).to_json())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "3",
        '{"prediction": 3}',
        "[" * 100_000,
        lines_with()[:-20],
        with_claim(probability="0.8"),
        with_claim(probability=1.5),
        with_claim(change=None),
        with_claim(network=["lte"]),
        lines_with(change=MeasuredChange(float("nan"), 0, 0, 6, 0)),
        lines_with(change=MeasuredChange(0, 0, 0, "6", 0)),  # type: ignore[arg-type]
        lines_with(ended=3),
        lines_with(verdict=Verdict.CONFIRMED).replace("confirmed", "maybe"),
        '"\udcff"',
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    merge(ours, [entry(2, -0.2)])
    before = ours.read_bytes()
    good = json.dumps(entry(3, 0.1).to_json())
    theirs.write_text(f"{good}\n{line}\n", encoding="utf-8", errors="surrogateescape")
    assert cwndlab(["ledger", "--ledger", str(ours), str(theirs)]) == 2
    said = capsys.readouterr().err
    is_named = f"{theirs}, line 2: not an entry of a ledger" in said
    assert is_named or f"{theirs}: not a text file in UTF-8" in said
    assert len(said) < 600
    assert ours.read_bytes() == before


def _merge_one(path: Path, n: int) -> None:
    merge(path, [entry(n, 0.1)])


def test_verdicts_at_the_same_time_are_all_entered(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: _merge_one(path, n), range(24)))
    assert len(read_ledger(path)) == 24


def test_predictions_are_scored_by_class() -> None:
    entries = [entry(n, 0.2 if n < 8 else -0.2) for n in range(10)]
    entries.append(replace(entry(11, 0.01), verdict=Verdict.NOT_ENOUGH))
    entries.append(entry(12, 0.2, network_class="wifi", probability=0.2, change=-0.2))
    (bin_of_0_2, bin_of_0_8) = reliability(entries)
    assert bin_of_0_8.stated == pytest.approx(0.8)
    assert (bin_of_0_8.happened, bin_of_0_8.count) == (0.8, 10)
    assert (bin_of_0_2.happened, bin_of_0_2.count) == (1.0, 1)
    lte, wifi = scores(entries)
    assert (lte.confirmed, lte.refuted, lte.undecided) == (8, 2, 1)
    assert lte.brier == pytest.approx(0.16)
    assert (lte.agreed, lte.compared) == (8, 10)
    assert lte.regret == 0
    assert lte.regret_p90 == pytest.approx(0.2)
    assert lte.covered == pytest.approx(9 / 11)
    assert wifi.regret == pytest.approx(0.2)


def test_trials_of_the_user_count_in_the_line_in_reality(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shipped, of_wires = reality_of("lte"), reality_of("wire")
    assert shipped is not None
    agreed, checked = (of_wires.agreed, of_wires.checked) if of_wires else (0, 0)
    merge(
        ledger_of_user(),
        [entry(1, 0.2), entry(2, -0.2), entry(3, 0.2, network_class="wire")],
    )
    now, wires = reality_of("lte"), reality_of("wire")
    assert now is not None
    assert wires is not None
    assert (now.agreed, now.checked) == (shipped.agreed + 1, shipped.checked + 2)
    assert (wires.kind, wires.agreed, wires.checked) == ("wires", agreed + 1, checked + 1)


def test_a_plan_with_returns_is_kept_and_earlier_plans_have_the_same_sha(tmp_path: Path) -> None:
    assert "return_s" not in CLAIM.to_json()
    assert CLAIM.id.startswith("7ebb1a0dd10674a2"), "as computed by earlier versions"
    checked = replace(CLAIM, return_s=30.0)
    assert checked.id != CLAIM.id
    checked.write(tmp_path / "prediction.json")
    assert read_prediction(tmp_path / "prediction.json") == checked
    outcome = LedgerEntry(checked, Verdict.REFUTED, None, "2026-11-29T00:00:00+00:00", "harm")
    merge(tmp_path / "ledger.jsonl", [outcome])
    assert read_ledger(tmp_path / "ledger.jsonl") == [outcome]
