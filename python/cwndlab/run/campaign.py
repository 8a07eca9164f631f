"""Running a study: what is missing is computed and kept, run by run, until all is there."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import backends, core
from cwndlab.api.results import Results
from cwndlab.errors import (
    DiskFullError,
    InterruptedStudyError,
    RunsFailedError,
    StudyError,
    plural,
)
from cwndlab.results.store import Writer
from cwndlab.results.tables import to_parquet
from cwndlab.run import progress
from cwndlab.run.executor import Task
from cwndlab.schema.scenario import LivePath
from cwndlab.text.toml_writer import write_toml
from cwndlab.usercode.program import LINUX_PREFIX, copies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.api.study import Study
    from cwndlab.backends import Backend
    from cwndlab.run.executor import Executor, Outcome
    from cwndlab.run.progress import Reporter
    from cwndlab.study.matrix import Matrix, Run

RESULTS_FOLDER = Path("results")

_SMALL_TABLES = ("runs", "flows", "links")


@dataclass(slots=True)
class _Failures:
    """Runs that failed."""

    count: int = 0
    first: str = ""


def default_folder(study: Study, backend: Backend = "sim") -> Path:
    """Where results go unless the user says otherwise."""
    return RESULTS_FOLDER / (study.id if backend == "sim" else f"{study.id}-{backend}")


def run_study(  # noqa: PLR0913  each has its default
    study: Study,
    folder: Path | None = None,
    *,
    backend: Backend = "sim",
    jobs: int | None = None,
    cluster: str | None = None,
    executor: Executor | None = None,
    report: Callable[[str, int, int], Reporter] = progress.reporter,
    again: str = "the same again",
) -> Results:
    """Compute the runs of `study` that `folder` lacks.

    Args:
        study: the study.
        folder: of the results; `results/ID` if None, for the kernel `results/ID-kernel`.
        backend: where the runs happen.
        jobs: how many runs at once, on this machine.
        cluster: address of a cluster that computes them, `dask://HOST:PORT`.
        executor: what computes them; what the backend has on this machine if None.
        report: makes what is told about the progress, of title, total and number done.
        again: what the user does to go on after an interruption.

    Raises:
        RunsFailedError: some runs failed; the others are done.
        InterruptedStudyError: the user stopped it.
        ResultsError: the folder cannot be used, or its disk is full.
    """
    folder = folder or default_folder(study, backend)
    matrix = backends.keyed(study.matrix, backend)
    if any(isinstance(run.scenario.path, LivePath) for run in matrix.runs):
        message = "there is no [link] to run it on; measure it: cwndlab live STUDY --server HOST"
        raise StudyError([message])
    failures = _Failures()
    with Writer(folder, study.id) as writer:
        keep_study(study, matrix, writer)
        wanted = {run.key: run for run in matrix.runs}
        committed = writer.folder.committed()
        missing = [run for key, run in wanted.items() if key not in committed]

        def safe() -> str:
            count = len(writer.folder.committed() & wanted.keys())
            verb = "is" if len(wanted) == 1 else "are"
            return f"{count:,} of {plural(len(wanted), 'run')} {verb} safe"

        if missing:
            reporter = report(study.title, len(wanted), len(wanted) - len(missing))
            try:
                with reporter:
                    executor = executor or backends.executor(backend, jobs, cluster)
                    _compute(missing, executor, writer, reporter, failures, backend)
            except KeyboardInterrupt:
                message = f"stopped; {safe()}, {again} goes on from here"
                raise InterruptedStudyError(message) from None
            except DiskFullError as error:
                message = f"{error}\n  {safe()}; then {again} goes on from here"
                raise DiskFullError(message) from error
        results = Results(folder)
        write_small_tables(results, writer)
        if failures.count:
            message = (
                f"{failures.count:,} of {plural(len(wanted), 'run')} failed, {safe()}; "
                f"why is in {folder / 'failed'}, the first: {failures.first}"
            )
            raise RunsFailedError(message)
    return results


def _compute(
    missing: list[Run],
    executor: Executor,
    writer: Writer,
    reporter: Reporter,
    failures: _Failures,
    backend: Backend,
) -> None:
    runs = {run.key: run for run in missing}
    for outcome in executor.outcomes(tasks(missing)):
        run = runs[outcome.key]
        entry = _manifest_entry(run, outcome, backend)
        if outcome.error is None:
            writer.commit(outcome.key, outcome.files, entry)
        else:
            reason = {"error": outcome.error, "scenario": run.scenario.model_dump(mode="json")}
            writer.note_failure(outcome.key, reason, entry)
            failures.count += 1
            failures.first = failures.first or outcome.error
        reporter.advance(", ".join(str(label) for label in run.labels.values()))


def tasks(runs: Iterable[Run]) -> Iterator[Task]:
    """What executors are given for these runs."""
    for run in runs:
        traces = {name: trace.content for name, trace in run.traces.items()}
        found = run.algorithms.values()
        programs = {each.algorithm.name: each.program for each in found if each.program}
        problem = next((each.problem for each in found if each.problem), "")
        yield Task(run.key, run.scenario.to_json(), traces, programs, problem)


def _manifest_entry(run: Run, outcome: Outcome, backend: Backend) -> dict[str, Any]:
    return {
        "cell": dict(run.labels),
        "repetition": run.repetition,
        "seed": run.seed,
        "began": datetime.fromtimestamp(outcome.began_unix_s, UTC).isoformat(timespec="seconds"),
        "duration_s": round(outcome.duration_s, 6),
        "host": outcome.host,
        "kernel": platform.release(),
        "backend": backend,
        "cwndlab": core.version(),
        "behaviour_epoch": core.behaviour_epoch(),
        **outcome.notes,
    }


def keep_study(study: Study, matrix: Matrix, writer: Writer) -> None:
    """Keep the study, its traces, algorithms and runs, so that the folder tells all by itself."""
    names = _keep_algorithms(study, matrix, writer)
    for run in matrix.runs:
        for trace in run.traces.values():
            names[str(trace.path.resolve())] = f"traces/{trace.sha256[:8]}-{trace.path.name}"
            writer.replace(names[str(trace.path.resolve())], trace.original)
    document = _with_copies(study.document, study.folder, names)
    writer.replace("study.toml", write_toml(study.in_file_form(document)).encode())
    writer.replace("matrix.parquet", to_parquet(matrix_frame(matrix)))


def _keep_algorithms(study: Study, matrix: Matrix, writer: Writer) -> dict[str, str]:
    """Copy the algorithms that are files; what the study calls each, and the copy."""
    names: dict[str, str] = {}
    files = {each.reference: each for run in matrix.runs for each in run.algorithms.values()}
    for reference, each in files.items():
        main, copies = copies_of(reference, study.folder, each.program)
        folder = f"algorithms/{each.algorithm.name.replace(':', '-')}"
        for name, path in copies.items():
            writer.replace(f"{folder}/{name}", path.read_bytes())
        prefix = LINUX_PREFIX if reference.startswith(LINUX_PREFIX) else ""
        names[reference] = f"{prefix}{folder}/{main}"
    return names


def matrix_frame(matrix: Matrix) -> pl.DataFrame:
    """The runs of a study as a table."""
    columns: dict[str, Any] = {
        "run": [run.key for run in matrix.runs],
        "cell": [run.cell for run in matrix.runs],
    }
    for name in matrix.columns:
        labels = [run.labels[name] for run in matrix.runs]
        is_mixed = len({type(label) for label in labels}) > 1
        columns[name] = [str(label) for label in labels] if is_mixed else labels
    columns["repetition"] = [run.repetition for run in matrix.runs]
    columns["seed"] = [run.seed for run in matrix.runs]
    return pl.DataFrame(columns)


def _with_copies(value: Any, folder: Path, names: Mapping[str, str], key: str = "") -> Any:  # noqa: ANN401  part of a document
    """The document with the names that traces and algorithms have within the results folder."""
    if isinstance(value, dict):
        return {
            names.get(name, name): _with_copies(inner, folder, names, name)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_copies(inner, folder, names, key) for inner in value]
    return _copied_name(value, folder, names, key) if isinstance(value, str) else value


def _copied_name(value: str, folder: Path, names: Mapping[str, str], key: str) -> str:
    last = key.rpartition(".")[2]
    if last in ("algorithm", "receiver_algorithm"):
        return names.get(value, value)
    if last in ("trace", "log"):
        return names.get(str((folder / Path(value).expanduser()).resolve()), value)
    if last in ("link", "reverse_link"):
        for kind in ("trace:", "log:"):
            path, comma, rest = value.removeprefix(kind).partition(",")
            name = names.get(str((folder / Path(path).expanduser()).resolve()))
            if value.startswith(kind) and name:
                return f"{kind}{name}{comma}{rest}"
    return value


def write_small_tables(results: Results, writer: Writer) -> None:
    """One file for each small table of all runs, for whoever reads them without cwndlab."""
    for table in _SMALL_TABLES:
        frame: pl.DataFrame = getattr(results, table)()
        writer.replace(f"{table}.parquet", to_parquet(frame))
