"""Measure CPU time, memory and instructions of a child process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


def build() -> Path:
    """Build the benchmark, and return its path."""
    return build_example("cwndlab-sim", "benchmark")


def build_example(package: str, name: str) -> Path:
    """Build an example of a crate, and return its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", package]
    subprocess.run([*command, "--example", name], cwd=ROOT, check=True)  # noqa: S603  our own
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / name


def cpu_seconds(command: list[str]) -> tuple[float, str]:
    """Return the CPU time and the output of one run of a command."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)  # noqa: S603  our own command
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, output.read()


class Runs(NamedTuple):
    """CPU times of the runs of one command."""

    seconds: list[float]
    printed: str
    """Output of the last run."""

    @property
    def median_seconds(self) -> float:
        """Median CPU time of the runs."""
        return median(self.seconds)


def median_cpu_seconds(command: list[str], runs: int = 5) -> tuple[float, str]:
    """Return the median CPU time of several runs of a command, and the output of the last run."""
    [own] = alternated_cpu_seconds([command], runs)
    return own.median_seconds, own.printed


def alternated_cpu_seconds(commands: list[list[str]], runs: int) -> list[Runs]:
    """Run each command several times, and return the CPU times of each.

    The commands take turns, so that a machine that becomes slower or faster treats them alike.
    """
    turns = [[cpu_seconds(command) for command in commands] for _ in range(runs)]
    by_command = zip(*turns, strict=True)
    return [Runs([seconds for seconds, _ in own], own[-1][1]) for own in by_command]


def has_callgrind() -> bool:
    """Return whether instructions can be counted on this machine."""
    return shutil.which("valgrind") is not None


def instructions(command: list[str]) -> tuple[int, str]:
    """Return the number of instructions that a command executes, and its output."""
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    result = subprocess.run(  # noqa: S603  our own command
        [*callgrind, *command], capture_output=True, text=True, check=False
    )
    match = re.search(r"Collected\s*:\s*([0-9]+)", result.stderr)
    if result.returncode or match is None:
        sys.exit(f"{' '.join(command)}: valgrind failed\n{result.stderr[-2000:]}")
    return int(match[1]), result.stdout
