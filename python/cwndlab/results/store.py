"""Results on disk, safe against being killed at any point.

```
results/ID/
  study.toml        the study, with paths that lead into this folder
  matrix.parquet    its runs: key, cell, factors, repetition, seed
  traces/           the traces that it needs
  runs/KEY/         a run's tables, named by the hash of all that determines it
  failed/KEY.json   a run that failed, and why
  set-aside/KEY-N/  the tables of a run that was made again, as something befell it
  manifest.jsonl    a header with the format's version, then a line a run: when, where, how long
  flows.parquet ... the small tables of all runs together, for whoever opens them directly
```

A run is written aside, synced, and renamed into place: that is its commit. Host, time and duration
stand in the manifest alone, so that the same study and seed give the same Parquet bytes everywhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from cwndlab.errors import (
    DiskFullError,
    NewerResultsError,
    ResultsError,
    ResultsInUseError,
    read_failure,
)

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Mapping

FORMAT = 1

_MANIFEST = "manifest.jsonl"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ASIDE = ".aside"
_LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of results, to be read."""

    path: Path
    header: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Check that `path` holds results that this version can read.

        Raises:
            ResultsError: it does not exist, holds something else, or is damaged.
            NewerResultsError: a later version has written it.
        """
        lines = read_manifest(path)
        if lines is None:
            near = _results_within(path)
            hint = f"; did you mean {near}?" if near else "; cwndlab run STUDY makes some"
            what = "holds no results" if path.is_dir() else "there is no such folder"
            msg = f"{path}: {what}{hint}"
            raise ResultsError(msg)
        return cls(path, lines[0])

    def committed(self) -> set[str]:
        """Keys of the runs that are finished."""
        return _names(self.path / "runs")

    def failed(self) -> set[str]:
        """Keys of the runs that failed when they were last tried."""
        return {name.removesuffix(".json") for name in _names(self.path / "failed")}

    def manifest(self) -> list[dict[str, Any]]:
        """What is known of each run that was tried, in the order of time."""
        return (read_manifest(self.path) or [])[1:]


class Writer:
    """The one process that writes into a folder of results. A context manager."""

    def __init__(self, path: Path, study_id: str) -> None:
        """Nothing is touched before the context is entered."""
        self.path = path
        self._study_id = study_id
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        """Lock the folder, make it if it is not there, and mend what a killed process left.

        Raises:
            ResultsInUseError: another process is writing.
            ResultsError: the folder holds something else, or another study.
            NewerResultsError: a later version has written it.
        """
        with naming_failures(self.path):
            _refuse_foreign(self.path)
            (self.path / "runs").mkdir(parents=True, exist_ok=True)
            (self.path / "failed").mkdir(exist_ok=True)
            self._take_lock()
            try:
                self._begin()
            except BaseException:
                self._drop_lock()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let others write."""
        self._drop_lock()

    @property
    def folder(self) -> Folder:
        """The folder as readers see it."""
        return Folder.open(self.path)

    def commit(self, key: str, files: Mapping[str, bytes], entry: Mapping[str, Any]) -> None:
        """Keep a run's files for good, then note it in the manifest.

        Raises:
            DiskFullError: there was no room; nothing of this run is kept.
        """
        with naming_failures(self.path):
            aside = self.path / _ASIDE / key
            try:
                aside.mkdir(parents=True)
                for name, content in files.items():
                    _write_synced(aside / name, content)
                _sync(aside)
                aside.rename(self.path / "runs" / key)
                _sync(self.path / "runs")
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
            (self.path / "failed" / f"{key}.json").unlink(missing_ok=True)
            self._append({"run": key, "status": "done", **entry})

    def note_failure(self, key: str, reason: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
        """Keep why a run failed, beside those that did not."""
        with naming_failures(self.path):
            content = json.dumps(reason, indent=2, ensure_ascii=False).encode() + b"\n"
            self.replace(f"failed/{key}.json", content)
            self._append({"run": key, "status": "failed", **entry})

    def set_aside(
        self, key: str, attempt: int, files: Mapping[str, bytes], entry: Mapping[str, Any]
    ) -> None:
        """Keep the files of a run that is to be made again, as `set-aside/KEY-ATTEMPT`."""
        for name, content in files.items():
            self.replace(f"set-aside/{key}-{attempt}/{name}", content)
        with naming_failures(self.path):
            self._append({"run": key, "status": "set aside", "attempt": attempt, **entry})

    def replace(self, name: str, content: bytes) -> None:
        """Put a file into the folder, whole or not at all; an equal one is left alone."""
        target = self.path / name
        with naming_failures(self.path):
            if target.is_file() and target.read_bytes() == content:
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = self.path / _ASIDE / name.replace("/", "-")
            aside.parent.mkdir(exist_ok=True)
            _write_synced(aside, content)
            aside.rename(target)
            _sync(target.parent)

    def _take_lock(self) -> None:
        lock = (self.path / _LOCK).open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip()
            lock.close()
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            by = f" ({owner})" if owner else ""
            msg = f"{self.path}: another cwndlab is writing here{by}; wait for it or stop it"
            raise ResultsInUseError(msg) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}\n")
        with contextlib.suppress(OSError):
            lock.flush()  # who holds it is for the message only
        self._lock = lock

    def _drop_lock(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock.close()
            self._lock = None

    def _begin(self) -> None:
        shutil.rmtree(self.path / _ASIDE, ignore_errors=True)
        lines = read_manifest(self.path)
        if lines is None:
            header = {"format": FORMAT, "kind": "cwndlab results", "study": self._study_id}
            self.replace(_MANIFEST, json.dumps(header).encode() + b"\n")
            return
        if lines[0]["study"] != self._study_id:
            msg = (
                f"{self.path}: holds results of the study {lines[0]['study']!r}, "
                f"not of {self._study_id!r}; name another folder with --results"
            )
            raise ResultsError(msg)
        self._mend_manifest(lines)

    def _mend_manifest(self, lines: list[dict[str, Any]]) -> None:
        """Cut off a torn last line, and note runs that were finished but not noted."""
        manifest = self.path / _MANIFEST
        content = manifest.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(manifest, whole)
        noted = {line["run"] for line in lines[1:] if line["status"] == "done"}
        for key in sorted(_names(self.path / "runs") - noted):
            self._append({"run": key, "status": "done", "is_recovered": True})

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        manifest = self.path / _MANIFEST
        with manifest.open("ab", buffering=0) as file:
            end = os.fstat(file.fileno()).st_size
            try:
                _write_whole(file, line)
            except OSError:
                os.ftruncate(file.fileno(), end)
                raise


def read_manifest(path: Path) -> list[dict[str, Any]] | None:
    """The header and the lines of a manifest; None if the folder has none.

    Raises:
        NewerResultsError: a later version has written it.
        ResultsError: it is damaged elsewhere than at its end.
    """
    manifest = path / _MANIFEST
    try:
        whole, _, _torn = manifest.read_bytes().rpartition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ResultsError(read_failure(manifest, error)) from None
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(whole.split(b"\n"), start=1):
        try:
            lines.append(json.loads(line))
            if number == 1:
                _check_format(path, lines[0])
        except (ValueError, TypeError, KeyError, AttributeError):
            msg = (
                f"{manifest}:{number}: not a line of a manifest; "
                "the runs in runs/ are safe: delete this line and run the study again"
            )
            raise ResultsError(msg) from None
    return lines


@contextlib.contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Say what to do when the disk is full or the folder cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            msg = f"{path}: {(error.strerror or str(error)).lower()}; make room on that disk"
            raise DiskFullError(msg) from error
        raise ResultsError(read_failure(Path(str(error.filename or path)), error)) from error


def _check_format(path: Path, header: Mapping[str, Any]) -> None:
    version = header["format"]
    if version > FORMAT:
        msg = (
            f"{path}: written by a newer cwndlab (format {version}, this one reads {FORMAT}); "
            "update cwndlab, or name another folder with --results"
        )
        raise NewerResultsError(msg)
    header["study"]


def _refuse_foreign(path: Path) -> None:
    """A folder with something else in it is not ours to write into."""
    ours = {"runs", "failed", _MANIFEST, _LOCK, _ASIDE}
    if (path / _MANIFEST).exists() or not path.exists():
        return
    if not path.is_dir():
        msg = f"{path}: is a file; name a folder for the results"
        raise ResultsError(msg)
    if foreign := sorted(_names(path) - ours):
        msg = f"{path}: holds {foreign[0]}, which is no result; name another folder"
        raise ResultsError(msg)


def _results_within(path: Path) -> Path | None:
    """A folder below `path` that holds results."""
    try:
        return next(
            (child for child in sorted(path.iterdir()) if (child / _MANIFEST).exists()), None
        )
    except OSError:
        return None


def _names(folder: Path) -> set[str]:
    try:
        return {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:
        return set()


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        _write_whole(file, content)


def _write_whole(file: io.FileIO, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]
    os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
