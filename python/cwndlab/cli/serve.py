"""`cwndlab serve`: run the measurement server to which `cwndlab live` connects.

The server imports few modules, because it may run for months and should use little memory.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import click

from cwndlab.cli.output import say
from cwndlab.cli.secret_files import secret_option
from cwndlab.cli.value_types import DURATION
from cwndlab.measure.machine.privileges import (
    drop_root,
    may_choose_any_algorithm,
    unprivileged_user,
)
from cwndlab.measure.wire.certificate import make_certificate, read_certificate
from cwndlab.measure.wire.protocol import new_token
from cwndlab.measure.wire.server import Server
from cwndlab.measure.wire.sessions import Limits
from cwndlab.measure.wire.sftp import load_methods
from cwndlab.measure.wire.token import read_token
from cwndlab.text.quantity import format_duration

if TYPE_CHECKING:
    from pathlib import Path

_DEFAULT_PORT = 5209
_SHORTEST_SILENCE_S, _LONGEST_SILENCE_S = 4, 3_600


@click.command("serve")
@secret_option(
    "token",
    "File with the secret token that clients need. The server creates the file if it is missing.",
)
@secret_option(
    "key",
    "File with the server's private key and certificate. The server creates the file if it is "
    "missing.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="0.0.0.0",  # noqa: S104  a server for other machines
    show_default=True,
    help="Address on which the server listens; `::` accepts IPv6 and IPv4.",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65_535),
    default=_DEFAULT_PORT,
    show_default=True,
    help="TCP and UDP port of the server; 0 chooses any free port.",
)
@click.option(
    "--silence",
    type=DURATION,
    default="10 s",
    show_default=True,
    help="Disconnect a client whose machine has acknowledged neither data nor keepalives for this "
    "long.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="Run the server as this user if root starts it.  [default: the user who called sudo; "
    "without sudo, the user `nobody`]",
)
def serve_command(
    token_file: Path, key_file: Path, host: str, port: int, silence: int, user: str | None
) -> None:
    """Run the measurement server. Clients need the server's token.

    If root starts the server, the server opens its port and then switches to another user. It keeps
    the right to use any congestion control.
    """
    if not token_file.exists():
        with token_file.open("x", encoding="ascii") as file:
            token_file.chmod(0o600)
            file.write(new_token() + "\n")
        say(f"created {token_file}; copy this file to the client, for example with scp")
    if not key_file.exists():
        make_certificate(key_file)
    certificate = read_certificate(key_file)
    silence_s = silence / 1e9
    if not _SHORTEST_SILENCE_S <= silence_s <= _LONGEST_SILENCE_S:
        msg = f"--silence {format_duration(silence)}: give a time from 4 s to 1 h"
        raise click.UsageError(msg)
    limits = Limits(silence_s=silence_s)
    server = Server(read_token(token_file), certificate, limits)
    becoming = unprivileged_user(user) if os.geteuid() == 0 else None

    def ready() -> None:
        if becoming is not None:
            load_methods()
            drop_root(becoming)
        if not may_choose_any_algorithm():
            say(
                "the server does not run as root: clients can choose only the algorithms in "
                "net.ipv4.tcp_allowed_congestion_control"
            )
        user_name = "" if becoming is None else f", as {becoming.pw_name}"
        say(
            f"fingerprint {certificate.fingerprint}",
            (
                f"serving on {server.address[0]} port {server.address[1]}, TCP and "
                f"UDP{user_name}; Ctrl-C to stop"
            ),
        )

    asyncio.run(server.run(host, port, ready))
