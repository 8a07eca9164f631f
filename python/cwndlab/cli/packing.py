"""`cwndlab pack`: pack results into an archive for others."""

from __future__ import annotations

from pathlib import Path

import click

from cwndlab.api.results import open_results
from cwndlab.packing import pack


@click.command("pack")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Archive to write.  [default: RESULTS.zip]"
)
@click.option(
    "--anonymous",
    "is_anonymous",
    is_flag=True,
    help="Replace machines, addresses, cells and operators with numbers, and leave out captures.",
)
def pack_command(results: Path, out: Path | None, *, is_anonymous: bool) -> None:
    """Pack RESULTS into one archive that others can check.

    The archive contains the study, raw data, versions, report, methods, citations and the script of
    each figure. Print the path of the archive.
    """
    beside = results if results.name else results.resolve()  # "." has no name
    archive = out or beside.parent / f"{results.resolve().name}.zip"
    click.echo(pack(open_results(results), archive, is_anonymous=is_anonymous))
