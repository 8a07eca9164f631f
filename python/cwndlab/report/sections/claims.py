"""A paper's claims, each decided by its own numbers and by our runs."""

from collections import Counter
from functools import partial

from cwndlab.errors import plural
from cwndlab.papers import Finding, Judgement, Paper, Verdict, claimed_papers, judge_paper
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection
from cwndlab.tables import format_number

_OF_SEVERAL = {Verdict.HOLDS: "hold", Verdict.FAILS: "fail"}


def claims_section(paper: Paper) -> PageSection:
    """Return the section with every claim of a paper."""
    return PageSection("paper-claims", "What the paper claims", partial(_build, paper))


def claim_counts(judged: list[Judgement]) -> str:
    """Return how many claims came out which way, in a sentence."""
    counts = Counter(each.verdict for each in judged)
    parts = [
        f"{counts[verdict]} {_OF_SEVERAL.get(verdict, verdict.value)}"
        for verdict in Verdict
        if counts[verdict]
    ]
    return f"{plural(len(judged), 'claim')} of the paper: {', '.join(parts)}."


def own_numbers(judgement: Judgement) -> str:
    """Return what the paper's own numbers say of a claim."""
    said = judgement.claim.own_data
    return f"{judgement.theirs.value} ({said})" if judgement.theirs else f"not in numbers: {said}"


def measured(finding: Finding) -> str:
    """Return our value of a part with its interval."""
    if finding.ours is None:
        return "not run"
    value = format_number(finding.ours.estimate)
    low, high = finding.ours.low, finding.ours.high
    if low is None or high is None or low == high:
        return value
    return f"{value} [{format_number(low)}, {format_number(high)}]"


def _build(paper: Paper, context: Context) -> Content | None:
    if paper.id not in claimed_papers():
        return None
    judged = judge_paper(paper.id, context.results)
    html = render(
        "paper_claims.html",
        sentence=claim_counts(judged),
        judged=judged,
        own_numbers=own_numbers,
        measured=measured,
        number=lambda value: "" if value is None else format_number(value),
    )
    return Content(html)
