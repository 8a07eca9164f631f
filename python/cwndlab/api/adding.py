"""Add algorithms or repetitions to an earlier comparison on the same link."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING, Any

from cwndlab.api.study import Study
from cwndlab.errors import ResultsError
from cwndlab.results.manifest import MANIFEST
from cwndlab.run.campaign import default_folder
from cwndlab.schema import canonical_json
from cwndlab.study.kept import STUDY
from cwndlab.usercode.program import LINUX_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cwndlab.backends import BackendName

_GROWING = ("algorithm", "repetitions")


def adding(
    document: Mapping[str, Any],
    title: str,
    folder: Path | None,
    backend: BackendName,
    load: Callable[[Path], Study],
) -> tuple[Study, Path]:
    """Merge a comparison with earlier ones; return the merged study and its results folder.

    Comparisons share a folder if they differ only in their algorithms and repetitions, and if the
    files and presets that they name have the same content. The folder's name contains a hash of
    all other settings.

    Args:
        document: the keys of the new comparison's study.
        title: title of the comparison in reports.
        folder: the results folder. If None, a folder whose name contains the hash is used.
        backend: the backend on which the study runs.
        load: function that reads the study of an earlier comparison. The function asks the user for
            permission before C files of that study are run.

    Raises:
        ResultsError: `folder` contains results of an algorithm with the same name but different
            source code.
    """
    alone = Study(**document, title=title)
    shared = {key: value for key, value in document.items() if key not in _GROWING}
    path = alone.cells[0].resolved.scenario.model_dump(mode="json", exclude_none=True)["path"]
    digest = hashlib.sha256(canonical_json([shared, path]).encode()).hexdigest()[:8]
    for number in itertools.count(1):
        name = f"compare-{digest}" if number == 1 else f"compare-{digest}-{number}"
        study = alone.changed({**alone.document, "id": name})
        where = folder or default_folder(study, backend)
        # The manifest is written first: another process may be creating the folder.
        if not ((where / MANIFEST).exists() and (where / STUDY).exists()):
            return study, where
        earlier = load(where / STUDY)
        if earlier.id != name:
            return study, where  # writing into the folder of another study raises an error
        if changed := _changed_algorithms(earlier, study):
            if folder is None:
                continue
            msg = (
                f"{folder} contains results of a different algorithm named {changed[0]}; choose "
                "another folder"
            )
            raise ResultsError(msg)
        return _together(earlier, study, where), where
    raise AssertionError


def _together(earlier: Study, later: Study, folder: Path) -> Study:
    """Return `later` with the algorithms of both studies and the larger repetition count.

    Algorithms that failed in `earlier` are not added, because they would fail again in every
    further comparison.
    """
    references = {label: _within(folder, own) for label, own in _files(earlier).items()}
    broken = _failed(earlier, folder)
    known = {
        label: references.get(label, label) for label in _labels(earlier) if label not in broken
    }
    known |= {
        label: reference
        for label, reference in zip(_labels(later), _algorithms(later), strict=True)
        if label not in known
    }
    document = {key: value for key, value in later.document.items() if key != "factors"}
    document["factors"] = {**later.document.get("factors", {}), "algorithm": list(known.values())}
    document["repetitions"] = max(earlier.repetitions, later.repetitions)
    return later.changed(document)


def _failed(study: Study, folder: Path) -> set[str]:
    """Return the labels of all algorithms with a run whose last attempt failed."""
    failed = {path.stem for path in (folder / "failed").glob("*.json")}
    return {str(run.labels["algorithm"]) for run in study.matrix.runs if run.key in failed}


def _within(folder: Path, reference: str) -> str:
    """Return a reference, with an absolute path, to a C file in a results folder."""
    path = reference.removeprefix(LINUX_PREFIX)
    prefix = LINUX_PREFIX if path != reference else ""
    return f"{prefix}{(folder / path).absolute()}"


def _algorithms(study: Study) -> list[str]:
    return list(study.document["factors"]["algorithm"])


def _labels(study: Study) -> list[str]:
    return [str(label) for label in study.factors["algorithm"]]


def _files(study: Study) -> dict[str, str]:
    """Return the references to the C files of algorithms; each key is the label of an algorithm."""
    found = {}
    for cell in study.cells:
        for name, each in cell.resolved.algorithms.items():
            found[name] = each.reference
    return found


def _changed_algorithms(earlier: Study, later: Study) -> list[str]:
    """Return the names of algorithms whose C files have different content in the two studies."""

    def contents(study: Study) -> dict[str, str]:
        return {
            name: each.algorithm.source_sha256
            for cell in study.cells
            for name, each in cell.resolved.algorithms.items()
        }

    before, now = contents(earlier), contents(later)
    return [name for name in before if name in now and before[name] != now[name]]
