"""Compare replays of recorded cells, with and without packet trains, with the cells themselves.

The reference is a simulated cell. The cell is recorded with the same seed, and therefore with the
same channel, in the way in which a real cell can be recorded: each direction is saturated; short
packet trains are sent at irregular intervals while the cell is idle; and pairs of packets show how
long the cell stays busy after a packet. Downloads with CUBIC and a web page then begin at many
times of the recording, over three links: the cell; the replay of the saturated link alone (as with
Mahimahi, with half of the shortest round trip in each direction); and the replay with packet
trains. The error of a workload is the error of its mean completion time.

The model was developed with `lte-good`, `lte-typical`, `nr-good` and `hspa-good`, with variants of
`nr-good` that have a worse uplink or downlink, and with seeds 1 and 2. Therefore, these settings do
not run by default. The replayed queues have the limits of the cell's queues, which a recorder
cannot measure.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import core
from cwndlab.measure.busy import BusyState, Pairs
from cwndlab.measure.light_heavy import FIRST_BYTES, full_packets
from cwndlab.run.saturation import PACKET_BYTES, saturate
from cwndlab.schema import scenario as si
from cwndlab.schema.application import Application, Sized, Web
from cwndlab.schema.direction import Direction
from cwndlab.study.describe import read_link
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    import numpy.typing as npt

    from cwndlab.resolve import ResolvedLink

NS_PER_S, NS_PER_MS = 10**9, 10**6
MOST_ERROR_PCT, MOST_SHARE, WRONG_PCT, FEWEST_WRONG = 7.0, 0.5, 14.0, 4
TRAIN_GAP_S = (0.08, 0.12)  # irregular, so that the periods of a cell's grants can be found
MOST_LOAD = 0.3  # largest share of a link's rate that the trains use
PAIRS = 192  # as in a recording of a minute
PAIR_GAP_MS = (1, 100)
BEFORE_PAIR_MS = (100, 120)
DEFAULT_AFTER_MS = 10.0
STARTS = 80
WORKLOADS: dict[str, Application] = {
    "100 kB": Sized(bytes=100_000),
    "1 MB": Sized(bytes=1_000_000),
    "10 MB": Sized(bytes=10_000_000),
    "page": Web(
        document_bytes=18_000, objects=65, object_bytes=35_000, parse_ns=50_000_000, count=1
    ),
}
SETTINGS = {  # the link, and the length of its recording in s
    "NR, typical": ("nr-typical", 60),
    "NR, bad": ("nr-bad", 60),
    "NR, good, requests every 20 ms": ("nr-good,cell.access.request_period=20 ms", 60),
    "NR, good, 60 km/h": ("nr-good,speed=60 km/h", 60),
    "NR, good, server at 20 ms": ("nr-good,server=20 ms", 60),
    "LTE, good, server at 3 ms": ("lte-good,server=3 ms", 100),
    "LTE, good, requests every 20 ms": ("lte-good,cell.access.request_period=20 ms", 100),
    "LTE, good, requests every 40 ms": ("lte-good,cell.access.request_period=40 ms", 100),
    "LTE, good, requests every 80 ms": ("lte-good,cell.access.request_period=80 ms", 100),
    "LTE, good, 60 km/h": ("lte-good,speed=60 km/h", 100),
    "LTE, bad": ("lte-bad", 200),
    "HSPA, typical": ("hspa-typical", 200),
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recording of one direction of a cell."""

    arrived_ms: npt.NDArray[np.float64]
    """Arrivals of packets while the direction is saturated."""
    sent_ms: npt.NDArray[np.float64]
    """Times of sending of the packet trains."""
    trains_ms: npt.NDArray[np.float64]
    """Delays of the packets of each train; NaN if lost."""
    busy_delay_ms: float
    after_ms: float

    @property
    def shortest_ms(self) -> float:
        """The shortest base delay of a train."""
        return float(np.nanmin(self.trains_ms[:, 0]))

    def heavy(self, earlier_ms: float) -> str:
        """Return the Mahimahi trace of the saturated direction, without a propagation delay."""
        stamps = np.maximum(np.ceil(self.arrived_ms - earlier_ms), 0).astype(int)
        return "\n".join(map(str, stamps.tolist())) + "\n"

    def light(self) -> str:
        """Return the packet trains in CellReplay's format."""
        lines = []
        for sent, delays in zip(self.sent_ms, self.trains_ms, strict=True):
            arrived = np.sort(delays[~np.isnan(delays)])
            if not np.isnan(delays[0]):
                offsets = " ".join(f"{each:.3f}" for each in arrived - arrived[0])
                lines.append(f"{sent:.3f} {arrived[0]:.3f} {offsets}")
        return "\n".join(lines) + "\n"


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", help="names of the settings to run; all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--link", help="link to record for 100 s, instead of the settings")
    options = parser.parse_args()
    settings = SETTINGS if options.link is None else {options.link: (options.link, 100)}
    names = options.settings or list(settings)
    heads = "".join(f"{name:>9}" for name in WORKLOADS)
    print(f"seed {options.seed}, {options.starts} starts, errors in %")
    print(f"{'setting':34}{'replay':7}{heads}{'mean':>9}")
    wrong, missed = 0, []
    for name in names:
        spec, seconds = settings[name]
        errors = errors_pct(spec, options.seed, options.starts, seconds)
        means = {}
        for replay, found in errors.items():
            means[replay] = float(np.mean([abs(each) for each in found.values()]))
            cells = "".join(f"{each:9.1f}" for each in found.values())
            print(f"{name:34}{replay:7}{cells}{means[replay]:9.1f}", flush=True)
        is_wrong = means["heavy"] > WRONG_PCT
        wrong += is_wrong
        most = min(MOST_ERROR_PCT, MOST_SHARE * means["heavy"])
        if is_wrong and means["light"] > most:
            missed.append(f"{name}: {means['light']:.1f} % instead of at most {most:.1f} %")
    print(f"{wrong} settings with an error of more than {WRONG_PCT:.0f} % without packet trains")
    for each in missed:
        print(f"MISSED {each}")
    return int(bool(missed) or wrong < FEWEST_WRONG)


def errors_pct(spec: str, seed: int, starts: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return the error of each workload's mean completion time with each replay, in percent."""
    _, cell = read_link(spec)
    recorded = {way: record(cell, way, seed, seconds) for way in Direction}
    rate_mbit_s = saturate(cell, Direction.DOWNLINK, 20 * NS_PER_S, seed=seed).rate_mbit_s
    plan = Plan(seed, starts, seconds, rate_mbit_s)
    truth = {name: plan.completion_ms(cell, load) for name, load in WORKLOADS.items()}
    with tempfile.TemporaryDirectory() as folder:
        replays = {
            "heavy": heavy_only(recorded, cell, Path(folder)),
            "light": light_heavy(recorded, cell, Path(folder)),
        }
        errors = {}
        for name, replay in replays.items():
            found = {work: plan.completion_ms(replay, load) for work, load in WORKLOADS.items()}
            errors[name] = {
                work: 100 * (found[work].mean() / truth[work].mean() - 1) for work in WORKLOADS
            }
    return errors


def record(cell: ResolvedLink, way: Direction, seed: int, seconds: float) -> Recorded:
    """Record one direction of a cell."""
    saturated = saturate(cell, way, round(seconds * NS_PER_S), seed=seed)
    random = np.random.default_rng(seed)
    packet_s = PACKET_BYTES * 8e-6 / saturated.rate_mbit_s
    packets = full_packets(packet_s * 1e3)
    slower = max(1.0, packets * packet_s / (MOST_LOAD * TRAIN_GAP_S[0]))
    sent_ms = times_ms(random, (slower * TRAIN_GAP_S[0], slower * TRAIN_GAP_S[1]), seconds)
    sizes = [FIRST_BYTES, *[PACKET_BYTES] * packets]
    trains_ms = delays_ms(cell, way, seed, np.repeat(sent_ms, len(sizes)), sizes)
    trains_ms = trains_ms.reshape(-1, len(sizes))
    # Only an idle link is lightly loaded: no train follows one that is still on its way.
    arrived_ms = np.nan_to_num(np.nanmax(sent_ms[:, None] + trains_ms, axis=1))
    is_idle = np.concatenate([[True], sent_ms[1:] > np.maximum.accumulate(arrived_ms)[:-1]])
    sent_ms, trains_ms = sent_ms[is_idle], trains_ms[is_idle]
    busy_delay_ms, after_ms = float(np.nanmin(trains_ms[:, 0])), DEFAULT_AFTER_MS
    pairs = pairs_of(cell, way, seed, random)
    busy = BusyState.of(pairs, trains_ms[~np.isnan(trains_ms[:, 0]), 0])
    if busy is not None:
        busy_delay_ms = min(busy_delay_ms, busy.delay.value_ms)
        after_ms = busy.lasts.value_ms
    arrived_ms = saturated.at_ns / NS_PER_MS
    return Recorded(arrived_ms, sent_ms, trains_ms, busy_delay_ms, after_ms)


def pairs_of(cell: ResolvedLink, way: Direction, seed: int, random: np.random.Generator) -> Pairs:
    """Send pairs of packets over a cell, as the recorder does."""
    gaps_ms = np.exp(random.uniform(*np.log(PAIR_GAP_MS), PAIRS))
    before_ms = random.uniform(*BEFORE_PAIR_MS, PAIRS)
    sent_ms = np.cumsum(np.column_stack([before_ms, gaps_ms]).ravel())
    return Pairs.of(sent_ms, delays_ms(cell, way, seed, sent_ms, [FIRST_BYTES]))


def times_ms(
    random: np.random.Generator, gap_s: tuple[float, float], seconds: float
) -> npt.NDArray[np.float64]:
    """Return times at random intervals."""
    gaps = random.uniform(*gap_s, round(seconds / gap_s[0]))
    at_s = np.cumsum(gaps)
    return at_s[at_s < seconds] * 1e3


def delays_ms(
    link: ResolvedLink,
    way: Direction,
    seed: int,
    sent_ms: npt.NDArray[np.float64],
    sizes: list[int],
) -> npt.NDArray[np.float64]:
    """Return the delays of packets that are sent at the given times, not necessarily in order.

    The sizes in bytes repeat.
    """
    order = np.argsort(sent_ms, kind="stable")
    sent_ns = np.round(sent_ms[order] * NS_PER_MS).astype(np.int64)
    sent = list(zip(sent_ns.tolist(), np.resize(sizes, len(sent_ms))[order].tolist(), strict=True))
    scenario = link.scenario(NS_PER_S, seed)
    found = core.module().probe(scenario.to_json(), link.contents, way.wire, 1, sent)
    delays = np.empty(len(sent_ms))
    delays[order] = [np.nan if each is None else each / NS_PER_MS for each in found]
    return delays


def heavy_only(
    recorded: dict[Direction, Recorded], cell: ResolvedLink, folder: Path
) -> ResolvedLink:
    """Return the replay of the saturated link, with half of the shortest round trip each way."""
    half_ms = sum(each.shortest_ms for each in recorded.values()) / 2
    tables = {}
    for way, each in recorded.items():
        trace = folder / f"{way.title}.trace"
        trace.write_text(each.heavy(half_ms), encoding="ascii")
        tables[way] = {"trace": str(trace), "delay": f"{half_ms:.3f} ms"}
    return replay(tables, cell, folder / "heavy.toml")


def light_heavy(
    recorded: dict[Direction, Recorded], cell: ResolvedLink, folder: Path
) -> ResolvedLink:
    """Return the replay with packet trains."""
    tables = {}
    for way, each in recorded.items():
        heavy, light = (folder / f"{way.title}-both.{kind}" for kind in ("trace", "light"))
        heavy.write_text(each.heavy(each.busy_delay_ms), encoding="ascii")
        light.write_text(each.light(), encoding="ascii")
        tables[way] = {
            "trace": str(heavy),
            "light_trace": str(light),
            "light_after": f"{each.after_ms:.3f} ms",
            # The trace has whole microseconds.
            "busy_delay": f"{each.busy_delay_ms - 0.001:.3f} ms",
            "light_first": f"{FIRST_BYTES} B",
        }
    return replay(tables, cell, folder / "light.toml")


def replay(tables: dict[Direction, dict[str, Any]], cell: ResolvedLink, path: Path) -> ResolvedLink:
    """Return a link that replays recordings with queues as long as the cell's."""
    keys = {Direction.DOWNLINK: "link", Direction.UPLINK: "reverse_link"}
    document = {"title": path.stem}
    for way, table in tables.items():
        of_cell = cell.path.downlink if way is Direction.DOWNLINK else cell.path.uplink
        document[keys[way]] = {**table, "queue": f"{of_cell.queue_bytes} B"}
    path.write_text(write_toml(document), encoding="utf-8")
    return read_link(str(path))[1]


@dataclass(frozen=True, slots=True)
class Plan:
    """Starts of transfers in a recording."""

    seed: int
    starts: int
    seconds: float
    rate_mbit_s: float
    """Mean rate of the saturated downlink."""

    def completion_ms(self, link: ResolvedLink, load: Application) -> npt.NDArray[np.float64]:
        """Return the completion time of a workload at each start; a run contains several starts."""
        random = np.random.default_rng(self.seed + 1)
        within_s = 0.7 * self.seconds
        at_s = (np.arange(self.starts) + random.uniform(size=self.starts)) * within_s / self.starts
        runs = min(self.starts, max(1, round(self.starts * self._distance_s(load) / within_s)))
        scenarios = [self._scenario(link, load, at_s[first::runs]) for first in range(runs)]
        flows = core.run_many(scenarios, link.contents)["flows"]
        found = np.array([np.nan if each is None else each for each in flows["completion_ms"]])
        begun_s = np.array(flows["start_s"])
        is_same_run = np.diff(np.array(flows["run"])) == 0
        overlaps = is_same_run & ((begun_s + found / 1e3)[:-1] > begun_s[1:])
        if np.isnan(found).any() or overlaps.any():
            print(f"  {overlaps.sum()} transfers overlap, {np.isnan(found).sum()} do not end")
        return found[~np.isnan(found)]

    def _scenario(
        self, link: ResolvedLink, load: Application, at_s: npt.NDArray[np.float64]
    ) -> str:
        end = si.End(stack="linux-6.1", algorithm="cubic")
        flows = tuple(
            si.ScenarioFlow(
                id=number,
                sender=end,
                receiver=end,
                start_ns=round((0.5 + each) * NS_PER_S),
                application=load,
            )
            for number, each in enumerate(at_s)
        )
        duration_ns = round(2 * self.seconds * NS_PER_S)
        scenario = si.Scenario(seed=self.seed, duration_ns=duration_ns, path=link.path, flows=flows)
        return scenario.to_json()

    def _distance_s(self, load: Application) -> float:
        """Return a time between starts in which a transfer usually completes."""
        size_mb = load.bytes / 1e6 if isinstance(load, Sized) else 2.3
        return 4.0 + 3 * size_mb * 8 / self.rate_mbit_s


if __name__ == "__main__":
    sys.exit(main())
