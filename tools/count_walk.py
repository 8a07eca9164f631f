"""Which files a segment and its ACK visit, from a trace of the benchmark's steady state.

The benchmark runs twice under callgrind, and what the longer run executes more, line by line and
with inlined functions, is the walk: from the sender's application through both links and the
receiver back to the congestion control. A file counts if a segment in ten visits it. Exits 1 if
there are more than the bar.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 18
SHORT_S, LONG_S = 10, 30
# A line that is executed less often per delivered segment belongs to losses and timers.
LEAST_EXECUTIONS = 0.1

NAMED = re.compile(r"\((\d+)\)(?: (.*))?")
COST = re.compile(r"(\+|-)?(\d+|\*) (\d+)")


def main() -> int:
    """Count."""
    build = ["cargo", "build", "--release", "--quiet", "-p", "cwndlab-sim"]
    subprocess.run([*build, "--example", "benchmark"], cwd=ROOT, check=True)  # noqa: S603  our own
    short, short_segments = trace(SHORT_S)
    long, long_segments = trace(LONG_S)
    segments = long_segments - short_segments
    files: defaultdict[str, float] = defaultdict(float)
    for (name, line), count in long.items():
        instructions = (count - short[name, line]) / segments
        if instructions >= LEAST_EXECUTIONS and (path := of_project(name)):
            files[path] += instructions
    for path, instructions in sorted(files.items(), key=lambda each: -each[1]):
        print(f"{instructions:8.1f}  {path}")
    verdict = "ok" if len(files) <= MOST_FILES else "MISSED"
    print(f"{len(files)} files, at most {MOST_FILES}  {verdict}")
    return int(len(files) > MOST_FILES)


def of_project(name: str) -> str | None:
    """The path of a source file below the root, None for a library's."""
    path = Path(name)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def trace(seconds: int) -> tuple[Counter[tuple[str, int]], int]:
    """Instructions by file and line, and the segments that were delivered."""
    binary = ROOT / "target/release/examples/benchmark"
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "trace"
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        run = [str(binary), "dumbbell", "--seconds", str(seconds)]
        result = subprocess.run(  # noqa: S603  our own command
            [*callgrind, *run], capture_output=True, text=True, check=True
        )
        return lines_of(output.read_text()), int(json.loads(result.stdout)["delivered_segments"])


def lines_of(text: str) -> Counter[tuple[str, int]]:
    """Instructions by file and line of a callgrind file, those of called functions left out."""
    lines: Counter[tuple[str, int]] = Counter()
    names: dict[str, str] = {}
    name, line, is_call = "", 0, False
    for row in text.splitlines():
        key, _, value = row.partition("=")
        if key in {"fl", "fi", "fe", "cfi", "cfl"} and (match := NAMED.fullmatch(value)):
            if match[2]:
                names[match[1]] = match[2]
            if not key.startswith("c"):
                name = names[match[1]]
        elif key == "calls":
            is_call = True
        elif match := COST.fullmatch(row):
            sign, number, count = match.groups()
            if number != "*":
                line = {None: 0, "+": line, "-": line}[sign] + int(f"{sign or ''}{number}")
            if not is_call:
                lines[name, line] += int(count)
            is_call = False
    return lines


if __name__ == "__main__":
    sys.exit(main())
