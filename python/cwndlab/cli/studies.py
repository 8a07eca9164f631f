"""`cwndlab run` and `report`: run a study, and write a report on its results."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click
from rich.text import Text

from cwndlab.api.results import open_results
from cwndlab.api.running import run_study
from cwndlab.cli.live_options import LiveOptions, live_options
from cwndlab.cli.options import (
    Where,
    any_backend_option,
    executor_option,
    jobs_option,
    kernel_option,
    pcap_option,
    results_option,
)
from cwndlab.cli.output import (
    command_line,
    console,
    format_option,
    indented,
    print_frame,
    print_rows,
    prose,
    say,
)
from cwndlab.cli.received_code import load_study, trust_option
from cwndlab.cli.screens.comparison import terminal_table
from cwndlab.cli.screens.decision import terminal_decision
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import RunsFailedError, plural
from cwndlab.run.campaign import default_folder
from cwndlab.run.cost import cost_of
from cwndlab.run.executor import available_cores
from cwndlab.run.progress import each_run
from cwndlab.study.describe import describe_study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.api.study import Study
    from cwndlab.backends import BackendName


@click.command("run")
@click.argument("study", type=UserPath())
@results_option
@any_backend_option
@kernel_option
@jobs_option
@executor_option
@live_options
@pcap_option
@trust_option
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="Run the short version of the study: its [quick] table replaces some settings.",
)
@click.option(
    "--dry-run",
    "is_dry",
    is_flag=True,
    help="Describe the runs without running them; for simulations, also print the estimated "
    "computing time and disk space.",
)
@format_option
def run_command(  # noqa: PLR0913  one argument per option
    study: Path,
    results: Path | None,
    backend: BackendName,
    kernel: str | None,
    jobs: int | None,
    cluster: str | None,
    *,
    live: LiveOptions,
    output_format: str,
    is_captured: bool,
    is_trusting: bool,
    is_quick: bool,
    is_dry: bool,
) -> None:
    """Run STUDY. Finished runs are stored, so you can stop and resume."""
    loaded = load_study(
        study, is_trusting=is_trusting, is_quick=is_quick, is_live=backend == "live"
    )
    if is_quick and not loaded.model.quick:
        click.echo(f"{study} has no [quick] table, so the whole study runs", err=True)
    if is_captured:
        loaded = loaded.with_captures()
    if is_dry:
        _print_plan(loaded, backend, jobs, output_format)
        return
    if backend == "live":
        measure(loaded, results or live.default_folder(loaded, is_quick=is_quick), live)
        return
    where = Where(backend, jobs, cluster, kernel)
    again = command_line(
        "cwndlab",
        "run",
        study,
        *result_options(results, is_quick=is_quick),
        *where.options,
        *(["--pcap"] if is_captured else []),
    )
    folder = results or folder_of(loaded, backend, is_quick=is_quick)
    with completed(loaded, folder, where, f"`{again}`") as done:
        if output_format != "table":
            print_frame(done.runs(), output_format)
        else:
            print_comparisons(done)
            if not done.flows().is_empty():
                say("", f"  {command_line('cwndlab', 'report', done.path)} writes a report")
            if is_captured:
                say(f"  captures: {done.path / 'files'}/*/capture.pcap")


def _print_plan(study: Study, backend: BackendName, jobs: int | None, output_format: str) -> None:
    """Describe a study and print its estimated cost; with --format csv or json, list its runs."""
    if output_format == "table":
        say(*(prose(line) for line in describe_study(study)))
        if backend == "sim":
            cost = cost_of(study.cells, study.repetitions)
            say("", f"  {cost.sentence(jobs or available_cores())}")
        return
    rows = (
        {**run.labels, "repetition": run.repetition, "seed": run.seed, "run": run.key}
        for run in study.matrix.runs
    )
    print_rows(rows, output_format)


def measure(study: Study, folder: Path, live: LiveOptions) -> None:
    """Measure the missing runs of a study on a real network, and print the results."""
    report = each_run(lambda line: say(prose(line)))
    done = run_study(study, folder, backend=live.backend(), report=report)
    print_comparisons(done)
    say("", f"  {command_line('cwndlab', 'report', done.path)} writes a report")


@click.command("report")
@click.argument("results", type=UserPath())
@click.option(
    "--out",
    type=UserPath(),
    help="Folder in which to write the report.  [default: RESULTS/report]",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the report in a browser.")
def report_command(results: Path, out: Path | None, *, is_opened: bool) -> None:
    """Write the report on RESULTS and print the report's path."""
    page = reported(open_results(results), out)
    click.echo(page)
    if is_opened and click.launch(page.resolve().as_uri()):
        click.echo("the report could not be opened, because no browser was found", err=True)


def result_options(results: Path | None, *, is_quick: bool) -> list[str]:
    """Return the options --quick and --results with which a command was called."""
    return [*(["--quick"] if is_quick else []), *(["--results", str(results)] if results else [])]


def folder_of(study: Study, backend: BackendName = "sim", *, is_quick: bool) -> Path:
    """Return the default folder of a study's results; runs with [quick] settings have their own."""
    folder = default_folder(study, backend)
    return folder.with_name(f"{folder.name}-quick") if is_quick and study.model.quick else folder


@contextlib.contextmanager
def completed(study: Study, folder: Path, where: Where, again: str) -> Iterator[Results]:
    """Run a study, and yield its results.

    If some runs fail, yield the results of the other runs, and raise the error when the `with`
    block ends.
    """
    failure = None
    try:
        results = run_study(
            study,
            folder,
            backend=where.chosen(),
            jobs=where.jobs,
            again=again,
        )
    except RunsFailedError as error:
        failure = error
        results = open_results(folder)
    yield results
    if failure is not None:
        raise failure


def reported(results: Results, out: Path | None, *, is_quick: bool = False) -> Path:
    """Write the report, and return its path; if `is_quick` is set, omit figure files."""
    from cwndlab.report import FORMATS, write_report  # noqa: PLC0415  slow to load

    formats = () if is_quick else FORMATS
    return write_report(results, out or results.path / "report", formats=formats)


def print_comparisons(results: Results) -> None:
    """Print a table for each network setting of a study, then the decision for all settings."""
    runs = results.runs()
    ran = f"{results.title}: {plural(runs.height, 'run')} in {results.path}"
    say("", indented(Text(ran)))
    disturbed = runs["flags"].count() if "flags" in runs.columns else 0
    if disturbed:
        say(f"  ! {disturbed:,} runs were disturbed; the report lists the causes")
    if results.flows().is_empty():
        return
    answers = results.answers()
    for answer in answers.settings:
        name = answer.decision.setting
        say("", *([f"  {name}"] if name else []))
        say(indented(terminal_table(answer.comparison, width=console().width)))
    if len(answers.settings[0].comparison.contestants) > 1:
        say("", *(indented(line) for line in terminal_decision(answers.together)))
