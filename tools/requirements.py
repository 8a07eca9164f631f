"""Print what a development environment needs: the build tool and all of pyproject.toml's lists.

Kept apart from the build of the package so that its packages are installed, and cached by pip,
before anything is compiled.
"""

import tomllib
from pathlib import Path
from typing import Any


def requirements(pyproject: dict[str, Any]) -> list[str]:
    """Everything that pyproject.toml asks for: to build, to run and to develop."""
    project = pyproject["project"]
    wanted = [*pyproject["build-system"]["requires"], *project.get("dependencies", ())]
    wanted += project.get("optional-dependencies", {}).get("dev", ())
    wanted += pyproject.get("dependency-groups", {}).get("dev", ())
    return sorted(set(wanted))


if __name__ == "__main__":
    source = Path(__file__).parent.parent / "pyproject.toml"
    print("\n".join(requirements(tomllib.loads(source.read_text()))))
