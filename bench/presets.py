"""Measure simulated time per CPU second on every preset; exit with 1 if a bar is missed.

One CUBIC flow uses each link. On a link that carries at most 100 Mbit/s, the simulator must reach
400 simulated seconds per CPU second; on a faster link, 3 million delivered segments per CPU second.
CPU time is the difference between two run lengths, as the median over several pairs of runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

import measure
from cwndlab.errors import CwndlabError
from cwndlab.resolve import resolve_link
from cwndlab.resolve.presets import presets
from cwndlab.schema.link import Link

SECONDS = (20, 320)
SLOW_MBIT_S = 100.0
SECONDS_BAR = 400.0  # simulated seconds per CPU second
SEGMENTS_BAR = 3.0  # millions of delivered segments per CPU second


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="run only presets whose names contain one of these"
    )
    parser.add_argument(
        "--pairs", type=int, default=3, help="number of pairs of runs of each preset"
    )
    options = parser.parse_args()
    binary = str(measure.build())
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in presets():
            if options.names and not any(part in name for part in options.names):
                continue
            file = Path(folder) / f"{name}.json"
            try:
                path = resolve_link(Link.read(name), Path(folder)).path
            except CwndlabError as error:
                print(f"{name:28} {error}")
                continue
            file.write_text(json.dumps(path))
            missed += judge(name, [binary, str(file)], options.pairs)
    return int(missed > 0)


def judge(name: str, command: list[str], pairs: int) -> int:
    """Print a preset's speed and its bar; return 1 if the bar is missed."""
    costs, segments = [], 0.0
    for _ in range(pairs):
        short, long = (totals(command, length) for length in SECONDS)
        costs.append((long[0] - short[0]) / (SECONDS[1] - SECONDS[0]))
        segments = (long[1] - short[1]) / (SECONDS[1] - SECONDS[0])
    cpu = max(median(costs), 1e-9)  # CPU seconds per simulated second
    mbit_s = segments * 1448 * 8 / 1e6
    is_slow = mbit_s <= SLOW_MBIT_S
    is_met = 1 / cpu >= SECONDS_BAR if is_slow else segments / cpu / 1e6 >= SEGMENTS_BAR
    bar = f"{SECONDS_BAR:g} s" if is_slow else f"{SEGMENTS_BAR:g} M segments"
    print(
        f"{name:28} {mbit_s:8.2f} Mbit/s {1 / cpu:10,.0f} simulated s/CPU s"
        f" {segments / cpu / 1e6:6.2f} M segments/CPU s   at least {bar}"
        f"  {'ok' if is_met else 'MISSED'}",
        flush=True,
    )
    return int(not is_met)


def totals(command: list[str], seconds: int) -> tuple[float, int]:
    """Return CPU time and delivered segments of a run of `seconds` simulated seconds."""
    cpu, printed = measure.cpu_seconds([*command, "--seconds", str(seconds)])
    return cpu, json.loads(printed)["delivered_segments"]


if __name__ == "__main__":
    sys.exit(main())
