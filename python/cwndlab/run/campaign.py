"""Run a study: compute the runs whose results are missing, and store their results."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import core
from cwndlab.errors import (
    CampaignEndedError,
    CwndlabError,
    DiskFullError,
    InterruptedStudyError,
    RunsFailedError,
    StudyError,
    plural,
)
from cwndlab.resolve.presets import link_names, preset_file
from cwndlab.results.blocks import DONE
from cwndlab.results.folder import MATRIX
from cwndlab.results.tables import to_parquet, write_pieces
from cwndlab.results.writer import Writer
from cwndlab.run import progress
from cwndlab.run.cost import Cost, cost_of
from cwndlab.run.executor import Note, Part, Task
from cwndlab.schema.live import LivePath
from cwndlab.study.kept import SCENARIOS, STUDY, TRACES, scenario_frame
from cwndlab.text.files import user_path
from cwndlab.text.linkspec import split_trace_line, trace_line
from cwndlab.text.toml_writer import write_toml
from cwndlab.usercode.program import LINUX_PREFIX, copies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.results.staging import FileContent
    from cwndlab.run.backend import Backend
    from cwndlab.run.executor import Batch, Executor, Outcome
    from cwndlab.run.progress import Reporter
    from cwndlab.study.definition import StudyDefinition
    from cwndlab.study.matrix import Matrix
    from cwndlab.study.runs import Run

RESULTS_FOLDER = Path("results")
PRESETS = "presets"
_RUNS_AT_ONCE = 1 << 12


def default_folder(study: StudyDefinition, backend: str = "sim") -> Path:
    """Return the folder in which a study's results are stored by default."""
    return RESULTS_FOLDER / (study.id if backend == "sim" else f"{study.id}-{backend}")


def run_study(
    study: StudyDefinition,
    folder: Path,
    backend: Backend,
    *,
    cores: int = 1,
    report: Callable[[str, int, int], Reporter] = progress.reporter,
    again: str = "the same study again",
) -> None:
    """Compute and store the runs of `study` whose results are not yet in `folder`.

    Args:
        study: the study.
        folder: the results folder.
        backend: the backend that executes the runs.
        cores: number of cores for which the cost of a simulation is estimated.
        report: function that creates the progress display from the title, the total number of runs
            and the number of finished runs.
        again: command that continues the study after an interruption; messages quote this command.

    Raises:
        StudyError: the study has no link, or one of its runs would take too long.
        RunsFailedError: some runs failed; the other runs are finished.
        InterruptedStudyError: the user stopped the study.
        CampaignEndedError: a real network was unreachable for too long.
        ResultsError: the folder cannot be used, or its disk is full.
    """
    matrix = backend.keyed(study.matrix)
    is_live = any(isinstance(cell.resolved.scenario.path, LivePath) for cell in matrix.cells)
    if is_live and backend.name != "live":
        message = (
            "the study has no [link]; add a link, or measure a real link with "
            "cwndlab live STUDY --server HOST"
        )
        raise StudyError([message])
    cost = cost_of(matrix.cells, study.repetitions) if backend.name == "sim" else Cost()
    with Writer(folder, study.id) as writer:
        keep_study(study, matrix, writer)
        count = len(matrix.runs)
        missing = np.flatnonzero(~writer.is_done())
        session = _Campaign(writer, matrix, backend.name)
        try:
            if missing.size:
                left = cost.times(missing.size / count)
                if left.is_worth_saying:
                    progress.tell(f"{study.title}: {left.sentence(cores)}")
                with report(study.title, count, count - missing.size) as reporter:
                    executor = backend.executor(matrix, writer.history)
                    session.compute(missing, executor, reporter)
            writer.finish()
        except KeyboardInterrupt:
            message = f"stopped; {session.safe()}; run {again} to continue"
            raise InterruptedStudyError(message) from None
        except (DiskFullError, CampaignEndedError) as error:
            message = f"{error}\n  {session.safe()}; remove the cause, then run {again} to continue"
            raise type(error)(message) from error
    if session.failures:
        message = (
            f"{session.failures:,} of {plural(count, 'run')} failed, {session.safe()}; "
            f"{folder / 'failed'} contains the reasons; the first failure: {session.first_failure}"
        )
        raise RunsFailedError(message)


class _Campaign:
    """Computes the runs of a study and stores their results."""

    def __init__(self, writer: Writer, matrix: Matrix, backend: str) -> None:
        self._writer = writer
        self._runs = matrix.runs
        self._made_by = {
            "kernel": platform.release(),
            "backend": backend,
            "cwndlab": core.version(),
            "behaviour_epoch": core.behaviour_epoch(),
        }
        self._at_work: dict[str, Run] = {}
        self.failures = 0
        self.first_failure = ""
        self._last_failure = ""

    def safe(self) -> str:
        """Return a phrase that states how many runs are safely stored."""
        is_done = self._writer.is_done()
        verb = "is" if 1 in {is_done.size, int(is_done.sum())} else "are"
        return f"{is_done.sum():,} of {plural(is_done.size, 'run')} {verb} stored"

    def compute(self, missing: Iterable[int], executor: Executor, reporter: Reporter) -> None:
        for done in executor.batches(tasks(self._begun(missing))):
            if isinstance(done, Part):
                self._writer.commit_part(done.key, done.tables, done.files)
            elif isinstance(done, Note):
                self._writer.replace(done.files)
                reporter.note(done.text)
            elif not all(outcome.is_final for outcome in done.outcomes):
                self._keep_beside(done, reporter)
            else:
                self._keep(done, reporter)

    def _begun(self, missing: Iterable[int]) -> Iterator[Run]:
        for n in missing:
            run = self._runs[int(n)]
            self._at_work[run.key] = run
            yield run

    def _keep(self, batch: Batch, reporter: Reporter) -> None:
        """Store the results of a batch whose runs will not be repeated."""
        entries = []
        self._last_failure = ""
        for outcome in batch.outcomes:
            run = self._at_work.pop(outcome.key)
            made = self._entry(outcome, batch.host)
            if outcome.error is None:
                entries.append({"run": outcome.key, "status": DONE, **made})
                continue
            self._note_failure(run, outcome.error, made)
            self.failures += 1
            self.first_failure = self.first_failure or outcome.error
        if entries:
            self._writer.commit_all(entries, batch.tables, batch.files)
        remark = batch.outcomes[-1].remark
        reporter.advance(f"{_named(run)}{remark and f'  ! {remark}'}", len(batch.outcomes))

    def _keep_beside(self, batch: Batch, reporter: Reporter) -> None:
        """Store the files of a disturbed run in a separate folder; the run will be repeated."""
        (outcome,) = batch.outcomes
        run = self._at_work[outcome.key]
        made = self._entry(outcome, batch.host)
        if outcome.error is not None:
            self._note_failure(run, outcome.error, made)
            failure = f"{_named(run)} failed and will be tried again: {outcome.error}"
            if failure != self._last_failure:
                reporter.note(failure)
            self._last_failure = failure
            return
        files = {f"{table}.parquet": content for table, (content, _) in batch.tables.items()}
        files |= {name.partition("/")[2]: content for name, content in batch.files.items()}
        self._writer.set_aside(run.key, outcome.notes["attempt"], files, made)
        reporter.note(f"{_named(run)} was disturbed and will be measured again: {outcome.remark}")

    def _entry(self, outcome: Outcome, host: str) -> dict[str, Any]:
        """Return the history entry that describes one attempt to execute a run."""
        began = datetime.fromtimestamp(outcome.began_unix_s, UTC)
        return {
            "began": began.isoformat(timespec="seconds"),
            "duration_s": round(outcome.duration_s, 6),
            "host": host,
            **self._made_by,
            **outcome.notes,
        }

    def _note_failure(self, run: Run, error: str, entry: dict[str, Any]) -> None:
        reason = {"error": error, "scenario": run.scenario.model_dump(mode="json")}
        self._writer.note_failure(run.key, reason, entry)


def _named(run: Run) -> str:
    return ", ".join(str(label) for label in run.labels.values())


def tasks(runs: Iterable[Run]) -> Iterator[Task]:
    """Yield, for each run, the task with which an executor computes the run."""
    for run in runs:
        traces = {name: trace.content for name, trace in run.traces.items()}
        found = run.algorithms.values()
        programs = {each.algorithm.name: each.program for each in found if each.program}
        problem = next((each.problem for each in found if each.problem), "")
        scenario = run.resolved.scenario
        weight = scenario.duration_ns / 1e9 * len(scenario.flows)
        yield Task(run.key, run.scenario_json, traces, programs, problem, weight)


def keep_study(study: StudyDefinition, matrix: Matrix, writer: Writer) -> None:
    """Store the study, its scenarios and runs, and copies of its files such as traces."""
    copies, names = _algorithm_files(study)
    files: dict[str, FileContent] = {**copies}
    for cell in matrix.cells:
        for trace in cell.resolved.traces.values():
            name = f"{TRACES}/{trace.sha256[:8]}-{trace.path.name}"
            names[str(trace.path.resolve())] = name
            files[name] = trace.original
            if trace.content != trace.original:
                files[f"{name}.log"] = trace.content
    files |= _link_files(study.document, study.folder, names)
    document = _with_copies(study.document, study.folder, names)
    files[STUDY] = write_toml(study.in_file_form(document)).encode()
    files[SCENARIOS] = to_parquet(scenario_frame(matrix.cells))
    files[MATRIX] = lambda path: write_pieces(path, matrix_frames(matrix))
    writer.replace(files)


def _link_files(document: object, folder: Path, names: dict[str, str]) -> dict[str, bytes]:
    """Return the files to store as copies of a study's link files and presets: name and content.

    A file below the study's folder keeps its relative path in the results folder. Other files are
    renamed, and their old and new names are added to `names`. The copies are only for people to
    read; the stored scenarios contain the values that the runs used.
    """
    copies: dict[str, bytes] = {}
    is_kept = (folder / SCENARIOS).exists()
    for name in link_names(document):
        kept = folder / PRESETS / f"{name}.toml"
        try:
            source = kept if is_kept and kept.exists() else preset_file(name, folder)
            content = source.read_bytes()
        except (CwndlabError, OSError):
            continue  # the study was resolved from its stored scenarios
        if not name.endswith(".toml"):
            copies[f"{PRESETS}/{name}.toml"] = content
        elif PurePath(name).is_absolute() or {"..", "~"} & set(PurePath(name).parts):
            digest = hashlib.sha256(content).hexdigest()[:8]
            copy = f"{PRESETS}/{digest}-{PurePath(name).name}"
            names[name] = copy
            copies[copy] = content
        elif name not in {STUDY, MATRIX}:
            copies[PurePath(name).as_posix()] = content
    return copies


def _algorithm_files(study: StudyDefinition) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return two mappings for the copies of the study's C files.

    The first maps the path of each copy to its content. The second maps each reference to a C file,
    as written in the study, to the path of the copy.
    """
    names: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    found = {
        each.reference: each for cell in study.cells for each in cell.resolved.algorithms.values()
    }
    for reference, each in found.items():
        main, copies = copies_of(reference, study.folder, each.program)
        folder = f"algorithms/{each.algorithm.name.replace(':', '-')}"
        contents |= {f"{folder}/{name}": path.read_bytes() for name, path in copies.items()}
        prefix = LINUX_PREFIX if reference.startswith(LINUX_PREFIX) else ""
        names[reference] = f"{prefix}{folder}/{main}"
    return contents, names


def matrix_frames(matrix: Matrix) -> Iterator[pl.DataFrame]:
    """Yield the table of all runs of a study (its matrix) in pieces of limited size."""
    schema = {"run": pl.String, "cell": pl.Int64, "repetition": pl.Int64, "seed": pl.Int64}
    labels = {}
    for name in matrix.columns:
        found = [cell.labels[name] for cell in matrix.cells]
        is_mixed = len({type(label) for label in found}) > 1
        labels[name] = pl.Series(name, [str(label) for label in found] if is_mixed else found)
    for first in range(0, len(matrix.runs) or 1, _RUNS_AT_ONCE):
        some = matrix.runs[first : first + _RUNS_AT_ONCE]
        rows = [(run.key, run.cell, run.repetition, run.seed) for run in some]
        frame = pl.DataFrame(rows, schema, orient="row")
        of_runs = [of_cells.gather(frame["cell"]) for of_cells in labels.values()]
        yield frame.select("run", "cell", *of_runs, "repetition", "seed")


def _with_copies(value: Any, folder: Path, names: Mapping[str, str], key: str = "") -> Any:  # noqa: ANN401  part of a document
    """Return a part of the study's document; replace each copied file's name by its copy's name."""
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
    if last in ("trace", "log", "light_trace"):
        return names.get(str((folder / user_path(value)).resolve()), value)
    if last in ("link", "reverse_link", "preset") and value in names:
        return names[value]
    if last in ("link", "reverse_link") and (line := split_trace_line(value)):
        kind, path, rest = line
        if name := names.get(str((folder / user_path(path)).resolve())):
            return trace_line(kind, name, rest)
    return value
