"""`cwndlab compare`: compare algorithms in one command, and print the comparison as a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from cwndlab.api.adding import adding
from cwndlab.api.repetitions import randomness, resolve_text
from cwndlab.api.study import Study
from cwndlab.cli.answers import goal_option, print_answers, use_option
from cwndlab.cli.options import Where, backend_option, jobs_option, kernel_option
from cwndlab.cli.output import command_line, console, format_option, indented, say
from cwndlab.cli.received_code import load_study, trust_option, trust_own
from cwndlab.cli.screens.comparison import terminal_table
from cwndlab.cli.screens.decision import terminal_decision
from cwndlab.cli.studies import completed
from cwndlab.cli.study_options import study_option
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import StudyError, plural
from cwndlab.judge.limits import main_limits
from cwndlab.judge.uses import use_named
from cwndlab.schema.direction import Direction
from cwndlab.text.linkspec import short_spec

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.backends import BackendName
    from cwndlab.judge.cell import Comparison
    from cwndlab.judge.uses import Use


@click.command("compare")
@study_option("link", required=True)
@study_option("algorithm", required=True, more="Separate several algorithms by commas.")
@study_option("reverse_link")
@study_option("flows", default=1, show_default=True)
@study_option("duration")
@study_option("warm_up", default=None)
@study_option("repetitions", "--repeat", "repetitions")
@study_option("seed")
@study_option("stack", default=None)
@study_option("direction")
@study_option("bytes", "--bytes", "transfer")
@click.option(
    "--results",
    type=UserPath(),
    help="Folder in which to store the results.  [default: results/compare-HASH]",
)
@backend_option
@kernel_option
@jobs_option
@trust_option
@use_option
@goal_option
@format_option
def compare_command(  # noqa: PLR0913, PLR0917  one argument per option
    link: str,
    algorithm: str,
    reverse_link: str | None,
    flows: int,
    duration: str,
    warm_up: str | None,
    repetitions: int,
    seed: int,
    stack: str | None,
    direction: str,
    transfer: str | None,
    results: Path | None,
    backend: BackendName,
    kernel: str | None,
    jobs: int | None,
    use: str,
    goal: str,
    output_format: str,
    *,
    is_trusting: bool,
) -> None:
    """Compare algorithms on a link, each under the same conditions."""
    names = [name.strip() for name in algorithm.split(",") if name.strip()]
    options: dict[str, Any] = {
        "reverse_link": reverse_link,
        "warm_up": warm_up,
        "stack": stack,
        "direction": direction,
        "application": {"kind": "sized", "bytes": transfer} if transfer is not None else None,
    }
    given = {key: value for key, value in options.items() if value is not None}
    document = {
        "link": link,
        "algorithm": names or None,
        "flows": flows,
        "duration": duration,
        "repetitions": repetitions,
        "seed": seed,
        **given,
    }
    if repetitions > 1:
        try:
            document |= randomness(resolve_text(link))
        except StudyError:
            Study(**document)  # also raises StudyError, and reports all errors at once
            raise
    wanted = use_named(use)
    if use != "bulk":
        document = _used(document, wanted)
    load = partial(load_study, is_trusting=is_trusting)
    study, folder = adding(document, _title(document), results, backend, load)
    trust_own(study, folder)
    with completed(study, folder, Where(backend, jobs, kernel=kernel), "the same command") as done:
        _print(study, done, wanted.goal.name if wanted.goal else goal, output_format)


def _used(document: dict[str, Any], use: Use) -> dict[str, Any]:
    """Return `document` with the study keys of `use` added, such as its application.

    If a key is in both, the result contains the value in `document`. The direction is an exception:
    if it is in both, the result contains the value in `use`.
    """
    if "application" in document:
        msg = "--bytes and --use both define the traffic of the flows; give only one of the two"
        raise click.UsageError(msg)
    kept = {key: value for key, value in document.items() if key not in {"flows", "direction"}}
    flow = {"count": document["flows"]}
    asked = {"direction": document["direction"], **use.document(flow)}
    return {**asked, **kept}


def _title(document: dict[str, Any]) -> str:
    return " · ".join(
        [
            short_spec(document["link"]),
            Direction.of(document["direction"]).title,
            plural(_flows_of(document), "flow"),
            document["duration"],
        ]
    )


def _flows_of(document: dict[str, Any]) -> int:
    return sum(table.get("count", 1) for table in document.get("flow", ())) or document["flows"]


def _print(study: Study, results: Results, goal: str, output_format: str) -> None:
    if results.flows().is_empty():
        return  # every run failed, which the error message that follows reports
    answers = results.answers(goal)
    answer = answers.settings[0]
    if output_format != "table":
        print_answers(answers, output_format)
        return
    comparison = answer.comparison
    title = f"{study.title} · {_how_often(comparison)} · {_seconds_spent(results)}"
    say("", indented(Text(title)), "")
    limits = main_limits(results, comparison.representative_runs())
    say(indented(terminal_table(comparison, limits, console().width)), "")
    say(*(indented(line) for line in terminal_decision(answer.decision)))
    say("", f"  {command_line('cwndlab', 'report', results.path)} writes a report")


def _how_often(comparison: Comparison) -> str:
    if comparison.is_one_run:
        return "one run"
    return f"{comparison.repetitions} paired repetitions"


def _seconds_spent(results: Results) -> str:
    spent_s = sum(line.get("duration_s", 0.0) for line in results.history)
    return f"{spent_s:.1f} s of computing"
