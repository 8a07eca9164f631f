"""`cwndlab validate`: the simulator beside the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.cli.output import command_line, format_option, print_rows, say
from cwndlab.cli.studies import find_study, jobs_option, results_option

if TYPE_CHECKING:
    from cwndlab.validation import Judgement

_DEFAULT_STUDY = "validate"


@click.command("validate")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@results_option
@jobs_option
@click.option("--quick", "is_quick", is_flag=True, help="The study's short version.")
@format_option
def validate_command(
    study: Path | None,
    results: Path | None,
    jobs: int | None,
    output_format: str,
    *,
    is_quick: bool,
) -> int:
    """Run STUDY in the simulator and on this machine's kernel, and say where they agree.

    Without STUDY, six algorithms on three links, 45 minutes on the kernel. Needs root.
    """
    from cwndlab.campaign import RESULTS_FOLDER  # noqa: PLC0415  --help is to be quick
    from cwndlab.study import Study  # noqa: PLC0415  --help is to be quick
    from cwndlab.validation import Verdict, judge, validate, write_page  # noqa: PLC0415  slow

    path = study or find_study(_DEFAULT_STUDY)
    loaded = Study.load(path, is_quick=is_quick)
    name = f"{loaded.id}-quick" if is_quick else loaded.id
    folder = results or RESULTS_FOLDER / (name if study is None else f"{name}-validation")
    again = command_line("cwndlab", "validate", *([study] if study else []))
    simulated, measured = validate(loaded, folder, jobs=jobs, again=f"`{again}`")
    judgements = judge(simulated, measured)
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
        }
        for each in judgements
    ]
    page = write_page(judgements, simulated, measured, folder / "validation.html")
    if output_format == "table":
        _print(judgements)
        say("", f"  {page}")
    else:
        print_rows(rows, output_format)
    return 1 if any(each.verdict is Verdict.DIFFERS for each in judgements) else 0


def _print(judgements: list[Judgement]) -> None:
    from rich.table import Table  # noqa: PLC0415  --help is to be quick

    from cwndlab.validation.page import number, percent  # noqa: PLC0415  slow to load

    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("verdict")
    for head in ("goodput Mbit/s", "RTT ms median", "retransmitted %", "timeouts", "windows apart"):
        table.add_column(head)
    for each in judgements:
        cells = []
        for name in ("goodput_mbit_s", "rtt_p50_ms", "retransmitted_pct", "timeouts"):
            pair = each.pairs[name]
            simulated, measured = pair.medians
            cells.append(f"{number(simulated)} | {number(measured)} {percent(pair.difference)}")
        names = ", ".join(str(value) for value in each.cell.values())
        table.add_row(names, each.verdict.value, *cells, percent(each.cwnd_distance))
    say("", "  simulator | kernel, and how far the former is from the latter", "", table)
