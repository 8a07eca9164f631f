"""`cwndlab conform`: run the test cases of draft-ietf-ccwg-bbr on an algorithm."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from cwndlab.algorithm.conformance.suite import SOURCE, run_cases
from cwndlab.backends.vm.packages import find_kernel
from cwndlab.cli.output import console, format_option, print_rows, say

if TYPE_CHECKING:
    from cwndlab.algorithm.conformance.case import CaseOutcome

STATUS_FAILED = 1
_INDENT = " " * 10
_PHASES_SHOWN = 12
_LEAST_WIDTH, _MOST_WIDTH = 40, 80


@click.command("conform")
@click.argument("algorithm")
@click.option(
    "--case",
    "cases",
    metavar="NUMBER",
    type=int,
    multiple=True,
    help="Run only the test case with this number. Repeat this option for several cases.",
)
@click.option(
    "--backend",
    type=click.Choice(["sim", "kernel", "vm"]),
    default="sim",
    show_default=True,
    help="Run the cases in the simulator, on this machine's kernel in real time (needs root), or "
    "on stock Linux in a virtual machine. Kernels run the algorithm as a BPF program.",
)
@click.option(
    "--kernel",
    "release",
    metavar="RELEASE",
    help="Linux release to run with --backend vm, such as 6.12.  [default: the highest "
    "release in `cwndlab kernel list`]",
)
@format_option
def conform_command(
    algorithm: str, cases: tuple[int, ...], backend: str, release: str | None, output_format: str
) -> int:
    """Run BBR's test cases on ALGORITHM: bbr3, or a file such as ./my_bbr.c.

    draft-ietf-ccwg-bbr defines the cases. For each case, the command prints the outcome of each
    check. It also prints the phases through which the algorithm went in the last run, with their
    start times in seconds. An algorithm in a file must name its phases as bbr3 does. The exit
    status is 1 if a case fails.
    """
    if release is not None and backend != "vm":
        msg = "--kernel selects the kernel of a virtual machine; add --backend vm"
        raise click.UsageError(msg)
    guest = find_kernel(release) if backend == "vm" else None
    outcomes = []
    for outcome in run_cases(algorithm, cases, on_kernel=backend == "kernel", guest=guest):
        outcomes.append(outcome)
        if output_format == "table":
            _show(outcome)
    failed = sum(not outcome.passed for outcome in outcomes)
    if output_format == "table":
        passed = len(outcomes) - failed
        say("", f"{passed} of {len(outcomes)} cases pass ({SOURCE})")
    else:
        print_rows([row for outcome in outcomes for row in _rows(outcome)], output_format)
    return STATUS_FAILED if failed else 0


def _show(outcome: CaseOutcome) -> None:
    case = outcome.case
    state = "pass" if outcome.passed else "FAIL"
    say(f"{state}  {case.number:2}  {case.title}")
    width = min(max(console().width, _LEAST_WIDTH), _MOST_WIDTH)
    for check in outcome.checks:
        line = f"{'ok' if check.holds else 'not met'}: {check.wanted}: {check.found}"
        say(textwrap.fill(line, width, initial_indent=_INDENT, subsequent_indent=_INDENT + "  "))
    stays = outcome.trace.split(", ")
    more = f", and {len(stays) - _PHASES_SHOWN} more" if len(stays) > _PHASES_SHOWN else ""
    trace = f"trace: {', '.join(stays[:_PHASES_SHOWN])}{more}"
    say(textwrap.fill(trace, width, initial_indent=_INDENT, subsequent_indent=_INDENT + "  "))


def _rows(outcome: CaseOutcome) -> list[dict[str, object]]:
    return [
        {
            "case": outcome.case.number,
            "title": outcome.case.title,
            "passed": outcome.passed,
            "check": check.wanted,
            "holds": bool(check.holds),  # JSON has no bool of NumPy
            "found": check.found,
            "trace": outcome.trace,
        }
        for check in outcome.checks
    ]
