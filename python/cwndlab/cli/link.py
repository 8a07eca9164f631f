"""`cwndlab link`: list link presets; show, export, record and fit links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cwndlab.cli.fitting import fit_command
from cwndlab.cli.live_options import server_options
from cwndlab.cli.output import (
    command_line,
    direction_option,
    format_option,
    print_rows,
    print_text,
    prose,
    say,
)
from cwndlab.cli.value_types import DURATION, RATE, UserPath
from cwndlab.measure.light_heavy import LightHeavyRecorder
from cwndlab.measure.record import record, warnings_of
from cwndlab.measure.wire.client import Session, waiting_for
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.run.progress import format_eta, reporter, tell
from cwndlab.run.saturation import export_mahimahi
from cwndlab.schema.direction import Direction
from cwndlab.study.describe import describe_link, link_facts, read_link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.measure.light import LightDirection
    from cwndlab.measure.record import RecordedDirection, Recording
    from cwndlab.measure.wire.address import Address


@click.group("link")
def link_group() -> None:
    """List, show, export, record and fit links."""


link_group.add_command(fit_command)


@link_group.command("list")
@format_option
def link_list(output_format: str) -> None:
    """List the link presets."""
    print_rows(
        [{"name": name, "title": load_preset(name, Path()).title} for name in presets()],
        output_format,
    )


@link_group.command("show")
@click.argument("spec", metavar="LINK")
@click.option(
    "--plot",
    is_flag=True,
    help="Plot capacity, delay and queue of the link while a source saturates the link.",
)
@click.option(
    "--out",
    type=UserPath(dir_okay=False),
    default=Path("link.svg"),
    show_default=True,
    help="SVG, PDF or PNG file that --plot writes.",
)
@click.option(
    "--duration",
    type=DURATION,
    default="60 s",
    show_default=True,
    help="Duration of the simulation that is plotted.",
)
@format_option
def link_show(spec: str, output_format: str, *, plot: bool, out: Path, duration: int) -> None:
    """Show all properties of LINK, including default values.

    LINK is a preset, trace:FILE, a TOML file, or "KEY=VALUE,KEY=VALUE".
    """
    if plot:
        from cwndlab.figures.link import plot_link  # noqa: PLC0415  slow to load

        print_text(str(plot_link(spec, out, duration)))
    elif output_format == "table":
        say(*(prose(line) for line in describe_link(spec)))
    else:
        print_rows(link_facts(spec), output_format)


@link_group.command("export")
@click.argument("spec", metavar="LINK")
@click.option(
    "--out",
    type=UserPath(dir_okay=False),
    required=True,
    help="Trace file to write.",
)
@click.option(
    "--duration",
    type=DURATION,
    default="60 s",
    show_default=True,
    help="Duration of the trace.",
)
@direction_option
@click.option(
    "--user",
    default=1,
    show_default=True,
    help="If several users share the medium: number of the user whose trace is written. The first "
    "user has the number 1.",
)
def link_export(spec: str, out: Path, duration: int, direction: str, user: int) -> None:
    """Write the delivery opportunities of LINK as a Mahimahi trace."""
    _, resolved = read_link(spec)
    way = Direction(direction)
    made = export_mahimahi(resolved, way, duration, out, user=user)
    print_text(f"{out}: {len(made.at_ns):,} delivery opportunities, {made.rate_mbit_s:.3f} Mbit/s")


@link_group.command("record")
@server_options
@click.option(
    "--duration",
    type=DURATION,
    default="60 s",
    show_default=True,
    help="Duration of the recording of each direction.",
)
@click.option(
    "--most",
    type=RATE,
    default="500 Mbit/s",
    show_default=True,
    help="Highest rate at which to send.",
)
@click.option(
    "--out",
    type=UserPath(dir_okay=False),
    default=Path("recorded"),
    show_default=True,
    metavar="NAME",
    help="Path of the files to write: NAME.toml with the link, and NAME-downlink.trace and "
    "NAME-uplink.trace with its traces. --light-heavy adds NAME-downlink.light and "
    "NAME-uplink.light.",
)
@click.option(
    "--light-heavy",
    "has_light",
    is_flag=True,
    help=(
        "Also send short trains of packets over the link without load. A replay can then "
        "distinguish light load from heavy load. The recording takes about seven times --duration."
    ),
)
@format_option
def link_record(
    address: Address, duration: int, most: int, out: Path, output_format: str, *, has_light: bool
) -> None:
    """Saturate a real link and record the packets that it delivers.

    The server must run `cwndlab serve`. You can use the recorded traces in the simulator and on the
    kernel.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with Session(address) as session:
        for ahead in session.turn():
            say(waiting_for(ahead))
        if has_light:
            recording = _light_heavy(session, duration, most, out.name)
        else:
            recording = record(session, duration, most)
    paths = recording.write(out)
    heavy_rows = [_heavy_row(each, paths) for each in recording.directions]
    light_rows = [_light_row(each, paths) for each in recording.light]
    if output_format != "table":
        for heavy, light in zip(heavy_rows, light_rows, strict=False):
            heavy.update(light)
        print_rows(heavy_rows, output_format)
        return
    print_rows(heavy_rows, output_format)
    if light_rows:
        say("", "without load:")
        print_rows(light_rows, output_format)
    for warning in warnings_of(recording):
        say(f"! {warning}")
    compare = command_line("cwndlab", "compare", "--link", paths[".toml"])
    say("", f"  {compare} compares algorithms on this link")


def _light_heavy(session: Session, duration_ns: int, most: int, name: str) -> Recording:
    recorder = LightHeavyRecorder(session, duration_ns, most)
    tell(f"the recording takes about {format_eta(recorder.expected_s)}")
    with reporter(name, recorder.pieces, 0, "pieces") as shown:
        return recorder.record(shown.advance)


def _heavy_row(recorded: RecordedDirection, paths: Mapping[str, Path]) -> dict[str, Any]:
    return {
        "direction": recorded.direction.title,
        "rate_mbit_s": recorded.rate_mbit_s,
        "lost_pct": recorded.lost_pct,
        "queueing_max_ms": recorded.highest_queueing_ms,
        "trace": str(paths[f"-{recorded.direction.title}.trace"]),
    }


def _light_row(light: LightDirection, paths: Mapping[str, Path]) -> dict[str, Any]:
    low_ms, median_ms, high_ms = light.base_ms
    return {
        "direction": light.direction.title,
        "base_delay_ms": median_ms,
        "base_delay_p10_ms": low_ms,
        "base_delay_p90_ms": high_ms,
        "trains": len(light.recorded),
        "train_pkts": light.packets,
        "train_ms": light.train_ms,
        "lost_trains_pct": light.lost_trains_pct,
        "lost_in_trains_pct": light.lost_in_trains_pct,
        "queued_trains_pct": light.queued_pct,
        **_busy_cells(light),
        "light_trace": str(paths[f"-{light.direction.title}.light"]),
    }


def _busy_cells(light: LightDirection) -> dict[str, float | None]:
    """Return the table columns for the link's busy state, which follows each packet.

    `light_after_ms` is how long the busy state lasts after a packet; `busy_delay_ms` is the
    shortest delay of a packet that finds the link in this state. The other columns are the bounds
    of the 95 % intervals. All values are None if the recording shows no busy state.
    """
    found = (None, None) if light.busy is None else (light.busy.lasts, light.busy.delay)
    cells: dict[str, float | None] = {}
    for name, each in zip(("light_after", "busy_delay"), found, strict=True):
        cells[f"{name}_ms"] = each and each.value_ms
        cells[f"{name}_low_ms"] = each and each.low_ms
        cells[f"{name}_high_ms"] = each and each.high_ms
    return cells
