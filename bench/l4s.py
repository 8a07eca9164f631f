"""Test L4S end to end: Prague and DualPI2 at several rates and RTTs, and on bursty links.

The program prints two tables in Markdown. The first table compares Prague with CUBIC and with a
second Prague flow on wires. The second table, and the figure of `--figure`, show a single Prague
flow on links that send in bursts, for several thresholds: the delay from which DualPI2 marks L4S
packets.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import TYPE_CHECKING, Any

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator

RATES_MBIT_S = (4, 12, 40, 120, 200)
RTTS_MS = (5, 10, 20, 50, 100)
SHARE_BOUNDS = (0.5, 2.0)
THRESHOLDS_MS = (0.8, 2.0, 5.0, 10.0, 20.0, 40.0)
BURSTS = {
    "wire, 50 Mbit/s": "wired-50,aqm.kind=dualpi2,aqm.threshold={}",
    "Wi-Fi, wifi-typical": (
        "wifi-typical,server=10 ms,wifi.access_point.queue.kind=dualpi2,"
        "wifi.access_point.queue.threshold={}"
    ),
    "LTE, lte-typical": "lte-typical,cell.downlink.aqm.kind=dualpi2,cell.downlink.aqm.threshold={}",
    "5G, nr-typical": "nr-typical,cell.downlink.aqm.kind=dualpi2,cell.downlink.aqm.threshold={}",
}
# The same links with their usual queue, which CUBIC fills.
PLAIN = {
    "wire, 50 Mbit/s": "wired-50",
    "Wi-Fi, wifi-typical": "wifi-typical,server=10 ms",
    "LTE, lte-typical": "lte-typical",
    "5G, nr-typical": "nr-typical",
}

Rows = list[dict[str, Any]]


def main() -> int:
    """Print both tables, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of each setting")
    parser.add_argument("--figure", metavar="FILE", help="file for a figure of the second table")
    options = parser.parse_args()
    print_shares(options.seeds)
    print()
    found = dict(bursts(options.seeds))
    print_bursts(found)
    if options.figure:
        draw(found, options.figure)
    return 0


def flows(link: Any, seed: int, *algorithms: str, duration_s: int = 60) -> Rows:  # noqa: ANN401
    """Return the results of all flows of a run on a link."""
    study = Study(
        duration=f"{duration_s} s",
        warm_up="20 s",
        seed=seed,
        link=link,
        start_jitter="100 ms",
        flow=[{"algorithm": name} for name in algorithms],
    )
    return run_once(study)["flows"].to_dicts()


def print_shares(seeds: int) -> None:
    """Print the table of Prague with CUBIC and with Prague, through DualPI2 on wires."""
    print("| rate, Mbit/s | RTT, ms | prague / cubic | delay p99 of prague, ms | of cubic, ms "
          "| prague / prague | of the link |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    outside = 0
    for rate in RATES_MBIT_S:
        for rtt in RTTS_MS:
            link = {"rate": f"{rate} Mbit/s", "delay": f"{rtt / 2} ms", "aqm": "dualpi2"}
            mixed = [flows(link, seed, "prague", "cubic") for seed in range(1, seeds + 1)]
            equal = [flows(link, seed, "prague", "prague") for seed in range(1, seeds + 1)]
            shares = [goodput(run, 0) / goodput(run, 1) for run in mixed]
            share = median(shares)
            outside += not SHARE_BOUNDS[0] <= share <= SHARE_BOUNDS[1]
            delays = [median(run[n]["rtt_p99_ms"] - rtt for run in mixed) for n in (0, 1)]
            ratios = [max(a, b) / min(a, b) for run in equal for a, b in [both(run)]]
            used = median(sum(both(run)) / rate for run in mixed)
            print(f"| {rate} | {rtt} | {share:.2f} ({min(shares):.2f} to {max(shares):.2f}) "
                  f"| {delays[0]:.1f} | {delays[1]:.1f} | {median(ratios):.2f} "
                  f"| {100 * used:.0f} % |", flush=True)  # fmt: skip
    settings = len(RATES_MBIT_S) * len(RTTS_MS)
    low, high = SHARE_BOUNDS
    print(f"\nMedian shares within {low} to {high}: {settings - outside} of {settings}.")


def goodput(run: Rows, flow: int) -> float:
    """Return the goodput of one flow in Mbit/s."""
    return float(run[flow]["goodput_mbit_s"])


def both(run: Rows) -> tuple[float, float]:
    """Return the goodputs of both flows in Mbit/s."""
    return goodput(run, 0), goodput(run, 1)


def bursts(seeds: int) -> Iterator[tuple[str, tuple[list[float], list[float]]]]:
    """Yield for each link two lists with one value for each threshold.

    The first list contains Prague's goodput in percent of CUBIC's goodput with the usual queue, the
    second the 99th percentile of Prague's RTT minus the lowest RTT, in ms.
    """
    for name, link in BURSTS.items():
        runs = range(1, seeds + 1)
        full = median(goodput(flows(PLAIN[name], seed, "cubic"), 0) for seed in runs)
        base = min(flows(PLAIN[name], seed, "cubic")[0]["rtt_base_ms"] for seed in runs)
        shares, delays = [], []
        for threshold in THRESHOLDS_MS:
            found = [flows(link.format(f"{threshold} ms"), seed, "prague")[0] for seed in runs]
            shares.append(100 * median(flow["goodput_mbit_s"] for flow in found) / full)
            delays.append(median(flow["rtt_p99_ms"] for flow in found) - base)
        yield name, (shares, delays)


def print_bursts(found: dict[str, tuple[list[float], list[float]]]) -> None:
    """Print the table of links that send in bursts."""
    print("| link | " + " | ".join(f"{each:g} ms" for each in THRESHOLDS_MS) + " |")
    print("|---" * (len(THRESHOLDS_MS) + 1) + "|")
    for name, (shares, delays) in found.items():
        cells = [
            f"{share:.0f} %, {delay:.0f} ms" for share, delay in zip(shares, delays, strict=True)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def draw(found: dict[str, tuple[list[float], list[float]]], path: str) -> None:
    """Draw the table of links that send in bursts as two panels."""
    from matplotlib.figure import Figure  # noqa: PLC0415  only with --figure

    figure = Figure(figsize=(8, 3.8), layout="constrained")
    share, delay = figure.subplots(1, 2, sharex=True)
    marks = ("o-", "s--", "D-.", "^:")
    colours = ("#222222", "#005bb0", "#00805e", "#dd6100")
    for (name, (shares, delays)), mark, colour in zip(found.items(), marks, colours, strict=True):
        share.plot(THRESHOLDS_MS, shares, mark, color=colour, label=name)
        delay.plot(THRESHOLDS_MS, delays, mark, color=colour)
    share.set_xscale("log")
    share.set_xticks(THRESHOLDS_MS, [f"{each:g}" for each in THRESHOLDS_MS])
    share.minorticks_off()
    share.set_ylim(0, 105)
    delay.set_ylim(0)
    share.set_ylabel("goodput, % of CUBIC's with the usual queue")
    delay.set_ylabel("RTT above the lowest, p99, ms")
    for axes in (share, delay):
        axes.set_xlabel("delay from which L4S packets are marked, ms")
        axes.grid(visible=True, color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
