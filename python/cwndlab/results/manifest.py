"""Read the manifest of a results folder: a list of the SHA-256 of each file.

The manifest is stored twice, as `manifest.json` and as a hidden file, each with a digest of its
own content, so that damage can be detected and repaired.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab.errors import DamagedResultsError, NewerResultsError, ResultsError, read_failure
from cwndlab.text.untrusted import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORMAT = 2
"""Version of the folder's format. It increases with each change of the format that earlier versions
of cwndlab cannot read."""

MANIFEST = "manifest.json"
COPY = ".manifest.json"
COMMIT = ".commit"
"""Folder with the files of a commit that is final. Each file in it replaces the file of the same
name in the results folder. If cwndlab is killed before it has moved all files, the next process
moves the remaining files."""

OLD_MANIFEST = "manifest.jsonl"
_KIND = "cwndlab results"
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files that belong to a results folder, with their SHA-256."""

    study: str
    files: dict[str, str] = field(default_factory=dict)
    """Maps the name of each file, relative to the folder, to the file's SHA-256."""
    labels: dict[str, list[str]] = field(default_factory=dict)
    """Maps each table to those of its columns that are copied from `matrix`, the list of runs.
    Because of the copied columns, readers of a table do not need the file of `matrix`."""
    first_journal: int = 0
    """Number of the first journal whose rows are not in the tables yet."""

    def to_json(self) -> bytes:
        """Return the content of the manifest file."""
        content = {
            "format": FORMAT,
            "kind": _KIND,
            "study": self.study,
            "labels": self.labels,
            "first_journal": self.first_journal,
            "files": dict(sorted(self.files.items())),
        }
        digest = hashlib.sha256(_canonical(content)).hexdigest()
        return json.dumps({**content, "digest": digest}, indent=1).encode() + b"\n"


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of `folder`, or None if the folder has no manifest.

    Raises:
        DamagedResultsError: the manifest or its copy is damaged.
        NewerResultsError: a later version of cwndlab has written the manifest.
        ResultsError: an earlier version of cwndlab has written the manifest, in a format that is
            no longer supported.
    """
    texts = {name: _read(folder, name) for name in (MANIFEST, COPY)}
    if texts[MANIFEST] is None and texts[COPY] is None:
        if (folder / OLD_MANIFEST).exists():
            msg = (
                f"{folder}: written by an older version of cwndlab (format 1; this version "
                f"reads format {FORMAT}); run the study again, with another folder as "
                "--results"
            )
            raise ResultsError(msg)
        return None
    manifests = {name: _parse(folder, name, text) for name, text in texts.items()}
    for name, manifest in manifests.items():
        if manifest is None or manifest != manifests[MANIFEST]:
            raise DamagedResultsError(folder, [name])
    return manifests[MANIFEST]


def restored_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, or its copy if the manifest is damaged; None if both are damaged."""
    found = (_parse(folder, name, _read(folder, name)) for name in (MANIFEST, COPY))
    return next(filter(None, found), None)


def damaged_files(folder: Path, names_and_digests: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of files that are missing or do not match their digest."""
    wanted = list(names_and_digests)
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda each: file_digest(located(folder, each[0])), wanted)
        return [name for (name, digest), own in zip(wanted, found, strict=True) if own != digest]


def located(folder: Path, name: str) -> Path:
    """Return the path of a file: in the subfolder `.commit` if it is there, else in `folder`."""
    committed = folder / COMMIT / name
    return committed if committed.exists() else folder / name


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if the file cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest()


def _read(folder: Path, name: str) -> bytes | None:
    path = located(folder, name)
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ResultsError(read_failure(path, error)) from None


def _parse(folder: Path, name: str, text: bytes | None) -> Manifest | None:
    """Parse the text of a manifest; return None if it is damaged."""
    try:
        content: dict[str, Any] = read_json(text or b"")
        if content["format"] > FORMAT:
            msg = (
                f"{folder}: written by a newer version of cwndlab ({name} has format "
                f"{content['format']}; this version reads format {FORMAT}); update cwndlab, or "
                "name another folder with --results"
            )
            raise NewerResultsError(msg)
        manifest = Manifest(
            content["study"], content["files"], content["labels"], content["first_journal"]
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return manifest if manifest.to_json() == text else None


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
