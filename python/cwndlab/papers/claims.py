"""A paper's claims as data: the statement of each, and the parts of the test that decides it.

They are our own files, `data/papers/ID/claims.toml`; errors in a file name the line.
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
    """The quantity that a part of a claim measures, and the condition for it to hold."""

    metric: str
    """Column of the flows' results.

    If `of_samples` is set, it is a column of the samples; if `at` is set, a measure of
    `cwndlab.papers.reading`.
    """
    direction: Way
    at_least: float = -math.inf
    at_most: float = math.inf
    is_open: bool = False
    """Whether the bounds are exclusive, as for "is higher than"."""
    test: Test = "bounds"
    """How the part is decided:

    `bounds` by the interval, `equality` by two one-sided tests, `sign` by the sign test over
    pairs.
    """
    at: float | None = None
    """Parameters of the measure of a window."""
    of_samples: str = ""
    """The statistic of a flow's time series, such as `p95`."""
    is_total: bool = False
    """Whether flows of a run are summed, so that only repetitions are averaged."""
    is_median: bool = False
    """Whether medians are taken over flows and repetitions instead of means."""
    rests_on: str = ""
    """Figure of the study's link on which the claim depends; it may be calibrated."""
    is_beside: bool = False
    """Whether the part is shown without deciding the claim."""
    row_factor: str | None = None
    """Factor whose levels are the rows of the cells; the study's own if None."""
    column_factor: str | None = None
    """Factor whose levels are the names of the cells; the study's variants if None."""
    is_by_sender: bool = False
    """Whether the sender ran the variant in our runs, although the paper's sender did not."""
    where: dict[str, LevelText] = Field(default={})
    """Levels of further factors: only runs with all of them count."""
    what: str = ""
    """The value in words."""


class _WrittenPart(_PartSettings):
    """Parts as written in a file: one for each combination of the values in `each`."""

    value: str
    each: dict[str, tuple[str | int, ...]] = Field(default={})


class ClaimPart(_PartSettings):
    """One value that a claim is decided by, and its bounds."""

    value: InstanceOf[Expression]

    @property
    def is_of_variants(self) -> bool:
        """Whether the part compares variants, and not only rows of the same variant."""
        if self.column_factor is not None:
            return False
        rows: dict[tuple[str | None, str | None], set[str]] = {}
        for name in self.value.names:
            rows.setdefault((name.direction, name.row), set()).add(name.variant)
        one, *others = rows.values()
        return not others or any(each != one for each in others)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value with which it holds."""
        if not self.is_open:
            return self.at_least, self.at_most
        return math.nextafter(self.at_least, math.inf), math.nextafter(self.at_most, -math.inf)

    @property
    def directions(self) -> set[str]:
        """The directions of the flows that it uses."""
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
    """Description of parts that the study does not run; without any parts, a claim is not run."""


class _WrittenClaim(_ClaimFacts):
    """A claim as written in a file."""

    part: tuple[_WrittenPart, ...] = ()

    @model_validator(mode="after")
    def _is_decided_or_lacks(self) -> Self:
        if not self.part and not self.lacks:
            msg = f"{self.id}: a claim without parts needs `lacks`, which says what the study lacks"
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
    """Levels of factors that replace a claim's own in the experiment's runs."""
    among: dict[str, LevelText] = Field(default={})
    """Levels to which both sides are restricted, if the experiment does not run all."""
    variants: dict[str, str] = Field(default={})
    """Variants that replace others."""

    @model_validator(mode="after")
    def _explains(self) -> Self:
        if not (self.levels or self.variants) or not (self.claims or self.tables):
            msg = f"{self.changed}: an experiment needs levels or variants, and claims or tables"
            raise ValueError(msg)
        return self


class _StudyOfClaims(Model):
    """The names in a study of the factors and variants that claims mention."""

    preset: str
    variants: tuple[str, ...]
    variant_factor: str
    row_factor: str | None = None
    varied_by_sender: tuple[Way, ...]
    """Directions in which the paper's sender ran the variant.

    In other directions, differences between variants are not attributed to an algorithm.
    """
    is_deterministic: bool = False
    """Whether the study has no random draws, so that one run is enough."""


class _WrittenStudy(_StudyOfClaims):
    """The names as written in a file."""

    where: dict[str, LevelText] = Field(default={})
    """Levels that select the runs of every part that names none."""


class _ClaimsFile(Model):
    """The file of a paper's claims."""

    study: _WrittenStudy
    claim: tuple[_WrittenClaim, ...]
    experiment: tuple[Experiment, ...] = ()


class Claims(_StudyOfClaims):
    """The claims of a paper, and the study's names of the factors and variants in them."""

    paper: str
    claims: tuple[Claim, ...]
    experiments: tuple[Experiment, ...] = ()


def load_claims(paper_id: str) -> Claims:
    """Return a paper's claims.

    Raises:
        UnknownNameError: there are no claims of a paper of this name.
        CwndlabError: its file is wrong; the message names the line.
    """
    return parse_claims(claims_file(paper_id), paper_id)


def parse_claims(source: TomlSource, paper_id: str) -> Claims:
    """Return the claims that a file holds.

    Raises:
        CwndlabError: a key is missing, unknown or of another type, or a test is not an expression;
            the message names the line.
    """
    written = checked(source, _ClaimsFile)
    known = {claim.id for claim in written.claim}
    strangers = [
        FieldError(
            ("experiment", n, "claims"),
            f"explains {', '.join(unknown)}, which the paper does not claim",
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
    """Return the parts at a key: one for each combination of the values in `each`.

    If a part uses a factor for its rows, `where` does not restrict that factor; nor does the
    study's own `where` if the part says "any".

    Raises:
        FieldError: the value is not an expression, or a name is not listed by `each`.
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
            message = f"{error} is not listed by `each`: {', '.join(given) or 'nothing'}"
            raise FieldError((*key, "what"), message) from None
        yield ClaimPart(**{**settings, "value": value, "where": levels, "what": what})
