"""Returns to the baseline, by which a trial checks suspected harm."""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from cwndlab.judge.goals import BALANCE
from cwndlab.measure.trial.conduct import Step, conduct, due
from cwndlab.measure.trial.guard import Guard, Guardrails
from cwndlab.measure.trial.periods import NOTHING, PeriodLog, PeriodOutcome, blocks, combined
from cwndlab.measure.trial.server import ServerPeriods
from judge.test_ledger import CLAIM
from measure.test_trial import GOOD, Made, connection

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.measure.machine.sock_diag import Connection
    from cwndlab.measure.trial.way_back import Switch

WITH_RETURNS = replace(CLAIM, return_s=30.0)
BAD = replace(GOOD, rtt_p95_ms=130.0)


def test_the_first_period_of_the_challenger_is_followed_by_a_return(tmp_path: Path) -> None:
    network = Made()
    periods = conduct(WITH_RETURNS, PeriodLog(tmp_path / "periods.jsonl"), network)
    returns = [n for n, step in enumerate(network.steps) if step.is_return]
    first = next(n for n, step in enumerate(network.steps) if step.algorithm == "bbr")
    assert returns == [first + 1]
    assert network.steps[first + 1].duration_s == 30
    assert len(periods) == 2 + 2 * CLAIM.blocks
    assert [each.checks for each in periods if each.checks] == [
        "the first period with bbr is always checked for harm"
    ]


def test_harm_that_the_baseline_shows_too_does_not_end_a_trial(tmp_path: Path) -> None:
    log = PeriodLog(tmp_path / "periods.jsonl")
    periods = conduct(WITH_RETURNS, log, Made(worse=BAD, back=BAD))
    assert due(WITH_RETURNS, periods) == []
    assert not any(each.harm for each in periods)
    assert sum(bool(each.checks) for each in periods) >= CLAIM.blocks
    refuted = conduct(CLAIM, PeriodLog(tmp_path / "unchecked.jsonl"), Made(worse=BAD, back=BAD))
    assert refuted[-1].harm, "a plan of an earlier version has no returns"


def test_harm_that_a_return_confirms_ends_the_trial(tmp_path: Path) -> None:
    network = Made(worse=BAD)
    periods = conduct(WITH_RETURNS, PeriodLog(tmp_path / "periods.jsonl"), network)
    assert "130 ms (baseline: 50 ms)" in periods[-1].harm
    assert periods[-2].checks
    assert [step.algorithm for step in network.steps].count("bbr") == 1
    assert network.steps[-1].is_return
    assert due(WITH_RETURNS, periods) == []


def test_harm_is_found_although_the_reference_had_a_worse_network(tmp_path: Path) -> None:
    log = PeriodLog(tmp_path / "periods.jsonl")
    worse = replace(GOOD, rtt_p95_ms=120.0)
    network = Made(worse=worse, back=replace(GOOD, rtt_p95_ms=40.0))
    assert Guard(Guardrails()).harm_of_period(worse, [GOOD]) is None
    assert "120 ms (baseline: 40 ms)" in conduct(WITH_RETURNS, log, network)[-1].harm


@pytest.mark.parametrize(("rtt_ms", "drain_s"), [(130, 5), (3000, 30), (40_000, 60)])
def test_queues_drain_before_a_return(tmp_path: Path, rtt_ms: float, drain_s: float) -> None:
    network = Made(worse=replace(GOOD, rtt_p95_ms=rtt_ms))
    conduct(WITH_RETURNS, PeriodLog(tmp_path / "periods.jsonl"), network)
    assert [step.drain_s for step in network.steps if step.is_return] == [drain_s]
    assert not any(step.drain_s for step in network.steps if not step.is_return)


def _confirmed(
    now: PeriodOutcome,
    before: list[PeriodOutcome],
    back: PeriodOutcome,
    *,
    is_whole: bool = True,
    is_first: bool = True,
) -> str:
    guard = Guard(Guardrails())
    return str(guard.harm_after_return(now, before, back, is_whole=is_whole, is_first=is_first))


def test_the_first_period_is_judged_more_strictly() -> None:
    bad, back = replace(GOOD, rtt_p95_ms=200.0), replace(GOOD, rtt_p95_ms=100.0)
    assert "200 ms (baseline: 71 ms)" in _confirmed(bad, [GOOD], back)
    assert _confirmed(bad, [GOOD], back, is_first=False) == "None"
    worse = replace(GOOD, rtt_p95_ms=230.0)
    assert "230 ms (baseline: 71 ms)" in _confirmed(worse, [GOOD], back, is_first=False)
    alone = replace(GOOD, rtt_p95_ms=160.0)
    assert "160 ms" in _confirmed(alone, [GOOD], replace(GOOD, rtt_p95_ms=400.0))
    assert _confirmed(alone, [GOOD], replace(GOOD, rtt_p95_ms=400.0), is_first=False) == "None"


def test_a_changed_network_during_the_return_does_not_hide_harm() -> None:
    bad, back = replace(GOOD, rtt_p95_ms=200.0), replace(GOOD, rtt_p95_ms=100.0)
    assert Guard(Guardrails()).harm_of_period(bad, [back]) is None
    assert "200 ms (baseline: 71 ms)" in _confirmed(bad, [GOOD], back)
    assert _confirmed(bad, [back], back) == "None"
    assert "200 ms (baseline: 50 ms)" in _confirmed(bad, [GOOD], NOTHING)
    assert _confirmed(bad, [], back) == "None"


def test_a_queue_that_disturbs_the_return_does_not_hide_harm() -> None:
    back = replace(GOOD, rtt_p95_ms=400.0)
    bad, almost = replace(GOOD, rtt_p95_ms=160.0), replace(GOOD, rtt_p95_ms=150.0)
    assert "160 ms (baseline: 50 ms)" in _confirmed(bad, [GOOD], back)
    assert Guard(Guardrails()).harm_of_period(almost, [GOOD])
    assert _confirmed(almost, [GOOD], back) == "None"


def test_a_few_seconds_must_show_more_harm_than_a_period() -> None:
    bad, worse = replace(GOOD, goodput_mbit_s=3.0), replace(GOOD, goodput_mbit_s=2.6)
    assert "goodput is 3 Mbit/s" in _confirmed(bad, [GOOD], GOOD)
    assert _confirmed(bad, [GOOD], GOOD, is_whole=False) == "None"
    assert "goodput is 2.6 Mbit/s" in _confirmed(worse, [GOOD], GOOD, is_whole=False)


def test_a_queue_that_is_never_empty_is_harm() -> None:
    usual = replace(GOOD, rtt_p95_ms=200.0, rtt_p25_ms=30.0)
    full = replace(usual, rtt_p25_ms=190.0)
    assert "the 25th percentile RTT is 190 ms (baseline: 30 ms)" in _confirmed(full, [usual], usual)
    assert _confirmed(replace(usual, rtt_p25_ms=74.0), [usual], usual) == "None"
    assert _confirmed(full, [usual], usual, is_whole=False) == "None"  # a few seconds
    old = replace(usual, rtt_p25_ms=None)  # from a file of an earlier version
    assert _confirmed(full, [old], old) == "None"


def test_a_period_goes_on_after_a_return_without_harm(tmp_path: Path) -> None:
    network = Made(alarms=1)
    log = PeriodLog(tmp_path / "periods.jsonl")
    periods = conduct(WITH_RETURNS, log, network)
    own = [step for step in network.steps if step.block == 0 and step.algorithm == "bbr"]
    assert [step.duration_s for step in own] == [60, 40]
    (period,) = [each for each in periods if each.block == 0 and each.algorithm == "bbr"]
    assert period.outcome == replace(GOOD, flows=2 * GOOD.flows)
    assert blocks(periods)[0]["bbr"] == period.outcome
    assert PeriodLog(tmp_path / "periods.jsonl").read() == periods


def test_parts_of_a_period_count_by_their_time() -> None:
    late = replace(GOOD, goodput_mbit_s=40.0, utility=4.0, flows=2)
    found = combined([(GOOD, 10.0), (late, 5.0), (NOTHING, 5.0)])
    assert found == replace(GOOD, goodput_mbit_s=20.0, utility=2.0, flows=6)
    assert combined([(GOOD, 10.0)]) == GOOD
    low, high = replace(GOOD, rtt_p25_ms=10.0), replace(GOOD, rtt_p25_ms=40.0)
    assert combined([(low, 10.0), (high, 5.0)]).rtt_p25_ms == pytest.approx(20.0)
    assert combined([(low, 10.0), (GOOD, 5.0)]).rtt_p25_ms is None
    assert combined([(NOTHING, 10.0)]) == NOTHING


@pytest.mark.parametrize("seed", range(20))
def test_no_return_counts_in_the_estimate_wherever_a_trial_is_killed(
    tmp_path: Path, seed: int
) -> None:
    draws = random.Random(seed)  # noqa: S311  moments
    claim = replace(WITH_RETURNS, seed=seed)
    path = tmp_path / "periods.jsonl"
    strange = PeriodOutcome(1e6, 10.0, 130.0, 0.1, 4)
    while due(claim, PeriodLog(path).read()):
        network = Made(
            breaks_after=draws.randrange(1, 9), worse=BAD, back=strange, alarms=draws.randrange(3)
        )
        with contextlib.suppress(KeyboardInterrupt):
            conduct(claim, PeriodLog(path), network)
    periods = PeriodLog(path).read()
    counted = blocks(periods)
    assert any(each.checks for each in periods)
    assert set(counted) == set(range(claim.blocks))
    for own in counted.values():
        assert own["cubic"] == GOOD
        assert own["bbr"].rtt_p95_ms == BAD.rtt_p95_ms
        assert own["bbr"].utility == BAD.utility


class MadeServer:
    """A server whose connections under bbr have a long queue, and a switch of its algorithm."""

    def __init__(self) -> None:
        self.chosen: list[str] = []

    def choose(self, algorithm: str) -> None:
        self.chosen.append(algorithm)

    def has_peer(self, _address: str) -> bool:
        return True

    def see(self) -> list[Connection]:
        """Return a connection that began after the latest change, with counters that grow."""
        if not self.chosen:
            return []
        now_ms, algorithm = int(time.monotonic() * 1000), self.chosen[-1]
        rtt_ms = 900 if algorithm == "bbr" else 30
        return [connection(len(self.chosen), 1000 * now_ms, now_ms, rtt_ms, algorithm)]


def test_a_server_switches_back_for_a_return_and_stops(tmp_path: Path) -> None:
    server = MadeServer()
    claim = replace(WITH_RETURNS, period_s=0.6, washout_s=0.1, return_s=0.5)
    network = ServerPeriods(cast("Switch", server), BALANCE, 0.1, see=server.see)
    periods = conduct(claim, PeriodLog(tmp_path / "periods.jsonl"), network)
    assert server.chosen[-2:] == ["bbr", "cubic"]
    assert server.chosen.count("bbr") == 1
    assert "900 ms (baseline: 30 ms)" in periods[-1].harm
    assert periods[-2].outcome.flows == 1
    began_s = time.monotonic()
    tried = network.measure(Step(0, "cubic", 0.3, is_return=True, drain_s=0.4), lambda _: None)
    assert tried.passed_s == pytest.approx(0.7)
    assert time.monotonic() - began_s >= 0.7


def test_a_trial_of_an_earlier_version_is_read_and_continued_without_returns(
    tmp_path: Path,
) -> None:
    path = tmp_path / "periods.jsonl"
    path.write_text(
        '{"block": -1, "algorithm": "cubic", "began": "2026-11-26T00:00:00+00:00", "outcome": '
        '{"utility": 1.0, "goodput_mbit_s": 10.0, "rtt_p95_ms": 50.0, "retransmitted_pct": 0.1, '
        '"flows": 4}, "harm": ""}\n'
    )
    (pilot,) = PeriodLog(path).read()
    assert (pilot.outcome, pilot.checks) == (GOOD, "")
    network = Made()
    conduct(CLAIM, PeriodLog(path), network)
    assert not any(step.is_return for step in network.steps)
    assert len(network.steps) == 2 * CLAIM.blocks
