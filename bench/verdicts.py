"""Measure the reliability of decisions: contradictions between seeds, deviations from the truth.

For every preset and each recorded trace in a folder, six algorithms run for 30 s in ten repetitions
with each of many seeds. Each pair of link and seed gives one answer for each goal. The truth of a
link is the mean of 200 repetitions with other seeds. With --ends, the program also tests both ends
of every range of the link, changing one key at a time. With --draws, the stated certainty over
similar networks is compared with that number of draws from the link's ranges. Runs are stored in
--keep and not computed again. With --record, the counts of each network are stored in a file, and
networks in this file are not run again: both ends of all ranges take hours, which can be divided
among several calls.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import core
from cwndlab.api.study import Study
from cwndlab.judge.cell import Comparison
from cwndlab.judge.decision import SURE, ZONE, Decision, decide
from cwndlab.judge.goals import BALANCE, LATENCY, THROUGHPUT, Goal
from cwndlab.judge.measures import logarithms
from cwndlab.judge.sampling import Draw, ends, vary
from cwndlab.judge.sensitivity import variance_shares
from cwndlab.resolve.presets import presets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cwndlab.study.matrix import Run

ALGORITHMS = ("cubic", "bbr", "reno", "vegas", "westwood", "illinois")
GOALS = (THROUGHPUT, BALANCE, LATENCY)
TRUTH_SEED = 1_000_003
DRAWS_SEED = 77
RULE = "2026-11-30, two rules"  # results recorded under earlier rules are ignored
STRONG = 0.9  # a decision is strong if it is repeatable with at least this probability
MOST_CONTRADICTIONS, MOST_ON_A_LINK = 0.01, 0.05
FEWEST_STRONG = 0.8
FEWEST_WITH_TOP, FEWEST_IN_ZONE, MOST_MEMBERS_MORE = 0.95, 0.95, 0.5
MOST_REGRET, MOST_REGRET_P95 = 0.01, 0.05
COLUMNS = ("goodput_mbit_s", "rtt_p95_ms", "rtt_base_ms", "window_s", "completion_ms")


@dataclass(slots=True)
class Tally:
    """Counts over answers."""

    with_top: list[bool] = field(default_factory=list)
    in_zone: list[bool] = field(default_factory=list)
    extra: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    strong: list[bool] = field(default_factory=list)
    contradictions: list[bool] = field(default_factory=list)

    def to_json(self) -> dict[str, list[int | float]]:
        """Return the lists for a record, with truth values as 0 and 1."""
        lists = {name: getattr(self, name) for name in self.__slots__}
        return {
            name: [round(float(each), 5) if name == "regret" else int(each) for each in values]
            for name, values in lists.items()
        }

    @classmethod
    def from_json(cls, lists: dict[str, list[float]]) -> Tally:
        """Restore counts from a record."""
        numbers = ("extra", "regret")
        return cls(**{
            name: lists[name] if name in numbers else [bool(value) for value in lists[name]]
            for name in cls.__slots__
        })  # fmt: skip

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for name in self.__slots__:
            getattr(self, name).extend(getattr(other, name))

    def row(self) -> str:
        """Return the counts as a row of the table."""
        return (
            f"{share(self.contradictions):7.2f} % {share(self.strong):6.0f} % "
            f"{share(self.with_top):6.0f} % {share(self.in_zone):6.0f} % "
            f"{np.mean(self.extra):+7.2f} {100 * np.mean(self.regret):7.2f} % "
            f"{100 * np.quantile(self.regret, 0.95):7.2f} %"
        )

    def missed(self) -> list[str]:
        """Return the names of the missed bars."""
        bars = {
            "contradictions": share(self.contradictions) <= 100 * MOST_CONTRADICTIONS,
            "repeatable": share(self.strong) >= 100 * FEWEST_STRONG,
            "sets with the top scorer": share(self.with_top) >= 100 * FEWEST_WITH_TOP,
            "members in the zone": share(self.in_zone) >= 100 * FEWEST_IN_ZONE,
            "size of sets": np.mean(self.extra) <= MOST_MEMBERS_MORE,
            "mean regret": np.mean(self.regret) <= MOST_REGRET,
            "95th percentile of regret": np.quantile(self.regret, 0.95) <= MOST_REGRET_P95,
        }
        return [name for name, is_met in bars.items() if not is_met]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("links", nargs="*", help="links to test; by default, all presets")
    parser.add_argument("--traces", type=Path, help="folder of recorded traces (*.down)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--truth", type=int, default=200, help="repetitions that define the truth")
    parser.add_argument(
        "--draws", type=int, default=0, help="number of similar networks of each link"
    )
    parser.add_argument("--ends", action="store_true", help="also test both ends of every range")
    parser.add_argument("--duration", default="30 s")
    parser.add_argument("--keep", type=Path, default=Path("target/verdicts"))
    parser.add_argument("--record", type=Path, help="file of counts, which is read and extended")
    options = parser.parse_args()
    links = options.links or list(presets())
    if options.traces:
        found = sorted(options.traces.glob("*.down"))[:8]
        links += [f"trace:{path.resolve()},delay=20 ms" for path in found]
    totals = {goal.name: Tally() for goal in GOALS}
    missed = []
    print(f"{'link':26}{'goal':11} contradict repeat. with top in zone   size+   regret   p95")
    record = Record(options)
    for link, change in itertools.chain.from_iterable(networks(each, options) for each in links):
        title = title_of(link, change)
        for goal_name, tally in record.tallies(link, change).items():
            totals[goal_name].add(tally)
            print(f"{title:26}{goal_name:11} {tally.row()}", flush=True)
            if share(tally.contradictions) > 100 * MOST_ON_A_LINK:
                missed.append(f"{short(link)} {title.strip()}, {goal_name}: contradictions")
        if options.draws and change is None:
            missed += Answers(link, options).print_networks(options.draws)
    for name, tally in totals.items():
        print(f"{'all':26}{name:11} {tally.row()}")
        missed += [f"{name}: {bar}" for bar in tally.missed()]
    for bar in missed:
        print(f"MISSED {bar}")
    return int(bool(missed))


def networks(link: str, options: argparse.Namespace) -> Iterable[tuple[str, Draw | None]]:
    """Yield a link unchanged and, with --ends, with each key at an end of its range."""
    yield link, None
    if options.ends:
        yield from ((link, draw) for draw in ends(link).draws)


class Record:
    """Counts of networks, stored in a file if one is given."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.file: Path | None = options.record
        lines = self.file.read_text().splitlines() if self.file and self.file.exists() else []
        self.known = {self._key(entry): entry["counted"] for entry in map(json.loads, lines)}

    def tallies(self, link: str, change: Draw | None) -> dict[str, Tally]:
        """Return the counts of a network for each goal."""
        entry = {
            "epoch": core.behaviour_epoch(),
            "rule": RULE,
            "link": short(link),
            "change": None if change is None else change.name,
            "duration": self.options.duration,
            "seeds": self.options.seeds,
            "repetitions": self.options.repetitions,
            "truth": self.options.truth,
        }
        counted = self.known.get(self._key(entry))
        if counted is not None:
            return {name: Tally.from_json(lists) for name, lists in counted.items()}
        answers = Answers(link, self.options, change)
        tallies = {goal.name: answers.tally(goal) for goal in GOALS}
        if self.file:
            entry["counted"] = {name: tally.to_json() for name, tally in tallies.items()}
            with self.file.open("a") as file:
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        return tallies

    @staticmethod
    def _key(entry: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(value for name, value in entry.items() if name != "counted")


def title_of(link: str, change: Draw | None) -> str:
    """Return the name of a network in the table."""
    return short(link) if change is None else f"  {change.name}"


class Answers:
    """The answers for one link, or for one link with a key at an end of its range."""

    def __init__(self, link: str, options: argparse.Namespace, change: Draw | None = None) -> None:
        self.link, self.options, self.change = link, options, change
        self.keep = options.keep
        self.truth = self._comparison(TRUTH_SEED, options.truth)
        self.seeds = [
            self._comparison(seed, options.repetitions) for seed in range(1, options.seeds + 1)
        ]

    def tally(self, goal: Goal) -> Tally:
        """Compare the answers for a goal with the truth and with each other."""
        means = {each.name: each.score.estimate for each in decide(self.truth, goal).entrants}
        best = max(means.values())
        behind = {name: best - mean for name, mean in means.items()}
        decisions = [decide(each, goal) for each in self.seeds]
        tally = Tally()
        for each in decisions:
            tally.with_top.append(min(behind, key=lambda name: behind[name]) in each.best)
            tally.in_zone += [behind[name] <= ZONE for name in each.best]
            tally.extra.append(len(each.best) - sum(gap <= ZONE for gap in behind.values()))
            tally.regret.append(behind[each.best[0]])
            tally.strong.append(each.repeatable is None or each.repeatable >= STRONG)
        strong = [each for each in decisions if each.repeatable and each.repeatable >= STRONG]
        pairs = itertools.combinations(strong, 2)
        tally.contradictions += [not set(a.best) & set(b.best) for a, b in pairs]
        return tally

    def print_networks(self, draws: int) -> list[str]:
        """Compare stated certainty over similar networks with many draws; return missed bars."""
        stated = self._draws(64, 1)
        truth = self._draws(draws, DRAWS_SEED)
        missed = []
        for goal in GOALS:
            decision = decide(self.seeds[0], goal)
            is_good, said = (self._robust(each, decision, goal) for each in (truth, stated))
            print(
                f"{short(self.link):26}{goal.name:11} networks: {decision.first} is good on "
                f"{is_good:.2f} of {draws}; stated {said:.2f}   {self._shares(truth, goal)}"
            )
            if said >= SURE and is_good < SURE - 0.05:
                missed.append(f"{short(self.link)}, {goal.name}: sure at {is_good:.2f}")
        return missed

    def _robust(self, table: pl.DataFrame, decision: Decision, goal: Goal) -> float:
        utilities = utilities_of(table, goal)
        choice = ALGORITHMS.index(decision.best[0])
        own = np.array([self.seeds[0].values[name][goal.gain] for name in ALGORITHMS])
        own -= goal.price * np.array([self.seeds[0].values[name][goal.cost] for name in ALGORITHMS])
        noise = (own - own[choice]).std(axis=1, ddof=1)
        ones = [1.0] * utilities.shape[1]
        found = core.robustness(utilities.tolist(), ones, choice, noise.tolist(), ZONE)
        return math.nan if found is None else found["is_good"]

    def _shares(self, table: pl.DataFrame, goal: Goal) -> str:
        """Return, as text, the shares of seeds and keys in the variance of the runner-up's lead."""
        decision = decide(self.truth, goal)
        first, second = (ALGORITHMS.index(each.name) for each in decision.entrants[:2])
        keys = json.loads((self._file(f"draws-{DRAWS_SEED}").with_suffix(".json")).read_text())
        columns = {name: [draw[name] for draw in keys] for name in keys[0]}
        utilities = utilities_of(table, goal)
        lead = utilities[second] - utilities[first]
        values = self.truth.values
        own = {
            name: values[name][goal.gain] - goal.price * values[name][goal.cost]
            for name in (ALGORITHMS[first], ALGORITHMS[second])
        }
        seeds = np.var(own[ALGORITHMS[second]] - own[ALGORITHMS[first]]) / np.nanvar(lead)
        shares = variance_shares(utilities, first, second, columns)
        told = sorted(shares.items(), key=lambda item: -item[1])[:4]
        return f"seeds {seeds:.2f}, " + ", ".join(f"{name} {value:.2f}" for name, value in told)

    def _draws(self, draws: int, seed: int) -> pl.DataFrame:
        sample = vary(self.link, draws, seed)
        file = self._file(f"draws-{seed}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".json").write_text(json.dumps([dict(d.keys) for d in sample.draws]))

        def runs() -> Iterable[Run]:
            changed = {path for draw in sample.draws for path in draw.changes}
            document = {k: v for k, v in self._document(seed, 1).items() if k not in changed}
            study = Study(**document, factors={"draw": [draw.level() for draw in sample.draws]})
            return study.matrix.runs

        return self._computed(f"draws-{seed}", runs)

    def _comparison(self, seed: int, repetitions: int) -> Comparison:
        def runs() -> Iterable[Run]:
            return Study(**self._document(seed, repetitions)).matrix.runs

        table = self._computed(f"{seed}-{repetitions}", runs)
        values = {
            name: {
                column: table.filter(pl.col("algorithm") == name)
                .sort("repetition")[column]
                .to_numpy()
                .astype(np.float64)
                for column in ("log_goodput", "log_queueing_delay")
            }
            for name in ALGORITHMS
        }
        return Comparison(
            cell={},
            contestants=ALGORITHMS,
            seeds=tuple(range(repetitions)),
            repetitions=repetitions,
            is_paired=True,
            values=values,
            runs=dict.fromkeys(ALGORITHMS, (None,) * repetitions),
            flow_ids=dict.fromkeys(ALGORITHMS, (0,)),
            flows_per_run=1,
        )

    def _document(self, seed: int, repetitions: int) -> dict[str, Any]:
        document: dict[str, Any] = {
            "link": self.link,
            "algorithm": list(ALGORITHMS),
            "duration": self.options.duration,
            "repetitions": repetitions,
            "seed": seed,
            "start_jitter": "100 ms",
        }
        document |= {"begin_within": "60 s"} if self.link.startswith("trace:") else {}
        if self.change is None:
            return document
        kept = {key: value for key, value in document.items() if key not in self.change.changes}
        return kept | {"factors": {"end": [self.change.level()]}}

    def _computed(self, name: str, runs: Any) -> pl.DataFrame:  # noqa: ANN401  a function
        """Return the flows of runs, from the file if it exists."""
        file = self._file(name)
        if file.exists():
            return pl.read_parquet(file)
        began_s = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(row_of, runs()))
        flows = pl.DataFrame(rows, infer_schema_length=None)
        delay = (pl.col("rtt_p95_ms") - pl.col("rtt_base_ms")).clip(0)
        waited = pl.when(pl.col("goodput_mbit_s") == 0).then(1000 * pl.col("window_s"))
        flows = logarithms(
            flows.with_columns(pl.coalesce(delay, waited).alias("queueing_delay_p95_ms"))
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        flows.write_parquet(file)
        print(f"{file.parent.name}/{name}: {time.monotonic() - began_s:.0f} s", file=sys.stderr)
        return flows

    def _file(self, name: str) -> Path:
        change = "" if self.change is None else f" {self.change.name}"
        named = f"{self.link} {self.options.duration}{change}"
        place = hashlib.sha256(named.encode()).hexdigest()[:6]
        return Path(self.keep) / f"{short(self.link)}-{place}" / f"{name}.parquet"


def row_of(run: Run) -> dict[str, Any]:
    """Return the first flow of a run."""
    traces = {name: trace.content for name, trace in run.traces.items()}
    flows = core.run(run.scenario.to_json(), traces)["flows"]
    labels = {"draw": run.labels.get("draw"), "algorithm": run.labels["algorithm"]}
    return labels | {"repetition": run.repetition} | {name: flows[name][0] for name in COLUMNS}


def utilities_of(table: pl.DataFrame, goal: Goal) -> Any:  # noqa: ANN401  an array
    """Return utilities of draws, with a row for each algorithm and a column for each draw."""
    utility = pl.col(goal.gain) - goal.price * pl.col(goal.cost or goal.gain)
    wide = table.with_columns(utility.alias("u")).pivot("draw", index="algorithm", values="u")
    order = {name: at for at, name in enumerate(wide["algorithm"])}
    matrix = wide.drop("algorithm").to_numpy()
    return matrix[[order[name] for name in ALGORITHMS]]


def share(found: list[bool]) -> float:
    """Return the percentage of values that are true; 0 for an empty list."""
    return 100 * sum(found) / len(found) if found else 0.0


def short(link: str) -> str:
    """Return the name of a link for the table."""
    name = link.partition(",")[0] if link.startswith("trace:") else link
    return name.rpartition("/")[2][:24]


if __name__ == "__main__":
    sys.exit(main())
