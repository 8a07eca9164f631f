"""Test BBR when it undoes its response to a spurious recovery or timeout (draft-ietf-ccwg-bbr)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.algorithm.conformance.bbr_probing import first_up
from cwndlab.algorithm.conformance.bbr_startup import CRUISE, DOWN, REFILL, UP, us
from cwndlab.algorithm.conformance.bench import RTT_S, Bench, NotReachedError, Observation, Stay
from cwndlab.algorithm.conformance.case import CaseCheck, follows, within

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAME_ACK_S = 0.001


def spurious_recovery(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 18: BBR undoes a spurious fast recovery.

    Single packets arrive 25 ms late; duplicate SACKs then show that no packet was lost.
    """
    late = {"kind": "late", "share": "1 %", "delay": "25 ms", "gap": 40}
    run = bench.run("3 s", {"delay": "10 ms", "reorder": late})
    undone = [t_s for t_s, event in run.events if event == "undo"]
    recoveries = [t_s for t_s, event in run.events if event == "recovery"]
    yield within("recoveries undone", len(undone), 1, 1000, digits=0)
    returns = [
        run.next_phase(down)
        for down in run.stays
        if down.phase == DOWN
        and _before(run, down) == UP
        and any(abs(t_s - down.begin_s) < _SAME_ACK_S for t_s in recoveries)
        and any(down.begin_s < t_s <= down.end_s + _SAME_ACK_S for t_s in undone)
    ]
    if not returns:
        msg = "no spurious recovery interrupted a phase probe_bw_up"
        raise NotReachedError(msg)
    wanted = "after the undo, BBR enters ProbeBW_REFILL to repeat the interrupted ProbeBW_UP"
    yield CaseCheck(wanted, set(returns) == {REFILL}, ", ".join(returns))
    cruise = [t_s for t_s in undone if run.visits(CRUISE, t_s, t_s + 0.001)]
    ratios = [_kept(run, t_s, 0.02, 0.002) for t_s in cruise or undone]
    yield within(
        "smallest window after an undo, relative to the window before the undone recovery",
        min(ratios),
        0.9,
        3,
    )


def spurious_timeout(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 19: BBR undoes a spurious timeout that a 450 ms pause of the link causes."""
    up = first_up(bench)
    at_s = up.begin_s + RTT_S / 2
    hold = [{"start": us(at_s), "stop": us(at_s + 0.45), "kind": "hold"}]
    run = bench.run("4.5 s", {"outages": hold})
    run.require(at_s, UP)
    undone = [t_s for t_s, event in run.events if event == "undo"]
    yield within("timeouts", run.row["timeouts"], 1, 3, digits=0)
    yield within("timeouts undone", len(undone), 1, 3, digits=0)
    if not undone:
        return
    phases = {each.phase for each in run.stays if each.begin_s <= undone[0] + 0.05 < each.end_s}
    yield follows(
        "BBR is in ProbeBW_UP or ProbeBW_REFILL again after the undo", ", ".join(phases), UP, REFILL
    )
    window = run.at("cwnd_pkts", undone[0] + 0.01) / run.at("cwnd_pkts", at_s)
    yield within("window after the undo, relative to the window before the timeout", window, 0.9, 3)


def _before(run: Observation, stay: Stay) -> str:
    earlier = [each for each in run.stays if each.begin_s < stay.begin_s]
    return earlier[-1].phase if earlier else ""


def _kept(run: Observation, undone_s: float, before_s: float, after_s: float) -> float:
    after = run.at("cwnd_pkts", undone_s + after_s)
    return after / run.at("cwnd_pkts", undone_s - before_s)
