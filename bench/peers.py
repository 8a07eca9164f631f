"""Compare the cost of the benchmark's dumbbell in cwndlab and in ns-2, if ns-2 is installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import measure

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(__file__).with_name("dumbbell.tcl")
SHORT_S, LONG_S, FULL_S = 30, 60, 300
RUNS = 15
# Cost of a segment in ns-2's TCP/Linux, divided by our cost: lower limits.
INSTRUCTIONS_RATIO = 2.7
TIME_RATIO = 3.3


def main() -> int:
    """Run the dumbbell in both simulators."""
    if shutil.which("ns") is None:
        print(
            "ns-2 is not installed (on Debian: apt-get install ns2), so there is nothing to compare"
        )
        return 0
    binary = str(measure.build())
    print(f"{'':32} {'segments/CPU s':>16} {'instructions/segment':>22} {'segments':>12}")
    missed = 0
    for flows in (1, 4, 16):
        ours = [binary, "dumbbell", "--flows", str(flows), "--seconds"]
        programs = (
            Program("cwndlab, cubic", ours, _ours),
            Program("ns-2, TCP/Sack1", ["ns", str(SCRIPT), "sack1", str(flows)], _ns2),
            Program("ns-2, TCP/Linux cubic", ["ns", str(SCRIPT), "cubic", str(flows)], _ns2),
        )
        commands = [[*program.command, str(FULL_S)] for program in programs]
        turns = measure.alternated_cpu_seconds(commands, RUNS)
        cost, _, peer = (
            _line(program, flows, own.median_seconds, program.delivered(own.printed))
            for program, own in zip(programs, turns, strict=True)
        )
        rounds = zip(*(own.seconds for own in turns), strict=True)
        ratio = median(theirs / ours for ours, _, theirs in rounds)
        missed += _judge("CPU time", ratio, TIME_RATIO)
        if cost.instructions and peer.instructions:
            ratio = peer.instructions / cost.instructions
            missed += _judge("instructions", ratio, INSTRUCTIONS_RATIO)
    return int(missed > 0)


class Program(NamedTuple):
    """A program that simulates the dumbbell; its last argument is the duration in seconds."""

    name: str
    command: list[str]
    """The command without its last argument."""
    delivered: Callable[[str], int]
    """Function that returns the number of delivered segments from the program's output."""


class Cost(NamedTuple):
    """Cost of a delivered segment."""

    seconds: float
    instructions: float | None


def _line(program: Program, flows: int, seconds: float, segments: int) -> Cost:
    """Print and return the cost of a segment; `seconds` is the CPU time of all `segments`."""
    cells = f"{segments / seconds:16,.0f}"
    instructions = None
    if measure.has_callgrind():
        short, short_printed = measure.instructions([*program.command, str(SHORT_S)])
        long, long_printed = measure.instructions([*program.command, str(LONG_S)])
        difference = program.delivered(long_printed) - program.delivered(short_printed)
        instructions = (long - short) / difference
        cells += f" {instructions:22,.0f}"
    else:
        cells += f" {'no valgrind':>22}"
    print(f"{f'{program.name}, flows: {flows}':32} {cells} {segments:12,}", flush=True)
    return Cost(seconds / segments, instructions)


def _judge(unit: str, ratio: float, bar: float) -> bool:
    """Print how much more TCP/Linux costs; return whether the ratio misses the bar."""
    is_missed = ratio < bar
    verdict = "MISSED" if is_missed else "ok"
    print(f"  TCP/Linux takes {ratio:.2f} times the {unit}, at least {bar}  {verdict}", flush=True)
    return is_missed


def _ours(printed: str) -> int:
    return int(json.loads(printed)["delivered_segments"])


def _ns2(printed: str) -> int:
    # TCP/Linux also prints its commands.
    return int(next(line for line in printed.splitlines() if line.isdigit()))


if __name__ == "__main__":
    sys.exit(main())
