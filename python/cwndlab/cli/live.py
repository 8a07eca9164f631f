"""`cwndlab preflight` checks a real network; `cwndlab live` runs a study over that network."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import click

from cwndlab.api.results import open_results
from cwndlab.backends.live import senders_of
from cwndlab.cli.live_options import LiveOptions, live_options, server_options
from cwndlab.cli.options import results_option
from cwndlab.cli.output import command_line, format_option, print_rows, prose, say
from cwndlab.cli.received_code import load_study, trust_option
from cwndlab.cli.studies import measure
from cwndlab.cli.value_types import RATE, UserPath
from cwndlab.errors import ResultsError
from cwndlab.measure.iperf3 import runs_via
from cwndlab.measure.preflight import look, measure_datagrams
from cwndlab.measure.status import status_rows
from cwndlab.measure.wire.client import Session, waiting_for

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.measure.wire.address import Address


@click.command("preflight")
@click.argument("study", type=UserPath(), required=False)
@server_options
@click.option(
    "--udp",
    type=RATE,
    help="Also measure loss and jitter of UDP datagrams at this rate, such as 2 Mbit/s.",
)
@trust_option
@format_option
def preflight_command(
    study: Path | None, address: Address, udp: int | None, output_format: str, *, is_trusting: bool
) -> int:
    """Check both hosts and the path between them before a live measurement.

    If STUDY is given, also check that both hosts can run the study.
    """
    senders = []
    if study is not None:
        loaded = load_study(study, is_trusting=is_trusting, is_live=True)
        senders = senders_of(loaded.matrix.runs)
    with Session(address) as session:
        for ahead in session.turn():
            say(waiting_for(ahead))
        found = look(session, senders)
        datagrams = [] if udp is None else measure_datagrams(session, udp)
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
@click.argument("study", type=UserPath(), required=False)
@live_options
@click.option(
    "--probe",
    "is_probe",
    is_flag=True,
    help="Without STUDY, measure the path for 30 s under heavy and light load, so that `cwndlab "
    "link fit` can infer the link.",
)
@click.option(
    "--status",
    "is_status",
    is_flag=True,
    help="Show which runs are finished and which are missing, without measuring.",
)
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="Run the short version of the study: its [quick] table replaces some settings.",
)
@results_option
@trust_option
def live_command(  # noqa: PLR0913  one argument per option
    study: Path | None,
    live: LiveOptions,
    results: Path | None,
    *,
    is_probe: bool,
    is_trusting: bool,
    is_status: bool,
    is_quick: bool,
) -> None:
    """Run STUDY over the network between this machine and a server.

    This machine is the client; the server must run `cwndlab serve`. This command is equivalent to
    `cwndlab run --backend live`.
    """
    if (study is None) is not is_probe:
        msg = "name a STUDY or write --probe" if study is None else "--probe takes no STUDY"
        raise click.UsageError(msg)
    with as_file(files("cwndlab").joinpath("data", "probe.toml")) as probe:
        loaded = load_study(
            study or probe, is_trusting=is_trusting, is_quick=is_quick, is_live=True
        )
    folder = results or live.default_folder(loaded, is_quick=is_quick)
    if is_probe and results is None:
        probes = folders_of_probes(folder)
        # A probe is measured again, whatever was measured before.
        folder = probes[-2 if is_status and len(probes) > 1 else -1]
    if is_status:
        matrix = runs_via(loaded.matrix) if live.via is not None else loaded.matrix
        print_rows(status_rows(matrix.runs, folder), "table")
        return
    measure(loaded, folder, live)
    if is_probe:
        say(f"  {command_line('cwndlab', 'link', 'fit', folder)} infers the link")


def folders_of_probes(folder: Path) -> list[Path]:
    """Return the folders of all measured probes, and at the end the unused folder of the next.

    The first is `folder`; the others have its name and a number, such as `probe-live-2`.
    """
    found = [folder]
    while _has_run(found[-1]):
        found.append(folder.with_name(f"{folder.name}-{len(found) + 1}"))
    return found


def _has_run(folder: Path) -> bool:
    try:
        return not open_results(folder).flows().is_empty()
    except ResultsError:
        return False
