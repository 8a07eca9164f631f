"""Measure the errors of a fit's predictions for unmeasured algorithms, on hidden random links.

The seed determines the links: wires with loss bursts, policers, queue management or competing
flows; cells; and Wi-Fi. With --misspecified, the paths belong to no family of the fit. CUBIC
measures each link for a minute or, with --probe, by a probe of 30 s. Links are inferred from this
measurement, and other algorithms are predicted on the inferred links. The program prints the errors
of goodput and of the 95th percentile of queueing delay compared with the true link, how often 90 %
intervals contain the true value, and the errors of two simpler predictions: the nearest preset, and
CUBIC's own results. For each goal,
the program prints how often the decision on the inferred links contains the algorithm with the
highest mean utility on the true link, the number of algorithms that the decision names, and the
number of algorithms whose true utility is within the indifference zone of the highest. It also
prints how often the algorithm named first is nearly the best in truth, beside the share of inferred
links on which it is. With --ranks, the program counts the ranks of the true parameters among the
inferred parameters, on wires drawn from the prior: a calibrated fit has uniform ranks (Talts and
others 2018).
"""

from __future__ import annotations

import argparse
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from fit_links import HIDDEN, STRANGE

from cwndlab.errors import MeasurementError
from cwndlab.inference import importance, wires
from cwndlab.inference.fitting import PROBE_INTERVAL_S, PROBE_S, fit_flow
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.probe import Ramp
from cwndlab.inference.simulation import Simulation
from cwndlab.inference.summaries import summarize
from cwndlab.judge.decision import ZONE, GainsAndCosts, decide_runs
from cwndlab.judge.goals import BALANCE, DELAY_FLOOR_MS, LATENCY, STARVED_MBIT_S, THROUGHPUT
from cwndlab.judge.weighing import likely_best
from cwndlab.schema.application import STANDARD_PROBE

if TYPE_CHECKING:
    from fit_links import Settings
    from numpy.typing import NDArray

    from cwndlab.inference.family import Family
    from cwndlab.inference.fitting import Fit
    from cwndlab.schema.application import Probe
    from cwndlab.stats.bootstrap import Floats

PREDICTED = ("bbr", "reno", "vegas", "westwood")
CANDIDATES = ("cubic", *PREDICTED)  # of the decisions: what is used today, and the others
TRUTHS = 30  # runs of each algorithm on the true link; runs on a cell differ by a quarter
PRESETS = ("wired-50", "bufferbloat", "lossy", "hspa-typical", "lte-typical", "lte-bad", "wifi-bad")
PRESETS += ("lte-good", "wifi-typical", "wifi-good", "nr-typical", "satellite-geo")


@dataclass(frozen=True)
class Link:
    """A family that contains a single link, given as the settings of a study."""

    text: Settings

    def settings(self, _point: object, _duration_s: float, _seed: int) -> Settings:
        """Return the settings of the link."""
        return self.text


def measure(
    settings: Settings, algorithm: str, number: int, duration_s: float, probe: Probe | None = None
) -> MeasuredFlow:
    """Simulate one flow over a link, and return the flow as a measurement."""
    interval_s = 1.0 if probe is None else PROBE_INTERVAL_S
    ramp = None if probe is None else Ramp(probe, 0)
    simulation = Simulation(duration_s, 1, interval_s, ramp)
    (flow,) = simulation.flows([(Link(settings), None, number)], algorithm)  # type: ignore[list-item]
    if flow is None:
        msg = "the flow never began"
        raise MeasurementError(msg)
    return MeasuredFlow("the hidden link", flow.row, flow.samples, flow.losses_s, probe)


def outcome(flow: MeasuredFlow) -> tuple[float, float]:
    """Return the goodput in Mbit/s and the 95th percentile of the queueing delay in ms."""
    return flow.row["goodput_mbit_s"], flow.row["rtt_p95_ms"] - flow.row["rtt_base_ms"]


@dataclass(frozen=True)
class Named:
    """A decision for one goal on the inferred links, compared with the true link."""

    names: int
    has_best: bool
    """True if the decision names the algorithm with the highest true utility."""
    true_names: int
    """Number of algorithms whose true utility is within the indifference zone of the highest."""
    loss: float
    """True loss of mean utility with the algorithm that the decision names first."""
    robust: float
    """Share of the inferred links on which this algorithm is nearly the best."""

    @property
    def is_good(self) -> bool:
        """True if the algorithm that the decision names first is nearly the best in truth."""
        return self.loss <= ZONE


@dataclass
class Score:
    """Results of all links."""

    goodput: dict[str, list[float]] = field(default_factory=dict)
    delay: dict[str, list[float]] = field(default_factory=dict)
    inside: dict[str, list[float]] = field(default_factory=dict)
    widths: dict[str, list[float]] = field(default_factory=dict)
    """Upper end of each interval divided by its lower end, of delays after adding 5 ms to both."""
    regrets: dict[str, list[float]] = field(default_factory=dict)
    decisions: dict[str, list[Named]] = field(default_factory=dict)
    explained: list[bool] = field(default_factory=list)
    honest: list[bool] = field(default_factory=list)
    """True for each link that is noticed as unexplained, or whose intervals contain all truths."""
    family: list[bool] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def add(self, table: str, key: str, value: float | Named) -> None:
        """Append a value to a list in a table of lists."""
        getattr(self, table).setdefault(key, []).append(value)

    def print(self) -> None:
        """Print medians, percentiles and shares over all links."""
        for name, table in (("goodput", self.goodput), ("queueing delay", self.delay)):
            for way, values in table.items():
                median, late = 100 * np.quantile(values, [0.5, 0.9])
                print(f"{name}, {way}: error {median:.1f} % in the median, {late:.1f} % at p90")
        for name, values in self.inside.items():
            share = 100 * np.mean(values)
            print(f"{name}: within its 90 % interval in {share:.0f} % of {len(values)}")
        for name, values in self.widths.items():
            print(f"{name}: intervals span a factor of {np.median(values):.2f} in the median")
        for way, values in self.regrets.items():
            print(f"regret, {way}: p95 {100 * np.quantile(values, 0.95):.1f} %")
        for goal, named in self.decisions.items():
            print(
                f"decision, {goal}: contains the best in {sum(n.has_best for n in named)} of "
                f"{len(named)}, with {np.mean([n.names for n in named]):.2f} names; "
                f"{np.mean([n.true_names for n in named]):.2f} are within the zone; "
                f"loss of utility p95 {100 * np.quantile([n.loss for n in named], 0.95):.1f} %"
            )
            print(
                f"decision, {goal}: the first is nearly the best in "
                f"{sum(n.is_good for n in named)} of {len(named)}, with a stated probability of "
                f"{np.mean([n.robust for n in named]):.2f} in the mean; "
                f"Brier score {np.mean([(n.robust - n.is_good) ** 2 for n in named]):.3f}"
            )
        print(f"explained: {sum(self.explained)} of {len(self.explained)}")
        print(f"unexplained, or all intervals right: {sum(self.honest)} of {len(self.honest)}")
        print(f"kind of link most probable: {sum(self.family)} of {len(self.family)}")
        print(f"{np.mean(self.cpu_s):.0f} CPU s a fit with its predictions")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first link")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="duration of the measurement in seconds"
    )
    parser.add_argument("--least", type=float, default=2.0, help="lowest rate in Mbit/s")
    parser.add_argument("--most", type=float, default=60.0, help="largest rate in Mbit/s")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--probe",
        dest="is_probe",
        action="store_true",
        help="infer links from a probe of 30 s, as `cwndlab live --probe` measures it",
    )
    parser.add_argument("--misspecified", action="store_true")
    parser.add_argument(
        "--ranks", type=int, default=0, help="number of draws for a histogram of ranks"
    )
    options = parser.parse_args()
    if options.ranks:
        ranks(options.ranks, options.seed, options.seconds, options.jobs)
        return
    score = Score()
    with contextlib.suppress(KeyboardInterrupt):  # print the summary of the links so far
        infer(score, options)
    if score.goodput:
        score.print()
    else:
        print(f"explained: {sum(score.explained)} of {len(score.explained)}")


def infer(score: Score, options: argparse.Namespace) -> None:
    """Infer each hidden link from one flow of CUBIC, and compare the predictions with the truth."""
    makers = STRANGE if options.misspecified else HIDDEN
    seconds = PROBE_S if options.is_probe else options.seconds
    for n in range(options.first, options.first + options.links):
        kind, make = makers[n % len(makers)]
        settings = make(np.random.default_rng([options.seed, n]), (options.least, options.most))
        began = time.process_time()
        refused = ""
        try:
            flow = measure(settings, "cubic", n + 1, seconds)
            measured = flow
            if options.is_probe:
                measured = measure(settings, "cubic", n + 1, PROBE_S, STANDARD_PROBE)
            found = fit_flow(measured, jobs=options.jobs)
            if found.check.is_refused:
                refused = f"excess {found.check.excess:.2f} ({found.check.worst})"
        except MeasurementError as error:
            refused = str(error)
        if refused:
            print(f"{n:3}  {kind:12} refused: {refused}", flush=True)
            score.explained.append(False)
            score.honest.append(True)
            continue
        found.outcomes(CANDIDATES)
        score.cpu_s.append(time.process_time() - began)
        score.explained.append(found.check.is_explained)
        kinds = " ".join(
            f"{each.family.name} {each.probability:.2f}" for each in found.posterior.members
        )
        first = found.posterior.members[0].family
        score.family.append(kind in {first.name, first.kind})
        line, is_right = compare(score, found, flow, settings, seconds, n)
        check = found.check
        score.honest.append(is_right or not check.is_explained)
        print(
            f"{n:3}  {kind:12} {flow.row['goodput_mbit_s']:6.2f} Mbit/s [{kinds}] "
            f"p {check.probability:.2f} excess {check.excess:.2f} ({check.worst}) {line}",
            flush=True,
        )


def compare(
    score: Score, found: Fit, measured: MeasuredFlow, settings: Settings, seconds: float, link: int
) -> tuple[str, bool]:
    """Compare predictions with the true link.

    Return the errors as one line of text, and whether all intervals contain the true means.
    """
    nearest = nearest_preset(measured, seconds)
    real, guessed, by_preset, said = {}, {}, {}, []
    right: dict[str, list[bool]] = {"goodput": [], "delay": []}

    def truth(algorithm: str) -> Floats:
        """Return goodput and delay of runs whose random numbers no other link uses."""
        first = 1_000 * (link + 1)
        runs = [measure(settings, algorithm, first + n, seconds) for n in range(TRUTHS)]
        return np.array([outcome(run) for run in runs]).T

    # The error of CUBIC's own run: no inference from a single run can avoid this error.
    truths = {"cubic": truth("cubic")}
    again, measured_again = outcome(measured), truths["cubic"].mean(axis=1)
    score.add("goodput", "CUBIC of itself", abs(again[0] / measured_again[0] - 1))
    score.add("delay", "CUBIC of itself", abs(again[1] / max(measured_again[1], 1.0) - 1))
    for each in found.predict(PREDICTED):
        runs = truths[each.algorithm] = truth(each.algorithm)
        goodput, delay = (float(value) for value in runs.mean(axis=1))
        preset = outcome(measure({"link": nearest}, each.algorithm, 1, seconds))
        real[each.algorithm], by_preset[each.algorithm] = goodput, preset[0]
        guessed[each.algorithm] = each.goodput_mbit_s[1]
        ways = {
            "fit": (each.goodput_mbit_s[1], each.queueing_delay_p95_ms[1]),
            "nearest preset": preset,
            "as CUBIC": outcome(measured),
        }
        for way, (rate, wait) in ways.items():
            score.add("goodput", way, abs(rate / goodput - 1))
            score.add("delay", way, abs(wait - delay) / max(delay, 1.0))
        for name, value, of_runs, ends in (
            ("goodput", goodput, runs[0], each.goodput_mbit_s),
            ("delay", delay, runs[1], each.queueing_delay_p95_ms),
        ):
            low, _, high = ends
            least = 5.0 if name == "delay" else 0.0
            score.add("widths", name, (high + least) / (low + least))
            slack = 0.005 * value
            score.add("inside", name, is_right := low - slack <= value <= high + slack)
            right[name].append(is_right)
            is_inside = (low - slack <= of_runs) & (of_runs <= high + slack)
            score.add("inside", f"{name} of one run", float(is_inside.mean()))
        said.append(f"{each.algorithm} {guessed[each.algorithm] / goodput - 1:+.0%}")
        said.append(f"{(each.queueing_delay_p95_ms[1] - delay) / max(delay, 1):+.0%}")
    most = max(real.values())
    for way, table in (("fit", guessed), ("nearest preset", by_preset)):
        score.add("regrets", way, 1 - real[max(table, key=lambda name: table[name])] / most)
    inferred = found.outcomes(CANDIDATES)
    on_inferred = gains_and_costs(inferred.goodput_mbit_s, inferred.queueing_delay_p95_ms)
    on_true = gains_and_costs(
        {name: goodput for name, (goodput, _) in truths.items()},
        {name: delay for name, (_, delay) in truths.items()},
    )
    for goal in (THROUGHPUT, BALANCE, LATENCY):
        first = decide_runs(CANDIDATES, on_inferred, goal, "cubic").first
        by_link = on_inferred.utilities(goal)
        even = np.full(by_link.shape[1], 1 / by_link.shape[1])
        best = [] if first is None else likely_best(by_link, even, CANDIDATES.index(first))
        own = by_link[best[0]] if best else np.full(by_link.shape[1], -np.inf)
        utility = dict(zip(CANDIDATES, on_true.utilities(goal).mean(axis=1), strict=True))
        most_useful = max(utility.values())
        named = Named(
            names=len(best),
            has_best=CANDIDATES.index(max(utility, key=lambda name: utility[name])) in best,
            true_names=sum(each > most_useful - ZONE for each in utility.values()),
            loss=float("inf") if first is None else most_useful - utility[first],
            robust=float((own >= by_link.max(axis=0) - ZONE).mean()),
        )
        score.add("decisions", goal.name, named)
    said += [f"{name} right {sum(each)} of {len(each)}" for name, each in right.items()]
    return ", ".join(said), all(right["goodput"] + right["delay"])


def gains_and_costs(
    goodput_mbit_s: dict[str, Floats], queueing_delay_p95_ms: dict[str, Floats]
) -> GainsAndCosts:
    """Return the logarithms by which the goals judge runs; rows are the candidates."""
    goodput = np.array([goodput_mbit_s[name] for name in CANDIDATES])
    delay = np.array([queueing_delay_p95_ms[name] for name in CANDIDATES])
    whole = np.isfinite(goodput).all(axis=0) & np.isfinite(delay).all(axis=0)
    goodput, delay = goodput[:, whole], delay[:, whole]
    return GainsAndCosts(
        np.log(np.maximum(goodput, STARVED_MBIT_S)), np.log(np.maximum(delay, 0) + DELAY_FLOOR_MS)
    )


def nearest_preset(measured: MeasuredFlow, seconds: float) -> str:
    """Return the preset on which CUBIC's goodput and delay are nearest to the measured values."""
    own = np.log(np.maximum(outcome(measured), 0.1))

    def distance(preset: str) -> float:
        here = outcome(measure({"link": preset}, "cubic", 1, min(seconds, 20.0)))
        return float(((np.log(np.maximum(here, 0.1)) - own) ** 2).sum())

    return min(PRESETS, key=distance)


def ranks(count: int, seed: int, seconds: float, jobs: int) -> None:
    """Count in which tenth of the inferred distribution each true value lies, on cheap wires.

    The prior of a fit depends on the measurement. Here, truth and fit have the same fixed prior, as
    simulation-based calibration requires.
    """
    family = wires.wire(0.5, wires.round_trip(40.0))
    tenths = np.zeros((len(family.parameters), 10), int)
    with contextlib.suppress(KeyboardInterrupt):  # print the ranks so far
        for n in range(count):
            point = np.random.default_rng([seed, n]).random(len(family.parameters))
            tenths[np.arange(len(point)), tenths_of(family, point, n, seconds, jobs)] += 1
    print(f"{tenths[0].sum()} draws")
    for dimension, row in zip(family.parameters, tenths, strict=True):
        even = row.sum() / 10
        chi = float(((row - even) ** 2 / max(even, 1e-9)).sum())
        print(f"{dimension.title:36} {' '.join(f'{v:3}' for v in row)}  chi2 {chi:.1f} (9)")


def tenths_of(
    family: Family, point: Floats, number: int, seconds: float, jobs: int
) -> NDArray[np.int64]:
    """Infer the parameters of a wire; return in which tenth of its weights each true one lies."""
    simulation = Simulation(seconds, jobs)
    flow = measure(family.settings(point, seconds, number), "cubic", number + 1, seconds)
    numbers = summarize(flow.row, flow.samples, flow.losses_s)

    def simulate(points: Floats, first: int) -> Floats:
        draws = [(family, each, 1_000_000 + first + n) for n, each in enumerate(points)]
        return simulation.numbers(draws, "cubic", list(numbers))

    inferred = importance.infer(np.array(list(numbers.values())), len(point), simulate, seed=number)
    below = ((inferred.points < point) * inferred.weights[:, None]).sum(axis=0)
    return np.minimum(9, (10 * below).astype(np.int64))


if __name__ == "__main__":
    main()
