"""Measure the cost of each algorithm per ACK, relative to reno; exit with 1 if it exceeds a bar.

The ACKs are those of a reno flow in the simulator, on 10 Mbit/s and 40 ms with a queue of 50
packets, for 30 s; `--trace` reads ACKs recorded on a kernel, in the same columns, instead. Pacing
needs a timer and a poll for each segment, whose cost only the simulator shows. Paced algorithms are
therefore also compared by their instructions per delivered segment on the benchmark's dumbbell.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import measure

INSTRUCTIONS_OVER_RENO = 400
PACED = ("bbr",)
PACED_RATIO = 2.0
DUMBBELL_SECONDS = (20, 60)
RECORDED_SECONDS = 30
# The difference of two run lengths excludes the start of the process.
REPETITIONS = (1, 5)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithms", nargs="*", help="names of the algorithms to measure")
    parser.add_argument("--trace", type=Path, metavar="FILE.csv[.gz]", help="recorded ACKs")
    options = parser.parse_args()
    if not measure.has_callgrind():
        print("instructions are not counted: valgrind is not installed (apt-get install valgrind)")
        return 1
    cost = measure.build_example("cwndlab-cc", "cost")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "acks.csv"
        trace.write_text(recorded(options.trace))
        reno = per_ack(cost, "reno", trace)
        print(f"{'reno':16} {reno:8.1f} instructions/ACK")
        chosen = options.algorithms or [name for name in algorithms() if name != "reno"]
        with ThreadPoolExecutor(2) as pool:
            costs = list(pool.map(lambda name: per_ack(cost, name, trace), chosen))
    missed = 0
    for name, value in zip(chosen, costs, strict=True):
        is_ok = value - reno <= INSTRUCTIONS_OVER_RENO
        missed += not is_ok
        bar = f"at most {INSTRUCTIONS_OVER_RENO}  {'ok' if is_ok else 'MISSED'}"
        print(f"{name:16} {value:8.1f} instructions/ACK {value - reno:+8.1f} over reno, {bar}")
    paced = [name for name in chosen if name in PACED]
    if paced:
        missed += judge_paced(paced)
    return int(missed > 0)


def judge_paced(names: list[str]) -> int:
    """Return the number of paced algorithms that cost too much in the simulator."""
    benchmark = measure.build()
    reno = per_segment(benchmark, "reno")
    print(f"{'reno':16} {reno:8.0f} instructions/segment")
    missed = 0
    for name in names:
        value = per_segment(benchmark, name)
        is_ok = value <= PACED_RATIO * reno
        missed += not is_ok
        bar = f"at most {PACED_RATIO:g}  {'ok' if is_ok else 'MISSED'}"
        print(f"{name:16} {value:8.0f} instructions/segment {value / reno:6.2f} times reno, {bar}")
    return missed


def per_segment(benchmark: Path, algorithm: str) -> float:
    """Return the instructions per delivered segment of one flow on the dumbbell."""
    command = [str(benchmark), "dumbbell", "--algorithm", algorithm, "--seconds"]
    few, many = (measure.instructions([*command, str(seconds)]) for seconds in DUMBBELL_SECONDS)
    segments = [int(json.loads(printed)["delivered_segments"]) for _, printed in (few, many)]
    return (many[0] - few[0]) / (segments[1] - segments[0])


def algorithms() -> list[str]:
    """Return the names of all algorithms, which are the names of their files."""
    return sorted(path.stem for path in (measure.ROOT / "algorithms").glob("*.c"))


def recorded(path: Path | None) -> str:
    """Return recorded ACKs as CSV: from `path`, or else from a reno flow in the simulator."""
    if path is None:
        acks = measure.build_example("cwndlab-sim", "acks")
        command = [str(acks), "reno", str(RECORDED_SECONDS)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  our own
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text()


def per_ack(cost: Path, algorithm: str, trace: Path) -> float:
    """Return the instructions per ACK, including the calls of the hooks."""
    few, many = (
        measure.instructions([str(cost), algorithm, str(trace), str(repetitions)])
        for repetitions in REPETITIONS
    )
    return (many[0] - few[0]) / ((REPETITIONS[1] - REPETITIONS[0]) * int(many[1]))


if __name__ == "__main__":
    sys.exit(main())
