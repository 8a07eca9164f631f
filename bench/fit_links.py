"""Draw hidden links for `bench/fit.py`: links of every family, and paths of no family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Settings = dict[str, Any]
Rates = tuple[float, float]
"""Lowest and highest rate of the links that are drawn, in Mbit/s."""


def between(draws: np.random.Generator, low: float, high: float) -> float:
    """Draw a value that is uniform on a logarithmic scale."""
    return math.exp(draws.uniform(math.log(low), math.log(high)))


def plain(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire: rate, delay and queue."""
    rate, trip = between(draws, *rates), between(draws, 10, 200)
    packets = max(2, round(between(draws, 0.2, 6) * rate * 1e3 * trip / 8 / 1500))
    return {
        "rate": f"{rate:.3f} Mbit/s",
        "delay": f"{trip / 2:.3f} ms",
        "queue": f"{packets} packets",
    }


def hidden_wire(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire with random or bursty loss, and with jitter; some wires have neither."""
    link = plain(draws, rates)
    if draws.random() < 0.5:  # noqa: PLR2004  a share of the wires
        share = between(draws, 0.001, 0.3)
        if draws.random() < 0.5:  # noqa: PLR2004  as above
            end = draws.uniform(8, 50)
            begin = share * end / 100
            link["loss"] = {"kind": "gilbert_elliott", "p": f"{begin:.6f} %", "r": f"{end:.3f} %"}
        else:
            link["loss"] = f"{share:.5f} %"
    if draws.random() < 0.3:  # noqa: PLR2004  as above
        link["jitter"] = f"{between(draws, 0.3, 8):.3f} ms"
    return {"link": link}


def hidden_policer(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire behind a token bucket policer."""
    link = plain(draws, rates)
    rate = float(link["rate"].split()[0])
    link["rate"] = f"{rate * between(draws, 2, 10):.3f} Mbit/s"
    bucket = max(5000, rate * 1e6 / 8 * between(draws, 0.02, 1.0))
    return {"link": link | {"police": f"{rate * 1000:.0f} kbit/s, {bucket:.0f} bytes"}}


def hidden_aqm(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire with one of three kinds of active queue management."""
    link = plain(draws, rates)
    return {
        "link": link | {"queue": "2000 packets", "aqm": draws.choice(["codel", "fq_codel", "pie"])}
    }


def hidden_shared(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire that one to three CUBIC flows join within the first 15 s."""
    other = {
        "algorithm": "cubic",
        "count": int(draws.integers(1, 4)),
        "start": f"{draws.uniform(0, 15):.2f} s",
    }
    return {"link": plain(draws, rates), "flow": [{}, other]}


def hidden_cell(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a cell of LTE or HSPA."""
    name = str(draws.choice(["lte", "hspa"]))
    link = {
        "preset": f"{name}-typical",
        "coverage": f"{draws.uniform(4, 18):.1f} dB",
        "server": f"{between(draws, 3, 60):.2f} ms",
        "speed": f"{between(draws, 0.5, 60):.1f} km/h",
        "cell": {"downlink": {"queue": f"{between(draws, 100, 2000):.0f} kB"}},
    }
    if name == "lte" and rates[1] < 20:  # noqa: PLR2004  Mbit/s, of a cheap benchmark
        link["bandwidth"] = "5 MHz"
    return {"link": link}


def hidden_wifi(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw Wi-Fi at some distance, with neighbours; half of it is behind a slower access line."""
    wire: Settings = {}
    if draws.random() < 0.5 or rates[1] < 20:  # noqa: PLR2004  a share; Mbit/s, of a cheap benchmark
        rate = between(draws, *rates)
        wire = {"wire": {"rate": f"{rate:.3f} Mbit/s", "queue": "100 packets"}}
    return {
        "link": {
            "preset": "wifi-typical",
            "server": f"{between(draws, 3, 60):.2f} ms",
            **wire,
            "wifi": {
                "station": {"x": f"{between(draws, 5, 32):.1f} m"},
                "queue_packets": round(between(draws, 60, 1000)),
                "interference": {"share": f"{draws.uniform(2, 40):.1f} %"},
            },
        }
    }


def strange_reordering(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a path that delays half of its packets, as if packets took two paths."""
    link = plain(draws, rates)
    return {"link": link | {"reorder": {"kind": "late", "share": "50 %", "delay": "30 ms"}}}


def strange_outages(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire with handovers of about a second, during which the link holds all packets."""
    outages = [
        {"start": f"{at:.1f} s", "stop": f"{at + draws.uniform(0.6, 1.5):.2f} s", "kind": "hold"}
        for at in np.arange(draws.uniform(3, 8), 58, draws.uniform(8, 14))
    ]
    return {"link": plain(draws, rates) | {"outages": outages}}


def strange_step(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a wire whose rate and delay change once, as if the network had changed."""
    link = plain(draws, rates)
    rate = float(link["rate"].split()[0]) / between(draws, 3, 8)
    steps = [
        {"at": f"{draws.uniform(10, 20):.1f} s", "rate": f"{rate:.3f} Mbit/s", "delay": "90 ms"}
    ]
    return {"link": link | {"schedule": steps}}


def strange_proxy(draws: np.random.Generator, rates: Rates) -> Settings:
    """Draw a splitting proxy: the sender sees a short path, whose rate another path determines."""
    link = plain(draws, rates)
    rate = float(link["rate"].split()[0])
    steps, at = [], 1.0
    while at < 58:  # noqa: PLR2004  s
        steps.append({"at": f"{at:.2f} s", "rate": f"{rate * between(draws, 0.05, 1):.3f} Mbit/s"})
        at += draws.uniform(0.1, 0.6)
    return {"link": link | {"delay": "2 ms", "queue": "400 packets", "schedule": steps}}


def strange_airtime(draws: np.random.Generator, _rates: Rates) -> Settings:
    """Draw Wi-Fi on whose channel a second user sends for a while."""
    link = {"preset": "wifi-typical", "server": f"{between(draws, 5, 40):.1f} ms"}
    other = {
        "user": 2,
        "direction": "uplink",
        "start": "10 s",
        "stop": f"{draws.uniform(20, 28):.0f} s",
    }
    return {"link": link, "flow": [{"user": 1}, other | {"count": 3, "algorithm": "cubic"}]}


HIDDEN: list[tuple[str, Callable[[np.random.Generator, Rates], Settings]]] = [
    ("wire", hidden_wire),
    ("policed", hidden_policer),
    ("managed", hidden_aqm),
    ("shared", hidden_shared),
    ("cell", hidden_cell),
    ("wifi", hidden_wifi),
]
STRANGE: list[tuple[str, Callable[[np.random.Generator, Rates], Settings]]] = [
    ("two paths", strange_reordering),
    ("handovers", strange_outages),
    ("two networks", strange_step),
    ("proxy", strange_proxy),
    ("airtime", strange_airtime),
]
