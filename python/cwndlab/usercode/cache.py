"""The folder of compiled algorithms and of the headers that they are compiled with."""

from __future__ import annotations

import os
from pathlib import Path

from cwndlab.errors import AlgorithmError, read_failure


def cache_folder() -> Path:
    """Where compiled algorithms are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cwndlab"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, so that no process sees half of it.

    Raises:
        AlgorithmError: the folder cannot be written.
    """
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        aside.replace(path)
    except OSError as error:
        msg = f"{read_failure(path, error)}; name another folder in XDG_CACHE_HOME"
        raise AlgorithmError(msg) from None
