"""Test BBR against draft-ietf-ccwg-bbr: phases of ProbeBW, changes of the path, and losses."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cwndlab.algorithm.conformance.bbr_startup import (
    CRUISE,
    DOWN,
    PACING_MARGIN,
    PROBE_BW,
    PROBE_RTT,
    REFILL,
    STARTUP,
    UP,
    bandwidth,
    pacing,
    us,
)
from cwndlab.algorithm.conformance.bench import (
    RTT_S,
    Bench,
    NotReachedError,
    Observation,
    Stay,
    bdp_pkts,
    payload_mbit_s,
)
from cwndlab.algorithm.conformance.case import CaseCheck, follows, within

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMITED_MBIT_S = 6.0
_HEADROOM = 0.85
_CYCLES = 2
_GROWTH_IN_THREE = 3.0
"""Smallest accepted ratio of two growths of the window: the growth in a round trip, divided by the
growth three round trips earlier. If the growth doubles in each round trip, this ratio is 8."""
_HALF_S = 10.0
_ROUNDS_IN_UP = (1.5, 1.75, 2.0, 2.25)
"""Times at which losses begin, in round trips after the expected start of the second ProbeBW_UP.

The test case expects this phase to start at the same time as in its previous run. On a kernel, the
phase may start earlier or later. The test case therefore tries these times one after another, until
the losses begin during the phase, and at most `_EARLY_S` after its start.
"""
_EARLY_S = 3 * RTT_S
"""Maximum time from the start of the second ProbeBW_UP to the first loss.

If the losses begin later, more packets are lost, and their retransmission takes all of
ProbeBW_DOWN, so the inflight bound cannot be observed.
"""


def _pulse(at_s: float, share: str, length_s: float = RTT_S) -> list[dict[str, str]]:
    """Return changes of a link: the loss becomes `share` at `at_s`, and 0 % `length_s` later."""
    return [{"at": us(at_s), "loss": share}, {"at": us(at_s + length_s), "loss": "0 %"}]


def first_up(bench: Bench) -> Stay:
    """Return the time interval of the first phase ProbeBW_UP in a run on the unchanged link."""
    return bench.run("4 s").stay(UP)


def _gain(run: Observation, stay: Stay) -> float:
    """Return the pacing rate in a phase, relative to the rate in the preceding ProbeBW_CRUISE."""
    cruises = [each for each in run.stays if each.phase == CRUISE and each.end_s <= stay.begin_s]
    if not cruises:
        msg = f"the connection was never in probe_bw_cruise before {stay.phase} began"
        raise NotReachedError(msg)
    base = pacing(run, cruises[-1].begin_s + 0.001, cruises[-1].end_s)
    return pacing(run, stay.begin_s + 0.001, stay.end_s) / base


def up_plateau(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 5: BBR leaves ProbeBW_UP when the bandwidth has reached a plateau."""
    run = bench.run("4 s")
    up = run.stay(UP)
    yield within("pacing gain of ProbeBW_UP (1.25 expected)", _gain(run, up), 1.22, 1.28)
    rounds = run.rounds(up.begin_s, up.end_s + 0.002)
    yield within("round trips in ProbeBW_UP", rounds, 3, 3, digits=0)
    yield within("packets lost", run.row["retransmitted_pkts"], 0, 0, digits=0)
    yield follows("ProbeBW_DOWN follows ProbeBW_UP", run.next_phase(up), DOWN)


def up_loss(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 6: losses end ProbeBW_UP even if the application limits the sender."""
    begin_s = first_up(bench).begin_s - RTT_S
    limited = bench.run_limited("4 s", begin_s, _LIMITED_MBIT_S)
    up = limited.stay(UP)
    at_s = up.begin_s + 8 * RTT_S
    link = {"schedule": _pulse(at_s, "20 %")}
    run = bench.run_limited("4 s", begin_s, _LIMITED_MBIT_S, link)
    up = run.require(at_s, UP)
    run.require_limited(up.begin_s)
    yield within(
        "round trips from the losses until ProbeBW_UP ends", (up.end_s - at_s) / RTT_S, 0.5, 3
    )
    # The application limits inflight, so it may already be below the BDP when Down begins; the same
    # ACK then ends Down.
    yield follows("ProbeBW_DOWN follows ProbeBW_UP", run.next_phase(up), DOWN, CRUISE)
    after = run.stay(UP, after=up.end_s)
    window = run.column("cwnd_pkts", after.begin_s, after.end_s)
    wanted = (
        "smallest window in the next ProbeBW_UP, in BDP (below 1 only if the losses set an "
        "inflight bound)"
    )
    yield within(wanted, float(window.min()) / bdp_pkts(), 1.0, 3)


def limited_without_loss(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 7: without losses, application-limited BBR never leaves ProbeBW_UP or Startup."""
    up = first_up(bench)
    run = bench.run_limited("5 s", up.begin_s - RTT_S, _LIMITED_MBIT_S)
    stay = run.stay(UP)
    run.require_limited(stay.begin_s)
    rounds = run.rounds(stay.begin_s, stay.end_s)
    yield within("number of round trips in the first ProbeBW_UP", rounds, 40, 200, digits=0)
    yield follows("ProbeBW_UP does not end", run.next_phase(stay), "")
    limited = {"kind": "paced", "rate": f"{_LIMITED_MBIT_S} Mbit/s", "write": "1448 bytes"}
    run = bench.run("4.9 s", application=limited)
    yield follows("Startup does not end", run.next_phase(run.stay(STARTUP)), "")


def down_inflight(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 8: ProbeBW_DOWN ends when inflight has fallen to the BDP.

    If an inflight bound is set, inflight must also have fallen to 85 % of this bound.
    """
    run = bench.run("4 s")
    down = run.stay(DOWN)
    yield within("pacing gain of ProbeBW_DOWN (0.9 expected)", _gain(run, down), 0.88, 0.92)
    target = bdp_pkts(rtt_s=RTT_S * 1.04)
    # Some ACKs' mean: a kernel sends two packets per ACK, and a sample may fall between them.
    before = float(run.column("inflight_pkts", down.end_s - 0.025, down.end_s - 0.015).mean())
    after = run.at("inflight_pkts", down.end_s)
    yield within(
        "data in flight shortly before ProbeBW_DOWN ends, in BDP", before / target, 1.0, 1.3
    )
    yield within("data in flight when ProbeBW_DOWN ends, in BDP", after / target, 0.8, 1.06)
    yield follows("ProbeBW_CRUISE follows ProbeBW_DOWN", run.next_phase(down), CRUISE)
    at_s = run.stay(UP).begin_s + RTT_S / 2
    lossy = bench.run("4 s", {"schedule": _pulse(at_s, "20 %")})
    lossy.require(at_s, UP)
    down = lossy.stay(DOWN)
    bound = lossy.at("cwnd_pkts", down.begin_s + 0.002)
    cruise = lossy.stay(CRUISE, after=down.end_s)
    flight = lossy.at("inflight_pkts", cruise.begin_s)
    wanted = (
        "data in flight at the end of the first ProbeBW_DOWN after the losses, relative to the "
        "inflight bound"
    )
    yield within(wanted, flight / bound, 0.4, _HEADROOM + 1 / bound)


def down_time(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 9: ProbeBW_DOWN ends after its maximum time, although inflight exceeds the BDP."""
    at_s = bench.run("4 s").stay(DOWN).begin_s
    run = bench.run("4.9 s", {"schedule": [{"at": us(at_s), "rate": "8.6 Mbit/s"}]})
    run.require(at_s, UP, DOWN)
    down = run.stay(DOWN)
    if down.end_s == run.end_s:
        msg = f"{DOWN} does not end before the end of the run"
        raise NotReachedError(msg)
    flight = run.column("inflight_pkts", down.begin_s, down.end_s)
    yield within(
        "smallest amount of data in flight in ProbeBW_DOWN, in BDP",
        float(flight.min()) / bdp_pkts(8.6),
        1.05,
        3,
    )
    yield within("duration of ProbeBW_DOWN", down.length_s, 1.2, 3.1, "s")
    yield follows("ProbeBW_REFILL follows ProbeBW_DOWN", run.next_phase(down), REFILL)


def faster_link(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 15: the link rate increases tenfold.

    Losses in the first ProbeBW_UP set the inflight bound, which later ProbeBW_UP phases must
    raise.
    """
    link = {"queue": "400 packets"}
    up = bench.run("4 s", link).stay(UP)
    at_s = up.begin_s + RTT_S / 2
    pulse = _pulse(at_s, "20 %")
    lossy = bench.run("4 s", link | {"schedule": pulse})
    lossy.require(at_s, UP)
    cruise = lossy.stay(CRUISE, after=up.begin_s)
    faster_s = cruise.begin_s + RTT_S
    faster = [*pulse, {"at": us(faster_s), "rate": "100 Mbit/s"}]
    run = bench.run("20 s", link | {"schedule": faster})
    run.require(at_s, UP)
    run.require(faster_s, CRUISE)
    steps: list[float] = []
    for stay in run.visits(UP, cruise.begin_s, run.end_s):
        ends = [stay.begin_s, *run.round_ends(stay.begin_s, stay.end_s)]
        windows = [run.at("cwnd_pkts", end_s) for end_s in ends]
        grown = [after - before for before, after in pairwise(windows)]
        steps = max(steps, grown, key=len)
    doubled = max(
        (later / max(first, 1.0) for first, later in zip(steps, steps[3:], strict=False)),
        default=0.0,
    )
    shown = ", ".join(f"{step:.0f}" for step in steps[:12])
    yield CaseCheck(
        "the window's growth, in packets per round trip, doubles in each round trip",
        doubled >= _GROWTH_IN_THREE,
        shown,
    )
    reached = next(
        (
            end_s
            for end_s in run.round_ends(cruise.begin_s, run.end_s)
            if run.rate_mbit_s(end_s - RTT_S, end_s) > 0.9 * payload_mbit_s(100)
        ),
        run.end_s,
    )
    rounds = sum(
        run.rounds(max(stay.begin_s, cruise.begin_s), min(stay.end_s, reached))
        for phase in (REFILL, UP)
        for stay in run.visits(phase, cruise.begin_s, reached)
    )
    yield within(
        "round trips in ProbeBW_REFILL and ProbeBW_UP until the rate reaches 90 Mbit/s",
        rounds,
        1,
        60,
        digits=0,
    )
    yield within("seconds until the rate reaches 90 Mbit/s", reached - cruise.begin_s, 0, 16)


def slower_link(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 16: the link rate decreases to a tenth of its first value."""
    link = {"rate": "100 Mbit/s", "queue": "100 packets"}
    cruise = bench.run("3 s", link).stay(CRUISE)
    at_s = cruise.begin_s + 0.2
    run = bench.run("20 s", link | {"schedule": [{"at": us(at_s), "rate": "10 Mbit/s"}]})
    run.require(at_s, CRUISE)
    yield within("packets lost", run.row["retransmitted_pkts"], 1, 1e5, digits=0)
    begins = run.at("pacing_rate_mbit_s", at_s) / PACING_MARGIN / payload_mbit_s()
    short = pacing(run, at_s + 1.0, at_s + 1.1) / PACING_MARGIN / payload_mbit_s()
    wanted = "bandwidth estimate 1 s after the change, relative to the new link rate"
    yield within(wanted, short, 0.3, begins / 3)
    # A cycle counts only if Down lasts longer than the round after Up, unless ProbeRTT ends Down.
    ends = [
        down.begin_s
        for down in run.visits(DOWN, at_s, run.end_s)
        if down.begin_s > at_s and down.length_s > 2 * RTT_S
    ]
    if len(ends) < _CYCLES:
        msg = (
            f"only {len(ends)} of the required {_CYCLES} ProbeBW cycles follow the change of the "
            "link rate"
        )
        raise NotReachedError(msg)
    stay = run.stay(REFILL, after=ends[_CYCLES - 1])
    longest = pacing(run, stay.begin_s + 0.001, stay.end_s) / PACING_MARGIN / payload_mbit_s()
    yield within(
        "bandwidth estimate in the ProbeBW_REFILL that follows two ProbeBW cycles on the slower "
        "link, relative to the new link rate",
        longest,
        0.9,
        1.15,
    )


def policer(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 17: a token bucket policer limits the rate to a tenth of the link rate."""
    run = bench.run("20 s", {"rate": "100 Mbit/s", "police": "10 Mbit/s, 50 kB"})
    policed = [t_s for t_s, event in run.events if event == "policed"]
    early = [t_s for t_s in policed if t_s < 1.0]
    yield within("packets dropped in the first second", len(early), 1, 1e6, digits=0)
    later = [t_s for t_s in policed if t_s >= _HALF_S]
    share = 100 * len(later) / (run.row["sent_pkts"] / 2)
    yield within("loss rate in the second half of the run", share, 0, 4, "%")
    moved = run.rate_mbit_s(10, 19.9)
    yield within(
        "rate of acknowledged data in the second half of the run, relative to the policer's rate",
        moved / payload_mbit_s(),
        0.75,
        1.02,
    )
    # At first, the burst hides the policer's rate; drops in Down and Cruise lower the bounds.
    loose, tight = [], []
    for stay in run.stays:
        if stay.phase in (CRUISE, DOWN) and stay.length_s > RTT_S / 4:
            tight.append(pacing(run, stay.begin_s + 0.002, stay.end_s))
        if stay.phase == REFILL:
            loose.append(pacing(run, stay.begin_s + 0.002, stay.end_s))
    lowered = min(tight) / max(loose) if tight and loose else 1.0
    yield within(
        "lowest pacing rate in ProbeBW_DOWN and ProbeBW_CRUISE, relative to the highest in "
        "ProbeBW_REFILL",
        lowered,
        0.2,
        0.85,
    )


def loss_above_bound(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 21: losses in ProbeBW_UP lower an inflight bound that earlier losses have set."""
    first = first_up(bench)
    first_s = first.begin_s + RTT_S / 2
    pulse = _pulse(first_s, "20 %")
    run = bench.run("4.9 s", {"schedule": pulse})
    for rounds in _ROUNDS_IN_UP:
        ups = run.visits(UP, first.end_s, run.end_s)
        at_s = ups[-1].begin_s + rounds * RTT_S if ups else 0.0
        run = bench.run("4.9 s", {"schedule": [*pulse, *_pulse(at_s, "30 %")]})
        if any(at_s - up.begin_s < _EARLY_S for up in run.visits(UP, at_s, at_s)):
            break
    run.require(first_s, UP)
    second = run.require(at_s, UP)
    if at_s - second.begin_s >= _EARLY_S:
        msg = (
            f"the losses begin {at_s - second.begin_s:.2f} s after the start of probe_bw_up, too "
            "late to observe the inflight bound"
        )
        raise NotReachedError(msg)
    bound = run.column("cwnd_pkts", second.begin_s, second.end_s).max()
    yield within(
        "round trips from the losses until ProbeBW_UP ends", (second.end_s - at_s) / RTT_S, 0.5, 3
    )
    yield follows("ProbeBW_DOWN follows ProbeBW_UP", run.next_phase(second), DOWN)
    down = run.stay(DOWN, after=second.end_s - 0.001)
    lowered = run.at("cwnd_pkts", down.begin_s + 0.002)
    yield within(
        "window at the start of ProbeBW_DOWN, relative to the largest window in ProbeBW_UP",
        lowered / bound,
        0.6,
        0.98,
    )
    cruise = run.stay(CRUISE, after=down.begin_s)
    # Until the losses are repaired, the window may be below the bound.
    limit = run.column("cwnd_pkts", down.begin_s + 0.002, down.end_s).max()
    headroom = run.column("cwnd_pkts", cruise.begin_s + 0.002, cruise.end_s).max() / limit
    yield within(
        "largest window in ProbeBW_CRUISE, relative to the largest window in ProbeBW_DOWN",
        float(headroom),
        0.5,
        _HEADROOM + 0.03,
    )


def limited_in_refill(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 22: the application limits the sender during ProbeBW_REFILL."""
    refill = bench.run("4 s").stay(REFILL)
    before = bandwidth(bench.run("4 s"), 0)
    run = bench.run_limited("4.5 s", refill.begin_s, 2.0)
    stay = run.stay(REFILL)
    run.require_limited(stay.end_s - RTT_S / 2)
    yield within("rate in ProbeBW_REFILL", run.rate_mbit_s(stay.end_s - RTT_S / 2, stay.end_s), 0,
                 0.75 * payload_mbit_s(), "Mbit/s")  # fmt: skip
    yield follows("ProbeBW_UP follows ProbeBW_REFILL", run.next_phase(stay), UP)
    up = run.stay(UP, after=stay.begin_s)
    kept = pacing(run, up.begin_s + RTT_S, up.begin_s + 4 * RTT_S) / 1.25 / PACING_MARGIN
    yield within(
        "bandwidth estimate after ProbeBW_REFILL, relative to the estimate before ProbeBW_REFILL",
        kept / before,
        0.97,
        1.1,
    )
    probes = run.visits(PROBE_RTT, 0, run.end_s)
    others = {each.phase for each in run.stays if each.begin_s > stay.begin_s}
    yield CaseCheck("ProbeBW continues", others <= set(PROBE_BW) and not probes,
                ", ".join(sorted(others)))  # fmt: skip
