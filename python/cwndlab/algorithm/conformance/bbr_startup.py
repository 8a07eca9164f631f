"""Test BBR's phases Startup, Drain and ProbeRTT.

The test cases are those of draft-ietf-ccwg-bbr, "BBR Example Test Cases".

The draft defines the expected behaviour; this module chooses the properties of the path. The
parameters of BBR's model cannot be read directly. The cases therefore derive the bandwidth from
the pacing rate, and the inflight bounds from the congestion window. The pacing rate is 99 % of
gain times bandwidth. As long as the bandwidth estimate stays the same, ratios of pacing rates are
therefore ratios of gains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.algorithm.conformance.bench import (
    RTT_S,
    Bench,
    NotReachedError,
    Observation,
    bdp_pkts,
    payload_mbit_s,
)
from cwndlab.algorithm.conformance.case import CaseCheck, follows, within

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTUP = "startup"
DRAIN = "drain"
DOWN = "probe_bw_down"
CRUISE = "probe_bw_cruise"
REFILL = "probe_bw_refill"
UP = "probe_bw_up"
PROBE_RTT = "probe_rtt"
PHASES = (STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT)
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

PACING_MARGIN = 0.99
MIN_PIPE_PKTS = 4
_OFFLOAD_PKTS = 6
"""Smallest amount of data, in packets, that BBR aims to keep in flight so that
segmentation offload works well."""


def us(t_s: float) -> str:
    """Format a time as microseconds, in the notation of study files, such as 25000 us."""
    return f"{t_s * 1e6:.0f} us"


def pacing(run: Observation, begin_s: float, end_s: float) -> float:
    """Return the median pacing rate, in Mbit/s, in a time window of a run."""
    rates = run.column("pacing_rate_mbit_s", begin_s, end_s)
    return float(sorted(rates)[len(rates) // 2])


def bandwidth(run: Observation, cruise_after_s: float) -> float:
    """Return the bandwidth estimate, in Mbit/s, in the first ProbeBW_CRUISE after a given time."""
    stay = run.stay(CRUISE, after=cruise_after_s)
    return pacing(run, stay.begin_s + 0.001, stay.end_s) / PACING_MARGIN


def startup_plateau(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 1: Startup ends when the bandwidth has reached a plateau."""
    run = bench.run("3 s")
    drain = run.stay(DRAIN)
    startup = run.stay(STARTUP)
    estimate = pacing(run, drain.begin_s + 0.001, drain.end_s) / 0.5 / PACING_MARGIN
    link = payload_mbit_s()
    yield within("bandwidth estimate, relative to the link rate", estimate / link, 0.98, 1.02)
    ends = [(end_s, run.at("delivery_rate_mbit_s", end_s)) for end_s in
            run.round_ends(startup.begin_s, drain.begin_s + 0.002)]  # fmt: skip
    base, plateau = 0.0, 0
    for _, rate in ends:
        base, plateau = (rate, 0) if rate >= 1.25 * base else (base, plateau + 1)
    yield within(
        "round trips at the end of Startup in which the bandwidth grows by less than 25 %",
        plateau,
        3,
        3,
        digits=0,
    )
    yield follows("Drain follows Startup", run.next_phase(startup), DRAIN)
    yield CaseCheck(
        "Drain lasts more than half an RTT (its pacing gain should be 0.5)",
        drain.length_s > RTT_S / 2,
        f"{drain.length_s * 1000:.0f} ms",
    )


def startup_loss(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 2: losses end Startup even if the application limits the sender."""
    limited = {"kind": "paced", "rate": "20 Mbit/s", "write": "1448 bytes"}
    link = {"rate": "50 Mbit/s", "queue": "300 packets"}
    begin_s = 1.5

    def pulse(share: str, length_s: float) -> Observation:
        changes = [
            {"at": us(begin_s), "loss": share},
            {"at": us(begin_s + length_s), "loss": "0 %"},
        ]
        return bench.run("3 s", link | {"schedule": changes}, application=limited)

    calm = pulse("0.5 %", 6 * RTT_S)
    yield follows(
        "a loss rate below 2 % does not end Startup", calm.next_phase(calm.stay(STARTUP)), ""
    )
    run = pulse("25 %", 4 * RTT_S)
    startup = run.stay(STARTUP)
    # The application limits inflight, so it may already be below the BDP when Drain begins; the
    # same ACK then ends Drain.
    yield follows("Drain follows Startup", run.next_phase(startup), DRAIN, DOWN, CRUISE)
    rounds = (startup.end_s - begin_s) / RTT_S
    yield within("round trips from the losses until Drain begins", rounds, 1, 7, digits=1)


def drain_inflight(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 3: Drain ends when inflight has fallen to the BDP."""
    run = bench.run("3 s")
    drain = run.stay(DRAIN)
    rate = pacing(run, drain.begin_s + 0.001, drain.end_s)
    yield within("pacing gain of Drain (0.5 expected)", rate / (bandwidth(run, drain.end_s - 0.01) *
                 PACING_MARGIN), 0.48, 0.52)  # fmt: skip
    target = max(int(bdp_pkts(rtt_s=RTT_S * 1.03)), _OFFLOAD_PKTS)
    before = run.at("inflight_pkts", drain.end_s - 0.005)
    after = run.at("inflight_pkts", drain.end_s)
    yield within("data in flight shortly before Drain ends, in BDP", before / target, 1.0, 1.4)
    yield within("data in flight when Drain ends, in BDP", after / target, 0.8, 1.06)
    follow = run.next_phase(drain)
    yield follows("ProbeBW follows Drain", follow, DOWN, CRUISE)


def drain_time(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 4: Drain ends after its maximum time.

    The link rate is halved when Drain begins, so the queue hardly drains at a pacing gain of 0.5.
    """
    first = bench.run("1 s").stay(DRAIN)
    slower = {"schedule": [{"at": us(first.begin_s), "rate": "4.8 Mbit/s"}]}
    run = bench.run("3 s", slower | {"queue": "200 packets"})
    drain = run.stay(DRAIN)
    flight = run.at("inflight_pkts", drain.end_s - 0.002)
    wanted = "data in flight when Drain ends, in BDP (more than 1 expected)"
    yield within(wanted, flight / bdp_pkts(), 1.05, 3)
    rounds = run.rounds(drain.begin_s, drain.end_s + 0.002)
    yield within("rounds in Drain", rounds, 3, 5, digits=0)
    yield follows("ProbeBW follows Drain", run.next_phase(drain), DOWN, CRUISE)


def probe_rtt(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 10: ProbeRTT begins about 5 s after the start, and ends after 200 ms."""
    run = bench.run("8 s")
    stay = run.stay(PROBE_RTT)
    yield within("seconds until ProbeRTT", stay.begin_s, 4.9, 5.4)
    floor = max(0.5 * bdp_pkts(rtt_s=RTT_S * 1.06), MIN_PIPE_PKTS)
    flight = run.column("inflight_pkts", stay.end_s - 0.1, stay.end_s - 0.01)
    yield within("data in flight in ProbeRTT, in BDP", float(flight.max()) / floor / 2, 0.3, 0.55)
    yield within("duration", stay.length_s * 1000, 200, 200 + 3000 * RTT_S, "ms", digits=0)
    yield follows("ProbeBW follows ProbeRTT", run.next_phase(stay), *PROBE_BW)
    resumed = run.rate_mbit_s(stay.end_s + RTT_S, stay.end_s + 0.5)
    yield within(
        "rate of acknowledged data after ProbeRTT, relative to the link rate",
        resumed / payload_mbit_s(),
        0.9,
        1.05,
    )


def probe_rtt_skipped(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 11: BBR skips ProbeRTT, because the application has been idle."""
    idle = {"kind": "on_off", "on": "3.5 s", "off": "6 s"}
    run = bench.run("11 s", application=idle)
    run.stay(CRUISE)
    probes = [stay for stay in run.stays if stay.phase == PROBE_RTT]
    if run.column("inflight_pkts", 5.0, 9.0).max() > 0:
        msg = "data are in flight between 5 s and 9 s, although the application should be idle"
        raise NotReachedError(msg)
    yield CaseCheck("ProbeRTT is skipped", not probes, f"entered {len(probes)} times")
    resumed = run.rate_mbit_s(9.8, 10.8)
    yield within(
        "rate of acknowledged data after the idle time, relative to the link rate",
        resumed / payload_mbit_s(),
        0.9,
        1.05,
    )


def probe_rtt_in_startup(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 20: ProbeRTT interrupts Startup.

    The application sends at less than the link rate.
    """
    limited = {"kind": "paced", "rate": "4 Mbit/s", "write": "1448 bytes"}
    run = bench.run("8 s", application=limited)
    stay = run.stay(PROBE_RTT)
    before = {each.phase for each in run.stays if each.begin_s < stay.begin_s}
    yield CaseCheck("Startup precedes ProbeRTT", before == {STARTUP}, ", ".join(sorted(before)))
    yield within("duration", stay.length_s * 1000, 200, 200 + 3000 * RTT_S, "ms", digits=0)
    yield follows("Startup follows ProbeRTT", run.next_phase(stay), STARTUP)


def aggregation_in_startup(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 12: Startup finds the bandwidth although ACKs arrive in bursts, every 25 ms.

    On a kernel, a sender can send a packet between two ACKs of a burst. The delivery rate sample
    of such a packet can be up to 25 % too high. The check therefore accepts bandwidth estimates
    of up to 1.3 times the link rate.
    """
    rate, rtt_s, bunch_s = 40.0, 0.080, 0.025
    link = {"rate": f"{rate} Mbit/s", "delay": "40 ms", "queue": "1200 packets"}
    run = bench.run("3 s", link, reverse_link=_bunched("40 ms", bunch_s))
    drain = run.stay(DRAIN)
    bdp = bdp_pkts(rate, rtt_s)
    window = run.column("cwnd_pkts", 0, drain.begin_s).max()
    yield within("window in Startup, in BDP", float(window) / bdp, 2.0, 6)
    estimate = bandwidth(run, 0)
    yield within(
        "bandwidth estimate, relative to the link rate", estimate / payload_mbit_s(rate), 0.9, 1.3
    )
    yield within("seconds until Drain", drain.begin_s, 0, 2)


def aggregation_in_cruise(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 13: ProbeBW_CRUISE uses the whole link although ACKs arrive in bursts.

    The intervals between bursts exceed the path's RTT. The link rate is only 20 Mbit/s, so that
    a burst acknowledges few packets. In response to so few ACKs, a kernel sends all new packets
    within a millisecond. With larger bursts, a kernel would respond too slowly, and the emulated
    link would forward packets late.
    """
    rate, bunch_s = 20.0, 0.040
    link = {"rate": f"{rate} Mbit/s", "delay": "5 ms", "queue": "500 packets"}
    run = bench.run("5 s", link, reverse_link=_bunched("5 ms", bunch_s))
    cruise = run.stay(CRUISE)
    lowest_s = float(run.column("rtt_ms", 0, 5).min()) / 1000
    window = run.column("cwnd_pkts", cruise.begin_s + 0.3, 4.9)
    base = 2 * bdp_pkts(rate, lowest_s)
    yield within("mean window minus 2 BDP", float(window.mean()) - base, 1,
                 5 * bdp_pkts(rate, bunch_s), "packets", digits=0)  # fmt: skip
    moved = run.rate_mbit_s(cruise.begin_s + 0.3, 4.9)
    yield within(
        "rate of acknowledged data, relative to the link rate",
        moved / payload_mbit_s(rate),
        0.92,
        1.02,
    )


def small_bdp(bench: Bench) -> Iterator[CaseCheck]:
    """Test case 14: BBR uses the whole link on a path whose BDP is a sixth of a packet."""
    rate = 1.0
    link = {"rate": f"{rate} Mbit/s", "delay": "1 ms", "queue": "50 packets"}
    run = bench.run("12 s", link)
    cruise = run.stay(CRUISE)
    windows = run.column("cwnd_pkts", cruise.begin_s, 12)
    yield within("smallest window", float(windows.min()), MIN_PIPE_PKTS, 10, "packets", digits=0)
    estimate = bandwidth(run, 0)
    yield within(
        "bandwidth estimate, relative to the link rate",
        estimate / payload_mbit_s(rate),
        0.95,
        1.1,
    )
    moved = run.rate_mbit_s(2, 11.9)
    yield within(
        "rate of acknowledged data, relative to the link rate",
        moved / payload_mbit_s(rate),
        0.95,
        1.02,
    )


def _bunched(delay: str, period_s: float) -> dict[str, str]:
    return {"rate": "100 Mbit/s", "delay": delay, "jitter": f"bunched {period_s * 1000:g} ms"}
