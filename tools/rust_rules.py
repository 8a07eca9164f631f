"""Check rules of CONTRIBUTING.md in `crates/` that no compiler checks; exit with 1 on a violation.

- A predicate (`is_`, `has_`, `in_`) has no `&mut` parameter; a method that acts is named by a verb.
- A struct has at most 20 fields, unless it mirrors a C struct (`repr(C)`) or is a row of results.

Macros are not expanded: the source text inside them is checked as it is written.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
MOST_FIELDS = 20

KERNEL_NAMES = {"in_ack_event"}
"""Hooks of `struct tcp_congestion_ops` that start like a predicate."""

ROWS_OF_RESULTS = {
    ("crates/capture/src/flow.rs", "Flow"),
    ("crates/tcp/src/info.rs", "Info"),
}

# A match includes the quotation marks and comment signs inside it, so they begin no other match.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|b?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\\n]|\\[^\n]{1,9}?)'""",
    re.DOTALL,
)
FUNCTION = re.compile(r"\bfn\s+((?:is|has|in)_\w+)\s*(?:<[^>{;]*>)?\s*\(([^{;]*)")
STRUCT = re.compile(r"\bstruct\s+(\w+)[^;{(]*\{")
MUTABLE = re.compile(r"&\s*(?:'\w+\s+)?mut\b")
ATTRIBUTE = re.compile(r"#\[[^\]]*\]")


def main() -> int:
    """Check every crate, or the given folders."""
    folders = [Path(name) for name in sys.argv[1:]] or [ROOT / "crates"]
    files = sorted(file for folder in folders for file in folder.rglob("*.rs"))
    problems = [problem for file in files for problem in problems_of(file)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return int(bool(problems))


def problems_of(file: Path) -> Iterator[str]:
    """Yield the rule violations in a file, each with its place and a remedy."""
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
    text = NOT_CODE.sub(blank, file.read_text("utf-8"))
    for match in FUNCTION.finditer(text):
        parameters = match[2].partition("->")[0]
        if MUTABLE.search(parameters) and match[1] not in KERNEL_NAMES:
            yield (
                f"{name}:{line_of(text, match.start())}: the predicate {match[1]} takes `&mut`: "
                "name the method by a verb, or take `&self`"
            )
    for match in STRUCT.finditer(text):
        if (name, match[1]) in ROWS_OF_RESULTS or is_mirror(text[: match.start()]):
            continue
        fields = field_count(text, match.end())
        if fields > MOST_FIELDS:
            yield (
                f"{name}:{line_of(text, match.start())}: the struct {match[1]} has {fields} "
                f"fields, more than {MOST_FIELDS}: group related fields into structs"
            )


def blank(match: re.Match[str]) -> str:
    """Return as many line breaks as the match contains, so that line numbers stay correct."""
    return "\n" * match[0].count("\n") or " "


def line_of(text: str, at: int) -> int:
    """Return the line number of a position, counted from 1."""
    return text.count("\n", 0, at) + 1


def is_mirror(before: str) -> bool:
    """Return whether the attributes in front of a struct give it the layout of C."""
    begin = max(before.rfind(end) for end in ";}") + 1
    return any("repr(C" in attribute for attribute in ATTRIBUTE.findall(before[begin:]))


def field_count(text: str, begin: int) -> int:
    """Count the fields after an opening brace: colons outside all inner brackets."""
    depth, fields = 1, 0
    at = begin
    while depth and at < len(text):
        if text[at : at + 2] in ("::", "->"):
            at += 2
            continue
        depth += {"{": 1, "(": 1, "[": 1, "<": 1, "}": -1, ")": -1, "]": -1, ">": -1}.get(
            text[at], 0
        )
        fields += text[at] == ":" and depth == 1
        at += 1
    return fields


if __name__ == "__main__":
    sys.exit(main())
