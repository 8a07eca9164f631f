"""Lock a results folder, and explain errors that occur when the folder cannot be written to."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from typing import IO, TYPE_CHECKING

from cwndlab.errors import DiskFullError, ResultsError, ResultsInUseError, file_failure
from cwndlab.results.manifest import COMMIT, COPY, MANIFEST, OLD_MANIFEST
from cwndlab.results.staging import ASIDE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "question.json"
"""Name of the file in which `advise` stores the user's goal and baseline algorithm before the first
run (see `cwndlab.judge.question`)."""
LOCK = ".lock"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Lock:
    """A lock that lets only one process write into a folder."""

    def __init__(self, folder: Path) -> None:
        """Create the lock without acquiring it."""
        self._folder = folder
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Acquire the lock.

        Raises:
            ResultsInUseError: another process holds the lock.
        """
        lock = (self._folder / LOCK).open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip()
            lock.close()
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            by = f" ({owner})" if owner else ""
            msg = (
                f"{self._folder}: another cwndlab process is writing to this folder{by}; wait "
                "until it ends, or stop it"
            )
            raise ResultsInUseError(msg) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}\n")
        with contextlib.suppress(OSError):
            lock.flush()  # the process id serves only for the message above
        self._file = lock

    def drop(self) -> None:
        """Release the lock, so that other processes can write."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


@contextlib.contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Convert an OSError, for example of a full disk, into an error with the remedy, if known."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            msg = f"{path}: {(error.strerror or str(error)).lower()}; free some space on that disk"
            raise DiskFullError(msg) from error
        raise ResultsError(file_failure(error, path)) from error


def refuse_foreign(path: Path) -> None:
    """Raise an error if a path is not suitable for results.

    Raises:
        ResultsError: `path` is a file, or a folder that contains files but no results.
    """
    ours = {MANIFEST, COPY, OLD_MANIFEST}
    if any((path / name).exists() for name in ours) or (path / COMMIT).exists():
        return
    if not path.exists():
        return
    if not path.is_dir():
        msg = f"{path}: this is a file, not a folder; choose a folder"
        raise ResultsError(msg)
    if foreign := sorted({entry.name for entry in path.iterdir()} - {LOCK, ASIDE, QUESTION}):
        msg = (
            f"{path}: contains {foreign[0]}, which is not a file of results; choose another folder"
        )
        raise ResultsError(msg)
