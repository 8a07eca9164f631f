"""Results from simple arithmetic in the form of the store, for tests of displayed values.

Four caricatures of algorithms fill a link of known rate and queue: their windows grow and are cut,
and their round-trip times follow from the queue.  They do not model TCP.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cwndlab import stats

INTERVAL_S = 0.1
BASE_RTT_S = 0.04


@dataclass(frozen=True)
class Caricature:
    """The growth and the cuts of a window."""

    gain_pkts_s: float
    cut: float
    ceiling: float
    """Of the queue, as a share: a delay-based algorithm stays far below 1."""
    share: float
    """Of the link's rate that becomes goodput."""


CARICATURES = {
    "cubic": Caricature(14.0, 0.7, 1.0, 0.99),
    "bbr": Caricature(40.0, 0.9, 0.12, 0.97),
    "westwood": Caricature(8.0, 0.55, 0.6, 0.975),
    "vegas": Caricature(20.0, 0.95, 0.05, 0.89),
    "reno": Caricature(7.0, 0.5, 1.0, 0.93),
}


@dataclass
class SyntheticResults:
    """Replaces `cwndlab.api.results.Results`."""

    algorithms: tuple[str, ...] = ("cubic", "bbr", "westwood", "vegas")
    repetitions: int = 20
    flows_per_run: int = 1
    rates_mbit_s: tuple[float, ...] = (32.0,)
    duration_s: float = 60.0
    noise: float = 0.01
    path: Path = Path("results/synthetic")
    manifest: list[dict[str, object]] = field(default_factory=list)

    @property
    def factors(self) -> tuple[str, ...]:
        return ("algorithm", "rate")

    def __post_init__(self) -> None:
        runs, flows, samples, events, links = [], [], [], [], []
        for rate in self.rates_mbit_s:
            for repetition in range(self.repetitions):
                channel = np.random.default_rng([repetition, int(rate)])
                level = 1 + self.noise * channel.standard_normal()
                for algorithm in self.algorithms:
                    key = f"{algorithm}-{rate:g}-{repetition}"
                    own = np.random.default_rng([repetition, len(algorithm), ord(algorithm[0])])
                    factors = {"algorithm": algorithm, "rate": f"{rate:g} Mbit/s"}
                    names = {
                        "run": key,
                        **factors,
                        "repetition": repetition,
                        "seed": repetition + 7,
                    }
                    made = [
                        self._flow(algorithm, rate * level / self.flows_per_run, flow, own)
                        for flow in range(self.flows_per_run)
                    ]
                    for summary, series, losses in made:
                        flows.append({**names, "factor_algorithm": algorithm, **summary})
                        samples.append(
                            pl.DataFrame(series).select(
                                *[pl.lit(v).alias(k) for k, v in names.items()], pl.all()
                            )
                        )
                        events += [{**names, **loss} for loss in losses]
                    goodput = np.array(
                        [summary["goodput_mbit_s"] for summary, _, _ in made], dtype=float
                    )
                    runs.append(
                        {
                            **names,
                            "goodput_mbit_s": float(goodput.sum()),
                            "jain_index": stats.jain_index(goodput),
                            "rtt_p50_ms": made[0][0]["rtt_p50_ms"],
                            "utilisation_pct": float(100 * goodput.sum() / rate),
                        }
                    )
                    links.append({**names, "link": "forward.0", "queue_max_pkts": 107})
        self._runs, self._flows = pl.DataFrame(runs), pl.DataFrame(flows)
        self._samples = pl.concat(samples)
        schema = {"event": pl.String, "t_s": pl.Float64, "flow": pl.Int64, "value": pl.Float64}
        self._events = pl.DataFrame(events) if events else pl.DataFrame(schema=schema)
        self._links = pl.DataFrame(links)

    def runs(self) -> pl.DataFrame:
        return self._runs

    def flows(self) -> pl.DataFrame:
        return self._flows

    def samples(self, **where: object) -> pl.DataFrame:
        return kept(self._samples, where)

    def events(self, **where: object) -> pl.DataFrame:
        return kept(self._events, where)

    def scan(self, table: str) -> pl.LazyFrame:
        return {"samples": self._samples, "flows": self._flows}[table].lazy()

    def links(self, **where: object) -> pl.DataFrame:
        return kept(self._links, where)

    def _flow(
        self, algorithm: str, rate: float, flow: int, rng: np.random.Generator
    ) -> tuple[dict[str, object], dict[str, object], list[dict[str, object]]]:
        about = CARICATURES[algorithm]
        bdp = rate * 1e6 / 12000 * BASE_RTT_S
        limit = 2 * bdp
        steps = int(self.duration_s / INTERVAL_S)
        window, threshold = 10.0, np.nan
        cwnd, ssthresh, queue, losses = np.empty(steps), np.empty(steps), np.empty(steps), []
        for step in range(steps):
            in_slow_start = np.isnan(threshold)
            window += window * 0.6 if in_slow_start else about.gain_pkts_s * INTERVAL_S
            if window > bdp + limit * about.ceiling * (1 + 0.03 * rng.standard_normal()):
                window *= about.cut if not in_slow_start else 0.6
                threshold = window
                if about.ceiling > 0.3:
                    losses.append(
                        {
                            "flow": flow,
                            "t_s": step * INTERVAL_S,
                            "event": "recovery",
                            "value": float(window),
                        }
                    )
            cwnd[step], ssthresh[step] = window, threshold
            queue[step] = max(0.0, min(window - bdp, limit))
        rtt = 1000 * (BASE_RTT_S + queue * 12000 / (rate * 1e6)) + rng.normal(0, 0.4, steps)
        speed = np.minimum(cwnd * 12000 / (rtt / 1000) / 1e6, rate)
        goodput = rate * about.share * (1 + self.noise / 3 * rng.standard_normal())
        lost = len(losses) * 6
        summary: dict[str, object] = {
            "flow": flow,
            "direction": "forward",
            "start_s": 0.0,
            "end_s": self.duration_s,
            "window_s": self.duration_s,
            "goodput_mbit_s": goodput,
            "throughput_mbit_s": goodput * 1.001,
            "rtt_mean_ms": float(rtt.mean()),
            "rtt_p50_ms": float(np.quantile(rtt, 0.5)),
            "rtt_p95_ms": float(np.quantile(rtt, 0.95)),
            "rtt_base_ms": 1000 * BASE_RTT_S,
            "sent_pkts": int(goodput * 1e6 / 12000 * self.duration_s),
            "retransmitted_pkts": lost,
            "retransmitted_pct": 100 * lost / (goodput * 1e6 / 12000 * self.duration_s),
            "timeouts": int(algorithm == "reno" and rng.random() < 0.3),
            "cwnd_mean_pkts": float(cwnd.mean()),
            "completion_ms": None,
            "utilisation_pct": 100 * goodput / rate,
        }
        series: dict[str, object] = {
            "flow": np.full(steps, flow),
            "t_s": np.arange(steps) * INTERVAL_S,
            "cwnd_pkts": cwnd,
            "ssthresh_pkts": pl.Series(ssthresh).fill_nan(None),
            "srtt_ms": rtt,
            "rtt_ms": rtt,
            "throughput_mbit_s": speed,
            "goodput_mbit_s": speed * about.share,
            "inflight_pkts": cwnd,
            "queue_pkts": queue,
            "delivery_rate_mbit_s": speed,
        }
        return summary, series, losses


def kept(frame: pl.DataFrame, where: dict[str, object]) -> pl.DataFrame:
    for name, value in where.items():
        frame = frame.filter(pl.col(name).is_in(value if isinstance(value, list) else [value]))
    return frame


@pytest.fixture(scope="session")
def results() -> SyntheticResults:
    return SyntheticResults()


@pytest.fixture(scope="session")
def one_run() -> SyntheticResults:
    return SyntheticResults(repetitions=1)


@pytest.fixture(scope="session")
def two_flows_two_rates() -> SyntheticResults:
    return SyntheticResults(
        algorithms=("cubic", "reno"),
        repetitions=6,
        flows_per_run=2,
        rates_mbit_s=(8.0, 32.0),
        duration_s=20.0,
    )
