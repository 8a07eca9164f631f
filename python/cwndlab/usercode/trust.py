"""Store the list of trusted folders, whose C files cwndlab runs without asking the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.usercode.cache import cache_folder, write_whole

if TYPE_CHECKING:
    from pathlib import Path


def is_trusted(folder: Path) -> bool:
    """Return whether the user has allowed cwndlab to run the C files in a folder."""
    return str(folder) in _folders()


def trust(folder: Path) -> None:
    """Add a folder to the list of trusted folders.

    Raises:
        AlgorithmError: the list cannot be written.
    """
    folders = [*_folders(), str(folder)]
    write_whole(
        _list(), "".join(f"{each}\n" for each in folders).encode("utf-8", "surrogateescape")
    )


def _folders() -> list[str]:
    try:
        content = _list().read_bytes()
    except OSError:
        return []
    return content.decode("utf-8", "surrogateescape").splitlines()


def _list() -> Path:
    return cache_folder() / "trusted-folders"
