"""Fit links to measured flows, and predict the results of other algorithms on these links."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import MeasurementError
from cwndlab.inference.choice import ROUNDS, choose, points_of
from cwndlab.inference.families import families
from cwndlab.inference.importance import adjusted_values, adjusting_features
from cwndlab.inference.measurement import LONGEST_S
from cwndlab.inference.posterior import LEVEL, Check, Member, Posterior, Prediction
from cwndlab.inference.probe import Ramp
from cwndlab.inference.simulation import Simulation
from cwndlab.schema.application import STANDARD_PROBE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cwndlab.inference.family import Family
    from cwndlab.inference.measurement import MeasuredFlow
    from cwndlab.inference.posterior import Estimate
    from cwndlab.inference.simulation import PlacedPoint
    from cwndlab.stats.bootstrap import Floats

PROBE_S, PROBE_INTERVAL_S = 30.0, 0.1
"""Duration of the probe of `cwndlab live --probe`, and the time between its samples."""
REPLICATES = 100
"""Number of inferred links that are drawn for predictions.

On each of these links, the flow's own algorithm and all algorithms to compare are simulated.
"""
HOST_DELAY_MS = 1.0
"""Delay, in ms, that the measuring computers themselves cause.

Interrupts and scheduling change single round-trip times by up to about 1 ms. Simulations do not
contain this delay. For example, the 95th percentile of the measured queueing delay was 1.2 ms on
the kernel's emulated links with a policer, although they had hardly any queue
(docs/notes/2026-11-inference.md).
"""
_GOODPUT_MARGIN, _DELAY_MARGIN = 0.05, 0.2
"""Widening of the intervals of goodput and of delay if the links do not explain the measurement.
Each end of an interval moves outwards by this difference of logarithms. The values were chosen with
the simulated measurements of seeds 701 and 509 (docs/notes/2026-11-inference.md)."""
_LEAST_MBIT_S, _SHORT_MS = 0.01, 5.0
"""Values that prevent huge ratios of very small numbers. `_LEAST_MBIT_S` is the lower limit of a
simulated goodput. `_SHORT_MS` is added to the measured and to the simulated delay before one is
divided by the other."""
_FIRST_OF_PREDICTIONS = 1_000_000
_FIRST_OF_REPLICATES = 2_000_000
_FIRST_OF_UNCORRECTED = 3_000_000
_ADJUSTING = (
    "goodput",
    "rtt_base",
    "rtt_p95",
    "srtt_least",
    "srtt_low",
    "srtt_high",
    "light_trip",
    "half_trip",
    "cwnd_mid",
    "retransmitted",
    "low_second",
    "high_second",
)
"""Names of the summary statistics that the regression in `Fit` uses to correct predictions."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Goodput and delay of several algorithms on the same links; NaN marks failed runs."""

    goodput_mbit_s: dict[str, Floats]
    queueing_delay_p95_ms: dict[str, Floats]
    rtt_base_ms: Floats
    """Minimum round-trip time on each link."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Weighted links that were fitted to measured flows, and a check of these links."""

    flows: tuple[MeasuredFlow, ...]
    posterior: Posterior
    check: Check
    simulation: Simulation
    _kept: dict[tuple[str, Simulation], tuple[Floats, Floats, Floats]] = field(
        default_factory=dict, repr=False
    )

    @property
    def duration_s(self) -> float:
        """Simulated duration of each flow."""
        return self.simulation.duration_s

    def estimates(self) -> list[Estimate]:
        """Return an estimate of each parameter of the most probable family of links.

        Each estimate has an interval. If the links do not explain the measurement, the interval is
        widened.
        """
        return self.posterior.estimates(self.check.widening)

    def draw(self, count: int) -> list[tuple[Family, Floats]]:
        """Sample links in proportion to their probability; the sampled links have equal weights.

        If the links do not explain the measurement, the spread of the links is increased.
        """
        return self.posterior.draw(count, self.check.widening)

    def outcomes(self, algorithms: Sequence[str]) -> Outcomes:
        """Simulate each algorithm alone on the same links; return all goodputs and delays.

        If the links explain the measurement, a regression corrects the results for the difference
        between the simulated and the measured statistics of the flow. If the links do not explain
        the measurement, the results are scaled instead. The scaled results of the measured
        algorithm equal its measured goodput and delay.
        """
        correct = self._adjusted if self.check.is_explained else self._relative
        goodput, delay, bases = {}, {}, []
        for algorithm in algorithms:
            *results, base = self._simulated(algorithm)
            goodput[algorithm], delay[algorithm] = correct(*results)
            bases.append(base)
        return Outcomes(goodput, delay, np.fmin.reduce(bases))

    def _simulated(
        self, algorithm: str, simulation: Simulation | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Simulate the algorithm alone on each of `REPLICATES` links; return its results.

        By default, a bulk flow that lasts as long as the measurement is simulated.

        The results are the goodput in Mbit/s, the 95th percentile of the queueing delay in ms, and
        the minimum round-trip time in ms. They are NaN for a failed simulation.
        """
        simulation = simulation or self.simulation
        kept = algorithm, simulation
        if kept not in self._kept:
            draws = self._placed()
            goodput, delay, base = np.full((3, len(draws)), np.nan)
            for n, flow in enumerate(simulation.flows(draws, algorithm)):
                if flow is not None and flow.row.get("rtt_p95_ms") is not None:
                    goodput[n] = flow.row["goodput_mbit_s"]
                    base[n] = flow.row["rtt_base_ms"]
                    delay[n] = flow.row["rtt_p95_ms"] - base[n]
            self._kept[kept] = goodput, delay, base
        return self._kept[kept]

    def probed(self, names: Sequence[str]) -> Floats | None:
        """Simulate a probe on each of `REPLICATES` links; return a row for each statistic.

        Statistics of failed simulations are NaN. If one of the measured flows is itself a probe,
        nothing is simulated, and the result is None.
        """
        if any(flow.probe is not None for flow in self.flows):
            return None
        ramp = Ramp.of(STANDARD_PROBE, self.flows[0].row["goodput_mbit_s"], PROBE_S)
        probing = Simulation(PROBE_S, self.simulation.jobs, PROBE_INTERVAL_S, ramp)
        return probing.numbers(self._placed(), "cubic", names).T

    def _placed(self) -> list[PlacedPoint]:
        """Draw `REPLICATES` links for predictions; number each link, to derive its random seeds."""
        links = enumerate(self.draw(REPLICATES), _FIRST_OF_PREDICTIONS)
        return [(family, point, number) for number, (family, point) in links]

    def _adjusted(self, goodput: Floats, delay: Floats) -> tuple[Floats, Floats]:
        """Correct predictions for the difference between simulated and measured statistics.

        The correction is a regression of the predictions on the simulated statistics.
        """
        names = list(self.posterior.measured)
        used = [n for n, name in enumerate(names) if name in _ADJUSTING]
        here = np.array(list(self.posterior.measured.values()))[used]
        features = adjusting_features(self.posterior.replicates[:, used], here)
        rates = adjusted_values(np.log(np.maximum(goodput, _LEAST_MBIT_S)), features)
        delays = adjusted_values(np.log1p(np.maximum(delay, 0)), features)
        return np.exp(rates), np.expm1(np.maximum(delays, 0))

    def _relative(self, goodput: Floats, delay: Floats) -> tuple[Floats, Floats]:
        """Scale predictions so that those for the measured algorithm equal the measurement.

        The factor is the measured result of this algorithm, divided by its simulated result on the
        same link. Delays stay unchanged if no 95th percentile of unsmoothed round-trip times was
        measured.
        """
        flow = self.flows[0]
        probing = None
        if (ramp := flow.ramp) is not None:
            probing = replace(self.simulation, duration_s=_simulated_s(flow), ramp=ramp)
        own_goodput, own_delay, _ = self._simulated(flow.algorithm, probing)
        goodput = goodput * flow.row["goodput_mbit_s"] / np.maximum(own_goodput, _LEAST_MBIT_S)
        if flow.row.get("rtt_p95_ms") and not flow.is_smoothed:
            measured_ms = flow.row["rtt_p95_ms"] - flow.row["rtt_base_ms"]
            ratio = (measured_ms + _SHORT_MS) / (np.maximum(own_delay, 0) + _SHORT_MS)
            delay = np.maximum((delay + _SHORT_MS) * ratio - _SHORT_MS, 0)
        return goodput, delay

    def predict(self, algorithms: Sequence[str]) -> list[Prediction]:
        """Predict the results of each algorithm for a bulk flow on the fitted links.

        The flow lasts as long as the measurement; competing flows are those of the fitted links.
        """
        found = self.outcomes(algorithms)
        predictions = []
        for name in algorithms:
            goodput = self._interval(found.goodput_mbit_s[name], _GOODPUT_MARGIN)
            low, middle, high = self._interval(found.queueing_delay_p95_ms[name], _DELAY_MARGIN)
            delay = max(low - HOST_DELAY_MS, 0.0), middle, high + HOST_DELAY_MS
            predictions.append(Prediction(name, goodput, delay))
        return predictions

    def _interval(self, values: Floats, margin: float) -> tuple[float, float, float]:
        """Return the lower end of the 90 % interval, the median and the upper end.

        If the links do not explain the measurement, their predictions are less certain. In this
        case, the interval is widened at both ends by `margin`, a difference of logarithms.
        """
        shares = [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]
        low, middle, high = (float(value) for value in np.nanquantile(values, shares))
        factor = 1.0 if self.check.is_explained else math.exp(margin)
        return low / factor, middle, high * factor


def points_to_simulate(flows: Sequence[MeasuredFlow], kind: str) -> int:
    """Return the approximate number of simulations for a fit.

    Raises:
        MeasurementError: a flow contains too little information about its link.
    """
    for flow in flows:
        flow.numbers()
    return points_of(len(_families(flows, kind))) + REPLICATES


def fit_flow(
    flow: MeasuredFlow | Sequence[MeasuredFlow],
    *,
    jobs: int,
    kind: str = "any",
    seed: int = 1,
    rounds: int = ROUNDS,
    on_points: Callable[[int], None] | None = None,
) -> Fit:
    """Infer the links of a flow, or of several flows measured one after the other.

    Args:
        flow: the measurement, or several measurements of the same path.
        jobs: number of parallel simulations.
        kind: kind of links: `any`, `wire`, `cell` or `wifi`.
        seed: seed for all random draws; the same measurement and seed result in the same links.
        rounds: number of rounds of the inference; each round refines the result.
        on_points: function that is called with the number of simulations done so far.

    Raises:
        MeasurementError: the flow contains too little information about its link, or no kind of
            link reproduces the flow.
        StudyError: the flow's algorithm or stack is unknown.
    """
    flows = tuple(flow) if isinstance(flow, (list, tuple)) else (flow,)
    measured = {
        f"{n}/{name}" if n else name: value
        for n, each in enumerate(flows)
        for name, value in each.numbers().items()
    }
    names = [
        [key.split("/")[-1] for key in measured if _owner(key) == n] for n in range(len(flows))
    ]
    simulation = Simulation(max(_simulated_s(each) for each in flows), jobs)
    members = _families(flows, kind)
    done = 0

    def simulate(draws: list[PlacedPoint]) -> Floats:
        nonlocal done
        parts = [
            Simulation(_simulated_s(each), jobs, each.interval_s, each.ramp).numbers(
                draws, each.algorithm, own, each.fastest_mbit_s
            )
            for each, own in zip(flows, names, strict=True)
        ]
        done += len(draws)
        if on_points is not None:
            on_points(done)
        return np.hstack(parts)

    chosen = choose(
        np.array(list(measured.values())),
        [len(family.parameters) for family in members],
        lambda position, points, first: simulate(
            [(members[position], point, first + n) for n, point in enumerate(points)]
        ),
        seed=seed,
        rounds=rounds,
    )
    if not chosen:
        msg = f"{flows[0].place}: no family of links reproduces this flow"
        raise MeasurementError(msg)
    total = sum(each.probability for each in chosen)
    found = tuple(
        Member(members[each.position], each.probability / total, each.inferred) for each in chosen
    )
    posterior = Posterior(found, measured, np.empty((0, len(measured))))

    def simulated_again(links: Posterior, first: int) -> Posterior:
        return replace(
            links,
            replicates=simulate(
                [
                    (family, point, first + n)
                    for n, (family, point) in enumerate(links.draw(REPLICATES))
                ]
            ),
        )

    posterior = simulated_again(posterior, _FIRST_OF_REPLICATES)
    check = posterior.check()
    if not check.is_explained:
        # The regression that corrects the links may be wrong if no simulation resembles the
        # measurement. The correction is then kept only if it helps; the check remains the same.
        raw = simulated_again(posterior.uncorrected(), _FIRST_OF_UNCORRECTED)
        posterior = min(posterior, raw, key=lambda each: each.distance())
    return Fit(flows, posterior, check, simulation)


def _families(flows: Sequence[MeasuredFlow], kind: str) -> list[Family]:
    goodput = max(each.row["goodput_mbit_s"] for each in flows)
    known = [each for each in flows if each.row.get("rtt_base_ms")]
    shortest = min(known, key=lambda each: float(each.row["rtt_base_ms"]))
    return families(goodput, shortest.row["rtt_base_ms"], kind, is_smoothed=shortest.is_smoothed)


def _simulated_s(flow: MeasuredFlow) -> float:
    """Return the duration in s for which a measured flow is simulated."""
    return min(flow.duration_s, LONGEST_S)


def _owner(key: str) -> int:
    return int(key.partition("/")[0]) if "/" in key else 0
