"""Replacing several files of a folder atomically.

New files are written into `.aside` and synced; renaming that folder to `.commit` decides. Then
they are moved to their places; if this process is killed, a later one does that. Readers look into
`.commit` first, so they see either the complete change or nothing of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.results.manifest import COMMIT, COPY, MANIFEST

if TYPE_CHECKING:
    from cwndlab.results.manifest import Manifest

ASIDE = ".aside"

FileContent = bytes | Callable[[Path], None]
"""Bytes of a file, or the function that writes it."""


class Staging:
    """Files that are put into a folder together, in one commit."""

    def __init__(self, folder: Path) -> None:
        """Begin with none."""
        self._folder = folder
        self._aside = folder / ASIDE
        self.digests: dict[str, str] = {}
        """SHA-256 of the files that wait, by name."""
        shutil.rmtree(self._aside, ignore_errors=True)

    def add(self, name: str, content: FileContent) -> None:
        """Add a file to the next commit."""
        path = self._aside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            write_synced(path, content)
            self.digests[name] = hashlib.sha256(content).hexdigest()
            return
        content(path)
        with path.open("rb") as file:
            self.digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())

    def withdraw(self, name: str) -> None:
        """Leave a file out of the next commit, and delete it."""
        (self._aside / name).unlink()
        del self.digests[name]

    def publish(self, manifest: Manifest) -> None:
        """Put the waiting files and the manifest into the folder."""
        text = manifest.to_json()
        for name in (COPY, MANIFEST):
            self.add(name, text)
        for path, _, _ in os.walk(self._aside):
            sync_folder(path)
        self._aside.rename(self._folder / COMMIT)
        sync_folder(self._folder)
        carry_out(self._folder)

    def drop(self) -> None:
        """Discard the waiting files."""
        shutil.rmtree(self._aside, ignore_errors=True)


def carry_out(folder: Path) -> None:
    """Finish a commit that was interrupted."""
    commit = folder / COMMIT
    if not (commit / MANIFEST).exists():
        shutil.rmtree(commit, ignore_errors=True)  # all of it was done
        return
    waiting = sorted(path for path in commit.rglob("*") if path.is_file())
    last = [commit / COPY, commit / MANIFEST]
    folders = {folder}
    for path in [*(path for path in waiting if path not in last), *last]:
        if path.exists():
            target = folder / path.relative_to(commit)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
            folders.add(target.parent)
    for each in folders:
        sync_folder(each)
    shutil.rmtree(commit)


def write_synced(path: Path, content: bytes) -> None:
    """Write a file, and wait until it is on the disk."""
    with path.open("wb", buffering=0) as file:
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def sync_folder(folder: str | Path) -> None:
    """Sync a folder's list of names to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
