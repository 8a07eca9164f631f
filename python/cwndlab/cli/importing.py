"""`cwndlab import`: measurements that others made, as results with a report and a verdict."""

from __future__ import annotations

import re
from pathlib import Path

import click

from cwndlab.cli.output import command_line, format_option, print_frame, say
from cwndlab.cli.studies import print_comparisons, results_option
from cwndlab.errors import plural
from cwndlab.quantity import parse_duration

_MOST_TOLD = 5


@click.command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--pattern",
    metavar="PATTERN",
    required=True,
    help='How the files are named: "{algorithm}_{direction}_{repetition}.json".',
)
@click.option(
    "--warm-up",
    metavar="TIME",
    default="0 s",
    show_default=True,
    help="Left out of the statistics.",
)
@results_option
@format_option
def import_command(
    folder: Path, pattern: str, warm_up: str, results: Path | None, output_format: str
) -> None:
    """Read measured files of FOLDER into results.

    JSON of iperf3, logs of ss -tin, pcap and pcapng, Web100 and other CSV. Fields of --pattern in
    braces become factors. {repetition} numbers runs that belong together, {side} (client, server)
    joins both ends' files of a transfer, {} is anything.
    """
    from cwndlab.imports import ImportRequest, import_folder  # noqa: PLC0415  slow to load
    from cwndlab.imports.pattern import NamePattern  # noqa: PLC0415  slow to load

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-._") or "import"
    request = ImportRequest(
        folder,
        NamePattern.parse(pattern),
        results or Path("results") / name,
        name,
        parse_duration(warm_up),
    )
    summary = import_folder(request)
    if output_format != "table":
        print_frame(summary.results.runs(), output_format)
        return
    print_comparisons(summary.results)
    if summary.notes or summary.failures:
        say("", *(f"  {note}" for note in summary.notes))
        say(*(f"  left out: {failure}" for failure in summary.failures[:_MOST_TOLD]))
        if more := len(summary.failures) - _MOST_TOLD:
            say(*([f"  and {plural(more, 'more file')}"] if more > 0 else []))
    say("", f"  {command_line('cwndlab', 'report', summary.results.path)} draws it")
