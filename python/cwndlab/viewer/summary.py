"""Summarise folders of results for a list of studies, without reading all rows of the results."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.errors import CwndlabError
from cwndlab.results.blocks import DONE
from cwndlab.results.folder import IMPORT_FILE, MATRIX, RUNS, is_part, journals_of
from cwndlab.results.journal import read_records
from cwndlab.results.lock import LOCK
from cwndlab.results.manifest import MANIFEST, located, read_manifest
from cwndlab.results.tables import scan_parquet
from cwndlab.study.kept import STUDY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.results.manifest import Manifest

RUNNING, FINISHED, STOPPED, DAMAGED = "running", "finished", "stopped", "damaged"
_LOCKS = Path("/proc/locks")
_LONGEST = 120
_REMEDY = "; run the study again to compute the lost runs"

Signature = tuple[Any, ...]
"""Names, modification times and sizes of the files that change when results are added."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Description of one folder of results: a row in the list of studies."""

    title: str
    link: str = ""
    algorithms: tuple[str, ...] = ()
    runs: int = 0
    done: int = 0
    failed: int = 0
    state: str = FINISHED
    changed_unix_s: float = 0.0
    problem: str = ""
    """Reason why the folder cannot be read; empty if the folder is readable."""


@dataclass(slots=True)
class Tally:
    """The counted runs of a results folder, and how far each of its journal files was read."""

    signature: Signature
    summary: Summary
    first_journal: int = 0
    in_tables: int = 0
    in_journals: int = 0
    read_to: dict[str, int] | None = None


def signature_of(folder: Path) -> Signature:
    """Return a value that changes when results are added to `folder` (see `Signature`)."""
    found: list[Any] = []
    for path in (located(folder, MANIFEST), folder / STUDY, *journals_of(folder, 0)):
        try:
            about = path.stat()
        except OSError:
            continue
        found.append((path.name, about.st_mtime_ns, about.st_size))
    return tuple(found)


def remembered(signature: Signature, kept: object) -> Tally | None:
    """Make the `Tally` of a finished study from its cached summary; None if `kept` is invalid."""
    if not isinstance(kept, dict) or kept.keys() != Summary.__dataclass_fields__.keys():
        return None
    return Tally(signature, Summary(**{**kept, "algorithms": tuple(kept["algorithms"])}))


def tally(folder: Path, before: Tally | None, signature: Signature) -> Tally:
    """Count a folder's runs; skip journal records that are part of the earlier count `before`."""
    changed = max((at for _, at, _ in signature), default=0) / 1e9
    try:
        manifest = read_manifest(folder)
        if manifest is None:
            return Tally(
                signature, Summary(folder.name, state=DAMAGED, problem="contains no results")
            )
        told = _described(folder)
        if before is None or before.first_journal != manifest.first_journal or not before.read_to:
            in_tables = _rows_of_runs(folder, manifest)
            own = Tally(signature, told, manifest.first_journal, in_tables, 0, {})
        else:
            own = replace(before, signature=signature)
        _read_on(folder, own)
        total = _height(located(folder, MATRIX)) if located(folder, MATRIX).exists() else 0
    except (CwndlabError, OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as e:
        text = (
            str(e)
            if isinstance(e, CwndlabError)
            else f"{folder}: damaged ({_first_line(e)}){_REMEDY}"
        )
        damaged = Summary(folder.name, state=DAMAGED, changed_unix_s=changed, problem=text)
        return Tally(signature, damaged)
    done = min(own.in_tables + own.in_journals, total)
    failed = sum(1 for _ in (folder / "failed").glob("*.json"))
    own.summary = replace(
        told,
        runs=total,
        done=done,
        failed=failed,
        state=FINISHED if total and done == total else STOPPED,
        changed_unix_s=changed,
    )
    return own


def locked_inodes() -> set[int]:
    """Return the inodes of all files locked by flock(2); empty if the system does not list them."""
    try:
        lines = _LOCKS.read_text("ascii").splitlines()
    except OSError:
        return set()
    return {int(line.split()[5].rpartition(":")[2]) for line in lines if " FLOCK " in line}


def is_written_now(folder: Path, locked: set[int]) -> bool:
    """Return whether a process is writing into a folder: its lock is among the inodes `locked`."""
    try:
        return (folder / LOCK).stat().st_ino in locked
    except OSError:
        return False


def _read_on(folder: Path, own: Tally) -> None:
    read_to = own.read_to if own.read_to is not None else {}
    for path in journals_of(folder, own.first_journal):
        for record in read_records(path, read_to.get(path.name, 0)):
            tried = record.head.get("entries", ())
            own.in_journals += sum(entry["status"] == DONE for entry in tried)
            read_to[path.name] = record.end
    own.read_to = read_to


def _rows_of_runs(folder: Path, manifest: Manifest) -> int:
    names = [name for name in manifest.files if name.startswith(f"{RUNS}/") and is_part(name)]
    return sum(_height(located(folder, name)) for name in names)


def _height(path: Path) -> int:
    return int(scan_parquet([path]).select(pl.len()).collect().item())


def _described(folder: Path) -> Summary:
    """Return title, link and algorithms from the study file or import file of a results folder."""
    if (imported := folder / IMPORT_FILE).exists():
        about = tomllib.loads(imported.read_text("utf-8"))["import"]
        return Summary(f"{about['id']} (imported)", link=f"measured: {about['folder']}")
    if not (folder / STUDY).exists():
        return Summary(folder.name)
    document = tomllib.loads(located(folder, STUDY).read_text("utf-8"))
    study, factors = document.get("study", {}), document.get("factors", {})
    algorithms = _named(factors.get("algorithm")) or _named(study.get("algorithm"))
    if not algorithms:
        algorithms = [name for flow in document.get("flow", ()) for name in _named(flow)]
    link = factors.get("link", study.get("link", document.get("link", "")))
    title = study.get("title") or study.get("id") or folder.name
    return Summary(str(title), _text_of(link), tuple(dict.fromkeys(algorithms)))


def _named(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [name for each in value for name in _named(each)]
        case {"algorithm": inner}:
            return _named(inner)
    return []


def _text_of(link: object) -> str:
    match link:
        case str():
            text = link
        case list():
            text = " | ".join(map(_text_of, link))
        case {"preset": preset}:
            text = str(preset)
        case dict():
            text = ", ".join(f"{key}={_plain(value)}" for key, value in link.items())
        case _:
            text = ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        inner: Mapping[str, object] = value
        return f"({_text_of(inner)})"
    return str(value)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
