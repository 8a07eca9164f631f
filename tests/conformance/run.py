"""Runs every congestion control of a Linux kernel, unmodified, beside ours, and compares each call.

Both are compiled as `--algorithm` compiles a user's file, and run in the same TCP endpoint over the
same channels: loss, timeouts, ECN, idle times and more (scenarios.py). Compared are the arguments
and answer of every callback, the window and the threshold before and after it, and the pacing rate.
Exits 1 where a callback differs, or where a hook of an algorithm was never called.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare import Comparison, compare, read_calls
from scenarios import SCENARIOS, Scenario
from source import ROOT, VERSIONS, SourceError, kernel_files, package_files

from cwndlab.errors import AlgorithmError
from cwndlab.usercode.compiler import shared_object
from cwndlab.usercode.program import read_program

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
EXPLANATIONS = HERE / "explanations.toml"
SIDES = ("theirs", "ours")


class RecordingError(Exception):
    """An algorithm broke a rule while it ran."""


@dataclass(frozen=True)
class Side:
    """One of the two implementations of an algorithm."""

    file: str
    library: Path
    name: str
    hooks: frozenset[str]


@dataclass
class Verdict:
    """What was found of one algorithm."""

    name: str
    sides: dict[str, Side]
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def differing(self) -> dict[str, Comparison]:
        """Scenarios in which a callback differs."""
        return {name: each for name, each in self.comparisons.items() if each.first}

    def never_called(self) -> dict[str, list[str]]:
        """Hooks of a side that no scenario called."""
        found = {}
        for side in SIDES:
            called = {hook for each in self.comparisons.values() for hook in each.called[side]}
            missing = sorted(self.sides[side].hooks - called)
            if missing:
                found[side] = missing
        return found

    @property
    def is_well(self) -> bool:
        """Whether both are the same, and all was tried."""
        return not self.failures and not self.differing and not self.never_called()


def main() -> int:
    """Compare."""
    options = _options()
    try:
        pairs, alone = _pairs(options)
    except (SourceError, AlgorithmError, RecordingError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    explanations = tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8"))
    scenarios = [s for s in SCENARIOS if not options.scenario or s.name in options.scenario]
    verdicts = []
    for name, sides in pairs.items():
        verdict = Verdict(name, sides)
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(_compare, repeat(verdict), scenarios))
        _print(verdict, explanations.get(name, {}))
        verdicts.append(verdict)
    for name in alone:
        print(f"{name}: no counterpart here")
    good = sum(verdict.is_well for verdict in verdicts)
    print(f"\n{good} of {len(verdicts)} algorithms identical in {len(scenarios)} scenarios")
    return int(good < len(verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kernel = parser.add_mutually_exclusive_group()
    kernel.add_argument("--kernel", choices=VERSIONS, default=VERSIONS[0],
                        help="the version of Debian's package to compare with")  # fmt: skip
    kernel.add_argument("--source", type=Path, metavar="FOLDER", help="an unpacked kernel instead")
    parser.add_argument("--algorithm", help="only these, such as reno,cubic")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--ours", type=Path, default=ROOT / "algorithms", metavar="FOLDER",
                        help="where our files are")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    return parser.parse_args()


def _pairs(options: argparse.Namespace) -> tuple[dict[str, dict[str, Side]], list[str]]:
    """Theirs and ours by name, and the names that have no counterpart here."""
    wanted = options.algorithm.split(",") if options.algorithm else None
    pairs: dict[str, dict[str, Side]] = {}
    alone = []
    files = kernel_files(options.source) if options.source else package_files(options.kernel)
    for path in files:
        theirs = _side(f"linux:{path}")
        if wanted and theirs.name not in wanted:
            continue
        counterpart = options.ours / f"{theirs.name}.c"
        if counterpart.exists():
            pairs[theirs.name] = {"theirs": theirs, "ours": _side(str(counterpart))}
        else:
            alone.append(theirs.name)
    return pairs, alone


def _side(reference: str) -> Side:
    program = read_program(reference, Path())
    library = shared_object(program)
    described = json.loads(_child("describe", str(library), program.file))
    return Side(program.file, library, described["name"], frozenset(described["hooks"]))


def _compare(verdict: Verdict, scenario: Scenario) -> None:
    common = verdict.sides["theirs"].hooks & verdict.sides["ours"].hooks
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "scenario.json"
        document.write_text(json.dumps(scenario.document()))
        calls = []
        for side in SIDES:
            file = Path(folder) / side
            algorithm = verdict.sides[side]
            try:
                _child("record", str(algorithm.library), algorithm.file, str(document), str(file))
            except RecordingError as error:
                verdict.failures.append(f"{scenario.name}: {side}: {error}")
                return
            calls.append(read_calls(file))
        verdict.comparisons[scenario.name] = compare(*calls, common)


def _child(*arguments: str) -> str:
    command = [sys.executable, str(HERE / "record.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RecordingError(done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


def _print(verdict: Verdict, explanations: Mapping[str, Any]) -> None:
    total = sum(each.calls for each in verdict.comparisons.values())
    differing = verdict.differing
    count = len(verdict.comparisons)
    same = f"identical in {count} scenarios"
    outcome = f"DIFFERS in {len(differing)} of {count} scenarios" if differing else same
    print(f"{verdict.name}: {outcome}, {total:,} callbacks")
    for name, each in differing.items():
        print(f"  {name}: {each.first}")
    if differing and "difference" in explanations:
        print(f"  why: {explanations['difference']}")
    for failure in verdict.failures:
        print(f"  FAILED {failure}")
    for side, missing in verdict.never_called().items():
        print(f"  NEVER CALLED, {side}: {', '.join(missing)}")
    _print_notes(verdict, explanations)
    sys.stdout.flush()


def _print_notes(verdict: Verdict, explanations: Mapping[str, Any]) -> None:
    """What is otherwise, and no difference in what the algorithm does."""
    hooks = {side: verdict.sides[side].hooks for side in SIDES}
    for side, other in (SIDES, SIDES[::-1]):
        if alone := sorted(hooks[side] - hooks[other]):
            print(f"  hooks of {side} alone: {', '.join(alone)}")
    for name in sorted({name for each in verdict.comparisons.values() for name in each.beside}):
        why = explanations.get(name)
        print(f"  {name} is kept otherwise, without effect{f': {why}' if why else ''}")


if __name__ == "__main__":
    sys.exit(main())
