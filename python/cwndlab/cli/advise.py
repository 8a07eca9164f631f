"""`cwndlab advise`: which congestion control for this network, how sure, and how to have it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cwndlab.cli.options import jobs_option
from cwndlab.cli.output import (
    command_line,
    direction_option,
    format_option,
    indented,
    print_rows,
    print_text,
    say,
)
from cwndlab.errors import ResultsError

if TYPE_CHECKING:
    from cwndlab.advice import Advice, Judged, Wish

_GOALS = ("balance", "throughput", "latency", "short-transfers", "fairness", "stability")
_TRACE_DELAY = "20 ms"
_BUDGET = "40 s"


@click.command("advise")
@click.option("--link", metavar="LINK", help='Preset, trace:FILE, TOML file, "rate=10 Mbit/s,...".')
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help=f"A recorded trace, behind a delay of {_TRACE_DELAY} one way.",
)
@click.option("--results", type=click.Path(path_type=Path), help="Results that there are already.")
@click.option(
    "--goal",
    type=click.Choice(_GOALS),
    default="balance",
    show_default=True,
    help="What matters most.",
)
@click.option(
    "--algorithm",
    "algorithms",
    metavar="NAMES",
    help="What is compared, separated by commas; else six that Linux has.",
)
@direction_option
@click.option(
    "--budget", metavar="TIME", default=_BUDGET, show_default=True, help="Time for repetitions."
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
    direction: str,
    budget: str,
    is_applied: bool,  # noqa: FBT001  click calls it so
    jobs: int | None,
    output_format: str,
) -> None:
    """Say which congestion control to use on a network.

    And how sure that is, by how much, and what would change it.

    \b
      cwndlab advise --link lte-typical --goal latency
      cwndlab advise --trace drive.down --goal throughput
      cwndlab advise --results results/mine --goal short-transfers

    Repetitions are added until the goal is decided, for as long as the budget lasts. --apply asks
    before it loads the winner, changes no default of the machine, and says how to undo it.
    """  # noqa: D301  click's mark of lines that stay as they are
    from cwndlab.advice import Wish  # noqa: PLC0415  --help is to be quick

    if sum(each is not None for each in (link, trace, results)) != 1:
        msg = "give one of --link, --trace and --results: the network that is asked about"
        raise click.UsageError(msg)
    wish = Wish(goal)
    if results is not None:
        winners = _of_results(results, wish, output_format)
    else:
        spec = link or f"trace:{trace},delay={_TRACE_DELAY}"
        winners = _of_link(spec, wish, algorithms, direction, budget, jobs, output_format)
    if is_applied:
        _apply(winners)


def _of_link(  # noqa: PLR0913, PLR0917  what was asked
    link: str,
    wish: Wish,
    algorithms: str | None,
    direction: str,
    budget: str,
    jobs: int | None,
    output_format: str,
) -> list[str]:
    from cwndlab.advice import CANDIDATES, advise  # noqa: PLC0415  slow to load
    from cwndlab.text.quantity import parse_duration  # noqa: PLC0415

    names = [name.strip() for name in (algorithms or "").split(",") if name.strip()]
    advice = advise(
        link,
        wish,
        algorithms=names or CANDIDATES,
        direction=direction,
        budget_s=parse_duration(budget) / 1e9,
        jobs=jobs,
    )
    if output_format == "table":
        _print_advice(advice)
    else:
        _print_for_programs([advice.judged], wish, output_format, sure=advice.sure)
    return [advice.judged.recommended[0]] if advice.judged.recommended else []


def _of_results(folder: Path, wish: Wish, output_format: str) -> list[str]:
    from cwndlab.advice import judge_results  # noqa: PLC0415  slow to load
    from cwndlab.api.results import open_results  # noqa: PLC0415

    results = open_results(folder)
    judged = judge_results(results, wish)
    if not judged:
        msg = f"{folder}: no run has a result"
        raise ResultsError(msg)
    if output_format != "table":
        _print_for_programs(judged, wish, output_format, sure=None)
    else:
        say("", f"  {results.title} · {wish.replace('-', ' ')}", "")
        for each in judged:
            if each.recommended or len(judged) == 1:
                _print_setting(each)
        if len(judged) > 1:
            _print_missing([each for each in judged if not each.recommended])
        say(f"  {command_line('cwndlab', 'report', folder)} draws it")
    return list(dict.fromkeys(each.recommended[0] for each in judged if each.recommended))


def _print_advice(advice: Advice) -> None:
    from cwndlab.cli.screens.comparison import terminal_table  # noqa: PLC0415  slow to load

    how = (
        "the same in every repetition"
        if advice.judged.comparison.is_deterministic
        else f"{advice.repetitions} paired repetitions"
    )
    say("", f"  {advice.results.title} · {how}", "")
    say(indented(terminal_table(advice.judged.comparison)), "")
    _print_sentences(advice.judged, advice.sure)
    say(f"  {command_line('cwndlab', 'report', advice.results.path)} draws it")


def _print_setting(judged: Judged) -> None:
    if judged.setting:
        say(f"  {judged.setting}")
    _print_sentences(judged, "")


def _print_missing(unmeasured: list[Judged]) -> None:
    """Say once of several settings what they lack."""
    from cwndlab.errors import plural  # noqa: PLC0415

    counts = Counter(each.sentence for each in unmeasured)
    for sentence, count in counts.items():
        say(f"  {plural(count, 'other setting')}: {sentence[0].lower()}{sentence[1:]}", "")


def _print_sentences(judged: Judged, sure: str) -> None:
    from rich.text import Text  # noqa: PLC0415  slow to load

    say(indented(Text(judged.sentence, style="bold")))
    if sure:
        say(f"  How sure: {sure}.")
    if judged.change:
        say(f"  What would change it: {judged.change[0].lower()}{judged.change[1:]}")
    say("")


def _print_for_programs(
    judged: list[Judged], wish: Wish, output_format: str, *, sure: str | None
) -> None:
    from cwndlab.tables import comparison_table, table_frame  # noqa: PLC0415  slow to load

    rows: list[dict[str, Any]] = []
    for each in judged:
        frame = table_frame(comparison_table(each.comparison))
        rows += [
            {
                "goal": str(wish),
                "setting": each.setting,
                "is_recommended": row["algorithm"] in each.recommended,
                "is_first": row["algorithm"] in each.recommended[:1],
                "is_decided": each.is_decided,
                **row,
            }
            for row in frame.to_dicts()
        ]
    if output_format == "csv":
        print_rows(rows, output_format)
        return
    answers = [
        {
            "setting": each.setting,
            "use": list(each.recommended),
            "sentence": each.sentence,
            "is_decided": each.is_decided,
            "sure": sure,
            "what_would_change_it": each.change,
        }
        for each in judged
    ]
    print_text(
        json.dumps(
            {"goal": str(wish), "answers": answers, "rows": rows}, indent=2, ensure_ascii=False
        )
    )


def _apply(winners: list[str]) -> None:
    """Load the winner into the kernel, if the user says yes; nothing else is changed."""
    from cwndlab.kernel.capabilities import this_kernel  # noqa: PLC0415  Linux only

    if len(winners) != 1:
        what = "the settings have different winners" if winners else "there is no winner"
        msg = f"{what}; load the one you want: cwndlab algorithm load NAME --pin"
        raise ResultsError(msg)
    (winner,) = winners
    if winner in this_kernel().available:
        say(f"  {winner} is in this kernel already; nothing is to be loaded.")
        _say_how_to_choose(winner)
        return
    from cwndlab.kernel.loading import require_loading  # noqa: PLC0415  Linux only

    require_loading(winner)
    question = f"Load {winner} into this kernel? The machine's default stays as it is."
    if not click.confirm(question, err=True):
        say("  nothing was changed")
        return
    from cwndlab.kernel.helper import Helper  # noqa: PLC0415
    from cwndlab.kernel.loading import load  # noqa: PLC0415

    with Helper() as helper:
        program = load(helper, winner, Path(), stays=True)
    say(f"  {winner} is loaded as {program.name}")
    _say_how_to_choose(program.name)
    say(f"  to undo it:    {command_line('cwndlab', 'algorithm', 'unload', winner)}")


def _say_how_to_choose(name: str) -> None:
    """Say how connections get it; the machine's default is the user's own business."""
    say(
        f"  for a route:   ip route change default via GATEWAY dev DEVICE congctl {name}",
        f"  for a program: the socket option TCP_CONGESTION, as in iperf3 -C {name}",
    )
