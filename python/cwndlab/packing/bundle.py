"""Pack a study's results, report, methods, citations and figure scripts into an archive.

Equal results produce archives with equal bytes, because files are sorted by name and have no time
stamps.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cwndlab.errors import ResultsError
from cwndlab.packing import words
from cwndlab.packing.privacy import LEFT_OUT, Pseudonyms, hosts_of
from cwndlab.packing.script import script_of
from cwndlab.report import draw_figures, origin_of, write_report
from cwndlab.results.folder import HISTORY
from cwndlab.results.manifest import COPY, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.api.results import Results

_PIECE_BYTES = 1 << 20
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_COMPRESSED = {".parquet", ".png", ".gz"}


def pack(results: Results, out: Path, *, is_anonymous: bool = False) -> Path:
    """Write an archive of results, with report, methods, citations and figures; return its path.

    Args:
        results: the results to pack.
        out: path of the archive, which is a ZIP file.
        is_anonymous: whether to anonymise the archive. An anonymised archive contains no packet
            captures. In this archive, pseudonyms such as `host-1` replace IP addresses and the
            names of machines, radio cells and operators.

    Raises:
        ResultsError: the archive cannot be written.
    """
    hidden = Pseudonyms(hosts_of(results.history)) if is_anonymous else None
    if is_anonymous and not results.is_written:
        msg = (
            f"{results.path}: the study was stopped before its tables were written; run the study "
            "again"
        )
        raise ResultsError(msg)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        aside = out.with_name(f".{out.name}.{os.getpid()}")
        try:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(aside, "w") as archive:
                report = Path(folder)
                write_report(results, report)
                _fill(archive, out.stem, results, report, hidden)
            aside.replace(out)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        msg = f"{out}: {(error.strerror or str(error)).lower()}"
        raise ResultsError(msg) from error
    return out


def _fill(
    archive: zipfile.ZipFile, stem: str, results: Results, report: Path, hidden: Pseudonyms | None
) -> None:
    """Write all files into the archive; large files are copied in pieces to save memory."""
    for name, content in sorted(_own_files(results, report)):
        shown = content if hidden is None else _hide(hidden, name, content)
        if shown is not None:
            _add(archive, f"{stem}/{name}", io.BytesIO(shown))
    digests = {}
    for path in _below(results.path):
        name = path.relative_to(results.path).as_posix()
        if name.startswith("report/") or (name.startswith(".") and name != COPY):
            continue
        if hidden is None:
            with path.open("rb") as file:
                _add(archive, f"{stem}/data/{name}", file)
        elif path.suffix not in LEFT_OUT and name not in {MANIFEST, COPY}:
            shown = _hide(hidden, name, path.read_bytes())
            if shown is not None:
                digests[name] = hashlib.sha256(shown).hexdigest()
                _add(archive, f"{stem}/data/{name}", io.BytesIO(shown))
    if hidden is not None:
        manifest = results.manifest
        known = {name: own for name, own in digests.items() if name in manifest.files}
        text = dataclasses.replace(manifest, files=known).to_json()
        for name in (MANIFEST, COPY):
            _add(archive, f"{stem}/data/{name}", io.BytesIO(text))


def _own_files(results: Results, report: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file in the archive, except those in folder `data`."""
    origin = origin_of(results)
    yield "README.md", words.readme(results).encode()
    yield "methods.md", words.methods(results, origin).encode()
    yield "citations.md", words.citations(results).encode()
    yield "citations.bib", words.bibliography(results).encode()
    yield "versions.json", (json.dumps(words.versions(results), indent=2) + "\n").encode()
    for path in _below(report):
        yield f"report/{path.relative_to(report).as_posix()}", path.read_bytes()
    for drawn, figure in draw_figures(results):
        name = drawn.replace("/", "-")
        script, table = script_of(figure, name, drawn)
        yield f"figures/{name}.py", script.encode()
        yield f"figures/{name}.csv", table.encode()


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _hide(hidden: Pseudonyms, name: str, content: bytes) -> bytes | None:
    """Return a file's content with private names replaced; None if the file must be omitted."""
    suffix = Path(name).suffix
    if suffix in LEFT_OUT:
        return None
    if suffix == ".parquet":
        return hidden.history(content) if name == HISTORY else hidden.table(content)
    if suffix in {".json", ".jsonl"}:
        text = content.decode()
        if suffix == ".json":
            return (hidden.json(text, indent=2) + "\n").encode()
        return "".join(f"{hidden.json(line)}\n" for line in text.splitlines() if line).encode()
    if suffix in {".md", ".toml", ".html", ".csv", ".tex"}:
        return hidden.text(content.decode()).encode()
    return content


def _add(archive: zipfile.ZipFile, name: str, file: IO[bytes]) -> None:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.external_attr = 0o644 << 16
    is_small = Path(name).suffix in _COMPRESSED
    entry.compress_type = zipfile.ZIP_STORED if is_small else zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as packed:
        shutil.copyfileobj(file, packed, _PIECE_BYTES)
