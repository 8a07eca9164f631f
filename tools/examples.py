"""Check that the console examples in README and docs/ show what the commands print.

A block contains commands after `$ `, each optionally followed by its output. A line `...` stands
for lines that the page omits, `…` for an omitted part of a line; computing times are not compared.
All blocks of a page run in the same folder.

python tools/examples.py PAGE...   # replaces the output in the pages with the current output
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OMITTED = "..."
_RECORDINGS = ("home", "drive")
"""Names of the recordings of `cwndlab link record --light-heavy` to which pages refer."""
_SOURCE_NAME = re.compile(r"/\*\n \* (\w+):")
_COMPUTING = re.compile(r"[\d.,]+ (m?s|min) of computing")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a block, and the output that the block shows."""

    command: str
    shown: tuple[str, ...]
    line: int


class ExampleError(Exception):
    """A command failed, or its output differs from the page."""


def pages() -> list[Path]:
    """Return README and all pages in docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def steps(text: str) -> list[Step]:
    """Return the commands of all console blocks of a page."""
    found: list[Step] = []
    for match in BLOCK.finditer(text):
        if match[1] != "console":
            continue
        first = text[: match.start(2)].count("\n") + 1
        for number, line in enumerate(match[2].splitlines(), first):
            if line.startswith("$ "):
                found.append(Step(line[2:], (), number))
            elif not found:
                msg = f"line {number}: a console block begins with a command after `$ `"
                raise ExampleError(msg)
            else:
                last = found.pop()
                found.append(Step(last.command, (*last.shown, line), last.line))
    return found


def furnish(folder: Path) -> None:
    """Fill a folder with links to the clone, and with the files to which the pages refer."""
    for name in ("studies", "algorithms", "docs", "python"):
        (folder / name).symlink_to(ROOT / name)
    for name, text in algorithms().items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in _RECORDINGS:
        for direction in ("downlink", "uplink"):
            (folder / f"{name}-{direction}.trace").write_text("1\n2\n", encoding="utf-8")
            (folder / f"{name}-{direction}.light").write_text("0 20.5 0 1.2\n", encoding="utf-8")


def algorithms() -> dict[str, str]:
    """Return every C file in the documentation, by the name at the start of its comment."""
    found = {}
    for page in pages():
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            name = _SOURCE_NAME.match(text)
            if language == "c" and name:
                found[f"{name[1]}.c"] = text
    return found


def program() -> str:
    """Return the path of `cwndlab`."""
    return str(Path(sysconfig.get_path("scripts")) / "cwndlab")


def printed(step: Step, folder: Path) -> list[str]:
    """Run a command, and return the lines that it prints.

    Raises:
        ExampleError: the command failed.
    """
    name, *arguments = shlex.split(step.command, comments=True)
    if name != "cwndlab":
        msg = f"line {step.line}: only cwndlab can run in an example, not {name}"
        raise ExampleError(msg)
    command = [program(), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  our own
    if done.returncode != 0:
        msg = f"line {step.line}: {step.command}\n{done.stdout}\n{done.stderr}"
        raise ExampleError(msg)
    return [line.rstrip() for line in done.stdout.strip("\n").splitlines()]


def is_shown(shown: tuple[str, ...], output: list[str]) -> bool:
    """Return whether the lines of a page match the output, except for omitted parts."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == OMITTED else re.escape(_same(line)).replace("…", ".*?") + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{_same(line)}\n" for line in output)) is not None


def _same(line: str) -> str:
    return _COMPUTING.sub("some of computing", line.rstrip())


def rewrite(page: Path) -> None:
    """Replace the output in a page with the current output, unless the page omits lines of it."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        furnish(Path(folder))
        for step in steps(text):
            output = printed(step, Path(folder))
            if not step.shown or is_shown(step.shown, output):
                continue
            if OMITTED in step.shown or any("…" in line for line in step.shown):
                sys.stdout.write(
                    f"{page}:{step.line}: update this block by hand; it omits lines of the output\n"
                )
                sys.stdout.write("".join(f"{line}\n" for line in output))
                continue
            was = "".join(f"{line}\n" for line in step.shown)
            text = text.replace(was, "".join(f"{line}\n" for line in output))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
