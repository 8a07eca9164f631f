"""Check texts for readers: line lengths in Markdown, and words that readers stumble over.

python tools/prose.py                # lists each line that is too long and each refused word
python tools/prose.py --reflow PAGE  # wraps the long paragraphs of a page
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
WIDTH = 99  # lines end before column 100
PAGES = ("*.md", "docs/**/*.md")
SOURCES = ("python/cwndlab/cli", "python/cwndlab/report", "python/cwndlab/text")
NOTES = "docs/notes/"  # dated notes, which are not rewritten

REFUSED = {
    r"\bbefell\b|\bbefall\w*": "what happened: disturbed, failed, was interrupted",
    r"\bwhat of\b": "name the thing",
    r"\b(?:is|are|was|were) told\b(?! apart)": "reported, known, shown",
    r"\btells? of\b|\btold of\b": "shows, reports, describes",
    r"\b(?:for|by|to|of) who (?!is\b)": "anyone who, whoever, or name them",
    r"\bwho knows\b": "anyone who has",
    r"\bentrys\b": "entries",
    r"\bwhosoever\b|\bwhatsoever\b": "leave it out",
    r"\bunasked\b": "unexpectedly",
    r"\bof all random draws\b": "random seed",
    r"\bis no (?:\w+\.?)$|\bthis is no\b": "is not a ...",
    r"\bso many of\b": "say how many",
}

_RIDDLE = re.compile(r"(What|Who|Whose|Whom|Of)\b")
_ITEM = re.compile(r"^(\s*)([-*+]|\d+\.)(\s+)")
_NOT_PROSE = re.compile(r"^\s*(\||#|!!!|\[[^\]]+\]: |<|!\[)")  # tables, headings, links, HTML


def main() -> None:
    """Check all pages and sources, or reflow the given pages."""
    if "--reflow" in sys.argv:
        for name in sys.argv[sys.argv.index("--reflow") + 1 :]:
            page = Path(name)
            page.write_text(reflowed(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    problems = [*long_lines(), *refused_words(), *riddles()]
    sys.exit("\n".join(problems) if problems else 0)


def pages() -> list[Path]:
    """Return all pages that people write."""
    return sorted({page for pattern in PAGES for page in ROOT.glob(pattern)})


def long_lines() -> Iterator[str]:
    """Yield lines of prose that are too long; lines of tables and code cannot be wrapped."""
    for page in pages():
        for number, line in outside_code(page.read_text(encoding="utf-8")):
            if _NOT_PROSE.match(line):
                continue
            if len(line) > WIDTH and " " in _ITEM.sub("", line).strip():
                place = f"{page.relative_to(ROOT)}:{number}"
                yield f"{place}: {len(line)} columns; tools/prose.py --reflow wraps it"


def outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that are not code, with their numbers."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def refused_words() -> Iterator[str]:
    """Yield refused words in pages and in strings of the sources."""
    for page in pages():
        path = str(page.relative_to(ROOT))
        if path not in {"CHANGELOG.md", "CONTRIBUTING.md"} and not path.startswith(NOTES):
            for number, line in outside_code(page.read_text(encoding="utf-8")):
                yield from refused(f"{path}:{number}", line)
    for folder in SOURCES:
        for source in sorted((ROOT / folder).rglob("*")):
            path = str(source.relative_to(ROOT))
            if source.suffix == ".py":
                for number, string in strings(source.read_text(encoding="utf-8")):
                    yield from refused(f"{path}:{number}", string)
            elif source.suffix in {".jinja", ".html"}:
                yield from refused(path, source.read_text(encoding="utf-8"))


def refused(place: str, text: str) -> Iterator[str]:
    """Yield the refused words of a text, with their replacements."""
    for pattern, instead in REFUSED.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield f'{place}: "{match[0]}"; write: {instead}'


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a Python source, including help texts and docstrings."""
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):  # is visited before its parts
            parts.update(node.values)
            yield node.lineno, "".join(map(_written, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def _written(part: ast.expr) -> str:
    """Return a part of an f-string as text; a value becomes its expression in braces."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    return f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ""


def riddles() -> Iterator[str]:
    """Yield docstrings whose first word hides the thing that they describe."""
    for source in sorted((ROOT / "python/cwndlab").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                found = _RIDDLE.match(str(node.value.value))
                if found:
                    place = f"{source.relative_to(ROOT)}:{node.lineno}"
                    yield f'{place}: a docstring begins with "{found[0]}"; name the thing'


def reflowed(text: str) -> str:
    """Return the page with every paragraph that has a long line wrapped."""
    out: list[str] = []
    held: list[str] = []
    is_code = False

    def release() -> None:
        out.extend(_broken(held) if any(len(line) > WIDTH for line in held) else held)
        held.clear()

    for line in text.splitlines():
        is_fence = line.lstrip().startswith("```")
        if is_fence or is_code or not line.strip() or _NOT_PROSE.match(line):
            release()
            out.append(line)
            is_code ^= is_fence
            continue
        if _ITEM.match(line):
            release()
        held.append(line)
    release()
    return "\n".join(out) + "\n"


def _broken(lines: list[str]) -> list[str]:
    """Wrap one paragraph or one item of a list."""
    item = _ITEM.match(lines[0])
    first = item[0] if item else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    words = " ".join(line.strip() for line in lines)[len(first.lstrip()) if item else 0 :]
    return textwrap.wrap(
        words.strip(),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    main()
