"""`cwndlab watch`: plot this machine's TCP transfers while they run."""

from __future__ import annotations

import sys
import time

import click

from cwndlab.cli.output import console, say
from cwndlab.cli.screens.watch import plain_line, screen
from cwndlab.cli.value_types import DURATION
from cwndlab.errors import CwndlabError
from cwndlab.measure.watch import INTERVAL_S, Watch


@click.command("watch")
@click.option(
    "--interface",
    metavar="NAME",
    help="Network interface to watch.  [default: the busiest interface]",
)
@click.option("--duration", type=DURATION, help="Stop after this time, such as 60 s.")
def watch_command(interface: str | None, duration: int | None) -> None:
    """Plot throughput, RTT and cwnd of this machine's transfers.

    The command shows the transfers of all programs and does not need root. Run the command in a
    second terminal. To see the congestion window of downlink transfers, run the command on the
    server.
    """
    if sys.platform != "linux":
        msg = (
            "cwndlab watch needs Linux; if the other end of the connection runs Linux, run "
            "cwndlab watch there"
        )
        raise CwndlabError(msg)
    until_s = None if duration is None else time.monotonic() + duration / 1e9
    watch = Watch(interface)
    watch.look()
    if interface is not None and not watch.has_interface(interface):
        msg = f"the interface {interface} does not exist; list all interfaces with: ip link"
        raise CwndlabError(msg)
    show = _show if console().is_terminal else _print
    show(watch, INTERVAL_S, until_s)


def _show(watch: Watch, interval_s: float, until_s: float | None) -> None:
    from rich.live import Live  # noqa: PLC0415  only on a terminal

    terminal = console()
    with Live(console=terminal, screen=True, auto_refresh=False) as live:
        while until_s is None or time.monotonic() < until_s:
            time.sleep(interval_s)
            watch.look()
            live.update(screen(watch, terminal.width, terminal.height), refresh=True)


def _print(watch: Watch, interval_s: float, until_s: float | None) -> None:

    said_s = 0.0
    while until_s is None or time.monotonic() < until_s:
        time.sleep(interval_s)
        watch.look()
        if time.monotonic() - said_s >= 1:
            said_s = time.monotonic()
            say(plain_line(watch))
