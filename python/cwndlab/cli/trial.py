"""`cwndlab trial`: test a recommended algorithm on a real network."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.api.results import open_results
from cwndlab.api.trial import (
    Design,
    judge_trial,
    register,
    run_between_hosts,
    run_on_server,
    spread_of,
)
from cwndlab.cli.answers import GOALS
from cwndlab.cli.live_options import LiveOptions, live_options
from cwndlab.cli.output import command_line, format_option, print_rows, print_text, prose, say
from cwndlab.cli.study_options import study_option
from cwndlab.cli.value_types import DURATION, UserPath
from cwndlab.errors import plural
from cwndlab.judge.ledger import ledger_of_user, merge
from cwndlab.judge.prediction import FILE, read_prediction
from cwndlab.judge.switchback import Verdict
from cwndlab.measure.trial.guard import Guardrails
from cwndlab.run.progress import format_eta
from cwndlab.text.quantity import format_duration

if TYPE_CHECKING:
    from cwndlab.api.trial import TrialState
    from cwndlab.judge.ledger import LedgerEntry
    from cwndlab.judge.prediction import RegisteredPrediction
    from cwndlab.measure.trial.periods import MeasuredPeriod

_LEAST_WINDOW_S = 10.0
"""A warning is printed if the measured part of a period is shorter than this, in seconds."""
_SHORT = (
    "Periods this short are suitable only for rehearsals. Data that arrive after a lost packet are "
    "counted only when the packet has been retransmitted. Data that arrived before the measured "
    "part may therefore be counted in it, so the goodput can exceed the rate of the link."
)

_trial_argument = click.argument("trial", type=UserPath())


@click.group("trial")
def trial_command() -> None:
    """Test a recommendation safely on a real network, and judge the recommendation.

    \b
      cwndlab advise --link lte-typical
      cwndlab trial register results/advise-1234abcd --out lte
      cwndlab trial run lte --server 192.0.2.1          # between two hosts
      cwndlab trial run lte --route 198.51.100.0/24     # or on a server, as root
      cwndlab trial verdict lte

    A trial consists of pairs of periods. In one period of each pair, all connections use the
    recommended algorithm; in the other period, they use the algorithm in use today. The order is
    random. The trial compares the two periods of each pair. The prediction is registered before
    the trial begins.
    """  # noqa: D301  \b marks lines that click must not rewrap


@trial_command.command("register")
@click.argument("results", type=UserPath())
@click.option(
    "--challenger", metavar="NAME", help="Algorithm to test.  [default: the recommended algorithm]"
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="Algorithm in use today.  [default: the baseline of RESULTS; cubic if RESULTS have none]",
)
@click.option(
    "--goal",
    type=click.Choice(GOALS),
    metavar="GOAL",
    help=f"Goal by which the algorithms are judged: {', '.join(GOALS[:-1])} or {GOALS[-1]}.  "
    "[default: the goal of RESULTS]",
)
@click.option(
    "--blocks",
    metavar="N",
    type=click.IntRange(6, 10_000),
    help="Number of pairs of periods.  [default: enough pairs to detect the predicted change]",
)
@click.option(
    "--period", type=DURATION, default="1 min", show_default=True, help="Duration of a period."
)
@click.option(
    "--wash-out",
    type=DURATION,
    default="5 s",
    show_default=True,
    help="The comparison ignores this much time at the start of each period.",
)
@click.option(
    "--pilot",
    type=UserPath(),
    help="Earlier trial from which to estimate how much the difference between the two periods of "
    "a pair varies.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    metavar="N",
    default=1,
    show_default=True,
    help="Random seed for the order of periods.",
)
@click.option(
    "--out",
    type=UserPath(file_okay=False),
    default=Path("trial"),
    show_default=True,
    help="Folder in which the trial is stored.",
)
@format_option
def register_command(  # noqa: PLR0913, PLR0917  one argument per option
    results: Path,
    challenger: str | None,
    baseline: str | None,
    goal: str | None,
    blocks: int | None,
    period: int,
    wash_out: int,
    pilot: Path | None,
    seed: int,
    out: Path,
    output_format: str,
) -> None:
    """Register a prediction from RESULTS before a trial tests it.

    RESULTS is a folder of results from `advise` or from a simulated study. The command computes the
    prediction from RESULTS, and writes a file with the prediction and the prediction's SHA-256. If
    you publish this SHA-256 before the trial, nobody can change the prediction unnoticed.
    """
    design = Design(blocks, period / 1e9, wash_out / 1e9, seed=seed)
    if design.washout_s >= design.period_s:
        msg = (
            f"--wash-out {format_duration(wash_out)} is not shorter than "
            f"--period {format_duration(period)}; shorten --wash-out or lengthen --period"
        )
        raise click.UsageError(msg)
    if pilot is not None:
        design = replace(design, spread=spread_of(pilot))
    found = register(open_results(results), challenger, baseline, design, goal)
    out.mkdir(parents=True, exist_ok=True)
    found.write(out / FILE)
    if output_format != "table":
        print_text(json.dumps(found.to_json(), indent=2))
        return
    length = format_eta((2 * found.blocks + 1) * found.period_s)
    say("", prose(_claim(found)))
    say(
        prose(
            f"{plural(found.blocks, 'block')}, each with two periods of {found.period_s:g} s, take "
            f"{length}. A trial of this length detects the predicted change with a probability of "
            "80 %, if the standard deviation of the difference between the two periods of a block "
            f"is {100 * design.spread:.0f} %."
        )
        if blocks is None
        else prose(f"{plural(found.blocks, 'block')}, each with two periods, take {length}."),
        prose(_returns(found)),
        *([prose(_SHORT)] if design.period_s - design.washout_s < _LEAST_WINDOW_S else []),
        f"Registered in {out / FILE}, SHA-256 {found.id[:16]}",
        "",
        f"  {command_line('cwndlab', 'trial', 'run', out)} --server HOST, or --route PREFIX",
    )


@trial_command.command("run")
@_trial_argument
@click.option(
    "--route",
    metavar="PREFIX",
    help="Switch the algorithm of this server's route whose destination is PREFIX, such as "
    "198.51.100.0/24 or default.",
)
@click.option(
    "--sysctl",
    "is_default",
    is_flag=True,
    help="Switch this server's default algorithm, which applies to connections to all addresses.",
)
@study_option("direction")
@click.option(
    "--flows",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    help="Number of simultaneous connections; only for a trial with --server.",
)
@click.option(
    "--most-rtt",
    type=click.FloatRange(min=1, min_open=True),
    default=2.5,
    show_default=True,
    help="Largest allowed RTT of the tested algorithm, as a multiple of the RTT of the algorithm "
    "in use today. If the 95th or the 25th percentile of the RTT exceeds this limit, the tested "
    "algorithm counts as harmful.",
)
@live_options
def run_command(  # noqa: PLR0913  one argument per option
    trial: Path,
    *,
    route: str | None,
    is_default: bool,
    direction: str,
    flows: int,
    most_rtt: float,
    live: LiveOptions,
) -> None:
    """Measure the missing periods of TRIAL.

    With --server, measure between this machine and a server that runs `cwndlab serve`. With --route
    or --sysctl, switch the algorithm of this machine, and measure the connections of its programs.
    When the command ends, the original setting of this machine is restored, even if the command is
    killed.

    If the tested algorithm seems to harm the network's users, the trial returns for a short time to
    the baseline (the algorithm in use today), and compares both algorithms. If the comparison
    confirms the harm, the trial ends early, even within a period.
    """
    prediction = read_prediction(trial / FILE)
    if sum([route is not None, is_default, live.server is not None]) != 1:
        msg = "use exactly one of --server, --route and --sysctl to choose where to run the trial"
        raise click.UsageError(msg)
    limits = Guardrails(rtt_ratio=most_rtt)
    say(prose(_claim(prediction)), "")
    if live.server is not None:
        run_between_hosts(
            trial,
            live.backend(),
            direction=direction,
            flows=flows,
            limits=limits,
            on_period=_say_period,
        )
    else:
        from cwndlab.measure.trial.settings import Default, Route  # noqa: PLC0415  Linux only

        setting = Default.read() if route is None else Route.to(route)
        run_on_server(trial, setting, limits=limits, on_period=_say_period)
    say("")
    _say_verdict(judge_trial(trial))
    judge = command_line("cwndlab", "trial", "verdict", trial)
    say("", f"  {judge} adds the verdict to the ledger")


@trial_command.command("verdict")
@_trial_argument
@click.option(
    "--ledger",
    type=UserPath(dir_okay=False),
    help="Ledger file to which the verdict is added.  [default: the user's own ledger]",
)
@format_option
def verdict_command(trial: Path, ledger: Path | None, output_format: str) -> None:
    """Judge the prediction of TRIAL; add the verdict to the ledger.

    The ledger is a file that lists tested predictions. The verdict is added only if all periods
    have been measured.
    """
    found = judge_trial(trial)
    path = ledger or ledger_of_user()
    is_over = found.left == 0
    if is_over:
        merge(path, [found.entry], str(trial))
    if output_format != "table":
        more = {"periods_left": found.left, "returns": [each.to_json() for each in found.returns]}
        print_text(json.dumps(found.entry.to_json() | more, indent=2))
        return
    print_rows(
        [
            {"block": each.block + 1, "algorithm": each.algorithm, "kind": _kind(each)}
            | each.outcome.to_json()
            for each in found.periods
        ],
        output_format,
    )
    say("")
    _say_verdict(found)
    if is_over:
        say("", f"  added the verdict to {path}")


@trial_command.command("restore")
def restore_command() -> None:
    """Restore settings that a trial changed and did not restore.

    These are a route's congestion control or a sysctl.
    """
    from cwndlab.measure.trial.way_back import restore_left  # noqa: PLC0415  Linux only

    restored = restore_left()
    say("no setting needs to be restored" if restored is None else f"{restored} was restored")


def _claim(found: RegisteredPrediction) -> str:
    return (
        f"Prediction for {found.network}: {found.challenger} is better than "
        f"{found.baseline} with a probability of {found.probability:.2f}. The utility (the "
        f"score for the goal) is predicted to change by {_percent(found.change)} % "
        f"[{_percent(found.low)}, {_percent(found.high)}] "
        f"(90 % interval over {plural(found.networks, 'network')})."
    )


def _percent(logarithm: float) -> str:
    """Return a change in utility (a natural logarithm) as a percentage, such as "+3.2"."""
    return f"{100 * math.expm1(logarithm):+.3g}"


def _say_period(period: MeasuredPeriod, left: int) -> None:
    outcome = period.outcome
    seen = "no connection carried enough data"
    if outcome.goodput_mbit_s is not None and outcome.rtt_p95_ms is not None:
        seen = f"{outcome.goodput_mbit_s:.3g} Mbit/s, {outcome.rtt_p95_ms:.0f} ms"
    block = f"block {period.block + 1}" if _kind(period) == "period" else _kind(period)
    if period.checks:
        say(prose(f"? the trial returned to {period.algorithm}; reason: {period.checks}"))
    say(f"  {block:>9}  {period.algorithm:<12} {seen}; {plural(left, 'period')} left")
    if period.harm:
        say(prose(f"! the trial ends, because {period.algorithm} harms the traffic: {period.harm}"))


def _say_verdict(found: TrialState) -> None:
    say(*map(prose, [*verdict_lines(found.entry, found.left), *_return_lines(found)]))


def _kind(period: MeasuredPeriod) -> str:
    if period.checks:
        return "return"
    return "pilot" if period.block < 0 else "period"


def _returns(found: RegisteredPrediction) -> str:
    """Return the sentence that explains when a trial returns to the baseline algorithm."""
    return (
        f"After the first period with {found.challenger}, and whenever {found.challenger} seems to "
        f"harm the traffic, the trial returns to {found.baseline} for {found.return_s:g} s. It "
        f"then compares both algorithms, and ends if the comparison shows that {found.challenger} "
        "harms the traffic."
    )


def _return_lines(found: TrialState) -> list[str]:
    """Return a list with a sentence about the returns to the baseline; [] if there were none."""
    claim, count = found.entry.prediction, len(found.returns)
    if not count:
        return []
    cleared = count - bool(found.entry.harm)
    checked = (
        f"The trial returned to {claim.baseline} {plural(count, 'time')} to check "
        f"whether {claim.challenger} harms the traffic; {cleared} of these checks found no harm. "
        "Measurements during returns do not count towards the measured change."
    )
    return [checked]


def verdict_lines(entry: LedgerEntry, left: int) -> list[str]:
    """Return the verdict on a trial's prediction as sentences."""
    claim, change = entry.prediction, entry.change
    measured = (
        "The change was not measured: fewer than two blocks (pairs of periods) contain enough data "
        "for both algorithms."
    )
    if change is not None:
        measured = (
            f"Measured: switching from {claim.baseline} to {claim.challenger} changes the utility "
            f"(the score for the goal) by {_percent(change.estimate)} % "
            f"[{_percent(change.low)}, {_percent(change.high)}] "
            f"(95 % interval over {plural(change.blocks, 'block')})."
        )
    if entry.harm:
        return [f"Refuted: {claim.challenger} harmed the traffic ({entry.harm}).", measured]
    if left:
        return [f"Not judged yet; missing: {plural(left, 'period')}.", measured]
    words = {
        Verdict.CONFIRMED: f"Confirmed: {claim.challenger} is better here.",
        Verdict.REFUTED: (
            f"Refuted: {claim.challenger} is less than 3 % better than {claim.baseline} here, or "
            "worse."
        ),
        Verdict.NOT_ENOUGH: (
            "Not enough data: the trial was too short to distinguish the algorithms."
        ),
    }
    return [words[entry.verdict], measured]
