"""Check the layout of python/; exit with 1 if a rule is broken (`make lint` runs this program).

- No two modules define a class or a type with the same name, so each name can be searched for and
  understood without its module. A leading underscore does not make a name different.
- No module is too long to be read at once, and the package has at most as many entries as fit on a
  screen.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = Path(__file__).parents[1] / "python" / "cwndlab"

WRITTEN_HALVES = tuple(PACKAGE / "schema" / name for name in ("link.py", "stage.py"))
"""Models of link tables in a study, whose keys are named like those of a scenario."""


LONGEST_LINES = 400
MOST_ENTRIES = 31


def main() -> int:
    """Print the broken rules."""
    problems = [*names_with_two_meanings(), *modules_too_long(), *entries_too_many()]
    print("".join(f"{problem}\n" for problem in problems), end="")
    return 1 if problems else 0


def names_with_two_meanings() -> Iterator[str]:
    """Yield names that are defined in several modules."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path not in WRITTEN_HALVES:
            for name in defined(ast.parse(path.read_text("utf-8")).body):
                places[name.lstrip("_")].add(path.relative_to(PACKAGE).as_posix())
    twice = {name: found for name, found in sorted(places.items()) if len(found) > 1}
    for name, found in twice.items():
        yield f"{name} is defined in several modules: {', '.join(sorted(found))}; rename one"


def modules_too_long() -> Iterator[str]:
    """Yield modules with too many lines."""
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text("utf-8").count("\n")
        if lines > LONGEST_LINES:
            yield f"{path.relative_to(PACKAGE)} has {lines} lines; at most {LONGEST_LINES}"


def entries_too_many() -> Iterator[str]:
    """Yield a message if the package's folder contains too many modules and folders."""
    entries = [
        path
        for path in PACKAGE.iterdir()
        if (path.is_dir() and path.name != "__pycache__") or path.suffix == ".py"
    ]
    if len(entries) > MOST_ENTRIES:
        yield f"{PACKAGE.name} has {len(entries)} entries; at most {MOST_ENTRIES}"


def defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names of the classes and types that a module defines."""
    for statement in body:
        match statement:
            case ast.ClassDef(name=name):
                yield name
            case ast.If(body=one, orelse=other):
                yield from defined([*one, *other])
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name[0].isupper() and not name.isupper():
                    yield name


if __name__ == "__main__":
    sys.exit(main())
