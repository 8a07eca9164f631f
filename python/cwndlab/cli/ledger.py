"""`cwndlab ledger`: show how often predictions came true on real networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cwndlab.cli.output import format_option, print_rows, say
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import plural
from cwndlab.judge.ledger import PUBLIC, ledger_of_user, merge, read_ledger
from cwndlab.judge.ledger_scores import reliability, score, scores, share_lost
from cwndlab.report.ledger_page import ledger_page
from cwndlab.text.files import write_text

if TYPE_CHECKING:
    from pathlib import Path


@click.command("ledger")
@click.argument("others", metavar="[FILE]...", nargs=-1, type=UserPath())
@click.option(
    "--ledger",
    type=UserPath(dir_okay=False),
    help="File of the ledger to show.  [default: the user's own ledger]",
)
@click.option(
    "--public",
    is_flag=True,
    help="Show the ledger that is part of cwndlab: predictions compared with published "
    "measurements.",
)
@click.option(
    "--page",
    type=UserPath(dir_okay=False),
    metavar="FILE",
    help="Write an HTML page with the reliability diagram, the scores and all entries.",
)
@format_option
def ledger_command(
    others: tuple[Path, ...],
    ledger: Path | None,
    page: Path | None,
    output_format: str,
    *,
    public: bool,
) -> None:
    """Show how often the predictions recorded in a ledger came true on real networks.

    A ledger is a file that you can publish. Each line describes, in JSON, a prediction that was
    tested on a real network; `cwndlab trial verdict` adds the lines. The command shows your own
    ledger, or the ledger that --ledger names. Each FILE is another ledger, whose entries are
    permanently added to the shown ledger.
    """
    if public and (ledger or others):
        msg = (
            "--public cannot be combined with --ledger or FILE: it shows only the ledger that is "
            "part of cwndlab"
        )
        raise click.UsageError(msg)
    path = PUBLIC if public else ledger or ledger_of_user()
    for other in others:
        if not other.exists():
            msg = f"{other}: no such file"
            raise click.UsageError(msg)
        added = merge(path, read_ledger(other), str(other))
        say(f"{plural(added, 'entry')} added from {other}")
    entries = read_ledger(path)
    if page is not None:
        title = (
            "Predictions compared with published measurements" if public else f"Ledger {path.name}"
        )
        page.parent.mkdir(parents=True, exist_ok=True)
        write_text(page, ledger_page(entries, title))
        say(f"{page}: page of {plural(len(entries), 'entry')}")
        return
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
                "named the better": f"{each.agreed:g} of {each.compared}",
                "Brier score": _number(each.brier),
                "gap": "-" if each.gap is None else f"{100 * each.gap:.0f} points",
                "regret": _lost(each.regret),
                "regret p90": _lost(each.regret_p90),
                "tau": _number(each.tau),
                "within 90 %": _share(each.covered),
                "requirements missed": ", ".join(each.failures) or "none",
            }
            for each in [*scores(entries), score("all", entries)]
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
                "comparisons": each.count,
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


def _lost(regret: float | None) -> str:
    return _share(None if regret is None else share_lost(regret))
