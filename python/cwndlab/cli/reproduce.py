"""`cwndlab reproduce`: repeat a published study and judge its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cwndlab.api.study import Study
from cwndlab.cli.options import (
    Where,
    backend_option,
    executor_option,
    jobs_option,
    kernel_option,
    results_option,
)
from cwndlab.cli.output import command_line
from cwndlab.cli.papers import print_claims
from cwndlab.cli.studies import (
    completed,
    folder_of,
    print_comparisons,
    reported,
    result_options,
)
from cwndlab.errors import RunsFailedError, UnknownNameError
from cwndlab.papers import paper_ids, paper_studies
from cwndlab.papers.library import inferred_papers

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.backends import BackendName

EVERY_PAPER = "all"


@click.command("reproduce")
@click.argument("study_id", metavar="ID|all")
@results_option
@backend_option
@kernel_option
@jobs_option
@executor_option
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="Run the short version of the study: its [quick] table replaces some settings. Omit "
    "figure files from the report.",
)
@click.option(
    "--inferred",
    "is_inferred",
    is_flag=True,
    help="Infer the paper's network from the paper's numbers for one TCP variant, and predict the "
    "numbers for the other variants.",
)
@click.option(
    "--plan",
    metavar="NAME",
    help="With --inferred: use another plan, which was written after the first fit. It is the file "
    "inference-NAME.toml of the paper.",
)
def reproduce_command(  # noqa: PLR0913  one argument per option
    study_id: str,
    results: Path | None,
    backend: BackendName,
    kernel: str | None,
    jobs: int | None,
    cluster: str | None,
    *,
    is_quick: bool,
    is_inferred: bool,
    plan: str | None,
) -> None:
    """Repeat a published study and judge its claims.

    ID is an ID that `cwndlab papers` lists; `all` repeats all studies. The last line of the output
    is the path of the report. With `all`, --results names the folder in which each study's folder
    of results is created.

    With --inferred, cwndlab does not use the network that the study file describes. Instead, it
    simulates many networks: properties that the paper does not state are drawn at random from
    plausible ranges. cwndlab weights each network by how well it agrees with the paper's numbers.
    """
    where = Where(backend, jobs, cluster, kernel)
    if plan is not None and (not is_inferred or study_id == EVERY_PAPER):
        msg = "--plan needs --inferred and the ID of one paper"
        raise click.UsageError(msg)
    if is_inferred:
        _infer(study_id, results, where, is_quick=is_quick, plan=plan)
        return
    if study_id != EVERY_PAPER:
        _reproduce(study_id, results, where, is_quick=is_quick)
        return

    failure = None
    for each in paper_ids():
        try:
            _reproduce(each, results and results / each, where, is_quick=is_quick)
        except RunsFailedError as error:
            click.echo(str(error), err=True)
            failure = error
    if failure is not None:
        raise failure


def _infer(
    study_id: str, results: Path | None, where: Where, *, is_quick: bool, plan: str | None
) -> None:
    from cwndlab.cli.inferred import infer_paper  # noqa: PLC0415  slow to load

    known = inferred_papers()
    for each in known if study_id == EVERY_PAPER else [study_id]:
        folder = results / f"{each}-inferred" if results and study_id == EVERY_PAPER else results
        infer_paper(Study.load(find_study(each)), folder, where, is_quick=is_quick, plan=plan)


def _reproduce(study_id: str, results: Path | None, where: Where, *, is_quick: bool) -> None:
    loaded = Study.load(find_study(study_id), is_quick=is_quick)
    again = command_line(
        "cwndlab",
        "reproduce",
        study_id,
        *result_options(results, is_quick=is_quick),
        *where.options,
    )
    folder = results or folder_of(loaded, where.backend, is_quick=is_quick)
    with completed(loaded, folder, where, f"`{again}`") as done:
        print_comparisons(done)
        print_claims(done)
        if not done.flows().is_empty():
            click.echo(reported(done, None, is_quick=is_quick))


def find_study(name: str) -> Path:
    """Return the study file with which cwndlab reproduces a paper.

    Raises:
        UnknownNameError: cwndlab has no study with this ID.
    """
    found = paper_studies()
    if name not in found:
        raise UnknownNameError(name, found, f"known: {', '.join(found)}", kind="study")
    return found[name]
