"""Read the claims of a paper: the statement of each claim, and the test that decides it.

The claims are stored in `data/papers/ID/claims.toml`, which is part of cwndlab; error messages
name the line of the file.
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
    """One quantity on which a claim of a paper depends, and the bounds for its value."""

    metric: str
    """Name of the measured quantity.

    By default, this is a column of the table `flows`, or `jain_index`. If `of_samples` is set, this
    is a column of the time series. If `at` is set, this is a measure of the congestion window: a
    key of `MEASURES` in the module `cwndlab.papers.reading`.
    """
    direction: Way
    at_least: float = -math.inf
    at_most: float = math.inf
    is_open: bool = False
    """True if the bounds are exclusive, as in the claim "is higher than"."""
    test: Test = "bounds"
    """Statistical test that decides whether the quantity meets its bounds.

    `bounds` uses the confidence interval, `equality` uses two one-sided tests, and `sign` uses the
    sign test over pairs.
    """
    at: float | None = None
    """Argument of a measure of the congestion window. The measure determines the meaning of this
    argument: a loss episode (1 is the first), a window in packets, or a start time in seconds."""
    of_samples: str = ""
    """Statistic that is computed from a flow's time series, such as `p95`."""
    is_total: bool = False
    """True if the values of all flows in a run are added before averaging over repetitions."""
    is_median: bool = False
    """True if medians over flows and repetitions are used instead of means."""
    rests_on: str = ""
    """Link parameter on which cwndlab's value for this part of the claim depends. If the parameter
    is calibrated to the paper, cwndlab's value for this part agrees with the paper by
    construction."""
    is_beside: bool = False
    """True if this part of the claim is only displayed, and does not influence the verdict on the
    claim."""
    row_factor: str | None = None
    """Factor of the study whose levels are the rows of a table.

    The default is the `row_factor` in the `[study]` table of the claims file.
    """
    column_factor: str | None = None
    """Factor of the study whose levels are the columns of a table.

    The default is the `variant_factor` in the `[study]` table of the claims file.
    """
    is_by_sender: bool = False
    """True if the TCP variant was set at the sender in cwndlab's runs, but not in the paper's
    experiments."""
    where: dict[str, LevelText] = Field(default={})
    """Maps factors of the study to levels; the claim uses only runs with all of these levels."""
    what: str = ""
    """Description of the quantity that the claim measures."""


class _WrittenPart(_PartSettings):
    """An entry of a claims file.

    The entry defines one part of a claim for each combination of the values in `each`.
    """

    value: str
    each: dict[str, tuple[str | int, ...]] = Field(default={})


class ClaimPart(_PartSettings):
    """One part of a claim: a measured value, and the bounds that the value must meet."""

    value: InstanceOf[Expression]

    @property
    def is_of_variants(self) -> bool:
        """True if this part of a claim depends on the variant, not only on rows or directions."""
        if self.column_factor is not None:
            return False
        rows: dict[tuple[str | None, str | None], set[str]] = {}
        for name in self.value.names:
            rows.setdefault((name.direction, name.row), set()).add(name.variant)
        one, *others = rows.values()
        return not others or any(each != one for each in others)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value for which the claim holds."""
        if not self.is_open:
            return self.at_least, self.at_most
        return math.nextafter(self.at_least, math.inf), math.nextafter(self.at_most, -math.inf)

    @property
    def directions(self) -> set[str]:
        """The directions of the flows that this part of a claim uses."""
        return {name.direction or self.direction for name in self.value.names}

    @property
    def asked(self) -> str:
        """The lowest and the highest accepted value of this part of a claim, as text."""
        if math.isinf(self.at_most):
            return f"{'above' if self.is_open else 'at least'} {self.at_least:g}"
        if math.isinf(self.at_least):
            return f"{'below' if self.is_open else 'at most'} {self.at_most:g}"
        return f"{self.at_least:g} to {self.at_most:g}"

    def __str__(self) -> str:
        """Return this part of a claim as one line of text: the tested value and its bounds."""
        what = f"{self.of_samples} of {self.metric}" if self.of_samples else self.metric
        named = any(name.direction for name in self.value.names)
        way = "" if named else f"{self.direction} "
        where = "".join(f", {name} {level}" for name, level in self.where.items())
        return f"{way}{what}{where}: {self.value} {self.asked}"


class _ClaimFacts(Model):
    """The fields of a claim that do not depend on how the claim is tested."""

    id: str
    says: str
    own_data: str
    """Where the paper contains the numbers of the claim, for example `table V` or `box plots`."""
    lacks: str = ""
    """Description of the runs that would decide the claim but are missing from the study. Required
    if the claim has no parts."""


class _WrittenClaim(_ClaimFacts):
    """A claim of a paper, as it is written in the claims file."""

    part: tuple[_WrittenPart, ...] = ()

    @model_validator(mode="after")
    def _is_decided_or_lacks(self) -> Self:
        if not self.part and not self.lacks:
            msg = (
                f"{self.id}: a claim without parts needs the key `lacks`, which lists the missing "
                "runs"
            )
            raise ValueError(msg)
        return self


class Claim(_ClaimFacts):
    """A claim of a paper, and the parts that decide the claim."""

    parts: tuple[ClaimPart, ...]


class Experiment(Model):
    """A change to the study that may explain why cwndlab's results differ from the paper's."""

    changed: str
    claims: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    levels: dict[str, LevelText] = Field(default={})
    """Maps factors to levels. The runs with these levels are the experiment's runs, to which the
    change applies. To show the effect of the change, a claim or table is evaluated again on these
    runs: these levels replace the levels that the claim or table sets for the same factors."""
    among: dict[str, LevelText] = Field(default={})
    """Maps further factors to levels. All compared runs must have these levels: the runs with the
    change, and the runs without the change."""
    variants: dict[str, str] = Field(default={})
    """Maps each variant that the experiment replaces to the variant that replaces it."""

    @model_validator(mode="after")
    def _explains(self) -> Self:
        if not (self.levels or self.variants) or not (self.claims or self.tables):
            msg = (
                f"{self.changed}: an experiment must set `levels` or `variants` (the change), and "
                "`claims` or `tables` (what the change may explain)"
            )
            raise ValueError(msg)
        return self


class ChosenSetting(Model):
    """A TCP setting that reproduces the paper's figures, but contradicts the paper's text.

    cwndlab chose this setting. The study runs each TCP variant that the setting affects twice: with
    the chosen setting, and with the setting that the paper states.
    """

    setting: str
    """Text that names both the chosen TCP setting and the setting that the paper states."""
    variants: dict[str, str]
    """Maps the name of each variant with the chosen setting to the name of the same variant with
    the setting that the paper states."""


class _StudyOfClaims(Model):
    """The study's names for the factors and variants that a paper's claims mention."""

    preset: str
    variants: tuple[str, ...]
    variant_factor: str
    row_factor: str | None = None
    varied_by_sender: tuple[Way, ...]
    """Data directions in which the paper's experiments set the TCP variant at the sender.

    In any other direction, the sender's variant did not change. Differences between results in such
    a direction are therefore not attributed to the variants.
    """
    is_deterministic: bool = False
    """True if nothing in the study is random, so that one run is enough."""
    where: dict[str, LevelText] = Field(default={})
    """Levels of factors that select the runs for each part of a claim, unless the part sets
    other levels."""


class _ClaimsFile(Model):
    """Contents of a claims file; expressions are still text."""

    study: _StudyOfClaims
    claim: tuple[_WrittenClaim, ...]
    chosen: tuple[ChosenSetting, ...] = ()
    experiment: tuple[Experiment, ...] = ()


class Claims(_StudyOfClaims):
    """The claims of a paper, and the names of factors and variants that the claims use."""

    paper: str
    claims: tuple[Claim, ...]
    chosen: tuple[ChosenSetting, ...] = ()
    experiments: tuple[Experiment, ...] = ()

    @property
    def as_printed(self) -> dict[str, str]:
        """Maps each variant with a chosen setting to its counterpart with the paper's setting."""
        return {name: other for each in self.chosen for name, other in each.variants.items()}


def load_claims(paper_id: str) -> Claims:
    """Load the claims of a paper.

    Raises:
        UnknownNameError: cwndlab contains no claims of a paper with this name.
        CwndlabError: the file with the claims is invalid; the message names the line.
    """
    return parse_claims(claims_file(paper_id), paper_id)


def parse_claims(source: TomlSource, paper_id: str) -> Claims:
    """Return the claims that a claims file contains.

    Raises:
        CwndlabError: a key is missing, unknown or of the wrong type, or a value is not an
            expression; the message names the line.
    """
    written = checked(source, _ClaimsFile)
    known = {claim.id for claim in written.claim}
    strangers = [
        FieldError(
            ("experiment", n, "claims"),
            f"`claims` lists {', '.join(unknown)}, but the file contains no such claim",
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
    return Claims(
        paper=paper_id,
        claims=claims,
        chosen=written.chosen,
        experiments=written.experiment,
        **study,
    )


def _parts(
    written: _WrittenPart, study: _StudyOfClaims, key: tuple[str | int, ...]
) -> Iterator[ClaimPart]:
    """Yield the parts of a claim that one entry of the file defines.

    There is one part for each combination of values in `each`. A part uses only runs with the
    levels in `where`. If `where` of the study and of the entry set the same factor, the entry takes
    precedence. A factor with the level "any" does not restrict the runs. The entry's `row_factor`
    does not restrict them either, because its levels are the rows of a table.

    Raises:
        FieldError: the entry's `value` is not an expression, or its `what` uses a name that is not
            in `each`.
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
            message = (
                f"{error} is not a name in `each`, which contains {', '.join(given) or 'no names'}"
            )
            raise FieldError((*key, "what"), message) from None
        yield ClaimPart(**{**settings, "value": value, "where": levels, "what": what})
