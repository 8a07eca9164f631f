"""Print the packages that pyproject.toml lists: to `build`, to `run` as well, or `all`.

This list is separate from the build of the package, so that its packages can be installed, and
cached by pip, before anything is compiled.
"""

import argparse
import tomllib
from pathlib import Path
from typing import Any

STAGES = ("build", "run", "all")


def requirements(pyproject: dict[str, Any], stage: str = "all") -> list[str]:
    """Return the packages needed up to a stage: to build, also to run, or also to develop."""
    project = pyproject["project"]
    wanted = list(pyproject["build-system"]["requires"])
    if stage != "build":
        wanted += project.get("dependencies", ())
    if stage == "all":
        wanted += project.get("optional-dependencies", {}).get("dev", ())
        wanted += pyproject.get("dependency-groups", {}).get("dev", ())
    return sorted(set(wanted))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=STAGES, nargs="?", default="all")
    source = Path(__file__).parent.parent / "pyproject.toml"
    print("\n".join(requirements(tomllib.loads(source.read_text()), parser.parse_args().stage)))
