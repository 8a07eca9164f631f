"""Count instructions per simulated second of radio links; exit with 1 if a bar is exceeded.

One CUBIC flow uses the downlink; on the Wi-Fi channel, seven flows use the uplink. Presets also run
with a fixed window of one packet: the cost must then depend on the packets, not on unused slots.
The instructions of the whole simulation, including TCP, are counted as the difference between two
run lengths.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import measure
from cwndlab.resolve import resolve_link
from cwndlab.schema.link import Link

SECONDS = (10, 40)
PRESETS = ("nr-typical", "wifi-typical", "lte-typical", "hspa-typical")
LIGHT = ("--algorithm", "fixed", "--window", "1")


@dataclass(frozen=True)
class Case:
    """A link and the flows that use it."""

    name: str
    arguments: tuple[str, ...]
    millions_per_second: float | None = None  # maximum number of instructions per simulated second


CASES = (
    Case("NR 50 MHz, walking", ("nr",)),
    Case("Wi-Fi n, 7 stations", ("wifi", "--flows", "7")),
    Case("LTE 20 MHz, 10 users in the background", ("lte",)),
    Case("HSDPA, walking", ("hsdpa",)),
)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="run only cases whose names contain one of these")
    options = parser.parse_args()
    if not measure.has_callgrind():
        print("instructions are not counted: valgrind is not installed (apt-get install valgrind)")
        return 1
    binary = str(measure.build())
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = [*CASES, *(case for name in PRESETS for case in preset(name, Path(folder)))]
        for case in cases:
            if options.names and not any(name in case.name for name in options.names):
                continue
            value = millions_per_second(binary, case.arguments)
            bar = case.millions_per_second
            verdict = ""
            if bar is not None:
                missed += value > bar
                verdict = f"at most {bar:,.4g}  {'ok' if value <= bar else 'MISSED'}"
            unit = "M instructions/simulated s"
            print(f"{case.name:44} {value:10,.3f} {unit}  {verdict}".rstrip(), flush=True)
    return int(missed > 0)


def preset(name: str, folder: Path) -> tuple[Case, ...]:
    """Return two cases for a preset's link: one CUBIC flow, and a window of one packet."""
    file = folder / f"{name}.json"
    path = resolve_link(Link.read(name), folder).path
    file.write_text(json.dumps(path))
    return Case(name, (str(file),)), Case(f"{name}, a window of 1", (str(file), *LIGHT))


def millions_per_second(binary: str, arguments: tuple[str, ...]) -> float:
    """Return millions of instructions per simulated second, from two run lengths."""
    commands = [[binary, *arguments, "--seconds", str(length)] for length in SECONDS]
    with ThreadPoolExecutor(2) as pool:
        (short, _), (long, _) = pool.map(measure.instructions, commands)
    return (long - short) / (SECONDS[1] - SECONDS[0]) / 1e6


if __name__ == "__main__":
    sys.exit(main())
