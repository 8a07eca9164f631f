"""Choose the next measurement: the flow that would reduce the expected regret most.

The expected regret is computed for each flow that could be measured:

1. One link of a fit is assumed to be the true link. A measurement of the flow would reveal the
   goodput and queueing delay of the flow's algorithm on this link.
2. Each other link gets a weight. The weight is large if the algorithm's goodput and delay on the
   link are similar to the revealed values.
3. A user would choose the algorithm that is best for the weighted links. The regret is the relative
   loss of power of this algorithm, compared with the best algorithm for the true link. Power is
   goodput divided by the 95th percentile of the round-trip time (Kleinrock, ICC 1979).
4. Steps 1 to 3 are repeated with each other link of the fit as the true link. The expected regret
   is the mean of all these regrets.
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
"""Standard deviations, over runs on one link, of the logarithms of goodput and of delay."""
_LEAST_GAIN = 0.1
_LEAST_REGRET = 0.005


@dataclass(frozen=True, slots=True)
class NextMeasurement:
    """A proposed flow, and the expected regret without and with a measurement of this flow.

    The regret is the loss of power compared with the best algorithm; power is goodput divided by
    the 95th percentile of the round-trip time.
    """

    algorithm: str
    regret: float
    regret_after: float

    @property
    def is_worthwhile(self) -> bool:
        """True if the regret is not negligible, and a measurement reduces it by more than 10 %."""
        return self.regret > _LEAST_REGRET and self.regret_after < (1 - _LEAST_GAIN) * self.regret

    def command(self, seconds: int = 60) -> str:
        """Return the iperf3 command that measures the flow."""
        return f"iperf3 -c SERVER -t {seconds} -C {self.algorithm} -i 0.1 --json"


def next_measurement(found: Outcomes, measured: Collection[str]) -> NextMeasurement | None:
    """Return the most useful next measurement, or None if all algorithms have been measured.

    Args:
        found: predicted goodput and delay of the candidate algorithms on the inferred links.
        measured: algorithms of earlier measurements.
    """
    names = list(found.goodput_mbit_s)
    goodput = np.array([found.goodput_mbit_s[name] for name in names])
    delay = np.array([found.queueing_delay_p95_ms[name] for name in names])
    whole = np.isfinite(goodput).all(axis=0)
    goodput, delay = goodput[:, whole], delay[:, whole]
    power = goodput / (found.rtt_base_ms[whole] + delay)
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
    """Return the mean loss of power if each link uses the algorithm that is best for similar links.

    Args:
        loss: relative loss of power, compared with the best algorithm for the link, with a row for
            each algorithm and a column for each link.
        likeness: matrix whose entry (i, j) is the similarity of the links i and j.
    """
    likeness = likeness * (1 - np.eye(len(likeness)))
    expected = likeness @ loss.T
    chosen = expected.argmin(axis=1)
    return float(loss[chosen, np.arange(len(chosen))].mean())
