"""`cwndlab advise`: recommend a congestion control, and state how certain the advice is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.text import Text

from cwndlab.api.advise import CANDIDATES, advise
from cwndlab.api.results import open_results
from cwndlab.cli.answers import baseline_option, goal_option, print_answers, use_option
from cwndlab.cli.apply import apply_winner
from cwndlab.cli.fitting import fitted_users
from cwndlab.cli.options import jobs_option
from cwndlab.cli.output import command_line, console, format_option, indented, say
from cwndlab.cli.screens.comparison import terminal_table
from cwndlab.cli.screens.decision import terminal_decision, terminal_settings
from cwndlab.cli.study_options import study_option
from cwndlab.cli.value_types import DURATION, UserPath
from cwndlab.errors import ArgumentError
from cwndlab.judge.sentences import first_look
from cwndlab.judge.uses import use_named
from cwndlab.text.linkspec import trace_line

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.judge.answer import Answers

_TRACE_DELAY = "20 ms"


def _budget_s(budget_ns: int) -> float:
    """Return the value of --budget in seconds; refuse a budget of 0."""
    if not budget_ns:
        msg = "--budget: 0 s leaves no time to simulate; write for example 15 s"
        raise click.UsageError(msg)
    return budget_ns / 1e9


@click.command("advise")
@study_option(
    "link",
    "--link",
    "links",
    multiple=True,
    more="To describe several classes of users, repeat this option with the link of each class.",
)
@click.option(
    "--users",
    metavar="NAME",
    help=(
        "Population of users with different links: mobile, home, train, satellite, or a TOML file."
    ),
)
@click.option(
    "--trace",
    type=UserPath(),
    help=f"Recorded trace of the link's rate. The link also has a one-way delay of {_TRACE_DELAY}.",
)
@click.option(
    "--results",
    type=UserPath(),
    help="Base the recommendation on the results in this folder, without simulating new runs.",
)
@click.option(
    "--from",
    "measurements",
    type=UserPath(exists=True),
    help="Infer the link from this measurement of one algorithm: a folder of results, the JSON "
    "output of iperf3, a log of ss -tin, a packet capture, or a table of samples.",
)
@use_option
@goal_option
@study_option(
    "algorithm",
    "--algorithm",
    "algorithms",
    more=f"Separate several algorithms by commas.  [default: {', '.join(CANDIDATES)}]",
)
@baseline_option
@study_option("direction")
@click.option(
    "--budget",
    type=DURATION,
    help="Limit on the elapsed time of all runs.  [default: 15 s for each class of users]",
)
@click.option(
    "--mixes",
    "has_mixes",
    is_flag=True,
    help="For the report, also simulate how the recommended algorithm competes with CUBIC and with "
    "itself, for several numbers of flows, round-trip times, queue sizes and start orders.",
)
@click.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Load the recommended algorithm into this machine's kernel.",
)
@jobs_option
@format_option
def advise_command(  # noqa: PLR0913, PLR0917  one argument per option
    links: tuple[str, ...],
    users: str | None,
    trace: Path | None,
    results: Path | None,
    measurements: Path | None,
    use: str,
    goal: str,
    algorithms: str | None,
    baseline: str,
    direction: str,
    budget: int | None,
    has_mixes: bool,  # noqa: FBT001  click calls it so
    is_applied: bool,  # noqa: FBT001  click calls it so
    jobs: int | None,
    output_format: str,
) -> None:
    """Recommend a congestion control for a network.

    The output compares throughput and delay with the algorithm in use today. It also states how
    certain the recommendation is, and under which conditions another algorithm is better.

    \b
      cwndlab advise --link lte-typical --goal latency
      cwndlab advise --link wifi-typical --use video
      cwndlab advise --trace drive.down --goal throughput
      cwndlab advise --results results/mine --goal short-transfers
      cwndlab advise --from cubic.json --goal throughput

    cwndlab repeats the simulation of the link until the differences between the algorithms are
    clear, or until the time limit of --budget is reached. It also simulates similar networks. At
    least ten repetitions and 24 similar networks are simulated, even if this exceeds the limit.

    --apply loads the recommended algorithm after a confirmation, and prints how to unload it. The
    machine's default algorithm does not change.
    """  # noqa: D301  \b marks lines that click must not rewrap
    if sum(map(bool, (links, users, trace, results, measurements))) != 1:
        msg = "describe the network with exactly one of --link, --users, --trace, --results, --from"
        raise click.UsageError(msg)
    if measurements is not None:
        file, measured = fitted_users(measurements, jobs, output_format)
        users = str(file)
        baseline = baseline if _is_given("baseline") else measured
    if results is not None:
        opened = open_results(results)
        own = use_named(use).goal
        asked = goal if _is_given("goal") else None
        today = baseline if _is_given("baseline") else None
        try:
            answers = opened.answers(own.name if own else asked, baseline=today)
        except ArgumentError as error:
            msg = f"--baseline {baseline}: {error.remedy}"
            raise click.UsageError(msg) from None
    else:
        names = [name.strip() for name in (algorithms or "").split(",") if name.strip()]
        advice = advise(
            [trace_line("trace", trace, f",delay={_TRACE_DELAY}")] if trace else links,
            goal,
            users=users,
            use=use,
            algorithms=names or CANDIDATES,
            baseline=baseline,
            direction=direction,
            budget_s=None if budget is None else _budget_s(budget),
            jobs=jobs,
            has_mixes=has_mixes,
            on_first=lambda found: click.echo(first_look(found.together), err=True),
        )
        opened, answers = advice.results, advice.answers
    if output_format == "table":
        _print(opened.title, opened.path, answers)
    else:
        print_answers(answers, output_format)
    if is_applied:
        apply_winner(answers.together)


def _is_given(option: str) -> bool:
    """Return whether the user has set this option of the command."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def _print(title: str, folder: Path, answers: Answers) -> None:
    say("", indented(Text(title)), "")
    if len(answers.settings) == 1:
        say(indented(terminal_table(answers.settings[0].comparison, width=console().width)), "")
    else:
        say(indented(terminal_settings(answers)), "")
    say(*(indented(line) for line in terminal_decision(answers.together)), "")
    say(f"  {command_line('cwndlab', 'report', folder)} writes a report")
