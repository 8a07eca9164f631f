"""Import the measurement files in a folder as results, in the format of a study's results."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import core
from cwndlab.errors import MeasurementError, UnknownNameError, read_failure
from cwndlab.imports.capture import is_capture, read_capture
from cwndlab.imports.iperf3 import is_iperf3, merge, read_iperf3
from cwndlab.imports.pattern import REPETITION, SIDE, NamePattern, label
from cwndlab.imports.socket_statistics import is_socket_statistics, read_socket_statistics
from cwndlab.imports.table import is_table, read_table
from cwndlab.results.folder import IMPORT_FILE, MATRIX
from cwndlab.results.tables import encode_result, read_parquet, split_files, to_parquet
from cwndlab.results.writer import Writer
from cwndlab.schema.direction import Direction
from cwndlab.text.files import open_as_utf8
from cwndlab.text.quantity import format_duration
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cwndlab.imports.measurement import Measurement

IMPORT_EPOCH = 1
"""Version of the import code; it increases with every change that may alter imported values."""

_HEAD_BYTES = 1 << 16
_MOST_TOLD = 10
_KEY_DIGITS = 32
_ALGORITHM = "algorithm"
_DIRECTION = "direction"

Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Files to import, and the folder to which the results are written."""

    folder: Path
    pattern: NamePattern
    results: Path
    id: str
    warm_up_ns: int = 0


@dataclass(slots=True)
class ImportSummary:
    """Outcome of an import: the results folder, and the files that were not imported."""

    folder: Path
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Names of the files that contributed no run to the results, with the reasons."""


@dataclass(slots=True)
class _ImportedRun:
    """A run that was read from one file, or from one file of the client and one of the server."""

    paths: list[Path]
    fields: Fields
    measurement: Measurement
    digest: str
    spooled: list[Path] = field(default_factory=list)
    """Temporary files with the run's samples and events; empty if `measurement` contains these."""
    repetition: int = 0

    @property
    def labels(self) -> dict[str, str]:
        return {name: value for name, value in self.fields.items() if name != REPETITION}

    def spool(self, folder: Path) -> None:
        """Move samples and events from memory to files in a new folder."""
        folder.mkdir()
        for n, part in enumerate(self.measurement.parts()):
            for table, columns in part.items():
                path = folder / f"{n:06}.{table}"
                pl.DataFrame(columns).write_parquet(path)
                self.spooled.append(path)
        self.measurement = replace(self.measurement, samples=[], events=[], series=[])

    def keep(self, writer: Writer, key: str, entry: Mapping[str, Any]) -> None:
        """Store all tables of the run in the results, in parts that fit into memory."""
        parts = [{path.suffix[1:]: path} for path in self.spooled] or self.measurement.parts()
        for part in parts:
            tables = {
                table: read_parquet(own).to_dict() if isinstance(own, Path) else own
                for table, own in part.items()
            }
            found, _ = split_files(key, encode_result(key, tables))
            writer.commit_part(key, {name: own for name, own in found.items() if own[1][0][1]}, {})
        flows = encode_result(key, {"flows": self.measurement.flow_table()})
        writer.commit(key, flows, entry)

    def key(self, request: ImportRequest) -> str:
        content = json.dumps([IMPORT_EPOCH, self.digest, self.fields, request.warm_up_ns])
        return hashlib.sha256(content.encode()).hexdigest()[:_KEY_DIGITS]


def import_folder(request: ImportRequest) -> ImportSummary:
    """Read those files in a folder whose names match the pattern, and store their runs as results.

    The returned summary lists the files without a usable run. Failed runs are stored as failures.

    Raises:
        MeasurementError: no file matches the pattern, or no file contains a run.
        ResultsError: the results cannot be written.
    """
    with tempfile.TemporaryDirectory() as spool:
        return _import(request, Path(spool))


def _import(request: ImportRequest, spool: Path) -> ImportSummary:
    files, left_out = request.pattern.files(request.folder)
    runs = _merged(_read_all(files, request, spool, left_out))
    notes = list(dict.fromkeys(note for run in runs for note in run.measurement.notes))
    failed = [run for run in runs if run.measurement.error is not None]
    done = [run for run in runs if run.measurement.error is None]
    notes += _name_algorithms(done, request, left_out)
    left_out += [f"{_files(run)}: {run.measurement.error}" for run in failed]
    if not done:
        raise MeasurementError("\n".join(left_out[:_MOST_TOLD]))
    _number(done)
    columns = list(dict.fromkeys(name for run in done for name in run.labels))
    with Writer(request.results, request.id) as writer:
        matrix = to_parquet(_matrix(done, columns, request))
        writer.replace({IMPORT_FILE: _record(request, notes, left_out), MATRIX: matrix})
        committed = set(writer.committed())
        for run in done:
            key = run.key(request)
            if key not in committed:
                run.keep(writer, key, _entry(run, request))
        for run in failed:
            reason = {"error": run.measurement.error, "files": _names(run, request)}
            writer.note_failure(run.key(request), reason, _entry(run, request))
        writer.finish()
    return ImportSummary(request.results, notes, left_out)


def _read_all(
    files: Mapping[Path, Fields], request: ImportRequest, spool: Path, left_out: list[str]
) -> Iterator[_ImportedRun]:
    """Yield the run in each file; add files without a run to `left_out`, with the reason."""
    for number, (path, fields) in enumerate(files.items()):
        try:
            measurement, digest = read_file(path, request.warm_up_ns / 1e9)
        except MeasurementError as error:
            left_out.append(f"{path}: {error}")
            continue
        except OSError as error:
            left_out.append(read_failure(path, error))
            continue
        run = _ImportedRun([path], dict(fields), measurement, digest)
        if not measurement.identity:  # another file about the same transfer may follow
            run.spool(spool / str(number))
        yield run


def read_file(path: Path, warm_up_s: float) -> tuple[Measurement, str]:
    """Read a file of any supported format; return the measurement and the SHA-256 of the file.

    The format is recognised by the content of the file, not by its name.

    Raises:
        MeasurementError: the file contains no measurement.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    measurement = _read(path, head, warm_up_s)
    measurement.check()
    return measurement, digest


def _read(path: Path, head: bytes, warm_up_s: float) -> Measurement:
    if is_capture(head):
        return read_capture(path, warm_up_s)
    with open_as_utf8(path) as file:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        for is_kind, read in (
            (is_iperf3, read_iperf3),
            (is_socket_statistics, read_socket_statistics),
            (is_table, read_table),
        ):
            if is_kind(head):
                return read(file, warm_up_s)
    if not head:
        msg = "the file is empty; remove it from the folder, or repeat the measurement"
        raise MeasurementError(msg)
    msg = (
        "unknown format; use iperf3 JSON (iperf3 --json), a log of ss -tin, a packet capture, or "
        "a table whose first line names its columns, such as t_s and goodput_mbit_s"
    )
    raise MeasurementError(msg)


def _merged(runs: Iterable[_ImportedRun]) -> list[_ImportedRun]:
    """Return the runs, after merging the two files of each transfer (client's and server's)."""
    found: dict[object, _ImportedRun] = {}
    for run in runs:
        side = run.fields.pop(SIDE, None)
        identity = run.measurement.identity
        key: object = (identity, tuple(run.fields.items())) if identity else id(run)
        other = found.get(key)
        if other is None:
            found[key] = run
            continue
        first, second = (run, other) if side == "client" else (other, run)
        measurement = merge(first.measurement, second.measurement)
        digest = hashlib.sha256((first.digest + second.digest).encode()).hexdigest()
        found[key] = _ImportedRun([*first.paths, *second.paths], run.fields, measurement, digest)
    return list(found.values())


def _name_algorithms(
    runs: list[_ImportedRun], request: ImportRequest, left_out: list[str]
) -> list[str]:
    """Label each run with the algorithm in the file's name or, if none, in the file's content.

    The column `sent_by` contains the algorithm that the content states. If the name states a
    different algorithm, the label is still the algorithm in the name. However, comparisons do not
    attribute the data to this algorithm, and a returned note says so. If neither the name nor the
    content states an algorithm, the run is moved from `runs` to `left_out`.
    """
    notes = []
    for run in list(runs):
        named = run.fields.get(_ALGORITHM)
        ran = next(
            (row["algorithm"] for row in run.measurement.flows if row.get("algorithm")), None
        )
        if named is None and ran is None:
            runs.remove(run)
            left_out.append(
                f"{run.paths[0]}: neither the file nor its name states the algorithm; add it to "
                f'the file names, and use --pattern "{{algorithm}}..." instead of '
                f"{request.pattern.text!r}"
            )
            continue
        if named is None:
            run.fields = {_ALGORITHM: str(ran)} | run.fields
        elif ran is not None and _canonical(named) != _canonical(ran):
            notes.append(
                f"The name of {run.paths[0].name} contains {named}, but the sender used {ran}; "
                f"therefore no data of this file are attributed to {named}."
            )
        label = run.fields[_ALGORITHM]
        is_own = ran is not None and _canonical(label) == _canonical(ran)
        for row in run.measurement.flows:
            row["algorithm"], row["sent_by"] = label, label if is_own else ran
            if direction := run.fields.get(_DIRECTION):
                row["direction"] = Direction.of(direction).wire
    return notes


def _canonical(name: str) -> str:
    """Replace an alias of an algorithm by the main name; unknown names only become lower case."""
    try:
        return core.algorithm(name.lower()).name
    except UnknownNameError:
        return name.lower()


def _number(runs: list[_ImportedRun]) -> None:
    """Number the runs that have the same factor levels, by start time and then file name.

    If a file name states the repetition, the run keeps this number.
    """
    cells: dict[tuple[tuple[str, str], ...], list[_ImportedRun]] = defaultdict(list)
    for run in runs:
        cells[tuple(run.labels.items())].append(run)
    for alike in cells.values():
        alike.sort(key=lambda run: (run.measurement.began_unix_s or 0.0, run.paths))
        for count, run in enumerate(alike):
            named = run.fields.get(REPETITION)
            run.repetition = count if named is None else int(named)
        counts = [run.repetition for run in alike]
        if len(set(counts)) < len(counts):
            twice = next(run for run in alike if counts.count(run.repetition) > 1)
            msg = (
                f"{twice.paths[0]}: another file has the same field values and the same "
                "repetition; add a field to --pattern by which the files differ"
            )
            raise MeasurementError(msg)
    runs.sort(key=lambda run: (run.repetition, run.measurement.began_unix_s or 0.0))


def _matrix(runs: list[_ImportedRun], columns: list[str], request: ImportRequest) -> pl.DataFrame:
    """Return the runs as a table in the format that studies use.

    If the file names state the repetition, its number is also the seed. All runs of a repetition
    then have the same seed, so that comparisons are paired.
    """
    cells = {labels: at for at, labels in enumerate(dict.fromkeys(map(_cell, runs)))}
    frame: dict[str, Any] = {
        "run": [run.key(request) for run in runs],
        "cell": [cells[_cell(run)] for run in runs],
    }
    for name in columns:
        values = [label(run.labels.get(name, "")) for run in runs]
        is_mixed = len({type(value) for value in values}) > 1
        frame[name] = [run.labels.get(name, "") for run in runs] if is_mixed else values
    frame["repetition"] = [run.repetition for run in runs]
    frame["seed"] = [
        run.repetition if REPETITION in run.fields else number for number, run in enumerate(runs)
    ]
    return pl.DataFrame(frame)


def _cell(run: _ImportedRun) -> tuple[tuple[str, str], ...]:
    return tuple(run.labels.items())


def _entry(run: _ImportedRun, request: ImportRequest) -> dict[str, Any]:
    began = run.measurement.began_unix_s
    entry: dict[str, Any] = {
        "cell": run.labels,
        "repetition": run.repetition,
        "backend": "import",
        "files": _names(run, request),
        "cwndlab": core.version(),
    }
    if began is not None:
        entry["began"] = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
    if run.measurement.host is not None:
        entry["host"] = run.measurement.host
    return entry


def _files(run: _ImportedRun) -> str:
    return ", ".join(path.name for path in run.paths)


def _names(run: _ImportedRun, request: ImportRequest) -> list[str]:
    return [path.relative_to(request.folder).as_posix() for path in run.paths]


def _record(request: ImportRequest, notes: list[str], failures: list[str]) -> bytes:
    """Return the content of the TOML file that describes this import."""
    document = {
        "import": {
            "id": request.id,
            "folder": str(request.folder),
            "pattern": request.pattern.text,
            "warm_up": format_duration(request.warm_up_ns),
            "notes": notes,
            "left_out": failures,
        }
    }
    return write_toml(document).encode()
