"""Measure the cost of many flows, fast links and short runs; exit with 1 if one is too high.

The program measures three costs: instructions per segment with many flows, relative to one flow,
from the difference between two run lengths; memory per packet in flight of a run on a fast link;
and the CPU time of a run of zero length, which reads its scenario, builds its path and flows, and
creates its tables.
"""

from __future__ import annotations

import argparse
import json
import sys

import measure
from run import per_unit

FLOWS = 1_000
FLOWS_RATIO = 1.5
BYTES_PER_PACKET = 300.0
RUN_US = 50.0
SHARED = ("dumbbell", "--mbit", "1000", "--ms", "40")
LENGTHS_S = (6, 9)
FAST = ("dumbbell", "--mbit", "10000", "--ms", "100", "--seconds")
REPEATED = 20_000


def main() -> int:
    """Run the benchmark."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    binary = str(measure.build())
    empty = [binary, "dumbbell", "--seconds", "0", "--repeat"]
    once, _ = measure.median_cpu_seconds([*empty, "1"])
    often, _ = measure.median_cpu_seconds([*empty, str(REPEATED)])
    missed = judge("a run that ends as it begins", (often - once) / REPEATED * 1e6, RUN_US, "us")
    for seconds in ("5", "20"):
        _, printed = measure.cpu_seconds([binary, *FAST, seconds])
        result = json.loads(printed)
        run_bytes = (result["peak_kib"] - result["baseline_kib"]) * 1024
        value = run_bytes / result["cwnd_mean_pkts"]
        name = f"10 Gbit/s, 100 ms, {seconds} s: memory"
        missed += judge(name, value, BYTES_PER_PACKET, "bytes/packet in flight")
    if not measure.has_callgrind():
        print("instructions are not counted: valgrind is not installed (apt-get install valgrind)")
        return 1
    one, many = (
        per_unit(binary, (*SHARED, "--flows", str(flows)), LENGTHS_S, "delivered_segments")
        for flows in (1, FLOWS)
    )
    print(f"{'1 Gbit/s, 40 ms, 1 flow':44} {one:10,.1f} instructions/segment")
    print(f"{f'1 Gbit/s, 40 ms, {FLOWS:,} flows':44} {many:10,.1f} instructions/segment")
    missed += judge(f"{FLOWS:,} flows over 1", many / one, FLOWS_RATIO, "")
    return int(missed > 0)


def judge(name: str, value: float, bar: float, unit: str) -> int:
    """Print a value and its maximum; return 1 if the value exceeds the maximum."""
    verdict = "ok" if value <= bar else "MISSED"
    print(f"{name:44} {value:10,.2f} {unit:24} at most {bar:,.4g}  {verdict}", flush=True)
    return int(value > bar)


if __name__ == "__main__":
    sys.exit(main())
