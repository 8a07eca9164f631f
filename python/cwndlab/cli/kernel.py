"""`cwndlab kernel`: manage the stock kernels that `--backend vm` can run."""

from __future__ import annotations

from pathlib import Path

import click

from cwndlab.backends.vm.packages import add_package, download, find_kernel, kernels, remove_kernel
from cwndlab.cli.output import format_option, print_rows


@click.group("kernel")
def kernel_group() -> None:
    """Manage stock Linux kernels for virtual machines.

    Kernels are downloaded and unpacked into the cache ($XDG_CACHE_HOME, or ~/.cache), but never
    installed. `cwndlab run --backend vm` runs them.
    """


@kernel_group.command("list")
@format_option
def _list(output_format: str) -> None:
    """List the added kernels."""
    found = kernels()
    if not found and output_format == "table":
        click.echo("no kernel yet; run: cwndlab kernel add 6.1", err=True)
        return
    rows = ({"kernel": k.release, "algorithms": ", ".join(k.algorithms)} for k in found)
    print_rows(rows, output_format)


@kernel_group.command("add")
@click.argument("version", metavar="VERSION|FILE.deb")
def _add(version: str) -> None:
    """Add a kernel: a release from apt, such as 6.1, or a package file."""
    is_file = version.endswith(".deb")
    if not is_file:
        click.echo(f"downloading Linux {version}, about 70 to 110 MB", err=True)
    kernel = add_package(Path(version)) if is_file else download(version)
    click.echo(f"added Linux {kernel.release}: {', '.join(kernel.algorithms)}")


@kernel_group.command("remove")
@click.argument("release")
def _remove(release: str) -> None:
    """Remove a kernel, and the snapshot that starts it quickly."""
    kernel = find_kernel(release)
    remove_kernel(kernel.release)
    click.echo(f"removed Linux {kernel.release}")
