"""How well a fit predicts algorithms that were not measured, on hidden links of all families.

Each link is drawn by the seed: wires with bursts of loss, policers, queue management, competing
flows, cells and Wi-Fi; with --misspecified, paths that no family holds.  CUBIC measures each for a
minute, its links are inferred, and other algorithms are predicted on them.  Printed are the errors
of goodput and of the 95th percentile of queueing delay against the link itself, how often intervals
of 90 % hold the truth, and what two other ways give: the nearest preset, and CUBIC's own numbers.
With --ranks the ranks of true parameters among those inferred are counted, on wires drawn from the
prior: even ranks are what a calibrated fit gives (Talts and others 2018).
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.errors import MeasurementError
from cwndlab.inference import wires
from cwndlab.inference.fitting import fit_flow
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.inference.fitting import Fit

PREDICTED = ("bbr", "reno", "vegas", "westwood")
TRUTHS = 3  # runs of each algorithm on the link itself
CLOSE_TO_BEST = 0.05  # loss of goodput at which an algorithm still counts as recommended
PRESETS = ("wired-50", "bufferbloat", "lossy", "hspa-typical", "lte-typical", "lte-bad", "wifi-bad")
PRESETS += ("lte-good", "wifi-typical", "wifi-good", "nr-typical", "satellite-geo")

Settings = dict[str, Any]


@dataclass(frozen=True)
class Link:
    """The settings of a study as a family of one point."""

    text: Settings

    def settings(self, _point: object, _duration_s: float, _seed: int) -> Settings:
        """The settings."""
        return self.text


def measure(settings: Settings, algorithm: str, number: int, duration_s: float) -> MeasuredFlow:
    """A flow over a link."""
    (flow,) = Simulation(duration_s, 1).flows([(Link(settings), None, number)], algorithm)  # type: ignore[list-item]
    if flow is None:
        msg = "the flow never began"
        raise MeasurementError(msg)
    return MeasuredFlow("the hidden link", flow.row, flow.samples, flow.losses_s)


def outcome(flow: MeasuredFlow) -> tuple[float, float]:
    """Goodput in Mbit/s, and the 95th percentile of queueing delay in ms."""
    return flow.row["goodput_mbit_s"], flow.row["rtt_p95_ms"] - flow.row["rtt_base_ms"]


@dataclass
class Score:
    """What is counted over links."""

    goodput: dict[str, list[float]] = field(default_factory=dict)
    delay: dict[str, list[float]] = field(default_factory=dict)
    inside: dict[str, list[bool]] = field(default_factory=dict)
    regrets: dict[str, list[float]] = field(default_factory=dict)
    named: list[int] = field(default_factory=list)
    has_best: list[bool] = field(default_factory=list)
    explained: list[bool] = field(default_factory=list)
    family: list[bool] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def add(self, table: str, key: str, value: float) -> None:
        """Count a value."""
        getattr(self, table).setdefault(key, []).append(value)

    def print(self) -> None:
        """Print all of it."""
        for name, table in (("goodput", self.goodput), ("queueing delay", self.delay)):
            for way, values in table.items():
                median, late = 100 * np.quantile(values, [0.5, 0.9])
                print(f"{name}, {way}: error {median:.1f} % in the median, {late:.1f} % at p90")
        for name, values in self.inside.items():
            share = 100 * np.mean(values)
            print(f"{name}: within its 90 % interval in {share:.0f} % of {len(values)}")
        for way, values in self.regrets.items():
            print(f"regret, {way}: p95 {100 * np.quantile(values, 0.95):.1f} %")
        print(
            f"decision holds the best in {sum(self.has_best)} of {len(self.has_best)}, "
            f"with {np.mean(self.named):.2f} names"
        )
        print(f"explained: {sum(self.explained)} of {len(self.explained)}")
        print(f"kind of link most probable: {sum(self.family)} of {len(self.family)}")
        print(f"{np.mean(self.cpu_s):.0f} CPU s a fit with its predictions")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first link")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the measurement")
    parser.add_argument("--most", type=float, default=60.0, help="largest rate in Mbit/s")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--misspecified", action="store_true")
    parser.add_argument("--ranks", type=int, default=0, help="draws for a histogram of ranks")
    options = parser.parse_args()
    if options.ranks:
        ranks(options.ranks, options.seed, options.seconds, options.jobs)
        return
    score = Score()
    makers = STRANGE if options.misspecified else HIDDEN
    for n in range(options.first, options.first + options.links):
        kind, make = makers[n % len(makers)]
        settings = make(np.random.default_rng([options.seed, n]), options.most)
        began = time.process_time()
        try:
            flow = measure(settings, "cubic", n + 1, options.seconds)
            found = fit_flow(flow, jobs=options.jobs)
            found.outcomes(PREDICTED)
        except MeasurementError as error:
            print(f"{n:3}  {kind:12} refused: {error}", flush=True)
            score.explained.append(False)
            continue
        score.cpu_s.append(time.process_time() - began)
        score.explained.append(found.check.is_explained)
        kinds = " ".join(
            f"{each.family.name} {each.probability:.2f}" for each in found.posterior.members
        )
        first = found.posterior.members[0].family
        score.family.append(kind in {first.name, first.kind})
        line = compare(score, found, flow, settings, options.seconds)
        check = found.check
        print(
            f"{n:3}  {kind:12} {flow.row['goodput_mbit_s']:6.2f} Mbit/s [{kinds}] "
            f"p {check.probability:.2f} excess {check.excess:.2f} ({check.worst}) {line}",
            flush=True,
        )
    if score.goodput:
        score.print()
    else:
        print(f"explained: {sum(score.explained)} of {len(score.explained)}")


def compare(
    score: Score, found: Fit, measured: MeasuredFlow, settings: Settings, seconds: float
) -> str:
    """Compare predictions with the link itself; return a line about it."""
    nearest = nearest_preset(measured, seconds)
    real, guessed, by_preset, said = {}, {}, {}, []

    def truth(algorithm: str) -> tuple[float, float]:
        runs = [outcome(measure(settings, algorithm, 1000 + n, seconds)) for n in range(TRUTHS)]
        goodput, delay = np.mean(runs, axis=0)
        return float(goodput), float(delay)

    # The luck of one run, which no inference from this run can do without.
    again, measured_again = outcome(measured), truth("cubic")
    score.add("goodput", "CUBIC of itself", abs(again[0] / measured_again[0] - 1))
    score.add("delay", "CUBIC of itself", abs(again[1] / max(measured_again[1], 1.0) - 1))
    for each in found.predict(PREDICTED):
        goodput, delay = truth(each.algorithm)
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
        for name, value, ends in (
            ("goodput", goodput, each.goodput_mbit_s),
            ("delay", delay, each.queueing_delay_p95_ms),
        ):
            low, _, high = ends
            slack = 0.005 * value
            score.add("inside", name, low - slack <= value <= high + slack)
        said.append(f"{each.algorithm} {guessed[each.algorithm] / goodput - 1:+.0%}")
        said.append(f"{(each.queueing_delay_p95_ms[1] - delay) / max(delay, 1):+.0%}")
    most = max(real.values())
    for way, table in (("fit", guessed), ("nearest preset", by_preset)):
        score.add("regrets", way, 1 - real[max(table, key=lambda name: table[name])] / most)
    named = [
        name
        for name, rate in guessed.items()
        if rate >= (1 - CLOSE_TO_BEST) * max(guessed.values())
    ]
    score.named.append(len(named))
    score.has_best.append(any(real[name] >= (1 - CLOSE_TO_BEST) * most for name in named))
    return ", ".join(said)


def nearest_preset(measured: MeasuredFlow, seconds: float) -> str:
    """The preset on which CUBIC's goodput and delay are most like those that were measured."""
    own = np.log(np.maximum(outcome(measured), 0.1))

    def distance(preset: str) -> float:
        here = outcome(measure({"link": preset}, "cubic", 1, min(seconds, 20.0)))
        return float(((np.log(np.maximum(here, 0.1)) - own) ** 2).sum())

    return min(PRESETS, key=distance)


def ranks(count: int, seed: int, seconds: float, jobs: int) -> None:
    """Count in which tenth of the inferred values the true one lies, on cheap wires."""
    draws = np.random.default_rng(seed)
    family = wires.wire(3.0, 40.0)
    tenths = np.zeros((len(family.parameters), 10), int)
    for n in range(count):
        point = draws.random(len(family.parameters))
        settings = family.settings(point, seconds, n)
        truth = {name: float(value[0]) for name, value in family.values(point[None, :]).items()}
        try:
            flow = measure(settings, "cubic", n + 1, seconds)
            found = fit_flow(flow, jobs=jobs, kind="wire")
        except MeasurementError:
            continue
        member = next((m for m in found.posterior.members if m.family.name == "wire"), None)
        if member is None:
            continue
        for at, dimension in enumerate(member.family.parameters):
            values = dimension.value(member.inferred.points[:, at])
            below = member.inferred.weights[values < truth[dimension.name]].sum()
            tenths[at, min(9, int(10 * below))] += 1
    for dimension, row in zip(family.parameters, tenths, strict=True):
        even = row.sum() / 10
        chi = float(((row - even) ** 2 / max(even, 1e-9)).sum())
        print(f"{dimension.title:24} {' '.join(f'{v:3}' for v in row)}  chi2 {chi:.1f} (9)")


def between(draws: np.random.Generator, low: float, high: float) -> float:
    """A value uniform in its logarithm."""
    return math.exp(draws.uniform(math.log(low), math.log(high)))


def plain(draws: np.random.Generator, most: float) -> Settings:
    """A wire: rate, delay and a queue."""
    rate, trip = between(draws, 2, most), between(draws, 10, 200)
    packets = max(2, round(between(draws, 0.2, 6) * rate * 1e3 * trip / 8 / 1500))
    return {
        "rate": f"{rate:.3f} Mbit/s",
        "delay": f"{trip / 2:.3f} ms",
        "queue": f"{packets} packets",
    }


def hidden_wire(draws: np.random.Generator, most: float) -> Settings:
    """A wire with loss, some of it in bursts, and jitter."""
    link = plain(draws, most)
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


def hidden_policer(draws: np.random.Generator, most: float) -> Settings:
    """A wire behind a token bucket."""
    link = plain(draws, most)
    rate = float(link["rate"].split()[0])
    link["rate"] = f"{rate * between(draws, 2, 10):.3f} Mbit/s"
    bucket = max(5000, rate * 1e6 / 8 * between(draws, 0.02, 1.0))
    return {"link": link | {"police": f"{rate * 1000:.0f} kbit/s, {bucket:.0f} bytes"}}


def hidden_aqm(draws: np.random.Generator, most: float) -> Settings:
    """A wire with queue management of one of three kinds."""
    link = plain(draws, most)
    return {
        "link": link | {"queue": "2000 packets", "aqm": draws.choice(["codel", "fq_codel", "pie"])}
    }


def hidden_shared(draws: np.random.Generator, most: float) -> Settings:
    """A wire with one to three other flows from some time on."""
    other = {
        "algorithm": "cubic",
        "count": int(draws.integers(1, 4)),
        "start": f"{draws.uniform(0, 15):.2f} s",
    }
    return {"link": plain(draws, most), "flow": [{}, other]}


def hidden_cell(draws: np.random.Generator, most: float) -> Settings:
    """A cell of LTE or HSPA."""
    name = str(draws.choice(["lte", "hspa"]))
    link = {
        "preset": f"{name}-typical",
        "coverage": f"{draws.uniform(4, 18):.1f} dB",
        "server": f"{between(draws, 3, 60):.2f} ms",
        "speed": f"{between(draws, 0.5, 60):.1f} km/h",
        "cell": {"downlink": {"queue": f"{between(draws, 100, 2000):.0f} kB"}},
    }
    if name == "lte" and most < 20:  # noqa: PLR2004  Mbit/s, of a cheap benchmark
        link["bandwidth"] = "5 MHz"
    return {"link": link}


def hidden_wifi(draws: np.random.Generator, most: float) -> Settings:
    """Wi-Fi at some distance, with neighbours; half of it behind an access line that is slower."""
    wire: Settings = {}
    if draws.random() < 0.5 or most < 20:  # noqa: PLR2004  a share; Mbit/s, of a cheap benchmark
        rate = between(draws, 2, most)
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


def strange_reordering(draws: np.random.Generator, most: float) -> Settings:
    """Two paths at once, as one path on which half of the packets come later."""
    link = plain(draws, most)
    return {"link": link | {"reorder": {"kind": "late", "share": "50 %", "delay": "30 ms"}}}


def strange_outages(draws: np.random.Generator, most: float) -> Settings:
    """Handovers of a second, at which what arrives is held."""
    outages = [
        {"start": f"{at:.1f} s", "stop": f"{at + draws.uniform(0.6, 1.5):.2f} s", "kind": "hold"}
        for at in np.arange(draws.uniform(3, 8), 58, draws.uniform(8, 14))
    ]
    return {"link": plain(draws, most) | {"outages": outages}}


def strange_step(draws: np.random.Generator, most: float) -> Settings:
    """Two networks in one measurement."""
    link = plain(draws, most)
    rate = float(link["rate"].split()[0]) / between(draws, 3, 8)
    steps = [
        {"at": f"{draws.uniform(10, 20):.1f} s", "rate": f"{rate:.3f} Mbit/s", "delay": "90 ms"}
    ]
    return {"link": link | {"schedule": steps}}


def strange_proxy(draws: np.random.Generator, most: float) -> Settings:
    """What a splitting proxy shows its sender: a short path, and a rate that another path sets."""
    link = plain(draws, most)
    rate = float(link["rate"].split()[0])
    steps, at = [], 1.0
    while at < 58:  # noqa: PLR2004  s
        steps.append({"at": f"{at:.2f} s", "rate": f"{rate * between(draws, 0.05, 1):.3f} Mbit/s"})
        at += draws.uniform(0.1, 0.6)
    return {"link": link | {"delay": "2 ms", "queue": "400 packets", "schedule": steps}}


def strange_airtime(draws: np.random.Generator, _most: float) -> Settings:
    """A station far away sends on the same channel for a while."""
    link = {"preset": "wifi-typical", "server": f"{between(draws, 5, 40):.1f} ms"}
    other = {
        "user": 2,
        "direction": "uplink",
        "start": "10 s",
        "stop": f"{draws.uniform(20, 28):.0f} s",
    }
    return {"link": link, "flow": [{"user": 1}, other | {"count": 3, "algorithm": "cubic"}]}


HIDDEN: list[tuple[str, Callable[[np.random.Generator, float], Settings]]] = [
    ("wire", hidden_wire),
    ("policed", hidden_policer),
    ("managed", hidden_aqm),
    ("shared", hidden_shared),
    ("cell", hidden_cell),
    ("wifi", hidden_wifi),
]
STRANGE: list[tuple[str, Callable[[np.random.Generator, float], Settings]]] = [
    ("two paths", strange_reordering),
    ("handovers", strange_outages),
    ("two networks", strange_step),
    ("proxy", strange_proxy),
    ("airtime", strange_airtime),
]

if __name__ == "__main__":
    main()
