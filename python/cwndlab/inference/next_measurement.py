"""The next measurement: which further flow would lower the expected regret most.

Each link of a fit is taken for the truth in turn.  A further flow of an algorithm would show its
goodput and queueing delay there; the other links count by how near theirs are, and the decision is
made by what is left.  The regret is the power that the decision loses against the best algorithm of
the link: goodput over the round trip's 95th percentile (Kleinrock, ICC 1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from cwndlab.inference.fitting import Outcomes
    from cwndlab.stats.bootstrap import Floats

_GOODPUT_NOISE, _DELAY_NOISE = 0.04, 0.15
"""By how much two runs on a link differ, in logarithms."""
_LEAST_GAIN = 0.1
_LEAST_REGRET = 0.005


@dataclass(frozen=True, slots=True)
class NextMeasurement:
    """A further flow, and the loss of power that is expected without and with it."""

    algorithm: str
    regret: float
    regret_after: float

    @property
    def is_worthwhile(self) -> bool:
        """Whether the flow would change much."""
        return self.regret > _LEAST_REGRET and self.regret_after < (1 - _LEAST_GAIN) * self.regret

    def command(self, seconds: int = 60) -> str:
        """The flow as iperf3 makes it."""
        return f"iperf3 -c SERVER -t {seconds} -C {self.algorithm} --json"


def next_measurement(
    found: Outcomes, base_rtt_ms: float, measured: Collection[str]
) -> NextMeasurement | None:
    """The algorithm whose flow is worth most; None if all have been measured.

    Args:
        found: what the candidates get on links of a fit.
        base_rtt_ms: the shortest round trip.
        measured: algorithms of which there is a flow.
    """
    names = list(found.goodput_mbit_s)
    goodput = np.array([found.goodput_mbit_s[name] for name in names])
    delay = np.array([found.queueing_delay_p95_ms[name] for name in names])
    whole = np.isfinite(goodput).all(axis=0)
    goodput, delay = goodput[:, whole], delay[:, whole]
    power = goodput / (base_rtt_ms + delay)
    loss = 1 - power / power.max(axis=0)
    now = _regret(loss, np.ones((loss.shape[1],) * 2))
    options = []
    for n, name in enumerate(names):
        if name in measured:
            continue
        rates, delays = np.log(np.maximum(goodput[n], 1e-3)), np.log(delay[n] + 1)
        apart = (rates[:, None] - rates) ** 2 / (2 * _GOODPUT_NOISE**2)
        apart += (delays[:, None] - delays) ** 2 / (2 * _DELAY_NOISE**2)
        options.append(NextMeasurement(name, now, _regret(loss, np.exp(-apart / 2) + 1e-6)))
    return min(options, key=lambda each: each.regret_after, default=None)


def _regret(loss: Floats, likeness: Floats) -> float:
    """Mean loss on each link by the decision of the others, as like as they are."""
    likeness = likeness * (1 - np.eye(len(likeness)))
    expected = likeness @ loss.T
    chosen = expected.argmin(axis=1)
    return float(loss[chosen, np.arange(len(chosen))].mean())
