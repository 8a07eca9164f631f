"""`cwndlab shell`: run any program so that its traffic crosses an emulated link."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from cwndlab import core
from cwndlab.api.study import Study
from cwndlab.backends.kernel.names import KernelNames
from cwndlab.backends.kernel.process import require_helper
from cwndlab.cli import interruption
from cwndlab.cli.output import console, say
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import CwndlabError, KernelRunError, nearest
from cwndlab.kernel.capabilities import this_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_DEFAULT_PROGRAM = "/bin/sh"
_WAYS = (("to", "down"), ("from", "up"))  # the word in the output, and the key in the status
_TRAIL = 40  # intervals that the trail of rates shows
_WIDTH_OF_NUMBERS = 64  # columns that the rest of a line needs
_BARS = " ▁▂▃▄▅▆▇█"
_LEAST_MBIT_S = 0.1  # lowest rate that a full bar can represent


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.option(
    "--link",
    metavar="LINK",
    help="Link from the network to the program: a preset, trace:FILE, a TOML file, or keys such as "
    '"rate=10 Mbit/s,delay=20 ms".',
)
@click.option(
    "--reverse-link",
    metavar="LINK",
    help="Link from the program to the network.  [default: the delay of --link, with an unlimited "
    "rate]",
)
@click.option(
    "--algorithm",
    metavar="NAME",
    help="Default congestion control of connections that cross the link, in both directions.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Random seed.",
)
@click.option(
    "--pcap",
    metavar="FILE",
    type=UserPath(dir_okay=False, writable=True),
    help="File in which to capture the headers of all packets at COMMAND's network interface.",
)
@click.option(
    "--watch",
    "is_watching",
    is_flag=True,
    help="Show the traffic on the link of a running `cwndlab shell`; if there are several, of the "
    "one with the highest process ID.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell_command(  # noqa: PLR0913, PLR0917  one argument per option
    link: str | None,
    reverse_link: str | None,
    algorithm: str | None,
    seed: int,
    pcap: Path | None,
    is_watching: bool,  # noqa: FBT001  click calls it so
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, such as a browser or a shell, behind an emulated link.

    \b
      cwndlab shell --link lte-typical -- curl -O http://example.org/file
      cwndlab shell --link "rate=2 Mbit/s,delay=300 ms" --algorithm bbr
      cwndlab shell --watch      # in another terminal: show rate, delay and queue

    COMMAND reaches other hosts through an HTTP proxy, whose address is in environment variables of
    COMMAND. The variable $CWNDLAB_HOST contains the address of this machine. COMMAND reaches this
    address directly if cwndlab runs as root, and otherwise through the proxy.
    """  # noqa: D301  \b marks lines that click must not rewrap
    if is_watching:
        _watch()
        return
    if command and command[0].startswith("-"):
        options = [name for each in shell_command.params for name in each.opts]
        near = nearest(command[0], options)
        hint = f"; did you mean {near}?" if near else ""
        msg = f'unknown option "{command[0]}"{hint}'
        raise click.UsageError(msg)
    if link is None:
        msg = "cwndlab shell needs the option --link; `cwndlab link list` lists the presets"
        raise click.UsageError(msg)
    setup = _setup(link, reverse_link, seed)
    if pcap is not None:
        setup["capture"] = str(pcap.resolve())
    _become(setup, link, algorithm, command or (os.environ.get("SHELL", _DEFAULT_PROGRAM),))


def _setup(link: str, reverse_link: str | None, seed: int) -> dict[str, Any]:

    run = Study(link=link, reverse_link=reverse_link, algorithm="reno").matrix.runs[0]
    return {
        "path": run.scenario.model_dump(mode="json", exclude_none=True)["path"],
        "traces": {name: trace.content.decode() for name, trace in run.traces.items()},
        "seed": seed,
    }


def _become(
    setup: dict[str, Any], link: str, algorithm: str | None, command: tuple[str, ...]
) -> None:
    """Replace the process of cwndlab with its helper, so that only COMMAND uses the terminal."""
    helper = require_helper()
    if algorithm is not None:
        setup["algorithm"] = _in_kernel(algorithm)
    descriptor = os.memfd_create("cwndlab-shell", 0)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(json.dumps(setup).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)  # noqa: FBT003  its only argument
    if sys.stdin.isatty() and sys.stdout.isatty():
        say(f"link: {link}; type exit to leave; run cwndlab shell --watch to see the traffic")
    sys.stdout.flush()
    arguments = [helper.name, "shell", str(descriptor), *command]
    os.execv(helper, arguments)  # noqa: S606  our own program, and the user's


def _in_kernel(algorithm: str) -> str:
    """Return the name under which the kernel knows an algorithm, after loading it if necessary.

    Algorithms of cwndlab and algorithms in C files stay loaded until the shell ends.

    Raises:
        CwndlabError: the algorithm does not exist, or this kernel lacks it; the message names a
            remedy.
    """
    names = KernelNames()
    flow = {end: {"algorithm": algorithm} for end in ("sender", "receiver")}
    if name := names.of({"flows": [flow]}).get(algorithm):
        names.outlive()
        return name
    kernel = this_kernel()
    if algorithm in kernel.available:
        return algorithm
    state = kernel.state_of(algorithm)
    if state is None:
        core.algorithm(algorithm)  # raises an error if the name is unknown
        state = f"available as ours:{algorithm}"
    msg = f"--algorithm: {algorithm} is not in this kernel ({state})"
    raise KernelRunError(msg)


def _watch() -> None:
    """Show the link's traffic until the shell ends: in a terminal as a table, else as lines."""
    statuses = _statuses()
    terminal = console()
    if not terminal.is_terminal:
        for status in statuses:
            say(" · ".join(_described(name, status[key]) for name, key in _WAYS))
        return
    from rich.live import Live  # noqa: PLC0415  --help is to be quick

    rates: dict[str, deque[float]] = {key: deque(maxlen=_TRAIL) for _, key in _WAYS}
    try:
        with Live(console=terminal, auto_refresh=False) as live:
            for status in statuses:
                for _, key in _WAYS:
                    rates[key].append(status[key]["rate_mbit_s"])
                live.update(_view(status, rates, terminal.width), refresh=True)
    except KeyboardInterrupt:  # the user closes the view with Ctrl-C
        interruption.arrived()


def _view(status: dict[str, Any], rates: Mapping[str, Sequence[float]], width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for name in ("rate Mbit/s", "delay ms", "queue pkts", "dropped"):
        table.add_column(name, justify="right")
    table.add_column("rate until now", no_wrap=True)
    for name, key in _WAYS:
        now = status[key]
        delay_ms = now["delay_ms"]
        table.add_row(
            f"{name} the program",
            f"{now['rate_mbit_s']:.1f}",
            "-" if delay_ms is None else f"{delay_ms:.0f}",
            str(now["queue_pkts"]),
            str(now["dropped_pkts"]),
            _trail(list(rates[key])[-max(1, width - _WIDTH_OF_NUMBERS) :]),
        )
    return table


def _trail(rates: Sequence[float]) -> str:
    """Return a line of text with one bar for each rate; the highest rate has the tallest bar."""
    highest = max(*rates, _LEAST_MBIT_S)
    return "".join(_BARS[round(rate / highest * (len(_BARS) - 1))] for rate in rates)


def _described(name: str, direction: dict[str, Any]) -> str:
    delay_ms = direction["delay_ms"]
    delay = "" if delay_ms is None else f", {delay_ms:.0f} ms"
    return (
        f"{name} {direction['rate_mbit_s']:.1f} Mbit/s{delay}, queue {direction['queue_pkts']}, "
        f"dropped {direction['dropped_pkts']}"
    )


def _statuses() -> Iterator[dict[str, Any]]:
    import socket  # noqa: PLC0415  Linux only in what follows

    names = _shells()
    if not names:
        msg = "no cwndlab shell is running; start one with: cwndlab shell --link LINK"
        raise CwndlabError(msg)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"\0{names[-1]}")
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def _shells() -> list[str]:
    """Return the control sockets of all `cwndlab shell` commands in this network namespace."""
    try:
        with open("/proc/net/unix", encoding="utf-8") as table:  # noqa: PTH123  no file
            words = [line.split()[-1] for line in table]
    except OSError:
        return []
    return sorted(
        {word[1:] for word in words if word.startswith("@cwndlab-shell-")},
        key=lambda name: int(name.rpartition("-")[2]),
    )
