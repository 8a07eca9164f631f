"""What the links come to, beside what they must: exits 1 where a target is missed."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGETS = Path(__file__).with_name("targets.toml")
NS3 = Path(__file__).with_name("ns3.csv")


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that a link must come to."""

    id: str
    title: str
    unit: str
    target: float
    within: str | float
    source: str
    aside: str = ""

    def error(self, value: float) -> str:
        """How far off a value is, in the terms of the tolerance."""
        if isinstance(self.within, str) and self.within.endswith("%"):
            return f"{100 * (value / self.target - 1):+.2f} %"
        return f"{value - self.target:+.4g}"

    def holds(self, value: float) -> bool:
        """Whether a value is near enough."""
        if self.within == "exact":
            return value == self.target
        if isinstance(self.within, str):
            share = float(self.within.removesuffix("%")) / 100
            return abs(value - self.target) <= share * abs(self.target)
        return abs(value - self.target) <= self.within

    def verdict(self, value: float) -> str:
        """The last word of the row."""
        if self.holds(value):
            return "ok"
        return f"off: {self.aside}" if self.aside else "MISSED"


def read_targets(text: str) -> dict[str, Target]:
    """The targets of a file by their names.

    Raises:
        ValueError: a name twice, or a tolerance that is none.
    """
    targets: dict[str, Target] = {}
    for row in tomllib.loads(text)["target"]:
        target = Target(**row)
        if target.id in targets:
            msg = f"{target.id} stands there twice"
            raise ValueError(msg)
        if isinstance(target.within, str) and target.within != "exact":
            float(target.within.removesuffix("%"))
        targets[target.id] = target
    return targets


def read_ns3(text: str) -> dict[str, Target]:
    """The targets that ns-3 sets, by their names: rates and, where judged, Jain's indices."""
    targets: dict[str, Target] = {}
    for row in csv.DictReader(text.splitlines()):
        source = f"ns-3.{row['version'].removeprefix('3.')}, tests/links/ns3_wifi.cc"
        title = f"ns-3 {row['id']}"
        rate = f"ns3.mbit_s.{row['id']}"
        targets[rate] = Target(
            rate, title, "Mbit/s", float(row["mbit_s"]), row["within"], source, row["aside"]
        )
        if row["jain_within"]:
            jain = f"ns3.jain.{row['id']}"
            within = float(row["jain_within"])
            targets[jain] = Target(jain, f"{title}, Jain", "", float(row["jain"]), within, source)
    return targets


def measure(arguments: list[str]) -> dict[str, float]:
    """What the simulator's links come to, by the names of the targets."""
    build = ["cargo", "build", "--release", "--quiet", "-p", "cwndlab-sim"]
    subprocess.run([*build, "--example", "validate_links"], cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = [str(folder / "release" / "examples" / "validate_links"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["id"]: row["value"] for row in rows}


def main() -> int:
    """Measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="targets whose name begins so")
    parser.add_argument("--traces", help="folder of recorded Mahimahi traces")
    options = parser.parse_args()
    targets = read_targets(TARGETS.read_text(encoding="utf-8"))
    targets |= read_ns3(NS3.read_text(encoding="utf-8"))
    arguments = ["--only", options.only]
    if options.traces:
        arguments += ["--traces", str(Path(options.traces).resolve())]
    values = measure(arguments)
    unknown = {name for name in values.keys() - targets.keys() if not name.startswith("ns3.jain.")}
    if unknown := sorted(unknown):
        print("measured without a target:", ", ".join(unknown))
    missed = 0
    print(f"{'':58} {'target':>11} {'ours':>11} {'error':>9} {'within':>8}")
    for target in targets.values():
        if not target.id.startswith(options.only):
            continue
        value = values.get(target.id)
        title = f"{target.title}, {target.unit}" if target.unit else target.title
        if value is None:
            is_missing = not target.id.startswith("trace.") or options.traces is not None
            missed += is_missing
            print(f"{title:58} {target.target:11,.5g}   {'NOT MEASURED' if is_missing else '-'}")
            continue
        missed += target.verdict(value) == "MISSED"
        print(
            f"{title:58} {target.target:11,.5g} {value:11,.5g} {target.error(value):>9} "
            f"{target.within!s:>8}  {target.verdict(value)}"
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
