"""Change one thing in a study, to find out why cwndlab's results differ from a paper's.

An experiment starts from a claim that does not hold. In the runs that test the claim, the
experiment replaces levels of a factor, or a variant. Each value of the claim is computed twice:
from the runs without the change, and from the runs with the change. Both results are tested against
the bounds that the claim sets for the value, at a significance level of 5 %. A value *holds* if the
test shows that it is within its bounds. A value *fails* if the test shows that it is outside its
bounds. In all other cases, the value is *undecided*. The *missed* values are those that fail
without the change. If no value fails without the change, the missed values are those that are
undecided without the change. The effect of the change is the first of these items that applies:

- the effect is *open* if a missed value was computed from only two to nine repetitions;
- the change *explains* the difference if all values were measured and hold with the change;
- the change is *part* of the explanation if all measured values hold with the change, but other
  values were not measured;
- the change is also *part* of the explanation if a missed value moves towards its bounds;
- the change moves a value *the other way* if a missed value moves away from its bounds;
- in all other cases, the change *has no effect*.

A value moves only if its confidence intervals with and without the change do not overlap.

For a table, the cells that the experiment ran are compared with the paper:

- the change *explains* the difference if all cells are within the table's tolerance (10 % by
  default);
- the change is *part* of the explanation if the mean difference decreases by at least a fifth;
- the change moves the table *the other way* if the mean difference increases by at least a quarter;
- in all other cases, the change *has no effect*.

A change that moves any table the other way is rejected as an explanation of any claim and of any
other table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import polars as pl

from cwndlab.papers.claims import Claim, ClaimPart, Claims, Experiment, load_claims
from cwndlab.papers.evidence import Evidence, FlowResults, PaperRuns, ReplacedVariants
from cwndlab.papers.facts import Paper, PaperTable
from cwndlab.papers.judgement import (
    FEWEST_REPETITIONS,
    ClaimVerdict,
    Judgement,
    PartFinding,
    calibration_of,
    decide_part,
    input_test,
    overlap,
)
from cwndlab.papers.tables import read_table

_TESTED = frozenset({ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED})
_TOLERANCE = 0.1
_NEARER = 0.8


class TrialEffect(StrEnum):
    """Effect of a change: whether the change brings cwndlab's results closer to the paper's."""

    EXPLAINS = "explains it"
    PART = "part of it"
    NONE = "has no effect"
    AWAY = "the other way"
    SPOILS = "makes a table differ more from the paper"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Change:
    """A value of a paper's claim, computed twice: without and with a change of the study."""

    before: PartFinding
    after: PartFinding


@dataclass(frozen=True)
class ClaimTrial:
    """An experiment that may explain why a paper's claim does not hold in cwndlab's runs."""

    experiment: Experiment
    claim: Claim
    effect: TrialEffect
    changes: tuple[Change, ...]
    """The claim's values that fail without the change; if no value fails without the change, those
    that are undecided without the change. Each value is computed without and with the change."""

    @property
    def subject(self) -> str:
        """The statement of the claim whose failure the experiment may explain."""
        return self.claim.says

    @property
    def shown(self) -> Change:
        """The element of `changes` to display as an example of the experiment's effect.

        If `after` has the verdict *holds* in any element, only these elements are candidates;
        otherwise, all elements are. Of the candidates, the one is displayed in which the distance
        between the value and the claim's bounds decreases most.
        """
        return min(self.changes, key=lambda each: (not _holds(each), _move(each)))

    @property
    def holding(self) -> int:
        """Number of elements of `changes` whose field `after` has the verdict *holds*."""
        return sum(map(_holds, self.changes))


@dataclass(frozen=True)
class TableTrial:
    """An experiment that may explain why cwndlab's numbers deviate from a table of the paper."""

    experiment: Experiment
    table: PaperTable
    effect: TrialEffect
    cells: int
    before: float
    """Mean absolute relative difference of cwndlab's numbers from the paper's, without the
    change."""
    after: float
    within: float
    """Tolerated relative difference of cwndlab's number from the paper's in a cell of the table."""

    @property
    def subject(self) -> str:
        """Name and title of the paper's table from which cwndlab's numbers deviate."""
        return f"{self.table.name}: {self.table.title}"


def try_paper(
    paper: Paper, results: FlowResults, judged: Sequence[Judgement]
) -> list[ClaimTrial | TableTrial]:
    """Return the results of all experiments on a paper, first for claims, then for tables."""
    claims = load_claims(paper.id)
    tables = try_tables(claims, paper.tables, results.flows())
    tried = try_claims(claims, judged, PaperRuns(claims, results), calibration_of(claims))
    return without_spoilers(tried, tables)


def without_spoilers(
    claims: Sequence[ClaimTrial], tables: Sequence[TableTrial]
) -> list[ClaimTrial | TableTrial]:
    """Return all trials, with corrected effects.

    If a change moves any table away from the paper, it is not accepted as an explanation. Its
    effects `EXPLAINS` and `PART` become `SPOILS`.
    """
    away = [each.experiment for each in tables if each.effect is TrialEffect.AWAY]
    explained = {TrialEffect.EXPLAINS, TrialEffect.PART}
    trials: list[ClaimTrial | TableTrial] = [*claims, *tables]
    return [
        replace(each, effect=TrialEffect.SPOILS)
        if each.effect in explained and each.experiment in away
        else each
        for each in trials
    ]


def try_claims(
    claims: Claims,
    judged: Sequence[Judgement],
    runs: Evidence,
    is_calibrated: Callable[[str], bool],
) -> list[ClaimTrial]:
    """Return the effect of each experiment on those claims that fail or are undecided."""
    is_input = input_test(claims, runs, is_calibrated)

    def decided(part: ClaimPart, evidence: Evidence) -> PartFinding:
        return decide_part(part, evidence, claims, is_input)

    tried = [
        _try_claim(experiment, judgement, runs, decided)
        for judgement in judged
        if judgement.verdict in {ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED}
        for experiment in claims.experiments
        if judgement.claim.id in experiment.claims
    ]
    return [trial for trial in tried if trial is not None]


def _try_claim(
    experiment: Experiment,
    judgement: Judgement,
    runs: Evidence,
    decided: Callable[[ClaimPart, Evidence], PartFinding],
) -> ClaimTrial | None:
    changes = []
    is_whole = True
    for part in judgement.claim.parts:
        if part.is_beside:
            continue
        kept = part.model_copy(update={"where": {**part.where, **experiment.among}})
        changed = part.model_copy(update={"where": {**kept.where, **experiment.levels}})
        before = decided(kept, runs)
        after = decided(changed, ReplacedVariants(runs, experiment.variants))
        if {before.verdict, after.verdict} <= _TESTED:
            changes.append(Change(before, after))
        elif before.verdict in {ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED}:
            is_whole = False
    meant = {ClaimVerdict.FAILS} & {each.before.verdict for each in changes} or {
        ClaimVerdict.UNDECIDED
    }
    missed = tuple(each for each in changes if each.before.verdict in meant)
    if not missed:
        return None
    effect = _effect(changes, missed)
    if effect is TrialEffect.EXPLAINS and not is_whole:
        effect = TrialEffect.PART
    return ClaimTrial(experiment, judgement.claim, effect, missed)


def _effect(changes: Sequence[Change], missed: Sequence[Change]) -> TrialEffect:
    if any(_is_thin(each) for each in missed):
        return TrialEffect.OPEN
    if all(map(_holds, changes)):
        return TrialEffect.EXPLAINS
    moves = [_move(each) for each in missed]
    if min(moves) < 0:
        return TrialEffect.PART
    return TrialEffect.AWAY if max(moves) > 0 else TrialEffect.NONE


def _holds(change: Change) -> bool:
    return change.after.verdict is ClaimVerdict.HOLDS


def _is_thin(change: Change) -> bool:
    runs = [each.ours.runs for each in (change.before, change.after) if each.ours is not None]
    return any(1 < each < FEWEST_REPETITIONS for each in runs)


def _move(change: Change) -> float:
    """Return by how much a change increases the distance of a value from its bounds.

    The distance is 0 inside the bounds. The result is negative if the distance decreases.
    """
    before, after = change.before.ours, change.after.ours
    if before is None or after is None:
        return 0.0
    if overlap(before, after):
        return 0.0
    low, high = change.before.part.bounds
    distance = [max(low - value, value - high, 0.0) for value in (before.estimate, after.estimate)]
    return distance[1] - distance[0]


def try_tables(
    claims: Claims, tables: Sequence[PaperTable], flows: pl.DataFrame
) -> list[TableTrial]:
    """Return the effect of each experiment on tables of the paper.

    Each experiment is tried on the tables that it names, and on all other tables whose runs it
    changes. An effect on one of these other tables is returned only if the change moves the table
    away from the paper.
    """
    tried = [
        (experiment, table, _try_table(experiment, table, flows))
        for table in tables
        for experiment in claims.experiments
        if table.name in experiment.tables or _is_of_same_runs(experiment, table, claims)
    ]
    return [
        trial
        for experiment, table, trial in tried
        if trial is not None
        and (table.name in experiment.tables or trial.effect is TrialEffect.AWAY)
    ]


def _is_of_same_runs(experiment: Experiment, table: PaperTable, claims: Claims) -> bool:
    """Return whether numbers of the table are computed from runs that the experiment changes."""
    return bool(experiment.levels) and all(
        factor in table.where and table.where[factor] == claims.where.get(factor)
        for factor in experiment.levels
    )


def _try_table(experiment: Experiment, table: PaperTable, flows: pl.DataFrame) -> TableTrial | None:
    kept = {**table.where, **experiment.among}
    changed = {**kept, **experiment.levels}
    before = read_table(table.model_copy(update={"where": kept}), flows)
    after = read_table(table.model_copy(update={"where": changed}), flows)
    both = [
        (one.away, other.away)
        for one, other in zip(before, after, strict=True)
        if one.away is not None and other.away is not None
    ]
    if not both:
        return None
    first, second = (sum(abs(each[at]) for each in both) / len(both) for at in (0, 1))
    within = table.within or _TOLERANCE
    if all(abs(away) <= within for _, away in both):
        effect = TrialEffect.EXPLAINS
    elif second <= _NEARER * first:
        effect = TrialEffect.PART
    else:
        effect = TrialEffect.AWAY if first <= _NEARER * second else TrialEffect.NONE
    return TableTrial(experiment, table, effect, len(both), first, second, within)
