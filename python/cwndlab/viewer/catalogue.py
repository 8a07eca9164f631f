"""List the results folders that `cwndlab open` shows; each request looks for them again."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cwndlab.api.results import open_results
from cwndlab.errors import CwndlabError
from cwndlab.judge.sentences import headline
from cwndlab.results.manifest import COPY, MANIFEST, OLD_MANIFEST
from cwndlab.viewer.kept import Kept
from cwndlab.viewer.summary import (
    DAMAGED,
    FINISHED,
    RUNNING,
    is_written_now,
    locked_inodes,
    remembered,
    signature_of,
    tally,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cwndlab.viewer.summary import Signature, Summary, Tally

_ID_DIGITS = 16
_DEEPEST = 2
PAGE_ROWS = 50


class Catalogue:
    """List of the results folders that `cwndlab open` shows; several threads can use it."""

    def __init__(self, places: Sequence[Path]) -> None:
        """Create the list for `places`.

        A place is a results folder, or contains results folders one or two levels below it.
        """
        self._places = [place.resolve() for place in places]
        self._taking = threading.Lock()
        self._tallies: dict[Path, Tally] = {}
        self._headlines: dict[Path, tuple[Signature, str]] = {}
        self._paths: dict[str, Path] = {}
        self._kept = Kept("headlines.json")
        self._index = Kept("summaries.json")

    @property
    def new_studies(self) -> Path:
        """Folder for the results of studies that users start from the web page."""
        return next(
            (place for place in self._places if not _holds_results(place)), self._places[0].parent
        )

    def path(self, identity: str) -> Path | None:
        """Return the results folder with this identifier, or None if no folder has it."""
        if identity not in self._paths:
            self.summaries()
        return self._paths.get(identity)

    def summaries(self) -> dict[Path, Summary]:
        """Return the summary of every results folder, most recently changed first."""
        with self._taking:
            locked = locked_inodes()
            found: dict[Path, Summary] = {}
            for path in dict.fromkeys(each for place in self._places for each in _within(place)):
                self._paths.setdefault(identity_of(path), path)
                signature = signature_of(path)
                known = self._tallies.get(path)
                if known is None:
                    known = remembered(signature, self._index.value(path, signature))
                if known is None or known.signature != signature:
                    known = tally(path, known, signature)
                self._tallies[path] = known
                summary = known.summary
                if summary.state not in {DAMAGED, FINISHED} and is_written_now(path, locked):
                    summary = replace(summary, state=RUNNING)
                found[path] = summary
            for gone in self._tallies.keys() - found.keys():
                del self._tallies[gone]
        return dict(sorted(found.items(), key=lambda each: -each[1].changed_unix_s))

    def page(self, query: str, page: int) -> dict[str, Any]:
        """Return page number `page` (from 0) of the studies that match `query`.

        A study matches if its row in the list contains all words of `query`.
        """
        rows = []
        words = query.lower().split()
        everything = self.summaries()
        for path, summary in everything.items():
            said = self._said_of(path)
            text = f"{path} {summary.title} {summary.link} {' '.join(summary.algorithms)} "
            text += f"{summary.state} {said} {summary.problem}"
            if all(word in text.lower() for word in words):
                row = {"id": identity_of(path), "name": path.name, "path": str(path)}
                rows.append({**row, **asdict(summary), "headline": said})
        first = page * PAGE_ROWS
        return {
            "studies": rows[first : first + PAGE_ROWS],
            "found": len(rows),
            "all": len(everything),
            "runs": sum(each.runs for each in everything.values()),
            "page_rows": PAGE_ROWS,
        }

    def pending(self) -> list[Path]:
        """Return the folders of idle studies that have finished runs, but no headline yet."""
        return [
            path
            for path, summary in self.summaries().items()
            if summary.state != RUNNING and summary.done and not self._said_of(path)
        ]

    def work_out(self, path: Path) -> None:
        """Compute the headline that states the result of a study in the list of results."""
        signature = signature_of(path)
        try:
            said = headline(open_results(path).answers().together)
        except CwndlabError as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001  a folder may contain anything
            said = (
                f"no recommendation is possible ({type(error).__name__}); the files may be damaged"
            )
        self._headlines[path] = (signature, said)

    def _said_of(self, path: Path) -> str:
        known, own = self._tallies.get(path), self._headlines.get(path)
        if known is None:
            return ""
        if own is not None and own[0] == known.signature:
            return own[1]
        said = self._kept.value(path, known.signature)
        return said if isinstance(said, str) else ""

    def keep(self) -> None:
        """Store headlines, and summaries of complete studies, on disk for the next server start."""
        self._kept.keep(self._headlines)
        with self._taking:
            lasting = {
                path: (each.signature, asdict(each.summary))
                for path, each in self._tallies.items()
                if each.summary.state == FINISHED and not each.summary.failed
            }
        self._index.keep(lasting)


def identity_of(path: Path) -> str:
    """Return a folder's identifier in URLs; it does not reveal the folder's path."""
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:_ID_DIGITS]


def _holds_results(path: Path) -> bool:
    return any((path / name).exists() for name in (MANIFEST, COPY, OLD_MANIFEST))


def _within(place: Path, depth: int = 0) -> Iterator[Path]:
    """Yield `place` if it is a results folder; otherwise, yield the results folders inside it."""
    if _holds_results(place):
        yield place
        return
    if depth == _DEEPEST:
        return
    try:
        inner = sorted(child for child in place.iterdir() if child.is_dir())
    except OSError:
        return
    for child in inner:
        if not child.is_symlink() and not child.name.startswith("."):
            yield from _within(child, depth + 1)
