"""Define the goal options of `compare` and `advise`, and print decisions as JSON or CSV."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from cwndlab.cli.output import print_rows, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.judge.answer import Answer, Answers

GOALS = (
    "balance",
    "throughput",
    "latency",
    "short-transfers",
    "fairness",
    "fairness-to-cubic",
    "stability",
)

USES = ("bulk", "web", "video", "rpc", "upload", "call")

use_option = click.option(
    "--use",
    type=click.Choice(USES),
    default=USES[0],
    show_default=True,
    help=(
        "Main use of the network. Each of web, video, rpc and call has its own goal, which "
        "replaces --goal."
    ),
)
goal_option = click.option(
    "--goal",
    type=click.Choice(GOALS),
    metavar="GOAL",
    default=GOALS[0],
    show_default=True,
    help=f"Goal by which algorithms are compared: {', '.join(GOALS[:-1])} or {GOALS[-1]}.",
)

baseline_option = click.option(
    "--baseline",
    metavar="NAME",
    default="cubic",
    show_default=True,
    help="Algorithm in use today; all other algorithms are compared with it.",
)


def print_answers(
    answers: Answers, output_format: str, runs: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Print one row for each algorithm in each setting, as JSON or CSV.

    The JSON document also contains the decisions and, if `runs` is given, the runs.
    """
    rows = [row for answer in answers.settings for row in _rows(answer)]
    if output_format == "csv":
        print_rows(rows, output_format)
        return
    document: dict[str, Any] = {"decision": answers.together.to_json(), "rows": rows}
    if len(answers.settings) > 1:
        document["settings"] = [answer.decision.to_json() for answer in answers.settings]
    if runs is not None:
        document["runs"] = runs
    print_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def _rows(answer: Answer) -> list[dict[str, Any]]:
    from cwndlab.tables import comparison_table, table_frame  # noqa: PLC0415  slow to load

    decision = answer.decision
    frame = table_frame(comparison_table(answer.comparison))
    return [
        {
            "goal": decision.goal.name,
            "setting": decision.setting,
            "is_good": row["algorithm"] in decision.best,
            "is_first": row["algorithm"] == decision.first,
            **row,
        }
        for row in frame.to_dicts()
    ]
