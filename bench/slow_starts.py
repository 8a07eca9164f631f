"""Compare slow-start methods on every preset: when slow start ends, and how long transfers take.

Each run has one Reno flow with `slow_start` 0 to 3. A run ends slow start before the path is full,
when the path is full, or at a loss. The path counts as full if the window is at least 0.9 BDP; the
BDP is the goodput of CUBIC over the run times the lowest RTT. Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError
from cwndlab.resolve.presets import presets

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS = {0: "at a loss", 1: "HyStart", 2: "HyStart++", 3: "SEARCH"}
SIZES = ("100 kB", "1 MB", "10 MB")
DURATION = "20 s"
PAYLOAD_BYTES = 1_448
FULL_SHARE = 0.9
ENDS = ("before", "full", "loss", "not")


def main() -> int:
    """Run all methods on the chosen presets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="run only presets whose names contain one of these"
    )
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of each method")
    options = parser.parse_args()
    names = [
        name
        for name in presets()
        if not options.names or any(part in name for part in options.names)
    ]
    ends: dict[int, Counter[str]] = defaultdict(Counter)
    slower: dict[tuple[int, str], list[float]] = defaultdict(list)
    print("| preset | BDP, packets | " + " | ".join(METHODS.values()) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for name in names:
        try:
            row = _preset(name, options.seeds, ends, slower)
        except CwndlabError as error:
            print(f"| {name} | {error} |")
            continue
        print(row, flush=True)
    print()
    _summary(ends, slower)
    return 0


def _preset(
    name: str,
    seeds: int,
    ends: dict[int, Counter[str]],
    slower: dict[tuple[int, str], list[float]],
) -> str:
    bdp = median(_bdp_pkts(name, seed) for seed in range(1, seeds + 1))
    cells = []
    for method in METHODS:
        found = [_end(name, method, seed, bdp) for seed in range(1, seeds + 1)]
        ends[method].update(end for end, _ in found)
        windows = ", ".join(f"{window:.0f} {end}" for end, window in found)
        cells.append(windows)
    for size in SIZES:
        times = {
            method: median(_seconds(name, method, seed, size) for seed in range(1, seeds + 1))
            for method in METHODS
        }
        for method, time_s in times.items():
            slower[method, size].append(time_s / min(times.values()))
    return f"| {name} | {bdp:.0f} | " + " | ".join(cells) + " |"


def _bdp_pkts(name: str, seed: int) -> float:
    study = Study(algorithm="cubic", link=name, duration=DURATION, seed=seed, common_seeds=True)
    row = run_once(study)["flows"].row(0, named=True)
    return float(row["goodput_mbit_s"] * 1e6 * row["rtt_base_ms"] / 1e3 / 8 / PAYLOAD_BYTES)


def _end(name: str, method: int, seed: int, bdp: float) -> tuple[str, float]:
    """Return how slow start ended, and the window at that time."""
    tables = run_once(
        Study(
            algorithm="reno",
            link=name,
            duration=DURATION,
            seed=seed,
            common_seeds=True,
            parameters={"reno": {"slow_start": method}},
            record={"samples": "2 ms", "events": True},
        )
    )
    samples = tables["samples"].filter(pl.col("flow") == 0)
    after = samples.filter(pl.col("ssthresh_pkts").is_not_nan())
    if after.is_empty():
        return "not", float(samples["cwnd_pkts"][-1])
    end_s = float(after["t_s"][0])
    before = samples.filter(pl.col("t_s") < end_s)
    window = float(max([*before["cwnd_pkts"].to_list(), 0]) or after["cwnd_pkts"][0])
    recovers = tables["events"].filter(
        (pl.col("flow") == 0)
        & pl.col("event").is_in(["recovery", "loss", "timeout", "cwr"])
        & (pl.col("t_s") <= end_s)
    )
    if not recovers.is_empty():
        return "loss", window
    return ("full" if window >= FULL_SHARE * bdp else "before"), window


def _seconds(name: str, method: int, seed: int, size: str) -> float:
    study = Study(
        algorithm="reno",
        link=name,
        duration="120 s",
        seed=seed,
        common_seeds=True,
        application={"kind": "sized", "bytes": size},
        parameters={"reno": {"slow_start": method}},
        record={"samples": "none"},
    )
    completion_ms = run_once(study)["flows"]["completion_ms"][0]
    return 120.0 if completion_ms is None else float(completion_ms) / 1e3


def _summary(ends: dict[int, Counter[str]], slower: dict[tuple[int, str], list[float]]) -> None:
    for line in _lines(ends, slower):
        print(line)


def _lines(
    ends: dict[int, Counter[str]], slower: dict[tuple[int, str], list[float]]
) -> Iterator[str]:
    sizes = " | ".join(f"{size}, of the fastest" for size in SIZES)
    yield f"| slow start ends | before the path is full, % | full, % | loss, % | not, % | {sizes} |"
    yield "|---|" + "---|" * (len(ENDS) + len(SIZES))
    for method, label in METHODS.items():
        total = max(ends[method].total(), 1)
        shares = " | ".join(f"{100 * ends[method][end] / total:.0f}" for end in ENDS)
        times = " | ".join(
            f"{sum(slower[method, size]) / max(len(slower[method, size]), 1):.2f}" for size in SIZES
        )
        yield f"| {label} | {shares} | {times} |"


if __name__ == "__main__":
    sys.exit(main())
