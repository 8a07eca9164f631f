"""Write results to disk, without loss of finished runs if the process is killed.

```
results/ID/
  manifest.json      the format's version, and the SHA-256 of every file below
  study.toml         the study, with paths that lead into this folder
  scenarios.parquet  the resolved scenario of each combination of the study's factors
  matrix.parquet     the runs of the study: key, cell, factors, repetition, seed
  traces/ presets/ algorithms/  the files to which the study refers
  runs/ flows/ links/ ...       the tables: files of some megabytes, in the order of the matrix
  files/KEY/         files of a run other than tables, such as a capture
  failed/KEY.json    the reason why a run failed
  set-aside/KEY-N/   the tables of a run that was disturbed and therefore repeated
  history.parquet    start time, computer and duration of each attempt at a run
  journal/N.log      finished runs that are not in the tables yet
```

A finished run is committed by appending it to a journal. When a session (a process that writes
into the folder) ends, the tables are rewritten from the old tables and the journals, and the
journals are deleted. A session that is stopped or killed leaves its journal behind; readers
include this journal, and the next session continues from it. Computer name, time and duration are
stored only in the history. Therefore, the result files of the same study and seed have the same
bytes on every machine, except the history and the manifest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cwndlab.errors import DamagedResultsError, ResultsError
from cwndlab.results.blocks import DONE, FAILED, LOST, SET_ASIDE, history_frame, parts_of
from cwndlab.results.compaction import write_tables, write_unused
from cwndlab.results.folder import (
    FILES,
    HISTORY,
    JOURNALS,
    MATRIX,
    UNUSED,
    Folder,
    is_part,
    journals_of,
)
from cwndlab.results.journal import Journal
from cwndlab.results.lock import Lock, naming_failures, refuse_foreign
from cwndlab.results.manifest import (
    Manifest,
    file_digest,
    located,
    read_manifest,
    restored_manifest,
)
from cwndlab.results.mending import lost_runs
from cwndlab.results.staging import ASIDE, Staging, carry_out, sync_folder
from cwndlab.results.tables import split_files, to_parquet, write_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from cwndlab.results.blocks import Entry
    from cwndlab.results.staging import FileContent
    from cwndlab.results.tables import Table


class Writer:
    """A context manager that writes a results folder; other processes cannot write into it."""

    def __init__(self, path: Path, study_id: str) -> None:
        """Create a writer; the `with` statement locks and opens the folder."""
        self.path = path
        self._study_id = study_id
        self._lock = Lock(path)
        self._journal: Journal | None = None
        self._manifest = Manifest(study_id)
        self._beside: dict[str, str] = {}
        self._growing: dict[str, hashlib._Hash] = {}
        self._has_new_matrix = False
        self.damaged: list[str] = []
        """Names of damaged files; runs with rows in these files are treated as unfinished."""

    def __enter__(self) -> Self:
        """Lock the folder, create it if necessary, and finish the work of a killed process.

        Raises:
            ResultsInUseError: another process is writing into the folder.
            ResultsError: the folder contains results of another study, or files that are not
                results.
            NewerResultsError: a later version of cwndlab has written the folder.
        """
        with naming_failures(self.path):
            refuse_foreign(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            try:
                self._begin()
            except BaseException:
                self._lock.drop()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Sync all committed data to disk, and release the lock."""
        try:
            with naming_failures(self.path):
                self._close_journal()
        finally:
            self._lock.drop()

    @property
    def folder(self) -> Folder:
        """The results folder, opened for reading."""
        return Folder.open(self.path)

    def committed(self) -> pl.Series:
        """Read the keys of the finished runs from disk."""
        return Folder(self.path, self._manifest).committed()

    def is_done(self) -> NDArray[np.bool_]:
        """Return, for each run in the table `matrix`, whether the run is finished."""
        folder = Folder(self.path, self._manifest)
        return folder.is_done()[: folder.numbering.of_matrix]

    def history(self) -> list[Entry]:
        """Return the records of all attempts at runs in chronological order."""
        return Folder(self.path, self._manifest).history

    def replace(self, files: Mapping[str, FileContent]) -> None:
        """In one atomic step, write to the folder those files that are new or have changed."""

        def is_there(name: str, digest: str) -> bool:
            known = self._manifest.files.get(name)
            return known == digest == file_digest(located(self.path, name))

        with naming_failures(self.path):
            staging = Staging(self.path)
            try:
                for name, content in files.items():
                    if isinstance(content, bytes):
                        if not is_there(name, hashlib.sha256(content).hexdigest()):
                            staging.add(name, content)
                        continue
                    staging.add(name, content)
                    if is_there(name, staging.digests[name]):
                        staging.withdraw(name)
                if not staging.digests:
                    staging.drop()
                    return
                self._has_new_matrix |= MATRIX in staging.digests
                known = self._manifest.files | staging.digests
                self._manifest = replace(self._manifest, files=known)
                staging.publish(self._manifest)
            except BaseException:
                staging.drop()
                raise

    def commit(self, key: str, files: Mapping[str, bytes], entry: Mapping[str, Any]) -> None:
        """Store the tables and other files of a finished run.

        Raises:
            DiskFullError: the disk is full; no data of this run are stored.
        """
        tables, beside = split_files(key, files)
        self.commit_all([{"run": key, "status": DONE, **entry}], tables, beside)

    def commit_all(
        self,
        entries: Sequence[Entry],
        tables: Mapping[str, Table],
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Store the results of runs that were computed together.

        Args:
            entries: history entries of the runs; status `done` marks finished runs.
            tables: rows of the runs, in addition to the rows that `commit_part` has stored.
            files: maps the name of each other file of the runs, in the form KEY/NAME, to its
                content.

        Raises:
            DiskFullError: the disk is full; no data of these runs are stored.
        """
        head: dict[str, Any] = {"entries": list(entries), "blocks": [], "files": {}}
        with naming_failures(self.path):
            for name, content in (files or {}).items():
                head["files"][f"{FILES}/{name}"] = self._end_of(f"{FILES}/{name}", content)
            for table, (content, runs) in tables.items():
                head["blocks"].append([table, len(content), list(runs)])
            self._log().append(head, [content for content, _ in tables.values()])
            self._beside |= head["files"]

    def commit_part(
        self, key: str, tables: Mapping[str, Table], files: Mapping[str, bytes]
    ) -> None:
        """Store rows and file pieces of an unfinished run; `commit_all` makes them valid later."""
        with naming_failures(self.path):
            for name, content in files.items():
                self._add_to(f"{FILES}/{key}/{name}", content)
            head = {
                "blocks": [[table, len(own), list(runs)] for table, (own, runs) in tables.items()]
            }
            self._log().append(head, [content for content, _ in tables.values()])

    def note_failure(self, key: str, reason: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
        """Store the reason why a run failed."""
        with naming_failures(self.path):
            path = self.path / "failed" / f"{key}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(reason, indent=2, ensure_ascii=False) + "\n", "utf-8")
            entry = {"run": key, "status": FAILED, "error": str(reason["error"]), **entry}
            self._log().append({"entries": [entry]})

    def set_aside(
        self, key: str, attempt: int, files: Mapping[str, bytes], entry: Mapping[str, Any]
    ) -> None:
        """Store the files of a run that will be repeated, in `set-aside/KEY-ATTEMPT`."""
        entry = {"run": key, "status": SET_ASIDE, "attempt": attempt, **entry}
        with naming_failures(self.path):
            names = {f"set-aside/{key}-{attempt}/{name}": own for name, own in files.items()}
            digests = {name: self._end_of(name, content) for name, content in names.items()}
            self._log().append({"entries": [entry], "files": digests})
            self._beside |= digests

    def finish(self) -> None:
        """Write the tables of all finished runs in order, and remove the journals.

        Runs that the study no longer contains are stored separately, because a later version of
        the study may contain them again.
        """
        with naming_failures(self.path):
            self._close_journal()
            folder = Folder(self.path, self._manifest)
            if not (folder.journals or self.damaged or self._has_new_matrix):
                return
            staging = Staging(self.path)
            try:
                self._manifest = self._compacted(folder, staging)
                staging.publish(self._manifest)
            except BaseException:
                staging.drop()
                raise
            self._tidy(Folder(self.path, self._manifest))

    def _begin(self) -> None:
        carry_out(self.path)
        shutil.rmtree(self.path / ASIDE, ignore_errors=True)
        try:
            manifest = read_manifest(self.path)
        except DamagedResultsError as error:
            manifest = restored_manifest(self.path)
            if manifest is None:
                msg = (
                    f"{error}; without this file, cwndlab cannot check the content of the "
                    "folder; choose another folder with --results"
                )
                raise ResultsError(msg) from None
            self.damaged = list(error.names)
        if manifest is None:
            manifest = self._manifest
            Staging(self.path).publish(manifest)
        if manifest.study != self._study_id:
            msg = (
                f"{self.path}: contains results of the study {manifest.study!r}, not of "
                f"{self._study_id!r}; name another folder with --results"
            )
            raise ResultsError(msg)
        self._manifest = manifest
        folder = Folder(self.path, manifest)
        self.damaged += folder.damaged()
        if self.damaged:
            self._mend(folder)
            folder = Folder(self.path, self._manifest)
        self._tidy(folder)

    def _mend(self, folder: Folder) -> None:
        """Mark runs as unfinished if their rows were in damaged files."""
        entries = []
        if HISTORY in self.damaged:
            flows = [part for part in folder.parts("flows") if part.name not in self.damaged]
            found = parts_of("flows", flows, folder.numbering).runs["number"].to_numpy()
            keys = set(folder.numbering.keys(found))
            entries = [{"run": key, "status": DONE, "is_recovered": True} for key in sorted(keys)]
            done = keys | set(folder.numbering.keys(np.flatnonzero(folder.logged.done)))
        else:
            done = set(folder.committed())
        lost = lost_runs(folder, self.damaged, done)
        kept = {name: own for name, own in folder.digests.items() if name not in self.damaged}
        self._manifest = replace(self._manifest, files=kept)
        staging = Staging(self.path)
        if entries:
            staging.add(HISTORY, to_parquet(history_frame(entries)))
            self._manifest.files.update(staging.digests)
        staging.publish(self._manifest)
        if lost:
            gone = [{"run": key, "status": LOST} for key in sorted(lost)]
            self._log().append({"entries": gone})

    def _log(self) -> Journal:
        """Return the journal of this session; the first call creates the journal."""
        if self._journal is None:
            folder = self.path / JOURNALS
            folder.mkdir(exist_ok=True)
            numbers = [int(path.stem) for path in journals_of(self.path, 0)]
            number = max([self._manifest.first_journal - 1, *numbers]) + 1
            self._journal = Journal(folder / f"{number:06}.log")
            sync_folder(folder)
            sync_folder(self.path)
        return self._journal

    def _close_journal(self) -> None:
        """Sync and close the journal of this session, and list the journal in the manifest."""
        if self._journal is None:
            return
        journal, self._journal = self._journal, None
        with journal:
            journal.sync()
        name = f"{JOURNALS}/{journal.path.name}"
        known = self._manifest.files | self._beside | {name: journal.sha256}
        self._manifest = replace(self._manifest, files=known)
        Staging(self.path).publish(self._manifest)

    def _compacted(self, folder: Folder, staging: Staging) -> Manifest:
        """Rewrite all tables, and return the manifest that lists them."""
        done, blocks = folder.is_done(), folder.blocks()
        of_matrix = done[: folder.numbering.of_matrix].sum()
        order, unused = np.split(np.flatnonzero(done), [of_matrix])
        matrix = self.path / MATRIX
        labels = write_tables(matrix, order, blocks, self._manifest.labels, staging.add)
        if unused.size:
            keys = folder.numbering.keys(unused)
            by_key = keys.arg_sort().to_numpy()
            write_unused(keys[by_key], unused[by_key], blocks, self._manifest.labels, staging.add)
        staging.add(HISTORY, lambda path: write_pieces(path, folder.history_pieces()))
        kept = {
            name: digest
            for name, digest in folder.digests.items()
            if not (is_part(name) or name.startswith((f"{JOURNALS}/", f"{UNUSED}/")))
        }
        first = max([self._manifest.first_journal, *(int(p.stem) + 1 for p in folder.journals)])
        return Manifest(self._study_id, kept | staging.digests, labels, first)

    def _tidy(self, folder: Folder) -> None:
        """Remove files that are no longer needed.

        These are journals whose content is in the tables, data files that neither the manifest nor
        a journal lists, and the failure reasons of runs that have a result now.
        """
        known = folder.digests
        for path in journals_of(self.path, 0):
            if int(path.stem) < self._manifest.first_journal:
                path.unlink()
        ours = [path for below in (FILES, UNUSED, "set-aside") for path in self._below(below)]
        parts = (path for path in self.path.glob("*/*.parquet") if is_part(self._name(path)))
        for path in [*ours, *parts]:
            if self._name(path) not in known:
                path.unlink()
        if failed := self._below("failed"):
            done = set(folder.committed())
            for path in failed:
                if path.stem in done:
                    path.unlink()

    def _below(self, folder: str) -> list[Path]:
        return [path for path in (self.path / folder).rglob("*") if path.is_file()]

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _add_to(self, name: str, content: bytes) -> None:
        """Append content to a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if name in self._growing else "wb") as file:
            file.write(content)
        self._growing.setdefault(name, hashlib.sha256()).update(content)

    def _end_of(self, name: str, content: bytes) -> str:
        """Append the last piece to a file, write the file to disk, and return its SHA-256."""
        self._add_to(name, content)
        with (self.path / name).open("rb+") as file:
            os.fsync(file.fileno())
        sync_folder((self.path / name).parent)
        return self._growing.pop(name).hexdigest()
