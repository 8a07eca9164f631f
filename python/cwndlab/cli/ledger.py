"""`cwndlab ledger`: show how often registered predictions came true."""

from __future__ import annotations

from pathlib import Path

import click

from cwndlab.cli.output import format_option, print_rows, say
from cwndlab.errors import plural
from cwndlab.judge.ledger import ledger_of_user, merge, read_ledger, reliability, scores


@click.command("ledger")
@click.argument("others", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--ledger",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the ledger to show.  [default: the user's own ledger]",
)
@format_option
def ledger_command(others: tuple[Path, ...], ledger: Path | None, output_format: str) -> None:
    """Show how often the predictions in a ledger came true.

    A ledger is a file of JSON lines, which you can publish. It lists predictions that were tested
    on real networks; `cwndlab trial verdict` adds them. Each FILE is another ledger, whose entries
    are added to the shown ledger first.
    """
    path = ledger or ledger_of_user()
    for other in others:
        if not other.exists():
            msg = f"{other}: no such file"
            raise click.UsageError(msg)
        say(f"{plural(merge(path, read_ledger(other)), 'entry')} added from {other}")
    entries = read_ledger(path)
    if output_format != "table":
        print_rows([_row(each.to_json()) for each in entries], output_format)
        return
    if not entries:
        say(f"{path}: no prediction has been tested; see cwndlab trial --help")
        return
    print_rows(
        [
            {
                "network": each.network_class,
                "predictions": each.predictions,
                "confirmed": each.confirmed,
                "refuted": each.refuted,
                "not enough": each.undecided,
                "Brier score": _number(each.brier),
                "regret": _share(each.regret),
                "within 90 %": _share(each.covered),
            }
            for each in scores(entries)
        ],
        output_format,
    )
    say("")
    print_rows(
        [
            {
                "stated probability": f"{each.low:g} to {each.high:g}",
                "mean": _number(each.stated),
                "came true": _number(each.happened),
                "predictions": each.count,
            }
            for each in reliability(entries)
        ],
        output_format,
    )


def _row(document: dict[str, object]) -> dict[str, object]:
    claim, change = document.pop("prediction"), document.pop("change")
    measured = change if isinstance(change, dict) else {}
    return {
        **(claim if isinstance(claim, dict) else {}),
        **document,
        **{f"measured_{name}": value for name, value in measured.items()},
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"
