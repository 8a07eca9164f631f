"""Choose the next measurement: the one that would reduce the expected regret most.

The expected regret is computed for each flow that could be measured, and for a probe:

1. One link of a fit is assumed to be the true link. A measurement of a flow would reveal the
   goodput and queueing delay of the flow's algorithm on this link; a probe would reveal the
   goodput, and the round-trip times under light, medium and heavy load.
2. Each other link gets a weight. The weight is large if the same quantities on the link are
   similar to the revealed values.
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
    from collections.abc import Collection, Sequence

    from cwndlab.inference.fitting import Outcomes
    from cwndlab.stats.bootstrap import Floats

_GOODPUT_NOISE, _DELAY_NOISE = 0.04, 0.15
"""Standard deviations, over runs on one link, of the logarithms of goodput and of delay."""
PROBED = {"goodput": 0.04, "light_trip": 0.02, "half_trip": 0.03, "srtt_high": 0.1}
"""Statistics that a probe reveals, and their standard deviations over runs on one link."""
_IPERF3 = "iperf3 -c SERVER -t 60 -C {} -i 0.1 --json"
_PROBE = "cwndlab live --probe --server SERVER"
_FEWEST_LINKS = 2
_LEAST_KNOWN = 0.9
_LEAST_GAIN = 0.1
_LEAST_REGRET = 0.005


@dataclass(frozen=True, slots=True)
class NextMeasurement:
    """A proposed measurement, and the expected regret without it and with it.

    The regret is the loss of power compared with the best algorithm; power is goodput divided by
    the 95th percentile of the round-trip time.
    """

    command: str
    """Command that measures; `SERVER` stands for the name of the server."""
    regret: float
    regret_after: float

    @property
    def is_worthwhile(self) -> bool:
        """True if the regret is not negligible, and a measurement reduces it by more than 10 %."""
        return self.regret > _LEAST_REGRET and self.regret_after < (1 - _LEAST_GAIN) * self.regret


def next_measurement(
    found: Outcomes, measured: Collection[str], probed: Floats | None = None
) -> NextMeasurement | None:
    """Return the most useful next measurement, or None if no possible measurement is left.

    The possible measurements are a flow of each candidate algorithm that has not been measured yet,
    and a probe if none has been measured yet.

    Args:
        found: predicted goodput and delay of the candidate algorithms on the inferred links.
        measured: algorithms of earlier measurements.
        probed: statistics of a probe on the inferred links, with a row for each name in `PROBED`
            and a column for each link; None if a probe has been measured already.
    """
    names = list(found.goodput_mbit_s)
    goodput = np.array([found.goodput_mbit_s[name] for name in names])
    delay = np.array([found.queueing_delay_p95_ms[name] for name in names])
    whole = np.isfinite(goodput).all(axis=0)
    if whole.sum() < _FEWEST_LINKS:
        return None
    goodput, delay = goodput[:, whole], delay[:, whole]
    power = goodput / (found.rtt_base_ms[whole] + delay)
    loss = 1 - power / power.max(axis=0)
    now = _regret(loss, np.ones((loss.shape[1],) * 2))
    options = []
    for n, name in enumerate(names):
        if name in measured:
            continue
        revealed = np.stack([np.log(np.maximum(goodput[n], 1e-3)), np.log(delay[n] + 1)])
        likeness = _likeness(revealed, (_GOODPUT_NOISE, _DELAY_NOISE))
        options.append(NextMeasurement(_IPERF3.format(name), now, _regret(loss, likeness)))
    known = None if probed is None else _known(probed[:, whole])
    if known is not None:
        likeness = _likeness(*known)
        options.append(NextMeasurement(_PROBE, now, _regret(loss, likeness)))
    return min(options, key=lambda each: each.regret_after, default=None)


def _known(probed: Floats) -> tuple[Floats, list[float]] | None:
    """Return the statistics of a probe that nearly all links have, and their noise; None if none.

    The few missing values are replaced by the median over the links.
    """
    rows, noise = [], []
    for row, spread in zip(probed, PROBED.values(), strict=True):
        is_known = np.isfinite(row)
        if is_known.mean() >= _LEAST_KNOWN:
            rows.append(np.where(is_known, row, np.median(row[is_known])))
            noise.append(spread)
    return (np.stack(rows), noise) if rows else None


def _likeness(revealed: Floats, noise: Sequence[float]) -> Floats:
    """Return the similarity of each pair of links, from 0 to about 1.

    Links are similar if the quantities that a measurement would reveal have similar values.

    Args:
        revealed: logarithms of these quantities, with a row for each quantity and a column for each
            link.
        noise: standard deviation of the logarithm of each quantity over runs on one link.
    """
    scaled = revealed / np.asarray(noise)[:, None]
    squares = ((scaled[:, :, None] - scaled[:, None, :]) ** 2).sum(axis=0)
    found: Floats = np.exp(-squares / 4) + 1e-6
    return found


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
