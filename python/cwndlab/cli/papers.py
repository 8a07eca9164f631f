"""`cwndlab papers`: list published studies. Also print verdicts on a paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from cwndlab.api.results import Results
from cwndlab.cli.output import format_option, indented, print_rows, say
from cwndlab.errors import ResultsError, plural
from cwndlab.papers import (
    claimed_papers,
    judge_paper,
    load_claims,
    load_paper,
    paper_ids,
    try_paper,
)
from cwndlab.papers.inferred import read_inferred
from cwndlab.report.sections.claims import (
    cause,
    causes_sentence,
    claim_counts,
    contradictions,
    decided_by,
)
from cwndlab.run.campaign import RESULTS_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.papers import Judgement
    from cwndlab.report.sections.claims import Trial

_STYLES = {"holds": "green", "fails": "red", "undecided": "yellow"}


@click.command("papers")
@format_option
def papers_command(output_format: str) -> None:
    """List the published studies that `reproduce` repeats."""
    rows = [
        {
            "id": paper_id,
            "title": load_paper(paper_id).title,
            "reproduced": _reproduced(paper_id),
            "state": _state(paper_id),
        }
        for paper_id in paper_ids()
    ]
    print_rows(rows, output_format)


def _reproduced(paper_id: str) -> str:
    """Return, as text, how many of a paper's tables, figures, numbers and claims are checked."""
    paper = load_paper(paper_id)
    claims = load_claims(paper_id).claims if paper_id in claimed_papers() else ()
    counts = [
        (len(paper.tables), "table"),
        (len(paper.figures), "figure"),
        (len(paper.checks), "number"),
        (len(claims), "claim"),
    ]
    return ", ".join(plural(count, name) for count, name in counts if count)


def _state(paper_id: str) -> str:
    """Return whether the results of a paper's study are complete, incomplete or missing."""
    for name, how in ((paper_id, ""), (f"{paper_id}-quick", " (short version)")):
        try:
            results = Results(RESULTS_FOLDER / name)
        except ResultsError:
            continue
        return f"{'done' if results.is_complete else 'begun'}{how}"
    return "not run"


def print_claims(results: Results) -> None:
    """Print the verdict on each claim of a paper, if `results` repeat a paper with claims."""
    if results.id not in claimed_papers():
        return
    judged = judge_paper(results.id, results)
    trials = try_paper(load_paper(results.id), results, judged)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    inferred = read_inferred(results.path, results.id)
    has_printed = any(each.printed is not None for each in judged)
    ours = ["as printed", "as read"] if has_printed else ["our results"]
    ours += ["as inferred"] if inferred else []
    for name in ("claim", "paper's numbers", *ours, "decided by"):
        table.add_column(name, overflow="fold")
    for each in judged:
        table.add_row(*_row(each, trials, inferred))
    say("", f"  {claim_counts(judged)}", indented(table), "")
    if sentence := causes_sentence(judged, trials):
        say(f"  {sentence}", "")


def _row(judgement: Judgement, trials: Sequence[Trial], inferred: Mapping[str, str]) -> list[Any]:
    why = judgement.why
    if judgement.deciding is not None:
        why = f"{decided_by(judgement.deciding)} ({judgement.why})"
    if other := contradictions(judgement):
        why += f". But {other}"
    if found := cause(judgement, trials):
        why += f". {found}"
    ours = (
        [judgement.verdict] if judgement.printed is None else [judgement.printed, judgement.verdict]
    )
    return [
        judgement.claim.id,
        judgement.theirs.value if judgement.theirs else "no number in the paper's tables",
        *(Text(each.value, _STYLES.get(each.value, "")) for each in ours),
        *([inferred.get(judgement.claim.id, "")] if inferred else []),
        why,
    ]
