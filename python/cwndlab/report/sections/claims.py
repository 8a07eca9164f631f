"""Section: a paper's claims, tested with its numbers and our runs, and causes of differences."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from cwndlab.errors import plural
from cwndlab.papers import (
    ClaimTrial,
    ClaimVerdict,
    Judgement,
    Paper,
    PartFinding,
    TableTrial,
    TrialEffect,
    claimed_papers,
    judge_paper,
    try_paper,
)
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection
from cwndlab.tables import format_number, join_words

Trial = ClaimTrial | TableTrial

_OF_SEVERAL = {ClaimVerdict.HOLDS: "hold", ClaimVerdict.FAILS: "fail"}


def claims_section(paper: Paper) -> PageSection:
    """Return the section that lists all claims of a paper."""
    return PageSection("paper-claims", "Claims of the paper", partial(_build, paper))


def claim_counts(judged: list[Judgement]) -> str:
    """Return a sentence that counts the claims by verdict."""
    counts = Counter(each.verdict for each in judged)
    parts = [
        f"{counts[verdict]} {_OF_SEVERAL.get(verdict, verdict.value)}"
        for verdict in ClaimVerdict
        if counts[verdict]
    ]
    return f"{plural(len(judged), 'claim')} of the paper: {', '.join(parts)}."


def own_numbers(judgement: Judgement) -> str:
    """Return the verdict on a claim according to the paper's own numbers."""
    said = judgement.claim.own_data
    if judgement.theirs is None:
        return f"the paper states no numbers: {said}"
    so_far = " as far as the paper states numbers" if judgement.is_half_known else ""
    return f"{judgement.theirs.value}{so_far} ({said})"


def measured(finding: PartFinding) -> str:
    """Return our value for one part of a claim, with its interval."""
    if finding.ours is None:
        return "not run"
    value = format_number(finding.ours.estimate)
    low, high = finding.ours.low, finding.ours.high
    if low is None or high is None or low == high:
        return value
    return f"{value} [{format_number(low)}, {format_number(high)}]"


def decided_by(finding: PartFinding) -> str:
    """Return the value that decided a claim and its required bounds, as text."""
    return (
        f"{finding.part.what or finding.part}: {measured(finding)}, required: {finding.part.asked}"
    )


def cause(judgement: Judgement, trials: Sequence[Trial]) -> str:
    """Return the changes that explain, fully or partly, why a claim does not hold."""
    own = _of_claim(judgement, trials)
    for effect, how in ((TrialEffect.EXPLAINS, "Cause"), (TrialEffect.PART, "Partial cause")):
        changed = [each.experiment.changed for each in own if each.effect is effect]
        if changed:
            return f"{how}: {'; or '.join(changed)}"
    return ""


def causes_sentence(judged: Sequence[Judgement], trials: Sequence[Trial]) -> str:
    """Return a sentence that counts the failed claims that the experiments explain."""
    missed = [
        each for each in judged if each.verdict in {ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED}
    ]
    if not missed:
        return ""
    effects = [{trial.effect for trial in _of_claim(each, trials)} for each in missed]
    if TrialEffect.OPEN in set().union(*effects):
        return "There are too few repetitions to decide some claims; run the whole study."
    explained = sum(TrialEffect.EXPLAINS in found for found in effects)
    in_part = sum(
        TrialEffect.PART in found and TrialEffect.EXPLAINS not in found for found in effects
    )
    rest = len(missed) - explained - in_part
    counts = ((explained, "fully"), (in_part, "partly"), (rest, "not at all"))
    parts = join_words([f"{count} {words}" for count, words in counts if count])
    which = "1 claim does" if len(missed) == 1 else f"{len(missed)} claims do"
    return f"{which} not hold; the experiments explain {parts}."


def _of_claim(judgement: Judgement, trials: Sequence[Trial]) -> list[ClaimTrial]:
    return [
        trial
        for trial in trials
        if isinstance(trial, ClaimTrial) and trial.claim.id == judgement.claim.id
    ]


def _build(paper: Paper, context: Context) -> Content | None:
    if paper.id not in claimed_papers():
        return None
    judged = judge_paper(paper.id, context.results)
    trials = try_paper(paper, context.results, judged)
    html = render(
        "paper_claims.html",
        paper=paper,
        sentence=claim_counts(judged),
        judged=judged,
        own_numbers=own_numbers,
        measured=measured,
        decided_by=decided_by,
        cause=lambda judgement: cause(judgement, trials),
        causes_sentence=causes_sentence(judged, trials),
        trials=trials,
        number=lambda value: "" if value is None else format_number(value),
        percent=lambda value: f"{100 * value:.0f} %",
    )
    return Content(html)
