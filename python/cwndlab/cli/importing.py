"""`cwndlab import`: convert measurements that were made with other tools into results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.api.results import open_results
from cwndlab.cli.answers import print_answers
from cwndlab.cli.options import results_option
from cwndlab.cli.output import command_line, format_option, print_frame, say
from cwndlab.cli.studies import print_comparisons
from cwndlab.cli.value_types import DURATION, UserPath
from cwndlab.errors import plural
from cwndlab.imports import ImportRequest, import_folder
from cwndlab.imports.pattern import NamePattern
from cwndlab.results.folder import IMPORT_FILE

if TYPE_CHECKING:
    from cwndlab.imports import ImportSummary

_MOST_TOLD = 5


@click.command("import")
@click.argument("folder", type=UserPath())
@click.option(
    "--pattern",
    metavar="PATTERN",
    required=True,
    help='Pattern of the file names, such as "{algorithm}_{direction}_{repetition}.json".',
)
@click.option(
    "--warm-up",
    type=DURATION,
    default="0 s",
    show_default=True,
    help="Exclude this time at the beginning of each flow from rates and means; counts include it.",
)
@results_option
@format_option
def import_command(
    folder: Path, pattern: str, warm_up: int, results: Path | None, output_format: str
) -> None:
    """Import the measurements in FOLDER as results.

    FOLDER may contain JSON output of iperf3, logs of ss -tin, packet captures (pcap, pcapng), and
    Web100 or other CSV files. Each name in braces in --pattern, such as {algorithm}, becomes a
    factor by which runs are compared. Runs with the same {repetition} are compared in pairs. Files
    that differ only in {side} (client, server) describe the two ends of one transfer. {} matches
    any text.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-._") or "import"
    request = ImportRequest(
        folder,
        NamePattern.parse(pattern),
        results or Path("results") / name,
        name,
        warm_up,
    )
    summary = import_folder(request)
    _say_left_out(summary)
    found = open_results(summary.folder)
    if output_format == "csv":
        print_frame(found.runs(), output_format)
        return
    if output_format == "json":
        print_answers(found.answers(), output_format, runs=found.runs().to_dicts())
        return
    print_comparisons(found)
    if summary.notes:
        say("", *(f"  {note}" for note in summary.notes))
    say("", f"  {command_line('cwndlab', 'report', summary.folder)} writes a report")


def _say_left_out(summary: ImportSummary) -> None:
    """Print the names of files that were not imported, and the reason for each of them."""
    if not summary.left_out:
        return
    lines = [f"left out {plural(len(summary.left_out), 'file')}:"]
    lines += [f"  {sentence}" for sentence in summary.left_out[:_MOST_TOLD]]
    if (more := len(summary.left_out) - _MOST_TOLD) > 0:
        lines.append(
            f"  and {more:,} more; {summary.folder / IMPORT_FILE} contains the complete list"
        )
    click.echo("\n".join(lines), err=True)
