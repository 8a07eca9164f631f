"""Draw the worlds of bench/trial.py: random conditions for every period of a trial.

A *wire* is a shared queue whose rate drifts and has busy hours, with varying cross traffic.  A
*cell* and a *Wi-Fi* network are drawn from a preset and its ranges.  The trial's flows belong to
one user, whose SINR (or distance) drifts from period to period; the number of other users of the
cell, or the airtime of the neighbouring network, follows the time of day; in some periods, another
source interferes.  The cross traffic of a cell shares the user's queue; that of a Wi-Fi network
belongs to the other stations, if there are any.
"""

from __future__ import annotations

import copy
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.judge.sampling import vary
from cwndlab.study import matrix
from cwndlab.study.places import Arguments

if TYPE_CHECKING:
    import numpy as np

PERIOD_S, WASHOUT_S = 10, 3
KINDS = ("wire", "cell", "wifi")
_COVERAGES = ("good", "typical", "typical", "bad")
"""Half of the radio networks have typical coverage."""
_DRIFT_DB, _DRIFT = 0.8, 0.08
"""Innovation of the drift per period: of the SINR in dB, and of rates and distances as a share."""
_MEMORY = 0.9
_INTERFERED, _INTERFERENCE_DB, _INTERFERENCE_SHARE = 0.15, 4.0, 20.0
"""Share of the periods with another source of interference, and what it costs in dB or airtime."""
_MOST_AIRTIME = 60.0
_BUSY_USERS = 2.0
"""Users that a cell has more at the busiest hour, and fewer at the quietest."""
_BACKGROUND = {"way": "down", "lowest": "8 dB", "highest": "16 dB", "on": "2 s", "off": "4 s"}
_NEIGHBOUR = {"kind": "heard", "mean_burst": "2 ms"}
_INNER_DRIFT, _INNER_DRIFT_DB = 0.35, 5
"""Standard deviation of the drift within a period: of the logarithm of the rate, and of the SINR
in dB."""
_LONGEST_S = 120
"""Longest duration of a period with drift, in seconds."""
_OTHER_STATIONS = {"good": 0, "typical": 2, "bad": 5}


@dataclass(frozen=True)
class Conditions:
    """The conditions of one period of a world."""

    link: dict[str, Any]
    """Keys of the link in a study, by path."""
    cross: int
    """Number of CUBIC flows that do not take part in the trial."""
    users: int = 0
    """Number of users of a radio network who own these flows; 0 if the flows share one queue."""
    is_radio: bool = False
    """Whether the channel varies at random, in the same way for all algorithms of a period."""
    bursts: tuple[tuple[float, float], ...] = ()
    """Cross traffic that comes and goes within the period: mean seconds of data and of silence."""


def drifting(
    kind: str, conditions: Conditions, draws: np.random.Generator, *, slowest_s: float = 20
) -> Conditions:
    """Return the conditions of a period in which they also change from second to second.

    The rate of a wire changes by a factor with a standard deviation of 0.35 in its logarithm, the
    SINR of a cell's user by 5 dB; on Wi-Fi, one to three flows of other stations come and go. The
    correlation time (or the mean duration of data and silence) is 2 to 20 s, drawn anew for each
    period.
    """
    memory_s = math.exp(draws.uniform(math.log(2), math.log(slowest_s)))
    if kind == "wifi":
        durations = [(memory_s / 2, memory_s) for _ in range(int(draws.integers(1, 4)))]
        return replace(conditions, bursts=tuple(durations))
    link = copy.deepcopy(conditions.link)
    if kind == "cell":
        sigma = link.pop("link.cell.user.drifts.0.sigma", "3 dB")
        shadow = {"sigma": f"{_INNER_DRIFT_DB} dB", "correlation": f"{memory_s:.2f} s"}
        link["link.cell.user.drifts"] = [{"sigma": sigma, "correlation": "10 s"}, shadow]
        return replace(conditions, link=link)
    keys = dict(part.split("=") for part in str(link["link"]).split(","))
    rate = _number(keys["rate"])
    memory, state, steps = math.exp(-1 / memory_s), draws.normal(), []
    for at_s in range(_LONGEST_S):
        state = memory * state + math.sqrt(1 - memory**2) * draws.normal()
        now = rate * math.exp(_INNER_DRIFT * state)
        steps.append({"at": f"{at_s} s", "rate": f"{now:.3f} Mbit/s"})
    changed = {f"link.{name}": value for name, value in keys.items()}
    return replace(conditions, link={**changed, "link.schedule": steps})


def world(kind: str, draws: np.random.Generator, periods: int) -> list[Conditions]:
    """Draw the conditions of all periods of a trial."""
    if kind == "wire":
        return _wire(draws, periods)
    coverage = str(draws.choice(_COVERAGES))
    family = "wifi" if kind == "wifi" else str(draws.choice(["lte", "nr"]))
    preset, seed = f"{family}-{coverage}", int(draws.integers(2**31))
    given = ["duration", "stack", "server_host", "direction"]
    changes = dict(vary(preset, 1, seed, given=given).draws[0].changes)
    phase, state, cross, found = draws.uniform(0, 2 * math.pi), 0.0, 0, []
    for n in range(periods):
        state = _MEMORY * state + draws.normal()
        busy = math.sin(phase + 2 * math.pi * n / periods)
        cross = _cross(draws, cross)
        is_interfered = draws.random() < _INTERFERED
        vary_period = _wifi_period if kind == "wifi" else _cell_period
        link = {"link": preset, **vary_period(changes, state, busy, is_interfered=is_interfered)}
        others = _OTHER_STATIONS[coverage] if kind == "wifi" else 0
        found.append(Conditions(link, cross, others, is_radio=True))
    return found


def _cross(draws: np.random.Generator, cross: int) -> int:
    """Return the number of cross-traffic flows in the next period."""
    return int(draws.poisson(1)) if draws.random() < 0.4 else cross  # noqa: PLR2004  now and then


def _wire(draws: np.random.Generator, periods: int) -> list[Conditions]:
    rate = math.exp(draws.uniform(math.log(5), math.log(30)))
    delay_ms = math.exp(draws.uniform(math.log(8), math.log(50)))
    queue_bdp = math.exp(draws.uniform(math.log(0.5), math.log(4)))
    queue = max(20, round(queue_bdp * rate * 1e3 * 2 * delay_ms / 12_000))
    phase, state, cross, found = draws.uniform(0, 2 * math.pi), 0.0, 0, []
    for n in range(periods):
        state = _MEMORY * state + draws.normal(0, _DRIFT)
        busy = 0.3 * math.sin(phase + 2 * math.pi * n / periods)
        cross = _cross(draws, cross)
        text = (
            f"rate={rate * math.exp(state + busy):.3f} Mbit/s,delay={delay_ms:.3f} ms,"
            f"queue={queue} packets"
        )
        found.append(Conditions({"link": text}, cross))
    return found


def _cell_period(
    changes: dict[str, Any], state: float, busy: float, *, is_interfered: bool
) -> dict[str, Any]:
    """Return the keys of a cell in a period: the user's SINR, and the number of other users."""
    keys = copy.deepcopy(changes)
    shift_db = _DRIFT_DB * state - (_INTERFERENCE_DB if is_interfered else 0.0)
    for way in ("downlink", "uplink"):
        name = f"link.cell.user.{way}"
        keys[name] = f"{_number(keys[name]) + shift_db:.2f} dB"
    (background,) = keys.get("link.cell.background") or [{"users": 0, **_BACKGROUND}]
    users = max(0, round(background["users"] + _BUSY_USERS * busy))
    keys["link.cell.background"] = [{**background, "users": users}] if users else []
    return keys


def _wifi_period(
    changes: dict[str, Any], state: float, busy: float, *, is_interfered: bool
) -> dict[str, Any]:
    """Return the keys of a Wi-Fi network in a period: distance, and airtime of the neighbour."""
    keys = copy.deepcopy(changes)
    name = "link.wifi.station.x"
    keys[name] = f"{_number(keys[name]) * math.exp(_DRIFT * state):.2f} m"
    interference = keys.pop("link.wifi.interference", None) or {**_NEIGHBOUR, "share": "0 %"}
    share = _number(interference["share"]) * (1 + 0.8 * busy)
    share += _INTERFERENCE_SHARE if is_interfered else 0.0
    if share > 0:
        text = f"{min(share, _MOST_AIRTIME):.2f} %"
        keys["link.wifi.interference"] = {**interference, "share": text}
    return keys


def _number(text: str) -> float:
    return float(text.partition(" ")[0])


def scenario(
    conditions: Conditions,
    flows: list[dict[str, Any]],
    seed: int,
    *,
    duration_s: float = PERIOD_S,
    washout_s: float = WASHOUT_S,
    samples_s: float | None = None,
) -> str:
    """Return the scenario of a period as JSON."""
    others = [
        {"algorithm": "cubic", **({"user": 2 + n % conditions.users} if conditions.users else {})}
        for n in range(conditions.cross)
    ]
    for n, (on_s, off_s) in enumerate(conditions.bursts):
        application = {
            "on": f"{on_s:.2f} s",
            "off": f"{off_s:.2f} s",
            "distribution": "exponential",
        }
        user = {"user": 2 + n % conditions.users} if conditions.users else {}
        others.append(
            {"algorithm": "cubic", "application": {"kind": "on_off", **application}, **user}
        )
    document: dict[str, Any] = {
        "duration": f"{duration_s:g} s",
        "warm_up": f"{washout_s:g} s",
        "start_jitter": "500 ms",
        "record": {"events": False, "samples": "none" if samples_s is None else f"{samples_s:g} s"},
        "seed": seed,
        "flow": flows + others,
        "factors": {"network": [{"name": "drawn", **conditions.link}]},
    }
    _, _, (cell,) = matrix.build(document, Arguments(document), Path())
    text = cell.resolved.scenario.model_dump(mode="json", exclude_none=True)
    return json.dumps(text | {"seed": seed})
