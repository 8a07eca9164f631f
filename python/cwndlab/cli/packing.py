"""`cwndlab pack`: pack results into an archive that other people can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cwndlab.api.results import open_results
from cwndlab.cli.value_types import UserPath
from cwndlab.packing import pack

if TYPE_CHECKING:
    from pathlib import Path


@click.command("pack")
@click.argument("results", type=UserPath())
@click.option("--out", type=UserPath(), help="Archive to write.  [default: RESULTS.zip]")
@click.option(
    "--anonymous",
    "is_anonymous",
    is_flag=True,
    help="Replace IP addresses and the names of machines, radio cells and operators with "
    "pseudonyms such as host-1, and omit packet captures.",
)
def pack_command(results: Path, out: Path | None, *, is_anonymous: bool) -> None:
    """Pack RESULTS into one archive that other people can check.

    The archive contains the study, the raw data, the versions of the software, the report, a
    description of the methods, the citations, and a script for each figure. The command prints the
    path of the archive.
    """
    if out is not None and out.suffix.lower() != ".zip":
        msg = f"--out {out}: the archive is a ZIP file; choose a name that ends with .zip"
        raise click.UsageError(msg)
    beside = results if results.name else results.resolve()  # "." has no name
    archive = out or beside.parent / f"{results.resolve().name}.zip"
    click.echo(pack(open_results(results), archive, is_anonymous=is_anonymous))
