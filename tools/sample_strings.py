"""Draw random strings that users read, for a reader who does not know the product.

python tools/sample_strings.py --seed 7             # twenty strings, with their places
python tools/sample_strings.py --seed 7 --count 50
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

import prose

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 20
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEAST_WORDS = 4  # shorter strings are names, keys and units
_BETWEEN_PARAGRAPHS = re.compile(r"\n\n|\n(?=\s*(?:[-*] |\d+\. |\|))")  # and items, and table rows


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=COUNT)
    options = parser.parse_args()
    for place, text in sample(options.seed, options.count):
        print(f"{place}\n    {text}")


def sample(seed: int, count: int = COUNT) -> list[tuple[str, str]]:
    """Return random strings and their places; the same seed and sources give the same strings."""
    return random.Random(seed).sample(_every(), count)  # noqa: S311  # a sample, no secret


@cache
def _every() -> list[tuple[str, str]]:
    """Return all strings and their places, sorted; takes seconds."""
    return sorted({*_of_sources(), *_of_pages(), *_of_columns(), *_of_schemas()})


def _of_sources() -> Iterator[tuple[str, str]]:
    for path in sorted((prose.ROOT / "python/cwndlab").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        names = _described(ast.parse(source))
        for number, text in prose.strings(source):
            place = f"{path.relative_to(prose.ROOT)}:{number} {names.get(number, '')}".rstrip()
            yield from _readable(place, text)


def _described(tree: ast.Module) -> dict[int, str]:
    """Return the name of what each docstring describes, by the first line of the docstring."""
    found = {}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for before, statement in zip([None, *body], body, strict=False):
            if not isinstance(statement, ast.Expr):
                continue
            if before is None and isinstance(node, _NAMED):
                found[statement.lineno] = node.name
            elif isinstance(before, ast.Assign):
                found[statement.lineno] = ast.unparse(before.targets[0])
            elif isinstance(before, ast.AnnAssign):
                found[statement.lineno] = ast.unparse(before.target)
    return found


def _of_pages() -> Iterator[tuple[str, str]]:
    for page in prose.pages():
        path = str(page.relative_to(prose.ROOT))
        text = "\n".join(line for _, line in prose.outside_code(page.read_text(encoding="utf-8")))
        if not path.startswith(prose.NOTES):
            for paragraph in _BETWEEN_PARAGRAPHS.split(text):
                yield from _readable(path, paragraph)


def _of_columns() -> Iterator[tuple[str, str]]:
    path = "python/cwndlab/data/columns.toml"
    for name, column in tomllib.loads((prose.ROOT / path).read_text(encoding="utf-8")).items():
        for key in ("explanation", "undefined"):
            yield from _readable(f"{path} {name}.{key}", column.get(key, ""))


def _of_schemas() -> Iterator[tuple[str, str]]:
    for schema in sorted((prose.ROOT / "docs/reference").glob("*.schema.json")):
        path = str(schema.relative_to(prose.ROOT))
        for key, text in _descriptions(json.loads(schema.read_text(encoding="utf-8")), ""):
            yield from _readable(f"{path} {key}".strip(), text)


def _descriptions(node: Any, key: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # any JSON
    """Yield each description with the name of the key that it describes."""
    if isinstance(node, dict):
        if isinstance(node.get("description"), str):
            yield key, node["description"]
        for name, part in node.items():
            if name == "properties" and isinstance(part, dict):
                for inner, schema in part.items():
                    yield from _descriptions(schema, inner)
            else:
                yield from _descriptions(part, key)
    if isinstance(node, list):
        for part in node:
            yield from _descriptions(part, key)


def _readable(place: str, text: str) -> Iterator[tuple[str, str]]:
    words = re.sub(r"\s+", " ", text).strip()
    if len(re.sub(r"\{.*?\}", "", words).split()) >= LEAST_WORDS:
        yield place, words


if __name__ == "__main__":
    main()
