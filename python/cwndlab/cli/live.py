"""`cwndlab serve`, `preflight` and `live`: studies on a real network, between two machines."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.api.study import Study
from cwndlab.backends.live import senders_of
from cwndlab.cli.live_options import (
    LiveOptions,
    live_options,
    read_token,
    server_options,
)
from cwndlab.cli.options import results_option
from cwndlab.cli.output import format_option, print_rows, prose, say
from cwndlab.cli.studies import measure
from cwndlab.measure.iperf3 import runs_via
from cwndlab.measure.machine.privileges import (
    drop_root,
    may_choose_any_algorithm,
    unprivileged_user,
)
from cwndlab.measure.preflight import look, measure_datagrams
from cwndlab.measure.status import status_rows
from cwndlab.measure.wire.certificate import make_certificate, read_certificate
from cwndlab.measure.wire.client import Session, waiting_for
from cwndlab.measure.wire.protocol import new_token
from cwndlab.measure.wire.server import Server
from cwndlab.measure.wire.sessions import Limits
from cwndlab.measure.wire.sftp import load_methods
from cwndlab.text.quantity import parse_duration, parse_rate

if TYPE_CHECKING:
    from cwndlab.measure.wire.address import Address

_DEFAULT_PORT = 5209
_SHORTEST_SILENCE_S, _LONGEST_SILENCE_S = 4, 3_600


@click.command("serve")
@click.option(
    "--token",
    "token_file",
    type=click.Path(path_type=Path),
    default=Path("cwndlab.token"),
    show_default=True,
    help="File with the secret that clients must know; created if missing.",
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    default=Path("cwndlab.key"),
    show_default=True,
    help="File with the server's private key and certificate; created if missing.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="0.0.0.0",  # noqa: S104  a server for other machines
    show_default=True,
    help="Address to listen on; `::` takes IPv6 and IPv4.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_DEFAULT_PORT,
    show_default=True,
    help="TCP and UDP port; 0 takes any free one.",
)
@click.option(
    "--silence",
    metavar="TIME",
    default="10 s",
    show_default=True,
    help="Give up a client whose machine has answered nothing for this long.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="User to become when root starts the server.  [default: the caller of sudo, or nobody]",
)
def serve_command(
    token_file: Path, key_file: Path, host: str, port: int, silence: str, user: str | None
) -> None:
    """Run the measurement server. Clients need its token.

    When root starts it, it opens its port and then becomes another user, who may still choose any
    congestion control.
    """
    if not token_file.exists():
        with token_file.open("x", encoding="ascii") as file:
            token_file.chmod(0o600)
            file.write(new_token() + "\n")
        say(f"made {token_file}; copy it to the client, by scp for example")
    if not key_file.exists():
        make_certificate(key_file)
    certificate = read_certificate(key_file)
    silence_s = parse_duration(silence) / 1e9
    if not _SHORTEST_SILENCE_S <= silence_s <= _LONGEST_SILENCE_S:
        msg = f"--silence {silence}: give 4 s to 1 h"
        raise click.UsageError(msg)
    limits = Limits(silence_s=silence_s)
    server = Server(read_token(token_file), certificate, limits)
    becoming = unprivileged_user(user) if os.geteuid() == 0 else None

    def ready() -> None:
        if becoming is not None:
            load_methods()
            drop_root(becoming)
        if not may_choose_any_algorithm():
            say("not root: only the algorithms that this machine allows every user can be chosen")
        user_name = "" if becoming is None else f", as {becoming.pw_name}"
        say(
            f"fingerprint {certificate.fingerprint}",
            f"serving on {server.address[0]} port {server.address[1]}, TCP and UDP{user_name}; "
            "Ctrl-C to stop",
        )

    asyncio.run(server.run(host, port, ready))


@click.command("preflight")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@server_options
@click.option(
    "--udp",
    metavar="RATE",
    help="Also measure loss and jitter of datagrams at this rate: 2 Mbit/s.",
)
@format_option
def preflight_command(
    study: Path | None, address: Address, udp: str | None, output_format: str
) -> int:
    """Check both ends and the path before a campaign.

    With STUDY, also check that both ends can run it.
    """
    senders = [] if study is None else senders_of(Study.load(study, is_live=True).matrix.runs)
    with Session(address) as session:
        for ahead in session.turn():
            say(waiting_for(ahead))
        found = look(session, senders)
        datagrams = [] if udp is None else measure_datagrams(session, parse_rate(udp))
    if output_format == "table":
        print_rows(found.rows(), output_format)
        say("", *map(prose, found.lines()))
        if datagrams:
            say("")
            print_rows(datagrams, output_format)
    else:
        print_rows([found.record() | {"datagrams": datagrams}], output_format)
    return 1 if found.is_through_proxy else 0


@click.command("live")
@click.argument("study", type=click.Path(path_type=Path))
@live_options
@click.option(
    "--status",
    "is_status",
    is_flag=True,
    help="Show which runs are done and which are missing, and measure nothing.",
)
@click.option("--quick", "is_quick", is_flag=True, help="Use the short version of the study.")
@results_option
def live_command(
    study: Path,
    live: LiveOptions,
    results: Path | None,
    *,
    is_status: bool,
    is_quick: bool,
) -> None:
    """Measure STUDY between this machine and a server.

    This machine is the user, the server (`cwndlab serve`) the network. The same as
    `run --backend live`.
    """
    loaded = Study.load(study, is_quick=is_quick, is_live=True)
    folder = results or live.default_folder(loaded, is_quick=is_quick)
    if is_status:
        matrix = runs_via(loaded.matrix) if live.via is not None else loaded.matrix
        print_rows(status_rows(matrix.runs, folder), "table")
        return
    measure(loaded, folder, live)
