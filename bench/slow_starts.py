"""Compare slow-start methods on every preset and on recorded links: the slow-start atlas.

Each run has one flow: Reno with one of the five values of `slow_start`, or BBR version 3, which
begins with Startup. A run ends slow start before the path is full, when the path is full, or at a
loss. The path counts as full if at least 0.9 BDP are in flight; the BDP is the goodput of CUBIC
over the run times the lowest RTT. Careful Resume resumes from this BDP and RTT, as if CUBIC had
been the earlier connection. Prints tables in Markdown, and draws the figure of `--figure`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError
from cwndlab.resolve.presets import presets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Name of each method, the algorithm, and its value of `slow_start`.
METHODS = {
    "until a loss": ("reno", 0),
    "HyStart": ("reno", 1),
    "HyStart++": ("reno", 2),
    "SEARCH": ("reno", 3),
    "Careful Resume": ("reno", 4),
    "BBRv3's Startup": ("bbr3", None),
}
SIZES = ("100 kB", "1 MB", "10 MB")
DURATION = "20 s"
LONGEST_S = 120
PAYLOAD_BYTES = 1_448
FULL_SHARE = 0.9
ENDS = {
    "before": "before the path is full",
    "full": "when the path is full",
    "loss": "at a loss",
    "not": f"not within {DURATION}",
}
TRACE = "trace:{},delay=20 ms"


@dataclass(frozen=True)
class KnownPath:
    """A link, and what CUBIC found on it."""

    link: str
    bdp_pkts: float
    rtt_ms: float

    def parameters(self, method: str) -> dict[str, dict[str, int]]:
        """Return the parameters of a method's algorithm."""
        algorithm, value = METHODS[method]
        if value is None:
            return {}
        chosen = {"slow_start": value}
        if method == "Careful Resume":
            chosen["saved_cwnd"] = round(self.bdp_pkts * PAYLOAD_BYTES / 1_000)
            chosen["saved_rtt"] = max(round(self.rtt_ms), 1)
        return {algorithm: chosen}


@dataclass
class Found:
    """The results of all links so far."""

    ends: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    slower: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))


def main() -> int:
    """Run all methods on the chosen links; print the tables, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="run only presets whose names contain one of these"
    )
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of each method")
    parser.add_argument(
        "--traces", nargs="*", default=[], metavar="FILE", help="recorded links, one run each"
    )
    parser.add_argument("--figure", metavar="FILE", help="file for a figure of the summaries")
    options = parser.parse_args()
    names = [
        name
        for name in presets()
        if not options.names or any(part in name for part in options.names)
    ]
    kinds = {
        f"{len(names)} presets": [(name, name, options.seeds) for name in names],
        f"{len(options.traces)} recorded links": [
            (Path(file).name, TRACE.format(file), 1) for file in options.traces
        ],
    }
    found = {kind: _measure(links) for kind, links in kinds.items() if links}
    for kind, results in found.items():
        print(f"\n{kind}:\n")
        for line in _lines(results):
            print(line)
    if options.figure:
        draw(found, options.figure)
    return 0


def _measure(links: Sequence[tuple[str, str, int]]) -> Found:
    found = Found()
    print("| link | BDP, packets | " + " | ".join(METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for name, link, seeds in links:
        try:
            print(_row(name, link, range(1, seeds + 1), found), flush=True)
        except CwndlabError as error:
            print(f"| {name} | {error} |", flush=True)
    return found


def _row(name: str, link: str, seeds: range, found: Found) -> str:
    paths = [_path(link, seed) for seed in seeds]
    path = KnownPath(link, median(p.bdp_pkts for p in paths), min(p.rtt_ms for p in paths))
    cells = []
    for method in METHODS:
        ends = [_end(path, method, seed) for seed in seeds]
        found.ends[method].update(end for end, _ in ends)
        cells.append(", ".join(f"{window:.0f} {end}" for end, window in ends))
    for size in SIZES:
        times = {
            method: median(_seconds(path, method, seed, size) for seed in seeds)
            for method in METHODS
        }
        for method, time_s in times.items():
            found.slower[method, size].append(time_s / min(times.values()))
    return f"| {name} | {path.bdp_pkts:.0f} | " + " | ".join(cells) + " |"


def _path(link: str, seed: int) -> KnownPath:
    study = Study(algorithm="cubic", link=link, duration=DURATION, seed=seed, common_seeds=True)
    row = run_once(study)["flows"].row(0, named=True)
    bdp = row["goodput_mbit_s"] * 1e6 * row["rtt_base_ms"] / 1e3 / 8 / PAYLOAD_BYTES
    return KnownPath(link, float(bdp), float(row["rtt_base_ms"]))


def _run(path: KnownPath, method: str, seed: int, **keys: Any) -> dict[str, pl.DataFrame]:  # noqa: ANN401
    return run_once(
        Study(
            algorithm=METHODS[method][0],
            link=path.link,
            seed=seed,
            common_seeds=True,
            parameters=path.parameters(method),
            **keys,
        )
    )


def _end(path: KnownPath, method: str, seed: int) -> tuple[str, float]:
    """Return how slow start ended, and the largest number of packets in flight until then."""
    tables = _run(path, method, seed, duration=DURATION, record={"samples": "2 ms", "events": True})
    samples = tables["samples"].filter(pl.col("flow") == 0)
    events = tables["events"].filter(pl.col("flow") == 0)
    if METHODS[method][1] is None:
        over = events.filter((pl.col("event") == "phase") & (pl.col("value") > 1))
    else:
        over = samples.filter(pl.col("ssthresh_pkts").is_not_nan())
    if over.is_empty():
        return "not", max(samples["inflight_pkts"].to_list())
    end_s = float(over["t_s"][0])
    flight = max([0, *samples.filter(pl.col("t_s") <= end_s)["inflight_pkts"].to_list()])
    losses = events.filter(
        pl.col("event").is_in(["recovery", "loss", "timeout", "cwr"]) & (pl.col("t_s") <= end_s)
    )
    if not losses.is_empty():
        return "loss", flight
    return ("full" if flight >= FULL_SHARE * path.bdp_pkts else "before"), flight


def _seconds(path: KnownPath, method: str, seed: int, size: str) -> float:
    tables = _run(
        path,
        method,
        seed,
        duration=f"{LONGEST_S} s",
        application={"kind": "sized", "bytes": size},
        record={"samples": "none"},
    )
    completion_ms = tables["flows"]["completion_ms"][0]
    return float(LONGEST_S) if completion_ms is None else float(completion_ms) / 1e3


def _lines(found: Found) -> Iterator[str]:
    ends = " | ".join(f"{text}, %" for text in ENDS.values())
    sizes = " | ".join(f"{size}, of the fastest" for size in SIZES)
    yield f"| slow start | {ends} | {sizes} |"
    yield "|---|" + "---|" * (len(ENDS) + len(SIZES))
    for method in METHODS:
        shares = " | ".join(f"{_share(found, method, end):.0f}" for end in ENDS)
        times = " | ".join(f"{fmean(found.slower[method, size]):.2f}" for size in SIZES)
        yield f"| {method} | {shares} | {times} |"


def _share(found: Found, method: str, end: str) -> float:
    counts = found.ends[method]
    return 100 * counts[end] / max(counts.total(), 1)


def draw(found: dict[str, Found], path: str) -> None:
    """Draw one row of panels for each kind of link: how slow start ends, and completion times."""
    from matplotlib.figure import Figure  # noqa: PLC0415  only with --figure

    figure = Figure(figsize=(9, 2.7 * len(found) + 0.5), layout="constrained")
    colours = {"before": "#dd6100", "full": "#00805e", "loss": "#005bb0", "not": "#bbbbbb"}
    marks = dict(zip(SIZES, ("o", "s", "D"), strict=True))
    places = list(range(len(METHODS)))[::-1]
    axes = figure.subplots(len(found), 2, squeeze=False, sharex="col", sharey=True)
    for (kind, results), (shares, times) in zip(found.items(), axes, strict=True):
        left = [0.0] * len(METHODS)
        for end, label in ENDS.items():
            widths = [_share(results, method, end) for method in METHODS]
            shares.barh(places, widths, left=left, color=colours[end], label=label, height=0.7)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        shares.set_yticks(places, list(METHODS))
        shares.set_xlim(0, 100)
        shares.set_xlabel(f"{kind}: how slow start ends, % of the runs")
        for size, mark in marks.items():
            slower = [fmean(results.slower[method, size]) for method in METHODS]
            times.plot(slower, places, mark, label=size, color="#222222", fillstyle="none")
        times.set_xlabel("completion time / that of the fastest method")
        times.grid(visible=True, axis="x", color="0.9")
        for each in (shares, times):
            each.spines[["top", "right"]].set_visible(False)
    for column, (side, columns) in enumerate(
        (("outside upper left", 2), ("outside upper right", 3))
    ):
        handles, labels = axes[0][column].get_legend_handles_labels()
        figure.legend(handles, labels, loc=side, ncols=columns, frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
