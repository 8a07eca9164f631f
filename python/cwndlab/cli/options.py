"""Command-line options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cwndlab.backends import BACKENDS, backend_of
from cwndlab.cli.value_types import UserPath

if TYPE_CHECKING:
    from cwndlab.backends import BackendName
    from cwndlab.run.backend import Backend

results_option = click.option(
    "--results",
    type=UserPath(),
    help="Folder in which to store the results.  [default: results/ID]",
)
jobs_option = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1, max=1024),
    help="Number of runs in parallel.  [default: one per processor core]",
)
executor_option = click.option(
    "--executor",
    "cluster",
    metavar="dask://HOST:PORT",
    help="Run the simulations on this Dask cluster instead of locally.",
)
backend_option = click.option(
    "--backend",
    type=click.Choice([name for name in BACKENDS if name != "live"]),
    default="sim",
    show_default=True,
    help="Run in the simulator, on this machine's kernel in real time, or on stock Linux in a "
    "virtual machine.",
)
any_backend_option = click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="sim",
    show_default=True,
    help="Run in the simulator, on this machine's kernel in real time, on stock Linux in a virtual "
    "machine, or over a real network (needs --server).",
)
kernel_option = click.option(
    "--kernel",
    metavar="RELEASE",
    help="Linux release to run with --backend vm, such as 6.1.  [default: the highest release in "
    "`cwndlab kernel list`]",
)
pcap_option = click.option(
    "--pcap",
    "is_captured",
    is_flag=True,
    help="Save the packet headers of each run in the file capture.pcap of the run's folder.",
)


@dataclass(frozen=True, slots=True)
class Where:
    """Values of the options that select a backend, such as the simulator or a virtual machine."""

    backend: BackendName
    jobs: int | None = None
    cluster: str | None = None
    kernel: str | None = None

    def chosen(self) -> Backend:
        """Return the backend that the options select.

        Raises:
            CwndlabError: this machine lacks something that the backend needs; the message names
                the missing part.
        """
        return backend_of(self.backend, self.jobs, self.cluster, self.kernel)

    @property
    def options(self) -> list[str]:
        """Return those options that select the backend, for a command line; omit default values."""
        return [
            *(["--backend", self.backend] if self.backend != "sim" else []),
            *(["--kernel", self.kernel] if self.kernel else []),
            *(["--executor", self.cluster] if self.cluster else []),
        ]
