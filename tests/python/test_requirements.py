"""Packages that each stage of the set-up installs: the demo needs no package of the tests."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import requirements

PROJECT = {
    "build-system": {"requires": ["builder"]},
    "project": {"dependencies": ["library"], "optional-dependencies": {"dev": ["tester"]}},
}


@pytest.mark.parametrize(
    ("stage", "wanted"),
    [
        ("build", ["builder"]),
        ("run", ["builder", "library"]),
        ("all", ["builder", "library", "tester"]),
    ],
)
def test_each_stage_adds_to_the_one_before(stage: str, wanted: list[str]) -> None:
    assert requirements.requirements(PROJECT, stage) == wanted


ROOT = Path(__file__).parents[2]
MODULES = {"pyarrow": "pyarrow", "PIL": "pillow", "dask": "distributed"}  # module: package
TYPES_ONLY = "TYPE_CHECKING"


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the first part of each module name that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and TYPES_ONLY in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]
        else:
            yield from imported(node)


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for key, names in project["optional-dependencies"].items() if key != "dev"
              for name in names]  # fmt: skip
    declared = {re.split(r"[<>=! ]", name)[0].lower() for name in project["dependencies"] + extras}
    known = sys.stdlib_module_names | {"cwndlab"}
    for path in sorted((ROOT / "python" / "cwndlab").rglob("*.py")):
        for name in set(imported(ast.parse(path.read_text()))) - known:
            package = MODULES.get(name, name).replace("_", "-").lower()
            assert package in declared, f"{path.relative_to(ROOT)} imports {name}"
