"""List the files that a segment and its ACK visit, from a trace of calls in the steady state.

The benchmark is built without inlining and runs twice under callgrind, which records each function
with its callers. The calls that only the longer run makes are the walk; calls made by at least one
segment in ten count. The walk has four legs, which begin where the data leave the sender, enter a
link, arrive at the receiver, and where the ACK arrives at the sender.

A file is visited if one of its functions is called. Files of value types do not count: those of
`crates/units` and `crates/packet`, whose types are copied and know nothing of connections, links
and runs. A file is visited twice in a leg if another file calls it while it waits for a call to
that file to return: the walk has left the file and re-enters it. All calls from a file to a part
that it owns are one visit.

A second figure counts a file only if one of the called functions has at least four lines. Most
shorter functions do not exist in an optimized build, because the compiler inlines them. The lines
of a function are those that the longer run executes, except the line on which the function begins.

Exits with 1 if the number of files exceeds the bar, or if any file is visited twice.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 18
SHORT_S, LONG_S = 4, 12
# Functions that are called less often per delivered segment belong to losses and timers.
LEAST_CALLS = 0.1
# Length of the shortest functions that the second figure counts.
LEAST_LINES = 4
DEEPEST_STACK = 60

VALUES = ("crates/units/", "crates/packet/")
# The functions with which a leg begins; the innermost of them on the stack determines the leg.
LEGS = {
    "segment out": ("LinuxEndpoint>::write_xmit", "Flow::poll_sender"),
    "over the link": ("Path::send", "Path::settle", "Engine::poll_link"),
    "segment in": ("Flow::give_to_receiver",),
    "ACK back": ("Flow::give_to_sender",),
}
NO_INLINING = {
    "RUSTFLAGS": "-C no-prepopulate-passes",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "CARGO_PROFILE_DEV_DEBUG_ASSERTIONS": "false",
    "CARGO_PROFILE_DEV_OVERFLOW_CHECKS": "false",
}
NAMED = re.compile(r"\((\d+)\)(?: (.*))?")


@dataclass
class Trace:
    """Number of calls of each stack of functions; a stack begins with its innermost function."""

    calls: Counter[tuple[str, ...]] = field(default_factory=Counter)
    files: dict[str, str] = field(default_factory=dict)  # by function
    lines: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    segments: int = 0


@dataclass
class Leg:
    """The files that a leg visits, and the calls that re-enter a file."""

    calls: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    returns: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))


def main() -> int:
    """Count the files that each leg visits, and print them."""
    binary = build()
    short, long = trace(binary, SHORT_S), trace(binary, LONG_S)
    segments = long.segments - short.segments
    legs = {name: Leg() for name in LEGS}
    lengths: Counter[str] = Counter()  # lines of the longest function on the walk, by file
    for stack, count in long.calls.items():
        calls = (count - short.calls[stack]) / segments
        if calls >= LEAST_CALLS and (name := leg_of(stack)):
            visit(legs[name], files_of(stack, name, long.files), calls)
            if file := long.files.get(stack[0]):
                lengths[file] = max(lengths[file], len(long.lines[stack[0]]) - 1)
    for name, leg in legs.items():
        print(f"{name}: {len(leg.calls)} files")
        for path, calls in sorted(leg.calls.items(), key=lambda each: -each[1]):
            print(f"  {calls:6.1f} calls  {path}")
        for (path, caller), calls in sorted(leg.returns.items(), key=lambda each: -each[1]):
            print(f"  {calls:6.1f} calls  {path} again, from {caller}")
    files = {path for leg in legs.values() for path in leg.calls}
    twice = {(name, path) for name, leg in legs.items() for path, _ in leg.returns}
    is_ok = len(files) <= MOST_FILES and not twice
    verdict = "ok" if is_ok else "MISSED"
    longer = sum(lengths[file] >= LEAST_LINES for file in files)
    print(f"{longer} files if only functions of at least {LEAST_LINES} lines count")
    print(f"{len(files)} files, at most {MOST_FILES}; {len(twice)} visited twice  {verdict}")
    return int(not is_ok)


def build() -> Path:
    """Build the benchmark without inlining, and return its path."""
    target = ROOT / "target" / "walk"
    command = ["cargo", "build", "--quiet", "--target-dir", str(target), "-p", "cwndlab-sim"]
    environment = {**os.environ, **NO_INLINING}
    subprocess.run([*command, "--example", "benchmark"], cwd=ROOT, check=True, env=environment)  # noqa: S603  our own
    return target / "debug" / "examples" / "benchmark"


def leg_of(stack: tuple[str, ...]) -> str | None:
    """Return the leg to which a stack belongs; None if it belongs to no leg."""
    for function in stack:
        for name, roots in LEGS.items():
            if function.endswith(roots):
                return name
    return None


def files_of(stack: tuple[str, ...], leg: str, files: dict[str, str]) -> list[str]:
    """Return the project's files from the beginning of the leg to the innermost function."""
    path: list[str] = []
    for function in stack:
        name = files.get(function)
        if name and not name.startswith(VALUES) and path[-1:] != [name]:
            path.append(name)
        if function.endswith(LEGS[leg]):
            break
    return path[::-1]


def visit(leg: Leg, path: list[str], calls: float) -> None:
    """Count the calls of the innermost function."""
    if not path:
        return
    *before, last = path
    leg.calls[last] += calls
    if last in before:
        leg.returns[last, before[-1]] += calls


def trace(binary: Path, seconds: int) -> Trace:
    """Return the calls of one run of the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "trace"
        callgrind = ["valgrind", "--tool=callgrind", f"--separate-callers={DEEPEST_STACK}"]
        callgrind += ["--compress-pos=no"]
        run = [str(binary), "dumbbell", "--seconds", str(seconds)]
        result = subprocess.run(  # noqa: S603  our own command
            [*callgrind, f"--callgrind-out-file={output}", *run],
            capture_output=True,
            text=True,
            check=True,
        )
        found = calls_of(output.read_text())
    found.segments = int(json.loads(result.stdout)["delivered_segments"])
    return found


def calls_of(text: str) -> Trace:
    """Return the calls in a callgrind file, and the file and lines of the project's functions."""
    found = Trace()
    calls: Counter[str] = Counter()
    file = place = function = callee = ""
    for key, value in rows_of(text):
        if key in {"fl", "fi", "fe"}:
            file = value if key == "fl" else file
            place = value
        elif key == "fn":
            function = value.partition("'")[0]
            if Path(file).is_relative_to(ROOT):
                found.files[function] = str(Path(file).relative_to(ROOT))
        elif key == "cfn":
            callee = value
        elif key == "calls":
            calls[callee] += int(value.split()[0])
        elif key.isdigit() and key != "0" and place == file:
            # Code without a line has the line 0.
            found.lines[function].add(int(key))
    found.calls.update({tuple(stack.split("'")): count for stack, count in calls.items()})
    return found


def rows_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a callgrind file; the key of costs is their line number.

    In the file, a name that appears again is abbreviated to its number. Functions (`fn`, `cfn`),
    objects (`ob`, `cob`) and files (`fl` and others) are numbered separately.
    """
    names: dict[tuple[str, str], str] = {}
    for row in text.splitlines():
        key, is_pair, value = row.partition("=")
        if not is_pair:
            key, _, value = row.partition(" ")
        elif match := NAMED.fullmatch(value):
            kind = next(kind for kind in ("fn", "ob", "f") if kind in key)
            number = (kind, match[1])
            if match[2]:
                names[number] = match[2]
            value = names.get(number, value)
        yield key, value


if __name__ == "__main__":
    sys.exit(main())
