"""Measure the simulator in instructions and CPU time; exit with 1 if a bar is missed."""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import measure

INSTRUCTIONS_PER_SEGMENT = {1: 1_250, 4: 1_250, 16: 1_350}  # by flows
SEGMENTS_PER_SECOND = 3e6
SEGMENTS_PER_SECOND_SAMPLED = 2e6
WINDOW_RATIO = 2.0
RUN_MEGABYTES = 10.0
SHORT_S, LONG_S, FULL_S = 30, 90, 300


@dataclass(frozen=True)
class Case:
    """One workload of the benchmark binary."""

    name: str
    arguments: tuple[str, ...]
    segments_per_second: float | None = None
    instructions_per_segment: float | None = None
    simulated_seconds: float | None = None  # per CPU second
    seconds: tuple[int, int, int] = (SHORT_S, LONG_S, FULL_S)


CASES = (
    *(
        Case(
            f"{flows} flow{'s' * (flows > 1)}, summary",
            ("dumbbell", "--flows", str(flows)),
            SEGMENTS_PER_SECOND,
            INSTRUCTIONS_PER_SEGMENT[flows],
        )
        for flows in (1, 4, 16)
    ),
    Case(
        "1 flow, samples every 100 ms",
        ("dumbbell", "--flows", "1", "--samples"),
        SEGMENTS_PER_SECOND_SAMPLED,
    ),
    Case(
        "1 Gbit/s, 12 MB buffer, slow-start loss",
        ("gigabit",),
        SEGMENTS_PER_SECOND_SAMPLED,
        seconds=(10, 20, 20),
    ),
    Case(
        "Wi-Fi n, 7 stations",
        ("wifi", "--flows", "7"),
        simulated_seconds=300,
    ),
    Case("HSDPA, walking", ("hsdpa",), simulated_seconds=1000),
    Case("LTE 20 MHz, 10 users in the background", ("lte",), simulated_seconds=400),
    Case("NR 50 MHz, walking", ("nr",), simulated_seconds=400),
)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="number of runs for each median")
    options = parser.parse_args()
    binary = str(measure.build())
    missed = 0

    def judge(name: str, value: float, bar: float, unit: str, *, at_most: bool) -> None:
        nonlocal missed
        is_ok = value <= bar if at_most else value >= bar
        missed += not is_ok
        relation = "at most" if at_most else "at least"
        verdict = "ok" if is_ok else "MISSED"
        print(f"{name:44} {value:12,.5g} {unit:28} {relation} {bar:,.5g}  {verdict}", flush=True)

    for case in CASES:
        command = [binary, *case.arguments, "--seconds", str(case.seconds[2])]
        seconds, printed = measure.median_cpu_seconds(command, options.runs)
        result = json.loads(printed)
        print(f"{case.name:44} {seconds:12.3f} CPU s, {result['delivered_segments']:,} segments")
        if case.segments_per_second:
            rate = result["delivered_segments"] / seconds
            judge(case.name, rate, case.segments_per_second, "segments/CPU s", at_most=False)
        if case.simulated_seconds:
            rate = case.seconds[2] / seconds
            judge(case.name, rate, case.simulated_seconds, "simulated s/CPU s", at_most=False)
        megabytes = (result["peak_kib"] - result["baseline_kib"]) * 1024 / 1e6
        judge(case.name, megabytes, RUN_MEGABYTES, "MB for the run", at_most=True)
    if not measure.has_callgrind():
        print("instructions are not counted: valgrind is not installed (apt-get install valgrind)")
        return 1
    for case in CASES:
        if case.instructions_per_segment:
            value = per_unit(binary, case.arguments, case.seconds[:2], "delivered_segments")
            bar = case.instructions_per_segment
            judge(case.name, value, bar, "instructions/segment", at_most=True)
    small = per_unit(binary, ("window", "--window", "100"), (4, 64), "acks")
    large = per_unit(binary, ("window", "--window", "10000"), (4, 6), "acks")
    print(f"{'window 100, every 100th segment lost':44} {small:12,.5g} instructions/ACK")
    print(f"{'window 10,000, every 100th segment lost':44} {large:12,.5g} instructions/ACK")
    judge("window 10,000 over window 100", large / small, WINDOW_RATIO, "", at_most=True)
    return int(missed > 0)


def per_unit(binary: str, arguments: tuple[str, ...], seconds: tuple[int, ...], unit: str) -> float:
    """Return instructions per segment or ACK, from the difference of two run lengths."""
    commands = [[binary, *arguments, "--seconds", str(length)] for length in seconds]
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(measure.instructions, commands))
    (short, short_printed), (long, long_printed) = counts
    units = json.loads(long_printed)[unit] - json.loads(short_printed)[unit]
    return float((long - short) / units)


if __name__ == "__main__":
    sys.exit(main())
