"""A paper's claims as data: what each says, and the parts of the test that decides it.

They are our own files, `data/papers/ID/claims.toml`; unknown keys are errors.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cwndlab.papers.expression import Expression
from cwndlab.papers.library import claimed_papers, claims_document

_WRITTEN_OTHERWISE = frozenset({"each", "value", "where", "what"})

Test = Literal["bounds", "equality", "sign"]


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """One value that a claim is decided by, and its bounds."""

    value: Expression
    metric: str
    """Column of the flows' results; of their samples if `of_samples` is set; a measure of
    `cwndlab.papers.reading` if `at` is."""
    direction: str
    at_least: float = -math.inf
    at_most: float = math.inf
    is_open: bool = False
    """Whether the bounds themselves lie outside, as for "is higher than"."""
    test: Test = "bounds"
    """`bounds` by the interval; `equality` by two one-sided tests; `sign` pair by pair."""
    at: float | None = None
    """What the measure of a window is told."""
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
    where: Mapping[str, str] = field(default_factory=dict)
    """Levels of further factors: only runs with all of them count."""
    what: str = ""
    """The value in words."""

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


@dataclass(frozen=True)
class Claim:
    """What a paper says, and how a program decides it."""

    id: str
    says: str
    own_data: str
    """Where the paper's own numbers stand if they are not in its tables."""
    parts: tuple[ClaimPart, ...]
    lacks: str = ""
    """What the study does not run of it; a claim without a part is not run at all."""


@dataclass(frozen=True)
class Experiment:
    """One thing changed in the study, and the claims and tables that it may explain."""

    changed: str
    claims: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    """Levels of factors that its runs have in place of a claim's own."""
    among: Mapping[str, str] = field(default_factory=dict)
    """Levels that both sides are kept to, where the experiment does not run all of them."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """Variants that stand in the place of others."""


@dataclass(frozen=True)
class Claims:
    """The claims of a paper, and where a study has what they speak of."""

    paper: str
    preset: str
    variants: tuple[str, ...]
    variant_factor: str
    row_factor: str | None
    varied_by_sender: tuple[str, ...]
    """Directions in which the paper's sender ran the variant.  Elsewhere a difference between
    variants is nobody's."""
    is_deterministic: bool
    """Whether nothing in the study is drawn: one run says all."""
    claims: tuple[Claim, ...]
    experiments: tuple[Experiment, ...] = ()


def load_claims(paper_id: str) -> Claims:
    """Return a paper's claims.

    Raises:
        ValueError: There are none of such a paper, or its file is wrong.
    """
    if paper_id not in claimed_papers():
        msg = f'no claims of "{paper_id}"; there are those of {", ".join(claimed_papers())}'
        raise ValueError(msg)
    return parse_claims(claims_document(paper_id), paper_id)


def parse_claims(document: Mapping[str, Any], paper_id: str) -> Claims:
    """Return the claims that a document holds.

    Raises:
        ValueError: A key is missing or unknown, or a test is no expression.
    """
    unknown = set(document) - {"study", "claim", "experiment"}
    if unknown:
        msg = f"{paper_id}: unknown table {', '.join(sorted(unknown))}"
        raise ValueError(msg)
    try:
        study = {"row_factor": None, "is_deterministic": False, **document["study"]}
        variants = tuple(study.pop("variants"))
        where = study.pop("where", {})
        claims = tuple(_claim(table, variants, where) for table in document["claim"])
        known = {claim.id for claim in claims}
        return Claims(
            paper=paper_id,
            variants=variants,
            varied_by_sender=tuple(study.pop("varied_by_sender")),
            claims=claims,
            experiments=tuple(
                _experiment(table, known) for table in document.get("experiment", [])
            ),
            **study,
        )
    except KeyError as error:
        msg = f"{paper_id}: {error} is missing"
        raise ValueError(msg) from None
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        msg = f"{paper_id}: {str(error).replace('.__init__()', ':')}"
        raise ValueError(msg) from None


def _experiment(table: Mapping[str, Any], known: set[str]) -> Experiment:
    lists = {key: tuple(table.get(key, ())) for key in ("claims", "tables")}
    found = Experiment(**{**table, **lists})
    if unknown := set(found.claims) - known:
        msg = f"{found.changed}: explains {', '.join(sorted(unknown))}, which are no claims"
        raise ValueError(msg)
    if not (found.levels or found.variants) or not (found.claims or found.tables):
        msg = f"{found.changed}: an experiment says what it runs, and what that may explain"
        raise ValueError(msg)
    return found


def _claim(table: Mapping[str, Any], variants: tuple[str, ...], where: Mapping[str, str]) -> Claim:
    parts = [part for entry in table.get("part", []) for part in _parts(entry, variants, where)]
    if not parts and not table.get("lacks"):
        msg = f"{table['id']}: a claim without a part says what the study lacks"
        raise ValueError(msg)
    own = {key: value for key, value in table.items() if key != "part"}
    return Claim(**own, parts=tuple(parts))


def _parts(
    entry: Mapping[str, Any], variants: tuple[str, ...], where: Mapping[str, str]
) -> list[ClaimPart]:
    """Return an entry's parts: one for each combination of what `each` lists.

    A part that has a factor for its rows is asked for none of its levels by `where`, nor is one
    that says "any" of a factor that the study's own `where` asks for.
    """
    own = {key: value for key, value in entry.items() if key not in _WRITTEN_OTHERWISE}
    each: Mapping[str, list[str | int]] = entry.get("each", {})
    asked = {**where, **entry.get("where", {})}
    asked.pop(str(entry.get("row_factor")), None)
    parts = []
    for values in itertools.product(*each.values()):
        given = dict(zip(each, values, strict=True))
        levels = {
            name: str(given.get(level, level)) for name, level in asked.items() if level != "any"
        }
        value = Expression(entry["value"], variants, given)
        what = entry.get("what", "").format(**given)
        parts.append(ClaimPart(value, where=levels, what=what, **own))
    return parts
