"""`cwndlab kernel`: manage the stock kernels that `--backend vm` runs in virtual machines."""

from __future__ import annotations

from pathlib import Path

import click

from cwndlab.backends.vm.packages import (
    add_package,
    check_version,
    download,
    find_kernel,
    kernels,
    remove_kernel,
)
from cwndlab.cli.output import format_option, print_rows


@click.group("kernel")
def kernel_group() -> None:
    """Manage stock Linux kernels for virtual machines.

    cwndlab downloads and unpacks kernels into the cache folder ($XDG_CACHE_HOME, or ~/.cache); it
    never installs them. `cwndlab run --backend vm` runs a study on such a kernel.
    """


@kernel_group.command("list")
@format_option
def _list(output_format: str) -> None:
    """List the kernels that have been added."""
    found = kernels()
    if not found and output_format == "table":
        click.echo("no kernel has been added; run: cwndlab kernel add 6.1", err=True)
        return
    rows = ({"kernel": k.release, "algorithms": ", ".join(k.algorithms)} for k in found)
    print_rows(rows, output_format)


@kernel_group.command("add")
@click.argument("version", metavar="VERSION|FILE.deb")
def _add(version: str) -> None:
    """Add a Linux release from apt, such as 6.1, or from a package file."""
    is_file = version.endswith(".deb")
    if not is_file:
        check_version(version)
        click.echo(f"downloading Linux {version}, about 70 to 110 MB", err=True)
    kernel = add_package(Path(version)) if is_file else download(version)
    click.echo(f"added Linux {kernel.release}: {', '.join(kernel.algorithms)}")


@kernel_group.command("remove")
@click.argument("release")
def _remove(release: str) -> None:
    """Remove a kernel and the saved state of its virtual machine."""
    kernel = find_kernel(release)
    remove_kernel(kernel.release)
    click.echo(f"removed Linux {kernel.release}")
