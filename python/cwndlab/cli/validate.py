"""`cwndlab validate`: compare the simulator with a Linux kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.table import Table

from cwndlab.cli.options import Where, jobs_option, kernel_option, results_option
from cwndlab.cli.output import command_line, format_option, print_rows, say
from cwndlab.cli.received_code import load_study, trust_option
from cwndlab.cli.studies import result_options
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import plural
from cwndlab.kernel.capabilities import obstacles
from cwndlab.run.campaign import RESULTS_FOLDER
from cwndlab.run.cost import WORTH_SAYING_S
from cwndlab.run.progress import format_eta
from cwndlab.validation import OWN_STUDY, Agreement, replayed, validate, with_traces, write_page
from cwndlab.validation.page import number, percent, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.study import Study
    from cwndlab.backends import BackendName
    from cwndlab.validation import CellAgreement, Replayed

_NO_CALLS = (
    "the kernel's calls to the algorithms were not replayed in the simulator, because "
    "--backend vm does not record them"
)


@click.command("validate")
@click.argument("study", type=UserPath(), required=False)
@results_option
@click.option(
    "--backend",
    type=click.Choice(["kernel", "vm"]),
    default="kernel",
    show_default=True,
    help="Run on this machine's kernel in real time, or on stock Linux in a virtual machine.",
)
@kernel_option
@jobs_option
@click.option(
    "--trace",
    "traces",
    type=UserPath(exists=True, dir_okay=False),
    nargs=2,
    help="Recorded traces of the downlink and the uplink, which replace the traces of the study.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of runs in parallel on the kernel, each in separate network namespaces.",
)
@trust_option
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="Run the short version of the study: its [quick] table replaces some settings.",
)
@format_option
def validate_command(  # noqa: PLR0913, PLR0917  one argument per option
    study: Path | None,
    results: Path | None,
    backend: BackendName,
    kernel: str | None,
    jobs: int | None,
    traces: tuple[Path, Path] | None,
    output_format: str,
    at_once: int,
    *,
    is_trusting: bool,
    is_quick: bool,
) -> int:
    """Compare the simulator with a Linux kernel.

    Run each combination of settings in STUDY both in the simulator and on the kernel, and report
    where the results agree. Without STUDY, run six algorithms on three links; these runs take 50
    minutes on the kernel.
    """
    loaded = load_study(study or OWN_STUDY, is_trusting=is_trusting, is_quick=is_quick)
    if traces:
        loaded = with_traces(loaded, *traces)
    name = f"{loaded.id}-quick" if is_quick else loaded.id
    folder = results or RESULTS_FOLDER / (name if study is None else f"{name}-validation")
    where = Where(backend, jobs, kernel=kernel)
    again = command_line(
        "cwndlab",
        "validate",
        *([study] if study else []),
        *(("--trace", *traces) if traces else ()),
        *result_options(results, is_quick=is_quick),
        *(where.options if backend == "vm" else []),
        *(["--at-once", str(at_once)] if at_once > 1 else []),
    )
    chosen = where.chosen()
    if backend == "kernel":
        _announce(loaded, at_once)
    done = validate(
        loaded,
        folder,
        jobs=jobs,
        at_once=at_once,
        again=f"`{again}`",
        where=chosen if backend == "vm" else None,
    )
    replays, why_not = _replays(loaded, folder) if backend == "kernel" else ([], _NO_CALLS)
    judgements = done.judgements
    rows = [
        {
            **each.cell,
            "verdict": each.verdict.value,
            **{
                f"{name}_{backend}": value
                for name, pair in each.pairs.items()
                for backend, value in zip(("sim", "kernel"), pair.medians, strict=True)
            },
            "cwnd_distance": each.cwnd_distance,
            "seeds": each.seeds,
            "common": each.common,
        }
        for each in judgements
    ]
    page = write_page(done, replays, folder / "validation.html", why_not)
    if output_format == "table":
        _print(judgements)
        _print_replays(replays)
        say("", f"  {page}")
    else:
        print_rows(rows, output_format)
    is_apart = any(each.verdict is Agreement.DIFFERS for each in judgements)
    return 1 if is_apart or not all(each.is_same for each in replays) else 0


def _announce(study: Study, at_once: int) -> None:
    """Print how long all runs on the kernel take in real time, if this is more than a minute."""
    runs = study.matrix.runs
    length_s = sum(run.scenario.duration_ns for run in runs) / 1e9 / at_once
    if length_s > WORTH_SAYING_S:
        time = format_eta(length_s)
        click.echo(
            f"{plural(len(runs), 'run')} on the kernel take {time} in real time; to continue "
            "after a stop, repeat the command",
            err=True,
        )


def _replays(study: Study, folder: Path) -> tuple[list[Replayed], str]:
    """Replay the kernel's calls to each algorithm in the simulator, and return the results.

    If algorithms cannot be loaded into the kernel, print the reasons, and return them instead.
    """
    in_the_way = obstacles()
    if not in_the_way:
        return replayed(study, folder, lambda text: click.echo(text, err=True)), ""
    reasons = "; ".join(f"{each.what} ({each.remedy})" for each in in_the_way)
    why_not = f"the kernel's calls to the algorithms were not replayed in the simulator: {reasons}"
    click.echo(why_not, err=True)
    return [], why_not


def _print(judgements: list[CellAgreement]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("verdict")
    for head in (
        "goodput Mbit/s",
        "RTT ms median",
        "retransmitted %",
        "timeouts",
        "cwnd difference",
    ):
        table.add_column(head)
    for each in judgements:
        cells = []
        for name in ("goodput_mbit_s", "rtt_p50_ms", "retransmitted_pct", "timeouts"):
            pair = each.pairs[name]
            simulated, measured = pair.medians
            cells.append(f"{number(simulated)} | {number(measured)} {percent(pair.difference)}")
        names = ", ".join(str(value) for value in each.cell.values())
        table.add_row(names, verdict_of(each), *cells, percent(each.cwnd_distance))
    say(
        "",
        "  value in the simulator | value on the kernel, and the simulator's deviation from the "
        "kernel's value",
        "",
        table,
    )


def _print_replays(replays: list[Replayed]) -> None:
    if not replays:
        return
    table = Table(box=None, pad_edge=False)
    for head in (
        "",
        "calls recorded in the kernel",
        "calls whose results in the simulator and in the kernel differ",
    ):
        table.add_column(head)
    for each in replays:
        table.add_row(each.algorithm, f"{each.calls:,}", f"{each.mismatches:,}")
    say("", table)
