"""`cwndlab advise`: which congestion control for this network, how sure, and how to have it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.cli.answers import goal_option, print_answers
from cwndlab.cli.apply import apply_winner
from cwndlab.cli.options import jobs_option
from cwndlab.cli.output import command_line, direction_option, format_option, indented, say
from cwndlab.errors import ResultsError

if TYPE_CHECKING:
    from cwndlab.judge.answer import Answer

_TRACE_DELAY = "20 ms"
_BUDGET = "15 s"


@click.command("advise")
@click.option("--link", metavar="LINK", help='Preset, trace:FILE, TOML file, "rate=10 Mbit/s,...".')
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help=f"A recorded trace, behind a delay of {_TRACE_DELAY} one way.",
)
@click.option("--results", type=click.Path(path_type=Path), help="Results that exist already.")
@goal_option
@click.option(
    "--algorithm",
    "algorithms",
    metavar="NAMES",
    help="Algorithms to compare, separated by commas; without it, six that Linux has.",
)
@click.option(
    "--baseline",
    metavar="NAME",
    default="cubic",
    show_default=True,
    help="The algorithm that is run today.",
)
@direction_option
@click.option(
    "--budget", metavar="TIME", default=_BUDGET, show_default=True, help="Time for all runs."
)
@click.option("--apply", "is_applied", is_flag=True, help="Load the winner into this kernel.")
@jobs_option
@format_option
def advise_command(  # noqa: PLR0913, PLR0917  one argument per option
    link: str | None,
    trace: Path | None,
    results: Path | None,
    goal: str,
    algorithms: str | None,
    baseline: str,
    direction: str,
    budget: str,
    is_applied: bool,  # noqa: FBT001  click calls it so
    jobs: int | None,
    output_format: str,
) -> None:
    """Say which congestion control to use on a network.

    And how sure that is, what changes from the one that runs today, and when it is another.

    \b
      cwndlab advise --link lte-typical --goal latency
      cwndlab advise --trace drive.down --goal throughput
      cwndlab advise --results results/mine --goal short-transfers

    The link is repeated until the goal is decided, and networks like it are tried, for as long as
    the budget lasts. --apply asks before it loads the winner, changes no default of the machine,
    and says how to undo it.
    """  # noqa: D301  click's mark of lines that stay as they are
    if sum(each is not None for each in (link, trace, results)) != 1:
        msg = "give one of --link, --trace and --results: the network that is asked about"
        raise click.UsageError(msg)
    if results is not None:
        found = _of_results(results, goal, baseline)
    else:
        spec = link or f"trace:{trace},delay={_TRACE_DELAY}"
        found = _of_link(spec, goal, algorithms, baseline, direction, budget, jobs)
    title, folder, answers = found
    if output_format == "table":
        _print(title, folder, answers)
    else:
        print_answers(answers, output_format)
    if is_applied:
        firsts = [answer.decision.first for answer in answers if answer.decision.first]
        apply_winner(list(dict.fromkeys(firsts)))


_Found = tuple[str, Path, list["Answer"]]


def _of_link(  # noqa: PLR0913, PLR0917  what was asked
    link: str,
    goal: str,
    algorithms: str | None,
    baseline: str,
    direction: str,
    budget: str,
    jobs: int | None,
) -> _Found:
    from cwndlab.api.advise import CANDIDATES, advise  # noqa: PLC0415  slow to load
    from cwndlab.judge.sentences import first_look  # noqa: PLC0415  slow to load
    from cwndlab.text.quantity import parse_duration  # noqa: PLC0415

    names = [name.strip() for name in (algorithms or "").split(",") if name.strip()]
    advice = advise(
        link,
        goal,
        algorithms=names or CANDIDATES,
        baseline=baseline,
        direction=direction,
        budget_s=parse_duration(budget) / 1e9,
        jobs=jobs,
        on_first=lambda answer: click.echo(first_look(answer.decision), err=True),
    )
    return advice.results.title, advice.results.path, [advice.answer]


def _of_results(folder: Path, goal: str, baseline: str) -> _Found:
    from cwndlab.api.results import open_results  # noqa: PLC0415  slow to load

    results = open_results(folder)
    answers = results.answers(goal, baseline=baseline)
    if not answers:
        msg = f"{folder}: no run has a result"
        raise ResultsError(msg)
    return results.title, folder, answers


def _print(title: str, folder: Path, answers: list[Answer]) -> None:
    from cwndlab.cli.screens.comparison import terminal_table  # noqa: PLC0415  slow to load
    from cwndlab.cli.screens.decision import terminal_decision  # noqa: PLC0415  slow to load

    say("", f"  {title}", "")
    for answer in answers:
        if answer.decision.setting:
            say(f"  {answer.decision.setting}")
        say(indented(terminal_table(answer.comparison)), "")
        say(*(indented(line) for line in terminal_decision(answer.decision)), "")
    say(f"  {command_line('cwndlab', 'report', folder)} draws it")
