"""`cwndlab serve`, `preflight` and `live`: studies on a real network, between two machines."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from cwndlab.api.running import run_campaign
from cwndlab.api.study import Study
from cwndlab.cli.options import results_option
from cwndlab.cli.output import command_line, format_option, print_rows, prose, say
from cwndlab.cli.studies import print_comparisons
from cwndlab.errors import CwndlabError, read_failure
from cwndlab.measure.campaign import Campaign, senders_of
from cwndlab.measure.iperf3 import Iperf3, runs_via
from cwndlab.measure.machine.radio import RadioLog
from cwndlab.measure.preflight import look, measure_datagrams
from cwndlab.measure.status import status_rows
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.protocol import new_token
from cwndlab.measure.wire.server import Server
from cwndlab.run.campaign import default_folder
from cwndlab.text.quantity import parse_duration, parse_rate

_DEFAULT_PORT = 5209
_SHORTEST_TOKEN = 16


class TokenError(CwndlabError):
    """The file of the token is missing, or others can read it."""


@click.command("serve")
@click.option(
    "--token",
    "token_file",
    type=click.Path(path_type=Path),
    default=Path("cwndlab.token"),
    show_default=True,
    help="File with the secret that clients must know; made if it is not there.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="0.0.0.0",  # noqa: S104  a server for other machines
    show_default=True,
    help="Address to listen on.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_DEFAULT_PORT,
    show_default=True,
    help="TCP and UDP port; 0 takes any free one.",
)
def serve_command(token_file: Path, host: str, port: int) -> None:
    """Run the measurement server. Clients need its token."""
    if not token_file.exists():
        with token_file.open("x", encoding="ascii") as file:
            token_file.chmod(0o600)
            file.write(new_token() + "\n")
        say(f"made {token_file}; copy it to the client, by scp for example")
    server = Server(read_token(token_file))

    def ready() -> None:
        say(f"serving on {server.address[0]} port {server.address[1]}, TCP and UDP; Ctrl-C ends it")

    if os.geteuid() != 0:
        say("not root: only the algorithms that this machine allows everyone can be chosen")
    asyncio.run(server.run(host, port, ready))


server_option = click.option(
    "--server", metavar="HOST", required=True, help="HOST or HOST:PORT, where `cwndlab serve` runs."
)
token_option = click.option(
    "--token",
    "token_file",
    type=click.Path(path_type=Path),
    default=Path("cwndlab.token"),
    show_default=True,
    help="File with the server's secret.",
)


@click.command("preflight")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@server_option
@token_option
@click.option(
    "--udp",
    metavar="RATE",
    help="Also measure loss and jitter of datagrams at this rate: 2 Mbit/s.",
)
@format_option
def preflight_command(
    study: Path | None, server: str, token_file: Path, udp: str | None, output_format: str
) -> int:
    """Look at both ends and the path before a campaign.

    With STUDY, also check that both ends can run it.
    """
    senders = [] if study is None else senders_of(Study.load(study, is_live=True).matrix.runs)
    address = Address.parse(server, read_token(token_file))
    found = look(address, senders)
    datagrams = [] if udp is None else measure_datagrams(address, parse_rate(udp))
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
@click.option("--server", metavar="HOST", help="HOST or HOST:PORT, where `cwndlab serve` runs.")
@token_option
@click.option(
    "--via",
    type=click.Choice(["iperf3"]),
    help="Measure against a plain `iperf3 --server` there, without a token.",
)
@click.option(
    "--status",
    "is_status",
    is_flag=True,
    help="Show what is done and what is missing, and measure nothing.",
)
@click.option(
    "--place", metavar="NAME", help="Where this machine is, if the study has several places."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="Note to keep with each run: weather=rain.",
)
@click.option(
    "--radio-log",
    type=click.Path(path_type=Path),
    help="CSV log of radio readings from another program.",
)
@click.option(
    "--outage",
    metavar="TIME",
    default="3 s",
    show_default=True,
    help="Flag an outage after this long without data.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How often a run that an outage hit is measured again.",
)
@click.option(
    "--patience",
    metavar="TIME",
    default="10 min",
    show_default=True,
    help="Keep retrying an unreachable server for this long.",
)
@click.option("--no-wait", is_flag=True, help="Exit instead of waiting for a period of the day.")
@click.option(
    "--through-proxy",
    is_flag=True,
    help="Measure even though a proxy makes comparisons meaningless.",
)
@click.option("--quick", "is_quick", is_flag=True, help="The study's short version.")
@results_option
def live_command(  # noqa: PLR0913, PLR0917  one argument per option
    study: Path,
    server: str | None,
    token_file: Path,
    via: str | None,
    place: str | None,
    labels: tuple[str, ...],
    radio_log: Path | None,
    outage: str,
    retries: int,
    patience: str,
    results: Path | None,
    *,
    no_wait: bool,
    through_proxy: bool,
    is_status: bool,
    is_quick: bool,
) -> None:
    """Measure what STUDY lacks, between this machine and a server.

    This machine is the user, the server (`cwndlab serve`) the network.
    """
    loaded = Study.load(study, is_quick=is_quick, is_live=True)
    folder = default_folder(loaded)
    matrix = loaded.matrix
    if via is not None:
        folder, matrix = folder.with_name(f"{folder.name}-{via}"), runs_via(matrix)
    folder = results or folder
    if is_status:
        print_rows(status_rows(matrix.runs, folder), "table")
        return
    if server is None:
        msg = "where is the server? --server HOST; --status needs none"
        raise click.UsageError(msg)
    campaign = Campaign(
        Iperf3.parse(server) if via == "iperf3" else Address.parse(server, read_token(token_file)),
        place,
        dict(_label(text) for text in labels),
        parse_duration(patience) / 1e9,
        is_waiting=not no_wait,
        is_proxy_accepted=through_proxy,
        outage_s=parse_duration(outage) / 1e9,
        retries=retries,
        radio_log=None if radio_log is None else RadioLog(radio_log),
    )
    done = run_campaign(loaded, folder, campaign, lambda line: say(prose(line)))
    print_comparisons(done)
    say("", f"  {command_line('cwndlab', 'report', done.path)} draws it")


def read_token(path: Path) -> str:
    """The secret in a file.

    Raises:
        TokenError: it cannot be read, is too short, or others may read it.
    """
    try:
        token = path.read_text(encoding="ascii").strip()
        is_open = path.stat().st_mode & 0o077
    except UnicodeDecodeError:
        token, is_open = "", 0
    except OSError as error:
        msg = f"{read_failure(path, error)}; copy it from the server, where `cwndlab serve` made it"
        raise TokenError(msg) from None
    if is_open:
        msg = f"{path}: others can read it; chmod 600 {path}"
        raise TokenError(msg)
    if len(token) < _SHORTEST_TOKEN:
        msg = f"{path}: no token; delete it, and `cwndlab serve` makes one"
        raise TokenError(msg)
    return token


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        msg = f"--label {text!r}: write it as KEY=VALUE, for example weather=rain"
        raise click.UsageError(msg)
    return key, value
