"""`cwndlab link fit`: infer a link from a measurement, and predict other algorithms' results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cwndlab.api.advise import CANDIDATES
from cwndlab.api.fitting import (
    clients_population,
    fit,
    fit_clients,
    flows_of_file,
    large_flows,
    measured_flows,
)
from cwndlab.cli.options import jobs_option
from cwndlab.cli.output import command_line, format_option, print_rows, print_text, prose, say
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import MeasurementError
from cwndlab.inference.families import KINDS
from cwndlab.inference.fitting import points_to_simulate
from cwndlab.inference.next_measurement import PROBED, next_measurement
from cwndlab.inference.posterior import population
from cwndlab.run.progress import reporter
from cwndlab.text.files import write_text
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from cwndlab.inference.fitting import Fit
    from cwndlab.inference.posterior import Estimate, Prediction

_LINKS = 8
_HARDLY_KNOWN = 0.3


@click.command("fit")
@click.argument("results", type=UserPath(), nargs=-1, required=True)
@click.option(
    "--run",
    "runs",
    metavar="KEY",
    multiple=True,
    help=(
        "Key of the run from which to infer the link; required if RESULTS contains several runs, "
        "unless all of them are probes of one path. "
        "To infer one link from several runs over the same path, repeat this option."
    ),
)
@click.option(
    "--family",
    type=click.Choice(KINDS),
    default="any",
    show_default=True,
    help="Consider only links of this kind; `any` selects all kinds.",
)
@click.option(
    "--out",
    type=UserPath(dir_okay=False),
    default=Path("fitted.toml"),
    show_default=True,
    help="File to which the inferred links are written, for `cwndlab advise --users`.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed.")
@jobs_option
@format_option
def fit_command(  # noqa: PLR0913, PLR0917  one argument per option
    results: tuple[Path, ...],
    runs: tuple[str, ...],
    family: str,
    out: Path,
    seed: int,
    jobs: int | None,
    output_format: str,
) -> None:
    """Infer the link from a measurement with one algorithm.

    RESULTS is a folder of results, or a file with one flow: the JSON output of iperf3, or a log of
    ss -tin. Several RESULTS must have been measured on the same path.

    \b
      cwndlab import measured --pattern "{algorithm}.json"
      cwndlab link fit results/measured
      cwndlab advise --users fitted.toml

    The output shows the probability of each kind of link. A link may be cellular, Wi-Fi or wired;
    wired links may have loss bursts and a varying rate, a policer, active queue management, or
    competing flows. For the most probable kind, the output shows each parameter with its 90 %
    interval, and how much the measurement reduces the parameter's uncertainty. If no kind of link
    explains the measurement, the command prints a warning and widens the intervals. The last
    command above can recommend an algorithm that was not measured.
    """  # noqa: D301  \b marks lines that click must not rewrap
    found = fitted(results, runs, family, seed, jobs)
    write_links(found, f"Links fitted to {', '.join(map(str, results))}", out)
    predictions = found.predict(CANDIDATES)
    if output_format == "json":
        print_text(json.dumps(_document(found, predictions), indent=2))
        return
    if output_format == "csv":
        print_rows([_prediction_row(each) for each in predictions], output_format)
        return
    say_fit(found, output_format)
    print_rows([_prediction_line(each) for each in predictions], output_format)
    say("", *_next(found))
    say(f"  {command_line('cwndlab', 'advise', '--users', out)} recommends an algorithm")


def fitted(
    results: tuple[Path, ...], runs: tuple[str, ...], family: str, seed: int, jobs: int | None
) -> Fit:
    """Fit links to measured runs, and show the progress of the simulations.

    Raises:
        MeasurementError: the runs do not determine a link, or no simulated link reproduces them.
    """
    total = points_to_simulate(measured_flows(results, runs or None), family)
    with reporter("simulations", total, 0) as progress:
        done = 0

        def on_points(count: int) -> None:
            nonlocal done
            progress.advance("", count - done)
            done = count

        found = fit(
            results, run=runs or None, family=family, seed=seed, jobs=jobs, on_points=on_points
        )
    if found.check.is_refused:
        msg = (
            f"{results[0]}: no simulated link resembles this measurement: {found.check.worst} is "
            f"{_side(found)} than in the most similar simulations; measure again, without a proxy, "
            "a pause or a change of network"
        )
        raise MeasurementError(msg)
    return found


def fitted_users(measurements: Path, jobs: int | None, output_format: str) -> tuple[Path, str]:
    """Fit links to measurements, and write the links to a file.

    Return the path of this file, and the name of the measured algorithm. Print the fit only if the
    output format is "table", because other formats contain only the decision. If the links do not
    explain the measurements, print a warning to standard error.

    Raises:
        MeasurementError: no link can be inferred from any of the measurements.
    """
    out = Path(f"fitted-{measurements.resolve().stem}.toml")
    if not measurements.is_file() or len(large_flows(flows := flows_of_file(measurements))) == 1:
        found = fitted((measurements,), (), "any", 1, jobs)
        if output_format == "table":
            say_fit(found, output_format)
        write_links(found, f"Links fitted to {measurements}", out)
        _warn_unless_explained(str(measurements), found)
        return out, found.flows[0].algorithm
    click.echo(
        f"{measurements}: {len(flows):,} connections; inferring links for each class of "
        "connections with similar paths",
        err=True,
    )
    clients = fit_clients(measurements, jobs=jobs)
    for each, fit_of_class in clients if output_format == "table" else ():
        say(f"Class {each.title}: {each.connections:,} connections", "")
        say_fit(fit_of_class, output_format)
    for each, fit_of_class in clients:
        _warn_unless_explained(f"{measurements}, class {each.title}", fit_of_class)
    heading = f"Clients in {measurements}"
    for weighing, path in (
        ("flows", out),
        ("bytes", out.with_name(f"{out.stem}-by-bytes.toml")),
    ):
        document = clients_population(clients, heading, weighing, _LINKS)
        write_text(path, write_toml(document))
    if output_format == "table":
        say(
            f"In {out}, the weight of a class is its share of all connections; in "
            f"{out.stem}-by-bytes.toml, its share of all bytes.",
            "",
        )
    return out, clients[0][0].flow.algorithm


def _warn_unless_explained(place: str, found: Fit) -> None:
    """Warn, in every output format, that the inferred links do not explain the measurement."""
    if not found.check.is_explained:
        click.echo(
            f"{place}: no kind of link explains this measurement, so the decision may be wrong; "
            "measure the recommended algorithm on this path before you use it",
            err=True,
        )


def write_links(found: Fit, heading: str, out: Path) -> None:
    """Sample links from the inferred distribution; write them to a file for `advise --users`."""
    links = population(found.draw(_LINKS), heading, found.duration_s, found.check.widening)
    write_text(out, write_toml(links))


def say_fit(found: Fit, output_format: str) -> None:
    """Print the inferred links, and whether they explain the measurement."""
    members, check = found.posterior.members, found.check
    kinds = ", ".join(f"{each.family.title} {100 * each.probability:.0f} %" for each in members)
    say(prose(f"Kinds of links, by probability: {kinds}."), "")
    estimates = found.estimates()
    print_rows([_estimate_line(each) for each in estimates], output_format)
    say("")
    for each in estimates:
        if each.known < _HARDLY_KNOWN:
            say(f"! The measurement hardly determines the {each.parameter.title.lower()}.")
    if check.is_explained:
        say(prose(f"These links explain the measurement (p = {check.probability:.2f})."), "")
    else:
        say(
            prose(
                f"! These links do not explain the measurement: {check.worst} is {_side(found)} "
                f"than on these links (p = {check.probability:.2f}). Therefore, the intervals of "
                "the parameters and the spread of the links in the file are widened by a factor of "
                f"{check.widening:.2g}. Predictions are corrected by the simulation's error for "
                "the measured algorithm."
            ),
            "",
        )


def _side(found: Fit) -> str:
    return "larger" if found.check.is_above else "smaller"


def _next(found: Fit) -> list[str]:
    """Return lines that propose the next measurement; none if it would hardly improve advice."""
    measured = {flow.algorithm for flow in found.flows}
    best = next_measurement(found.outcomes(CANDIDATES), measured, found.probed(list(PROBED)))
    if best is None or not best.is_worthwhile:
        return []
    before, after = 100 * best.regret, 100 * best.regret_after
    return [
        f"  {best.command}",
        "  would help to recommend a better algorithm. Expected power (goodput / 95th percentile",
        "  RTT) of the recommended algorithm, compared with the best algorithm for this link:",
        f"  {before:.2g} % lower now, and {after:.2g} % lower after the proposed measurement",
    ]


def _estimate_line(each: Estimate) -> dict[str, Any]:
    unit = f" ({each.parameter.unit})" if each.parameter.unit else ""
    return {
        "parameter": f"{each.parameter.title}{unit}",
        "estimate": each.parameter.text(each.value),
        "90 % interval": _interval(each),
        "known": f"{100 * each.known:.0f} %",
    }


def _interval(each: Estimate) -> str:
    low, high = each.parameter.text(each.low), each.parameter.text(each.high)
    if each.parameter.choices:
        return low if low == high else f"{low} or {high}"
    return f"{low} to {high}"


def _prediction_line(each: Prediction) -> dict[str, Any]:
    def with_interval(ends: tuple[float, float, float]) -> str:
        low, usual, high = ends
        return f"{usual:.3g} ({low:.3g} to {high:.3g})"

    return {
        "algorithm": each.algorithm,
        "goodput_mbit_s": with_interval(each.goodput_mbit_s),
        "queueing_delay_p95_ms": with_interval(each.queueing_delay_p95_ms),
    }


def _prediction_row(each: Prediction) -> dict[str, Any]:
    return {
        "algorithm": each.algorithm,
        "goodput_mbit_s": each.goodput_mbit_s[1],
        "goodput_low_mbit_s": each.goodput_mbit_s[0],
        "goodput_high_mbit_s": each.goodput_mbit_s[2],
        "queueing_delay_p95_ms": each.queueing_delay_p95_ms[1],
        "queueing_delay_low_ms": each.queueing_delay_p95_ms[0],
        "queueing_delay_high_ms": each.queueing_delay_p95_ms[2],
    }


def _document(found: Fit, predictions: list[Prediction]) -> dict[str, Any]:
    check = found.check
    measured = {flow.algorithm for flow in found.flows}
    best = next_measurement(found.outcomes(CANDIDATES), measured, found.probed(list(PROBED)))
    return {
        "algorithm": found.flows[0].algorithm,
        "families": {each.family.name: each.probability for each in found.posterior.members},
        "parameters": {
            each.parameter.name: {
                "unit": each.parameter.unit,
                "estimate": each.value,
                "low": each.low,
                "high": each.high,
                "known": each.known,
            }
            for each in found.estimates()
        },
        "check": {
            "probability": check.probability,
            "is_explained": check.is_explained,
            "worst": check.worst,
            "widened_by": check.widening,
        },
        "next": None
        if best is None
        else {
            "command": best.command,
            "regret": best.regret,
            "regret_after": best.regret_after,
        },
        "predictions": [_prediction_row(each) for each in predictions],
    }
