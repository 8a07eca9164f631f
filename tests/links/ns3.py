"""Measure the settings of ns3.csv again with an installed ns-3 and write its figures there.

A figure is the mean of so many runs as the column `runs` says, of seeds 1, 2, and so on.
Needs a C++ compiler and ns-3's libraries: Debian's package libns3-dev.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

PROGRAM = Path(__file__).with_name("ns3_wifi.cc")
TABLE = Path(__file__).with_name("ns3.csv")
MODULES = ("core", "network", "internet", "applications", "mobility", "traffic-control", "wifi")
# The columns that are options of the program by the same name.
OPTIONS = (
    *("standard", "channel", "short", "mcs", "ampdu", "traffic", "stations", "places"),
    *("warm_up", "seconds", "offered", "lifetime", "disc", "greet"),
)


def build(folder: Path) -> Path:
    """The program, compiled."""
    program = folder / "ns3_wifi"
    libraries = [f"-lns3-{module}" for module in MODULES]
    command = ["g++", "-std=c++17", "-O1", str(PROGRAM), "-o", str(program), *libraries]
    subprocess.run(command, check=True)
    return program


def measure(program: Path, row: dict[str, str]) -> dict[str, str]:
    """The row with the mean rate of ns-3's runs, in Mbit/s, and Jain's index of the stations."""
    options = [f"--{name}={row[name]}" for name in OPTIONS]
    found = []
    for run in range(1, int(row["runs"]) + 1):
        command = [str(program), *options, f"--run={run}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(figure) for figure in done.stdout.split()])
    mbit_s, jain = (fmean(column) for column in zip(*found, strict=True))
    return row | {"mbit_s": f"{mbit_s:.4f}", "jain": f"{jain:.4f}"}


def main() -> int:
    """Measure every row, or those whose name begins with a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name begins so")
    parser.add_argument("--missing", action="store_true", help="only rows without figures")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--version", default="3.37", help="version of the installed ns-3")
    options = parser.parse_args()
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        program = build(Path(folder))

        def renew(row: dict[str, str]) -> dict[str, str]:
            if not row["id"].startswith(options.only) or (options.missing and row["mbit_s"]):
                return row
            return measure(program, row) | {"version": options.version}

        rows = list(pool.map(renew, rows))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
