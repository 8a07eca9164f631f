"""Create families of wired links: drop-tail, policed, with AQM, or with competing flows.

FQ-CoDel has no separate family, because it treats a single flow as CoDel does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cwndlab.inference.family import WIRE_BYTES, Dimension, Family, longest_trip_ms

STEP_S = 1.0
"""Time in seconds between two changes of a varying rate."""
MEMORY = 0.8
"""Correlation of a varying link rate (its logarithm) with itself one step (`STEP_S`) later."""
LEAST_LOSS, LEAST_JITTER_MS, LEAST_VARIATION = 1e-6, 0.05, 0.01
"""Limits for the loss (as a fraction), the jitter and the variation of the rate. A value at or
below its limit is treated as zero."""
LEAST_BURST = 1.5
"""Mean length of loss bursts, in packets, below which losses are modelled as independent."""
_MANAGED = ("codel", "pie")
_FEWEST_SECONDS_BESIDE = 2.0
_LEAST_OF_SHORTEST, _LEAST_OF_SMOOTHED = 0.6, 0.1
"""Lower limits of a link's round-trip time, as fractions of the measured minimum. The second limit
applies if only the smoothed round-trip time was measured. If most packets waited in a queue, even
the smallest smoothed value is far above the round-trip time of the empty link."""

# Each of the lower limits of loss, jitter and variation is far below the value that is negligible,
# so that more than a third of the wires have none. Otherwise, a plain wire would be less probable
# than Wi-Fi behind an access line of the same rate.
_QUEUE = Dimension("queue", "Queue", "BDP", 0.05, 20)
_LOSS = Dimension("loss", "Random loss", "%", 1e-7, 3)
_BURST = Dimension("burst", "Mean packets per loss burst", "", 1, 30)
_JITTER = Dimension("jitter", "Jitter", "ms", 0.001, 50)
_VARIATION = Dimension("variation", "Variation in the rate", "", 0.0005, 0.6)


def wire(goodput_mbit_s: float, trip: Dimension) -> Family:
    """Return the family of wired links with a drop-tail queue, loss, jitter and a varying rate."""
    return Family(
        "wire",
        "wire",
        "wired links",
        (
            _rate(goodput_mbit_s),
            trip,
            _QUEUE,
            _LOSS,
            _BURST,
            _JITTER,
            _VARIATION,
        ),
        _wire,
    )


def policed(goodput_mbit_s: float, trip: Dimension) -> Family:
    """Return the family of wired links with a policer: a token bucket that drops excess packets."""
    return Family(
        "policed",
        "wire",
        "wired links with a policer",
        (
            Dimension("rate", "Policed rate", "Mbit/s", 0.9 * goodput_mbit_s, 5 * goodput_mbit_s),
            trip,
            Dimension("bucket", "Bucket size of the policer", "ms", 3, 3000),
            Dimension(
                "line",
                "Line rate in front of the policer",
                "multiple of the policed rate",
                1.3,
                300,
            ),
            _QUEUE,
            _LOSS,
            _JITTER,
        ),
        _policed,
    )


def managed(goodput_mbit_s: float, trip: Dimension) -> Family:
    """Return the family of wired links whose queue is managed by CoDel or PIE."""
    return Family(
        "managed",
        "wire",
        "wired links with active queue management",
        (
            _rate(goodput_mbit_s),
            trip,
            Dimension.of_choices("aqm", "Queue management", _MANAGED),
            Dimension("target", "Target queueing delay", "ms", 2, 60),
            _LOSS,
            _JITTER,
            _VARIATION,
        ),
        _managed,
    )


def shared(goodput_mbit_s: float, trip: Dimension) -> Family:
    """Return the family of wired links on which CUBIC flows compete with the measured flow.

    The times at which the competing flows start and end are parameters of the link.
    """
    return Family(
        "shared",
        "wire",
        "wired links with competing flows",
        (
            _rate(goodput_mbit_s),
            trip,
            _QUEUE,
            _LOSS,
            Dimension("others", "Number of competing flows", "", 0.6, 6.4),
            Dimension(
                "since",
                "Start time of competing flows",
                "fraction of the run",
                -0.6,
                0.9,
                is_linear=True,
            ),
            Dimension(
                "until",
                "End time of competing flows",
                "fraction of the run",
                0.2,
                1.6,
                is_linear=True,
            ),
        ),
        _shared,
    )


def round_trip(shortest_rtt_ms: float, *, is_smoothed: bool = False) -> Dimension:
    """Return the round-trip time without queueing as a parameter with its prior range.

    For `is_smoothed`, see `families`.
    """
    least = _LEAST_OF_SMOOTHED if is_smoothed else _LEAST_OF_SHORTEST
    return Dimension(
        "round_trip",
        "Round-trip time without queueing",
        "ms",
        least * shortest_rtt_ms,
        longest_trip_ms(shortest_rtt_ms),
    )


def _rate(goodput_mbit_s: float) -> Dimension:
    return Dimension("rate", "Rate", "Mbit/s", 0.9 * goodput_mbit_s, 12 * goodput_mbit_s)


def _base(value: dict[str, float], queue: float) -> dict[str, Any]:
    link: dict[str, Any] = {
        "rate": f"{value['rate'] * 1000:.0f} kbit/s",
        "delay": f"{value['round_trip'] * 500:.0f} us",
        "queue": f"{queue_packets(value | {'queue': queue})} packets",
    }
    share = value["loss"] / 100
    if share > LEAST_LOSS:
        burst = value.get("burst", 1.0)
        if burst < LEAST_BURST:
            link["loss"] = f"{100 * share:.5f} %"
        else:
            end = 1 / burst
            begin = share * end / (1 - share)
            link["loss"] = {
                "kind": "gilbert_elliott",
                "p": f"{100 * begin:.6f} %",
                "r": f"{100 * end:.3f} %",
            }
    if value.get("jitter", 0.0) > LEAST_JITTER_MS:
        link["jitter"] = f"{value['jitter'] * 1000:.0f} us"
    return link


def _varied(
    link: dict[str, Any], value: dict[str, float], duration_s: float, seed: int
) -> dict[str, Any]:
    if value["variation"] > LEAST_VARIATION:
        link["schedule"] = [
            {"at": f"{at_s:.0f} s", "rate": f"{rate * 1000:.0f} kbit/s"}
            for at_s, rate in rates(value, duration_s, seed)
        ]
    return link


def _wire(value: dict[str, float], duration_s: float, seed: int) -> dict[str, Any]:
    return {"link": _varied(_base(value, value["queue"]), value, duration_s, seed)}


def _policed(value: dict[str, float], _duration_s: float, _seed: int) -> dict[str, Any]:
    police = value["rate"] * 1000
    bucket = max(3 * WIRE_BYTES, police / 8 * value["bucket"])
    link = _base(value | {"rate": value["rate"] * value["line"]}, value["queue"])
    return {"link": link | {"police": f"{police:.0f} kbit/s, {bucket:.0f} bytes"}}


def _managed(value: dict[str, float], duration_s: float, seed: int) -> dict[str, Any]:
    link = _base(value, 40.0)
    link["aqm"] = {"kind": _MANAGED[int(value["aqm"])], "target": f"{value['target']:.3f} ms"}
    return {"link": _varied(link, value, duration_s, seed)}


def _shared(value: dict[str, float], duration_s: float, _seed: int) -> dict[str, Any]:
    link = _base(value, value["queue"])
    since_s = max(0.0, value["since"]) * duration_s
    until_s = max(value["until"] * duration_s, since_s + _FEWEST_SECONDS_BESIDE)
    others: dict[str, Any] = {
        "algorithm": "cubic",
        "count": max(1, round(value["others"])),
        "start": f"{since_s:.3f} s",
        "start_jitter": "100 ms",
    }
    if until_s < duration_s:
        others["stop"] = f"{until_s:.3f} s"
    # Begin and end of the competing flows are valid only for runs of this duration.
    return {"link": link, "flow": [{}, others], "duration": f"{duration_s:.3f} s"}


def queue_packets(value: dict[str, float]) -> int:
    """Return the size of a link's queue in packets, at least two."""
    bdp_bytes = value["rate"] * 1e6 / 8 * value["round_trip"] / 1000
    return max(2, round(value["queue"] * bdp_bytes / WIRE_BYTES))


def rates(value: dict[str, float], duration_s: float, seed: int) -> list[tuple[float, float]]:
    """Return random changes of the link rate (a lognormal Markov chain).

    Each change is a pair: the time in s and the new rate in Mbit/s.
    """
    draws = np.random.default_rng(seed).standard_normal(math.ceil(duration_s / STEP_S))
    state, found = draws[0], []
    for step, draw in enumerate(draws[1:], start=1):
        state = MEMORY * state + math.sqrt(1 - MEMORY**2) * draw
        found.append((step * STEP_S, value["rate"] * math.exp(value["variation"] * state)))
    return found
