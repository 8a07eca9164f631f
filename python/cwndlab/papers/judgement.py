"""Decide the claims of a paper by the numbers in its tables and by cwndlab's runs.

A part of a claim *holds* if the 95 % interval of its value over repetitions lies inside its bounds.
The part *fails* if the interval lies outside, and is *undecided* if the interval contains a bound.
A claim holds if all of its parts hold, and fails if one part fails. Holm's correction is applied
over the claims of the paper: while k claims are undecided, each of them is tested at a confidence
of 1 - 5 %/k. With fewer than ten repetitions, a claim is undecided; in a deterministic study, one
run is enough. The numbers in the paper have no spread and are compared directly with the bounds.

Three verdicts are not results of a test:

- A part is *input* if cwndlab's value agrees by construction. Such a value depends on a calibrated
  link parameter, or on a setting that was chosen because it matches the paper's figures.
- A part is *not attributable* if it compares TCP variants that the data's sender used neither in
  the paper nor in cwndlab's runs. A difference is attributed only to the variants of the sender.
- A part is *not run* if the study contains no runs for it.

If settings were chosen to match the figures, each claim has a second verdict, *as printed*, from
runs that use only the settings that the paper states.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from cwndlab import stats
from cwndlab.papers.claims import Claim, ClaimPart, Claims, load_claims
from cwndlab.papers.evidence import (
    Evidence,
    FlowResults,
    PaperRuns,
    PaperTables,
    ReplacedVariants,
    identifier,
)
from cwndlab.papers.expression import Name
from cwndlab.papers.facts import load_paper
from cwndlab.resolve.presets import load_preset
from cwndlab.stats.bootstrap import Floats, Interval, bca_interval
from cwndlab.stats.paired import BoundDecision

FEWEST_REPETITIONS = 10
_ERROR = 0.05


class ClaimVerdict(StrEnum):
    """Verdict on a claim, or on a part of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    INPUT = "input"
    NOT_ATTRIBUTABLE = "not attributable"
    NOT_RUN = "not run"


_OF_SEVERAL = {ClaimVerdict.HOLDS: "hold", ClaimVerdict.FAILS: "fail"}
_TESTED = frozenset({ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED})


@dataclass(frozen=True, slots=True)
class PartFinding:
    """A part of a claim, with the paper's value, cwndlab's value, and the verdict."""

    part: ClaimPart
    theirs: float | None
    """The value, computed from the paper's tables; None if they lack a necessary number."""
    theirs_holds: bool | None
    ours: Interval | None
    verdict: ClaimVerdict


@dataclass(frozen=True)
class Judgement:
    """A claim of a paper, with the verdict on this claim."""

    claim: Claim
    theirs: ClaimVerdict | None
    """Verdict according to the paper's tables; None if they contain no value for this claim."""
    printed: ClaimVerdict | None
    """Verdict *as printed*; None if cwndlab uses all settings as the paper states them."""
    verdict: ClaimVerdict
    findings: tuple[PartFinding, ...]
    why: str
    """Text that says how many parts of the claim have each verdict, and what is missing."""

    @property
    def is_half_known(self) -> bool:
        """True if the tables in the paper contain only some of the values that the claim needs."""
        own = {each.theirs is None for each in self.findings if not each.part.is_beside}
        return len(own) > 1

    @property
    def contradicting(self) -> list[PartFinding]:
        """Parts that do not decide the claim, and whose verdict contradicts the claim's verdict."""
        opposite = {
            ClaimVerdict.HOLDS: ClaimVerdict.FAILS,
            ClaimVerdict.INPUT: ClaimVerdict.FAILS,
            ClaimVerdict.FAILS: ClaimVerdict.HOLDS,
        }
        other = opposite.get(self.verdict)
        return [each for each in self.findings if each.part.is_beside and each.verdict is other]

    @property
    def deciding(self) -> PartFinding | None:
        """The first part that decides the claim, and whose verdict equals the claim's; or None."""
        own = (each for each in self.findings if not each.part.is_beside)
        return next((each for each in own if each.verdict is self.verdict), None)


def judge_paper(paper_id: str, results: FlowResults) -> list[Judgement]:
    """Judge all claims of a paper by the runs of the study that reproduces the paper."""
    claims = load_claims(paper_id)
    tables = PaperTables(load_paper(paper_id))
    return judge(claims, tables, PaperRuns(claims, results), calibration_of(claims))


def calibration_of(claims: Claims) -> Callable[[str], bool]:
    """Return a function that checks whether a parameter of the study's link is calibrated."""
    preset = load_preset(claims.preset, Path())

    def is_calibrated(figure: str) -> bool:
        mark = preset.mark_of(figure)
        if mark is None:
            msg = (
                f"{claims.paper}: a claim needs the link parameter {figure}, which the preset "
                f"{claims.preset} does not set"
            )
            raise ValueError(msg)
        return mark.kind == "calibrated_to"

    return is_calibrated


def judge(
    claims: Claims,
    tables: Evidence,
    runs: Evidence,
    is_calibrated: Callable[[str], bool],
) -> list[Judgement]:
    """Judge all claims of a paper; `is_calibrated` tells whether a link parameter is calibrated."""
    read = _found(claims, tables, runs, input_test(claims, runs, is_calibrated))
    printed: list[ClaimVerdict | None] = [None] * len(read)
    if claims.chosen:
        stated = ReplacedVariants(runs, claims.as_printed)
        found = _found(claims, tables, stated, lambda part: _rests(part, is_calibrated))
        printed = [
            _verdict(claim, findings) for claim, findings in zip(claims.claims, found, strict=True)
        ]
    return [
        _judgement(claim, findings, other)
        for claim, findings, other in zip(claims.claims, read, printed, strict=True)
    ]


def input_test(
    claims: Claims, runs: Evidence, is_calibrated: Callable[[str], bool]
) -> Callable[[ClaimPart], bool]:
    """Return a function that checks whether a part agrees with the paper by construction."""
    stated = ReplacedVariants(runs, claims.as_printed)
    chosen = {identifier(name) for name in claims.as_printed}

    def is_input(part: ClaimPart) -> bool:
        if _rests(part, is_calibrated):
            return True
        if not any(name.variant in chosen for name in part.value.names):
            return False
        both = [decide_part(part, each, claims, _never).ours for each in (runs, stated)]
        return both[0] is not None and both[1] is not None and not overlap(both[0], both[1])

    return is_input


def decide_part(
    part: ClaimPart, runs: Evidence, claims: Claims, is_input: Callable[[ClaimPart], bool]
) -> PartFinding:
    """Judge a single part of a claim by the given runs, at a significance level of 5 %."""
    return _Open(part, _Nothing(), runs, claims, is_input).finding(_ERROR)


def overlap(one: Interval, other: Interval) -> bool:
    """Return whether two intervals overlap; a single value counts as an interval of length 0."""
    (low, high), (other_low, other_high) = _ends(one), _ends(other)
    return low <= other_high and other_low <= high


def _ends(interval: Interval) -> tuple[float, float]:
    if interval.low is None or interval.high is None:
        return interval.estimate, interval.estimate
    return interval.low, interval.high


def _rests(part: ClaimPart, is_calibrated: Callable[[str], bool]) -> bool:
    return bool(part.rests_on) and is_calibrated(part.rests_on)


def _never(part: ClaimPart) -> bool:
    del part
    return False


def _found(
    claims: Claims, tables: Evidence, runs: Evidence, is_input: Callable[[ClaimPart], bool]
) -> list[list[PartFinding]]:
    """Return, for each claim, the values of its parts and the verdicts on the parts."""
    opened = [
        [_Open(part, tables, runs, claims, is_input) for part in claim.parts]
        for claim in claims.claims
    ]
    levels = _holm_levels(opened)
    return [
        [part.finding(level) for part in parts] for parts, level in zip(opened, levels, strict=True)
    ]


class _Nothing:
    """An empty substitute for the paper's tables, used if only cwndlab's runs are judged."""

    def values(self, part: ClaimPart, name: Name) -> None:
        del part, name


class _Open:
    """A part of a claim, with the numbers of the paper and of cwndlab that decide this part."""

    def __init__(
        self,
        part: ClaimPart,
        tables: Evidence,
        runs: Evidence,
        claims: Claims,
        is_input: Callable[[ClaimPart], bool],
    ) -> None:
        self.part = part
        self._theirs = _matrix(part, tables)
        self._ours = _matrix(part, runs)
        self._is_exact = claims.is_deterministic
        self.fixed: ClaimVerdict | None = None
        is_varied = part.is_by_sender or part.directions <= set(claims.varied_by_sender)
        if part.is_of_variants and not is_varied:
            self.fixed = ClaimVerdict.NOT_ATTRIBUTABLE
        elif self._ours is None or len(self._ours) == 0:
            self.fixed = ClaimVerdict.NOT_RUN
        elif not part.is_beside and is_input(part):
            self.fixed = ClaimVerdict.INPUT
        self._known: dict[float, tuple[Interval, ClaimVerdict]] = {}

    @property
    def counts(self) -> bool:
        """True if the verdict on the claim depends on a test of this part of the claim."""
        return self.fixed is None and not self.part.is_beside

    def verdict(self, error: float) -> ClaimVerdict:
        """Return the verdict on this part of a claim at the significance level `error`."""
        return self.fixed or self._decided(error)[1]

    def finding(self, error: float) -> PartFinding:
        """Return the values of this part, and the verdict at the significance level `error`."""
        theirs = None if self._theirs is None else float(self._statistic(self._theirs[None])[0])
        low, high = self.part.bounds
        inside = None if theirs is None else low <= theirs <= high
        ours = None
        if self._ours is not None and len(self._ours):
            ours = self._decided(error)[0]
        return PartFinding(self.part, theirs, inside, ours, self.verdict(error))

    def _decided(self, error: float) -> tuple[Interval, ClaimVerdict]:
        if error not in self._known:
            self._known[error] = self._decide(error)
        return self._known[error]

    def _decide(self, error: float) -> tuple[Interval, ClaimVerdict]:
        runs, part = self._ours, self.part
        low, high = part.bounds
        if runs is None:
            msg = "no runs exist for this part of the claim"
            raise ValueError(msg)
        if self._is_exact:
            value = float(self._statistic(runs[None, :1])[0])
            exact = Interval(value, value, value, 1)
            return exact, ClaimVerdict(stats.decide(exact, at_least=low, at_most=high))
        shown = bca_interval(runs, self._statistic, confidence=1 - error)
        if len(runs) < FEWEST_REPETITIONS:
            return shown, ClaimVerdict.UNDECIDED
        if part.test == "sign":
            return shown, self._by_sign(runs, error)
        decision = stats.decide(shown, at_least=low, at_most=high)
        if part.test == "equality" and decision is not BoundDecision.FAILS:
            inner = bca_interval(runs, self._statistic, confidence=1 - 2 * error)
            inside = stats.decide(inner, at_least=low, at_most=high)
            decision = (
                BoundDecision.HOLDS if inside is BoundDecision.HOLDS else BoundDecision.UNDECIDED
            )
        return shown, ClaimVerdict(decision)

    def _by_sign(self, runs: Floats, error: float) -> ClaimVerdict:
        """Judge a part of a claim by a sign test: are most repetitions within its bounds?"""
        each = self._statistic(runs[:, None])
        bound = self.part.at_least if math.isinf(self.part.at_most) else self.part.at_most
        inside = (each >= self.part.at_least) & (each <= self.part.at_most) & (each != bound)
        if stats.sign_test(each, np.full(len(each), bound)).p_value > error:
            return ClaimVerdict.UNDECIDED
        return (
            ClaimVerdict.HOLDS if 2 * inside.sum() > (each != bound).sum() else ClaimVerdict.FAILS
        )

    def _statistic(self, resamples: Floats) -> Floats:
        over = np.median if self.part.is_median else np.mean
        means = over(resamples, axis=1)
        names = self.part.value.names
        values = self.part.value.evaluate({name: means[:, at] for at, name in enumerate(names)})
        return np.broadcast_to(values, (len(resamples),))


def _matrix(part: ClaimPart, evidence: Evidence) -> Floats | None:
    """Return the numbers from which a part of a claim is computed; None if a cell has no numbers.

    Each column is one table cell. Each row is one repetition; the paper counts as one repetition.
    """
    columns = []
    for name in part.value.names:
        values = evidence.values(part, replace(name, direction=name.direction or part.direction))
        if values is None:
            return None
        columns.append(values)
    fewest = min(len(column) for column in columns)
    rows = np.column_stack([column[:fewest] for column in columns])
    known: Floats = rows[np.isfinite(rows).all(axis=1)]
    return known


def _holm_levels(opened: Sequence[Sequence[_Open]]) -> list[float]:
    """Return the significance level of each claim, by Holm's step-down procedure."""
    left = {at for at, parts in enumerate(opened) if any(part.counts for part in parts)}
    levels = [_ERROR] * len(opened)
    while left:
        level = _ERROR / len(left)
        for at in left:
            levels[at] = level
        decided = {
            at for at in left if _claim_verdict(opened[at], level) is not ClaimVerdict.UNDECIDED
        }
        if not decided:
            break
        left -= decided
    return levels


def _claim_verdict(parts: Sequence[_Open], level: float) -> ClaimVerdict:
    return _together([part.verdict(level) for part in parts if not part.part.is_beside])


def _together(verdicts: Sequence[ClaimVerdict], *, lacks: str = "") -> ClaimVerdict:
    """Return the verdict on a claim from the verdicts on its parts; `lacks` names missing runs."""
    found = set(verdicts)
    for one in (ClaimVerdict.FAILS, ClaimVerdict.NOT_ATTRIBUTABLE, ClaimVerdict.UNDECIDED):
        if one in found:
            return one
    if not found - {ClaimVerdict.NOT_RUN}:
        return ClaimVerdict.NOT_RUN
    if ClaimVerdict.NOT_RUN in found or lacks:
        return ClaimVerdict.UNDECIDED
    return ClaimVerdict.HOLDS if ClaimVerdict.HOLDS in found else ClaimVerdict.INPUT


def _judgement(
    claim: Claim, findings: Sequence[PartFinding], printed: ClaimVerdict | None
) -> Judgement:
    deciding = [each for each in findings if not each.part.is_beside]
    known = [each.theirs_holds for each in deciding if each.theirs_holds is not None]
    theirs = None
    if known:
        theirs = ClaimVerdict.HOLDS if all(known) else ClaimVerdict.FAILS
    verdict = _verdict(claim, findings)
    why = _why(claim, deciding, verdict)
    return Judgement(claim, theirs, printed, verdict, tuple(findings), why)


def _verdict(claim: Claim, findings: Sequence[PartFinding]) -> ClaimVerdict:
    deciding = [each.verdict for each in findings if not each.part.is_beside]
    return _together(deciding, lacks=claim.lacks)


def _why(claim: Claim, deciding: Sequence[PartFinding], verdict: ClaimVerdict) -> str:
    """Return text that says how many parts of a claim have each verdict, and what is missing."""
    counts = [
        f"{number} {_OF_SEVERAL.get(each, each.value) if number > 1 else each.value}"
        for each in ClaimVerdict
        if (number := sum(finding.verdict is each for finding in deciding))
    ]
    parts = ", ".join(counts)
    if verdict in _TESTED and any(
        each.ours is not None and 1 < each.ours.runs < FEWEST_REPETITIONS for each in deciding
    ):
        parts += f"; fewer than {FEWEST_REPETITIONS} repetitions cannot decide a claim"
    return "; ".join(text for text in (parts, claim.lacks) if text)
