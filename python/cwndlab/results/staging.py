"""Replace several files of a folder atomically.

New files are written into the folder `.aside` and synced to disk; renaming this folder to
`.commit` makes the change final. Then the files are moved to their final places; if the process is
killed, a later process moves them. Readers look into `.commit` first, and therefore see either all
new files or none.
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
"""The bytes of a file, or a function that creates the file at the given path."""


class Staging:
    """Collects files that one atomic commit adds to a folder."""

    def __init__(self, folder: Path) -> None:
        """Create an empty staging area; delete files that an earlier process did not commit."""
        self._folder = folder
        self._aside = folder / ASIDE
        self.digests: dict[str, str] = {}
        """Maps the name of each file in the next commit to the file's SHA-256."""
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
        """Remove a file from the next commit, and delete the file."""
        (self._aside / name).unlink()
        del self.digests[name]

    def publish(self, manifest: Manifest) -> None:
        """Add all prepared files and the manifest to the folder in one atomic step."""
        text = manifest.to_json()
        for name in (COPY, MANIFEST):
            self.add(name, text)
        for path, _, _ in os.walk(self._aside):
            sync_folder(path)
        self._aside.rename(self._folder / COMMIT)
        sync_folder(self._folder)
        carry_out(self._folder)

    def drop(self) -> None:
        """Discard all files that were prepared for the commit."""
        shutil.rmtree(self._aside, ignore_errors=True)


def carry_out(folder: Path) -> None:
    """If an earlier process has left a commit in `folder` unfinished, finish this commit."""
    commit = folder / COMMIT
    if not (commit / MANIFEST).exists():
        shutil.rmtree(commit, ignore_errors=True)  # the commit was complete
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
    """Write a file, and wait until its content is on disk."""
    with path.open("wb", buffering=0) as file:
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def sync_folder(folder: str | Path) -> None:
    """Sync the directory entries of a folder to disk, but not the content of its files."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
