"""`cwndlab shell`: any program behind an emulated link."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from cwndlab.cli.output import console, say
from cwndlab.errors import CwndlabError

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULT_PROGRAM = "/bin/sh"


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.option("--link", help='To the program: preset, trace:FILE, TOML file, "rate=10 Mbit/s,...".')
@click.option("--reverse-link", help="From it; without, as long as the link and without limits.")
@click.option("--algorithm", help="Congestion control over the link, in both directions.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--watch", "is_watching", is_flag=True, help="Show what goes over a shell's link.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell_command(
    link: str | None,
    reverse_link: str | None,
    algorithm: str | None,
    seed: int,
    is_watching: bool,  # noqa: FBT001  click calls it so
    command: tuple[str, ...],
) -> None:
    r"""Run COMMAND behind a link: a browser, curl, a whole shell, another cwndlab shell.

    \b
      cwndlab shell --link lte-typical -- curl -O http://example.org/file
      cwndlab shell --link "rate=2 Mbit/s,delay=300 ms" --algorithm bbr
      cwndlab shell --watch        in another terminal: rate, delay and queue

    Needs root. COMMAND reaches this machine at the address in $CWNDLAB_HOST, and everything else by
    the proxy that its environment names.
    """
    if is_watching:
        _watch()
        return
    if link is None:
        msg = "a shell needs a --link (cwndlab link list)"
        raise click.UsageError(msg)
    setup = _setup(link, reverse_link, seed)
    _become(setup, algorithm, command or (os.environ.get("SHELL", _DEFAULT_PROGRAM),))


def _setup(link: str, reverse_link: str | None, seed: int) -> dict[str, Any]:
    from cwndlab.study import Study  # noqa: PLC0415  --help is to be quick

    run = Study(link=link, reverse_link=reverse_link, algorithm="reno").matrix.runs[0]
    return {
        "path": run.scenario.model_dump(mode="json", exclude_none=True)["path"],
        "traces": {name: trace.content.decode() for name, trace in run.traces.items()},
        "seed": seed,
    }


def _become(setup: dict[str, Any], algorithm: str | None, command: tuple[str, ...]) -> None:
    """Give this process to the helper, so that the program has the terminal to itself."""
    from cwndlab.testbed.process import require_helper  # noqa: PLC0415  Linux only

    helper = require_helper()
    if algorithm is not None:
        from cwndlab.testbed.names import KernelNames  # noqa: PLC0415  Linux only

        flow = {end: {"algorithm": algorithm} for end in ("sender", "receiver")}
        names = KernelNames()
        setup["algorithm"] = names.of({"flows": [flow]}).get(algorithm, algorithm)
        names.outlive()
    descriptor = os.memfd_create("cwndlab-shell", 0)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(json.dumps(setup).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)  # noqa: FBT003  its only argument
    sys.stdout.flush()
    arguments = [helper.name, "shell", str(descriptor), *command]
    os.execv(helper, arguments)  # noqa: S606  our own program, and the user's


def _watch() -> None:
    """Print a line a quarter of a second until the shell ends."""
    terminal = console()
    for status in _statuses():
        parts = [_described(name, status[key]) for name, key in (("to", "down"), ("from", "up"))]
        line = " · ".join(parts)
        if terminal.is_terminal:
            terminal.print(f"\r\x1b[K{line}", end="", soft_wrap=True)
        else:
            say(line)
    if terminal.is_terminal:
        say("")


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
        msg = "no shell runs here; start one: cwndlab shell --link LINK"
        raise CwndlabError(msg)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"\0{names[-1]}")
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def _shells() -> list[str]:
    """The sockets of this namespace's shells, the latest last."""
    try:
        with open("/proc/net/unix", encoding="utf-8") as table:  # noqa: PTH123  no file
            words = [line.split()[-1] for line in table]
    except OSError:
        return []
    return sorted(
        {word[1:] for word in words if word.startswith("@cwndlab-shell-")},
        key=lambda name: int(name.rpartition("-")[2]),
    )
