"""Write the section on a paper's claims: the verdicts, and why claims do not hold."""

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
    load_claims,
    try_paper,
)
from cwndlab.papers.inferred import read_inferred
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
    """Return a sentence that states how many claims have each verdict.

    If the study also has runs with settings that the paper does not state, a second sentence counts
    the verdicts without these runs.
    """
    counts = (
        f"{plural(len(judged), 'claim')} of the paper: {_count([each.verdict for each in judged])}."
    )
    printed = [each.printed for each in judged if each.printed is not None]
    if printed:
        counts += f" In runs that use only settings stated in the paper: {_count(printed)}."
    return counts


def _count(verdicts: Sequence[ClaimVerdict]) -> str:
    counts = Counter(verdicts)
    return ", ".join(
        f"{number} {_OF_SEVERAL.get(verdict, verdict.value) if number > 1 else verdict.value}"
        for verdict in ClaimVerdict
        if (number := counts[verdict])
    )


def own_numbers(judgement: Judgement) -> str:
    """Return, as text, whether a claim holds for the numbers in the paper's own tables."""
    said = judgement.claim.own_data
    if judgement.theirs is None:
        return f"the paper's tables contain no number for this claim; the claim's source: {said}"
    parts = ""
    if judgement.is_half_known:
        parts = " for those parts of the claim whose numbers are in the paper's tables"
    return f"{judgement.theirs.value}{parts} ({said})"


def measured(finding: PartFinding) -> str:
    """Return, as text, cwndlab's value for one part of a claim, with its confidence interval."""
    if finding.ours is None:
        return "not run"
    value = format_number(finding.ours.estimate)
    low, high = finding.ours.low, finding.ours.high
    if low is None or high is None or low == high:
        return value
    return f"{value} [{format_number(low)}, {format_number(high)}]"


def decided_by(finding: PartFinding) -> str:
    """Return, as text, cwndlab's value for one part of a claim, and the bounds for this value."""
    return (
        f"{finding.part.what or finding.part}: {measured(finding)}, required: {finding.part.asked}"
    )


def cause(judgement: Judgement, trials: Sequence[Trial]) -> str:
    """Return, as text, the changes to the study that explain why a claim does not hold.

    If no change explains it fully, return the changes that explain it partly. If there are none,
    return "".
    """
    own = _of_claim(judgement, trials)
    for effect, how in ((TrialEffect.EXPLAINS, "Cause"), (TrialEffect.PART, "Partial cause")):
        changed = [each.experiment.changed for each in own if each.effect is effect]
        if changed:
            return f"{how}: {'; or '.join(changed)}"
    return ""


def contradictions(judgement: Judgement) -> str:
    """Return, as text, the values that do not decide the claim, but contradict its verdict."""
    return "; ".join(decided_by(each) for each in judgement.contradicting)


def causes_sentence(judged: Sequence[Judgement], trials: Sequence[Trial]) -> str:
    """Return sentences on the failed claims, with their causes, and on the undecided claims."""
    missed = [each for each in judged if each.verdict is ClaimVerdict.FAILS]
    undecided = [each for each in judged if each.verdict is ClaimVerdict.UNDECIDED]
    effects = [trial.effect for each in (*missed, *undecided) for trial in _of_claim(each, trials)]
    if TrialEffect.OPEN in effects:
        return (
            "Too few repetitions were run to decide some claims; run all repetitions of the study."
        )
    sentences = []
    if missed:
        found = [{trial.effect for trial in _of_claim(each, trials)} for each in missed]
        explained = sum(TrialEffect.EXPLAINS in each for each in found)
        in_part = sum(
            TrialEffect.PART in each and TrialEffect.EXPLAINS not in each for each in found
        )
        rest = len(missed) - explained - in_part
        counts = ((explained, "fully"), (in_part, "partly"), (rest, "not at all"))
        parts = join_words([f"{count} {words}" for count, words in counts if count])
        which = "1 claim fails" if len(missed) == 1 else f"{len(missed)} claims fail"
        causes = (
            (f"the experiments explain {parts}")
            if explained + in_part
            else "no cause of the difference was found"
        )
        sentences.append(f"{which}; {causes}.")
    if undecided:
        which = "1 claim is" if len(undecided) == 1 else f"{len(undecided)} claims are"
        sentences.append(f"{which} undecided; more repetitions could lead to a decision.")
    return " ".join(sentences)


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
        inferred=read_inferred(context.results.path, paper.id),
        has_printed=any(each.printed is not None for each in judged),
        chosen="; ".join(each.setting for each in load_claims(paper.id).chosen),
        contradictions=contradictions,
        cause=lambda judgement: cause(judgement, trials),
        causes_sentence=causes_sentence(judged, trials),
        trials=trials,
        number=lambda value: "" if value is None else format_number(value),
        percent=lambda value: f"{100 * value:.0f} %",
    )
    return Content(html)
