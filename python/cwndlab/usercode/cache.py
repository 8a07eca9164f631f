"""Find cwndlab's cache folder (C headers, compiled algorithms), and write files to it."""

from __future__ import annotations

import os
from pathlib import Path

from cwndlab.errors import AlgorithmError, read_failure


def cache_folder() -> Path:
    """Return cwndlab's cache folder: `cwndlab` in $XDG_CACHE_HOME, by default ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cwndlab"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, so that other processes never see an incomplete file.

    Raises:
        AlgorithmError: the file cannot be written.
    """
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        aside.replace(path)
    except OSError as error:
        msg = f"{read_failure(path, error)}; set XDG_CACHE_HOME to another folder"
        raise AlgorithmError(msg) from None
