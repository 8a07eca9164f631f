"""Write a C template for a new algorithm."""

from __future__ import annotations

import re
from pathlib import Path

from cwndlab.errors import AlgorithmError
from cwndlab.resolve.algorithms import built_in_names

_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
_TEMPLATE = Path(__file__).parents[1] / "data" / "skeleton.c"


def write_skeleton(name: str, folder: Path) -> Path:
    """Write a commented C template, which compiles without changes, and return its path.

    Raises:
        AlgorithmError: the name is not valid or belongs to a built-in algorithm, or the file
            already exists or cannot be written.
    """
    if not _NAME.fullmatch(name):
        msg = (
            f'"{name}" is not a valid algorithm name: use 1 to 15 characters of a-z, 0-9 and _, '
            "beginning with a letter"
        )
        raise AlgorithmError(msg)
    if name in built_in_names():
        msg = f"{name} is the name of a built-in algorithm; choose another name"
        raise AlgorithmError(msg)
    path = folder / f"{name}.c"
    text = _TEMPLATE.read_text(encoding="utf-8")
    text = text.replace("skeleton", name).replace("SKELETON", name.upper())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        msg = f"{path} already exists and was not changed; choose another name"
        raise AlgorithmError(msg) from None
    except OSError as error:
        msg = f"{path}: {(error.strerror or str(error)).lower()}"
        raise AlgorithmError(msg) from None
    return path
