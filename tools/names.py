"""Says which names of classes and types mean two things in python/; exits 1 if one does.

A name that stands for one thing everywhere can be looked for, and read without its module. A
leading underscore makes no other name of it. `make lint` runs this.
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

WRITTEN_HALVES = PACKAGE / "schema" / "link.py"
"""What people write of a wire has the names of what runs (`schema/scenario.py`)."""


def main() -> int:
    """List the names that are defined twice."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != WRITTEN_HALVES:
            for name in defined(ast.parse(path.read_text("utf-8")).body):
                places[name.lstrip("_")].add(path.relative_to(PACKAGE).as_posix())
    twice = {name: found for name, found in sorted(places.items()) if len(found) > 1}
    for name, found in twice.items():
        print(f"{name} means two things: {', '.join(sorted(found))}; call one of them otherwise")
    return 1 if twice else 0


def defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names of the classes and types that a module defines."""
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
