"""A paper's claims as data: what each says, and the parts of the test that decides it.

They are our own files, `data/papers/ID/claims.toml`; what is wrong in one is said with its line.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, InstanceOf, model_validator

from cwndlab.papers.expression import Expression
from cwndlab.papers.facts import LevelText, Way
from cwndlab.papers.library import claims_file
from cwndlab.schema.base import Model
from cwndlab.schema.checking import checked, told
from cwndlab.schema.problems import FieldError
from cwndlab.text.toml import TomlSource

Test = Literal["bounds", "equality", "sign"]


class _PartSettings(Model):
    """Measurement and condition of a part of a claim."""

    metric: str
    """Column of the flows' results; of their samples if `of_samples` is set; a measure of
    `cwndlab.papers.reading` if `at` is."""
    direction: Way
    at_least: float = -math.inf
    at_most: float = math.inf
    is_open: bool = False
    """Whether the bounds themselves lie outside, as for "is higher than"."""
    test: Test = "bounds"
    """`bounds` by the interval; `equality` by two one-sided tests; `sign` pair by pair."""
    at: float | None = None
    """Parameters of the measure of a window."""
    of_samples: str = ""
    """Which number of a flow's time series, such as `p95`."""
    is_total: bool = False
    """Whether the flows of a run are added up, and only repetitions averaged."""
    is_median: bool = False
    """Whether medians are taken over flows and repetitions instead of means."""
    rests_on: str = ""
    """The figure of the study's link that decides it; if that is calibrated, so is this."""
    is_beside: bool = False
    """Whether it is shown without deciding the claim."""
    row_factor: str | None = None
    """The factor whose levels are the rows of its cells; the study's own if None."""
    column_factor: str | None = None
    """The factor whose levels the names of its cells are; the study's variants if None."""
    is_by_sender: bool = False
    """Whether the sender ran the variant in these runs, though the paper's did not."""
    where: dict[str, LevelText] = Field(default={})
    """Levels of further factors: only runs with all of them count."""
    what: str = ""
    """The value in words."""


class _WrittenPart(_PartSettings):
    """Parts as a file has them: one for each combination of what `each` lists."""

    value: str
    each: dict[str, tuple[str | int, ...]] = Field(default={})


class ClaimPart(_PartSettings):
    """One value that a claim is decided by, and its bounds."""

    value: InstanceOf[Expression]

    @property
    def is_of_variants(self) -> bool:
        """Whether it says something of variants, and not only of rows that have the same ones."""
        if self.column_factor is not None:
            return False
        rows: dict[tuple[str | None, str | None], set[str]] = {}
        for name in self.value.names:
            rows.setdefault((name.direction, name.row), set()).add(name.variant)
        one, *others = rows.values()
        return not others or any(each != one for each in others)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value that hold."""
        if not self.is_open:
            return self.at_least, self.at_most
        return math.nextafter(self.at_least, math.inf), math.nextafter(self.at_most, -math.inf)

    @property
    def directions(self) -> set[str]:
        """The directions whose flows it looks at."""
        return {name.direction or self.direction for name in self.value.names}

    @property
    def asked(self) -> str:
        """The bounds in words."""
        if math.isinf(self.at_most):
            return f"{'above' if self.is_open else 'at least'} {self.at_least:g}"
        if math.isinf(self.at_least):
            return f"{'below' if self.is_open else 'at most'} {self.at_most:g}"
        return f"{self.at_least:g} to {self.at_most:g}"

    def __str__(self) -> str:
        """The test in one line."""
        what = f"{self.of_samples} of {self.metric}" if self.of_samples else self.metric
        named = any(name.direction for name in self.value.names)
        way = "" if named else f"{self.direction} "
        where = "".join(f", {name} {level}" for name, level in self.where.items())
        return f"{way}{what}{where}: {self.value} {self.asked}"


class _ClaimFacts(Model):
    """Parts of a claim."""

    id: str
    says: str
    own_data: str
    """Place of the paper's own numbers if they are not in its tables."""
    lacks: str = ""
    """Parts that the study does not run; a claim without parts is not run at all."""


class _WrittenClaim(_ClaimFacts):
    """A claim as a file has it."""

    part: tuple[_WrittenPart, ...] = ()

    @model_validator(mode="after")
    def _is_decided_or_lacks(self) -> Self:
        if not self.part and not self.lacks:
            msg = f"{self.id}: a claim without a part says what the study lacks"
            raise ValueError(msg)
        return self


class Claim(_ClaimFacts):
    """A paper's claim, and the rule that decides it."""

    parts: tuple[ClaimPart, ...]


class Experiment(Model):
    """One thing changed in the study, and the claims and tables that it may explain."""

    changed: str
    claims: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    levels: dict[str, LevelText] = Field(default={})
    """Levels of factors that its runs have in place of a claim's own."""
    among: dict[str, LevelText] = Field(default={})
    """Levels that both sides are kept to, where the experiment does not run all of them."""
    variants: dict[str, str] = Field(default={})
    """Variants that stand in the place of others."""

    @model_validator(mode="after")
    def _explains(self) -> Self:
        if not (self.levels or self.variants) or not (self.claims or self.tables):
            msg = f"{self.changed}: an experiment says what it runs, and what that may explain"
            raise ValueError(msg)
        return self


class _StudyOfClaims(Model):
    """The study's names of the things that claims mention."""

    preset: str
    variants: tuple[str, ...]
    variant_factor: str
    row_factor: str | None = None
    varied_by_sender: tuple[Way, ...]
    """Directions in which the paper's sender ran the variant.  Elsewhere a difference between
    variants is nobody's."""
    is_deterministic: bool = False
    """Whether nothing in the study is drawn: one run says all."""


class _WrittenStudy(_StudyOfClaims):
    """The same as a file has it."""

    where: dict[str, LevelText] = Field(default={})
    """Levels that every part asks for that names none."""


class _ClaimsFile(Model):
    """The file of a paper's claims."""

    study: _WrittenStudy
    claim: tuple[_WrittenClaim, ...]
    experiment: tuple[Experiment, ...] = ()


class Claims(_StudyOfClaims):
    """The claims of a paper, and where a study has what they speak of."""

    paper: str
    claims: tuple[Claim, ...]
    experiments: tuple[Experiment, ...] = ()


def load_claims(paper_id: str) -> Claims:
    """Return a paper's claims.

    Raises:
        UnknownNameError: there are none of such a paper.
        CwndlabError: its file is wrong; names the line.
    """
    return parse_claims(claims_file(paper_id), paper_id)


def parse_claims(source: TomlSource, paper_id: str) -> Claims:
    """Return the claims that a file holds.

    Raises:
        CwndlabError: a key is missing, unknown or of another type, or a test is not an expression;
            names the line.
    """
    written = checked(source, _ClaimsFile)
    known = {claim.id for claim in written.claim}
    strangers = [
        FieldError(
            ("experiment", n, "claims"), f"explains {', '.join(unknown)}, which are not claims"
        )
        for n, experiment in enumerate(written.experiment)
        if (unknown := sorted(set(experiment.claims) - known))
    ]
    if strangers:
        raise told(source, strangers)
    try:
        claims = tuple(
            Claim(
                **{name: getattr(claim, name) for name in _ClaimFacts.model_fields},
                parts=tuple(
                    part
                    for m, each in enumerate(claim.part)
                    for part in _parts(each, written.study, ("claim", n, "part", m))
                ),
            )
            for n, claim in enumerate(written.claim)
        )
    except FieldError as error:
        raise told(source, [error]) from None
    study = {name: getattr(written.study, name) for name in _StudyOfClaims.model_fields}
    return Claims(paper=paper_id, claims=claims, experiments=written.experiment, **study)


def _parts(
    written: _WrittenPart, study: _WrittenStudy, key: tuple[str | int, ...]
) -> Iterator[ClaimPart]:
    """Return the parts that are written at a key: one for each combination of what `each` lists.

    A part that has a factor for its rows is asked for none of its levels by `where`, nor is one
    that says "any" of a factor that the study's own `where` asks for.

    Raises:
        FieldError: the value is not an expression, or the words name what `each` does not list.
    """
    settings = {name: getattr(written, name) for name in _PartSettings.model_fields}
    asked = {**study.where, **written.where}
    asked.pop(str(written.row_factor), None)
    for values in itertools.product(*written.each.values()):
        given = dict(zip(written.each, values, strict=True))
        levels = {
            name: str(given.get(level, level)) for name, level in asked.items() if level != "any"
        }
        try:
            value = Expression(written.value, study.variants, given)
        except (ValueError, TypeError, LookupError) as error:
            raise FieldError((*key, "value"), str(error)) from None
        try:
            what = written.what.format(**given)
        except (ValueError, LookupError, AttributeError) as error:
            message = f"{error} is none of what `each` lists: {', '.join(given) or 'nothing'}"
            raise FieldError((*key, "what"), message) from None
        yield ClaimPart(**{**settings, "value": value, "where": levels, "what": what})
