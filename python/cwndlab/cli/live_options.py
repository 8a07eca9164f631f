"""Options for measuring a real network, shared by several commands."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import click

from cwndlab.cli.secret_files import secret_option
from cwndlab.cli.value_types import DURATION, UserPath
from cwndlab.measure.wire.token import read_token
from cwndlab.run.campaign import default_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cwndlab.backends.live import RealNetwork
    from cwndlab.study.definition import StudyDefinition

token_option = secret_option("token", "File with the secret token of the measurement server.")
fingerprint_option = click.option(
    "--fingerprint",
    metavar="SHA256:...",
    help=(
        "Fingerprint of the server's certificate, which `cwndlab serve` prints. By default, the "
        "client stores the server's fingerprint at the first connection and later accepts no "
        "other fingerprint."
    ),
)
_LIVE_OPTIONS = (
    click.option(
        "--server",
        metavar="HOST",
        help="HOST or HOST:PORT of the measurement server, which runs `cwndlab serve`.",
    ),
    token_option,
    fingerprint_option,
    click.option(
        "--via",
        type=click.Choice(["iperf3"]),
        help="Measure against an iperf3 server instead of `cwndlab serve`. --server states the "
        "address of the iperf3 server, which needs no token.",
    ),
    click.option(
        "--place",
        metavar="NAME",
        help="Measure only the runs at this place, if the study measures at several places.",
    ),
    click.option(
        "--label",
        "labels",
        multiple=True,
        metavar="KEY=VALUE",
        help="Note to store with each run, such as weather=rain.",
    ),
    click.option(
        "--radio-log",
        type=UserPath(),
        help="CSV file to which another program writes radio measurements during the runs.",
    ),
    click.option(
        "--outage",
        type=DURATION,
        default="3 s",
        show_default=True,
        help="Mark a run as disturbed by an outage if no data arrives for this time.",
    ),
    click.option(
        "--retries",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Repeat a run that an outage disturbed, at most this number of times.",
    ),
    click.option(
        "--patience",
        type=DURATION,
        default="10 min",
        show_default=True,
        help="Keep retrying an unreachable server for this long.",
    ),
    click.option(
        "--no-wait",
        "is_impatient",
        is_flag=True,
        help="Exit instead of waiting for the next time of day at which the study measures.",
    ),
    click.option(
        "--through-proxy",
        "is_proxy_accepted",
        is_flag=True,
        help="Measure even if a proxy terminates the TCP connections and makes comparisons "
        "meaningless.",
    ),
)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for the server; the command receives the server as `address`."""

    @functools.wraps(command)
    def with_address(
        server: str,
        token_file: Path,
        fingerprint: str | None,
        **values: Any,  # noqa: ANN401  of options
    ) -> object:
        from cwndlab.measure.wire.address import Address  # noqa: PLC0415  few commands need it

        address = Address.parse(server, read_token(token_file), fingerprint)
        return command(**values, address=address)

    server_option = click.option(
        "--server",
        metavar="HOST",
        required=True,
        help="HOST or HOST:PORT of the measurement server, which runs `cwndlab serve`.",
    )
    return server_option(token_option(fingerprint_option(with_address)))


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for a real network; the command receives the values as `live`."""

    @functools.wraps(command)
    def with_live(**values: Any) -> object:  # noqa: ANN401  of options
        own = {each.name: values.pop(each.name) for each in dataclasses.fields(LiveOptions)}
        return command(**values, live=LiveOptions(**own))

    for option in reversed(_LIVE_OPTIONS):
        with_live = option(with_live)
    return with_live


@dataclasses.dataclass(frozen=True, slots=True)
class LiveOptions:
    """Values of those options of a command that concern a real network."""

    server: str | None
    token_file: Path
    fingerprint: str | None
    via: str | None
    place: str | None
    labels: tuple[str, ...]
    radio_log: Path | None
    outage: int
    """An interval without data counts as an outage if it lasts at least this many nanoseconds."""
    retries: int
    patience: int
    """Longest time for which an unreachable server is retried, in nanoseconds."""
    is_impatient: bool
    is_proxy_accepted: bool

    def default_folder(self, study: StudyDefinition, *, is_quick: bool) -> Path:
        """Return the default folder for results."""
        folder = default_folder(study, "live")
        via = f"-{self.via}" if self.via else ""
        quick = "-quick" if is_quick and study.model.quick else ""
        return folder.with_name(f"{folder.name}{via}{quick}")

    def backend(self) -> RealNetwork:
        """Return the backend that measures a real network with these options.

        Raises:
            UsageError: the option --server is missing.
        """
        if self.server is None:
            msg = "name the measurement server with --server HOST"
            raise click.UsageError(msg)
        from cwndlab.backends.live import RealNetwork  # noqa: PLC0415  no other backend needs it
        from cwndlab.measure.iperf3 import Iperf3  # noqa: PLC0415  as above
        from cwndlab.measure.machine.radio import RadioLog  # noqa: PLC0415  as above
        from cwndlab.measure.wire.address import Address  # noqa: PLC0415  as above

        return RealNetwork(
            Iperf3.parse(self.server)
            if self.via == "iperf3"
            else Address.parse(self.server, read_token(self.token_file), self.fingerprint),
            self.place,
            dict(_label(text) for text in self.labels),
            self.patience / 1e9,
            is_waiting=not self.is_impatient,
            is_proxy_accepted=self.is_proxy_accepted,
            outage_s=self.outage / 1e9,
            retries=self.retries,
            radio_log=None if self.radio_log is None else RadioLog(self.radio_log),
        )


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        msg = f"--label {text!r}: write it as KEY=VALUE, for example weather=rain"
        raise click.UsageError(msg)
    return key, value
