"""`cwndlab plan`: estimate the duration and data volume of a live measurement in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cwndlab.api.results import open_results
from cwndlab.cli.output import format_option, print_rows, prose, say
from cwndlab.cli.received_code import load_study, trust_option
from cwndlab.cli.value_types import RATE, SHARE, UserPath
from cwndlab.errors import plural
from cwndlab.judge.plan import LEVEL, MOST_REPETITIONS, POWER, plan_study
from cwndlab.text.quantity import format_share

if TYPE_CHECKING:
    from pathlib import Path

_PPB = 10**9


def _time(hours: float) -> str:
    """Return a duration as text, in seconds, minutes or hours, whichever fits best."""
    minutes = hours * 60
    if minutes < 1:
        return f"{minutes * 60:,.0f} s"
    return f"{minutes:,.0f} min" if hours < 2 else f"{hours:,.1f} h"  # noqa: PLR2004


def _data(gigabytes: float | None) -> str:
    if gigabytes is None:
        return "unknown data volume (give --pilot or --rate)"
    return f"{gigabytes * 1e3:,.0f} MB" if gigabytes < 1 else f"{gigabytes:,.1f} GB"


@click.command("plan")
@click.argument("study", type=UserPath())
@click.option(
    "--pilot",
    type=UserPath(),
    help="Results of an earlier measurement; a few repetitions suffice. The rate of the flows and "
    "the variance of their goodput are estimated from these results.",
)
@click.option(
    "--effect",
    type=SHARE,
    default="5 %",
    show_default=True,
    help="If the goodput of two algorithms differs by at least this much, the measurement should "
    "detect the difference.",
)
@click.option(
    "--rate",
    type=RATE,
    help="Expected rate of each flow, such as 20 Mbit/s, if --pilot is not given.",
)
@trust_option
@format_option
def plan_command(
    study: Path,
    pilot: Path | None,
    effect: int,
    rate: int | None,
    output_format: str,
    *,
    is_trusting: bool,
) -> None:
    """Estimate the runs, hours and gigabytes that a live measurement of STUDY needs.

    Also estimate how many repetitions are needed to detect a goodput difference of --effect.
    """
    if not effect:
        msg = (
            "--effect: no number of repetitions detects a difference of 0 %; write for example 5 %"
        )
        raise click.UsageError(msg)
    plan = plan_study(
        load_study(study, is_trusting=is_trusting, is_live=True),
        pilot=None if pilot is None else open_results(pilot),
        effect=effect / _PPB,
        bits_per_sec=rate,
    )
    totals = {"runs": plan.runs, "hours": plan.hours, "gigabytes": plan.gigabytes}
    rows = [
        {
            "setting": need.setting,
            "pair": " - ".join(need.pair),
            "spread_pct": need.spread_pct,
            "repetitions": need.repetitions,
        }
        for need in plan.needs
    ]
    if output_format != "table":
        print_rows([totals | row for row in rows] or [totals], output_format)
        return
    say(f"{plural(plan.runs, 'run')}, {_time(plan.hours)}, {_data(plan.gigabytes)}", "")
    if not rows:
        say(f"repetitions: {plan.repetitions}; to check whether they are enough, give --pilot")
        return
    print_rows(rows, output_format)
    needed = plan.needed_repetitions
    aim = (
        f"to detect a goodput difference of {format_share(effect)} (family-wise error rate "
        f"{LEVEL:.0%} over all pairs of algorithms, power {POWER:.0%})"
    )
    if needed is None and all(need.spread_pct is not None for need in plan.needs):
        told = (
            f"more than {plural(MOST_REPETITIONS, 'repetition')} are needed {aim}; choose a larger "
            "difference with --effect"
        )
    elif needed is None:
        told = (
            f"cannot estimate the number of repetitions {aim}: the results of --pilot must "
            "contain, for each pair of algorithms, at least two repetitions with both algorithms"
        )
    else:
        verdict = "enough" if plan.repetitions >= needed else "too few"
        told = (
            f"{plural(needed, 'repetition')} needed {aim}; the study has {plan.repetitions}: "
            f"{verdict}"
        )
    say("", prose(told))
