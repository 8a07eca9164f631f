"""A paper's facts as data: what it is, its figures, and numbers to set ours beside.

They are our own files, `data/papers/ID/paper.toml`; unknown keys are errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_type_hints

from cwndlab.papers.expression import Expression
from cwndlab.papers.library import facts_document, paper_ids


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of the paper: whose windows it shows, and when."""

    name: str
    title: str
    variants: tuple[str, ...]
    start_s: float
    stop_s: float


@dataclass(frozen=True, slots=True)
class PaperPlot:
    """A figure of the paper that shows how runs lie: the same is drawn of ours."""

    name: str
    title: str
    kind: Literal["cdf", "box", "bars"]
    """Cumulative shares; quartiles, whiskers and mean; means with their intervals."""
    metric: str
    """Column of the flows' results."""
    direction: str
    """`downlink` or `uplink`: which way the data ran."""
    panel_factor: str | None = None
    """The factor whose levels are panels; for bars, the levels that stand side by side."""
    panels: tuple[str, ...] = ("",)
    where: Mapping[str, str] = field(default_factory=dict)
    """Levels of further factors: only runs with all of them count."""
    total: bool = False
    """Whether the flows of a run are added up."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PaperNumber:
    """One number of the paper's reading: what it says, and how ours is measured."""

    variant: str
    says: str
    measure: str
    """Name of a measure of `cwndlab.papers.reading`."""
    unit: str
    low: float
    high: float
    """The reading as a range; equal bounds for one number."""
    at: float = 0.0
    """What the measure is told: a level, a number of an episode, a time."""
    is_calibrated: bool = False
    """Whether our link was calibrated to it; what is not is predicted."""

    @property
    def reading(self) -> float:
        """The number, or the middle of its range."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper: one metric of flows by two factors."""

    name: str
    title: str
    metric: str
    """Column of the flows' results, whose mean over flows and repetitions is compared."""
    scale: float
    """Ours times this is in the paper's unit."""
    unit: str
    direction: str
    """`downlink` or `uplink`: which way the data ran."""
    column_factor: str
    columns: tuple[str, ...]
    row_factor: str | None
    """None for a table of one row."""
    rows: tuple[str, ...]
    values: tuple[tuple[tuple[float, float], ...], ...]
    """Row by row: numbers as ranges of equal bounds."""
    within: float | None
    """Relative tolerance beside the range; None if the table is only shown."""
    total: bool = False
    """Whether the flows of a run are added up, and only repetitions averaged."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Levels of further factors: only runs with all of them count."""
    calibrated: tuple[str, ...] = ()
    """Rows and columns that our link or host was calibrated to; `*`: all of it. The others are
    predicted."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plausibility:
    """Two ways to one number of the paper, which have to agree if its figures are right."""

    says: str
    value: Expression
    """Of the paper's numbers, written out."""
    stated: Expression
    """What the paper states, or another way to the same."""
    unit: str
    within: float
    """Relative difference that the paper's own precision allows."""
    note: str = ""

    @property
    def computed(self) -> float:
        """The value."""
        return float(self.value.evaluate({}))

    @property
    def given(self) -> float:
        """What is stated."""
        return float(self.stated.evaluate({}))

    @property
    def difference(self) -> float:
        """Of the value to what is stated, relative."""
        return self.computed / self.given - 1

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return abs(self.difference) <= self.within


@dataclass(frozen=True)
class Paper:
    """A published study."""

    id: str
    title: str
    authors: str
    method: str
    figures: tuple[PaperFigure, ...]
    checks: tuple[PaperNumber, ...]
    tables: tuple[PaperTable, ...]
    plots: tuple[PaperPlot, ...]
    plausibility: tuple[Plausibility, ...]
    conclusion: str
    axis_label: str = ""
    """How the paper labels its axis of windows, where that differs from what it counts."""
    axis_note: str = ""
    time_tolerance: float = 0.0
    """Relative tolerance of times and periods."""
    window_tolerance_pkts: float = 0.0


def find_paper(study_id: str) -> Paper | None:
    """Return the paper that a study of this name reproduces; None if there is none."""
    return load_paper(study_id) if study_id in paper_ids() else None


def load_paper(paper_id: str) -> Paper:
    """Return a paper's facts.

    Raises:
        ValueError: There is no such paper, or its file is wrong.
    """
    if paper_id not in paper_ids():
        msg = f'no paper is called "{paper_id}"; there are {", ".join(paper_ids())}'
        raise ValueError(msg)
    return parse_paper(facts_document(paper_id), paper_id)


def parse_paper(document: Mapping[str, Any], paper_id: str) -> Paper:
    """Return the facts that a document holds.

    Raises:
        ValueError: A key is missing or unknown.
    """
    unknown = set(document) - {"paper", "figure", "check", "table", "plot", "plausibility"}
    if unknown:
        msg = f"{paper_id}: unknown table {', '.join(sorted(unknown))}"
        raise ValueError(msg)
    try:
        figures = tuple(_figure(table) for table in document.get("figure", []))
        checks = tuple(_check(table) for table in document.get("check", []))
        tables = tuple(_table(table) for table in document.get("table", []))
        plots = tuple(_plot(table) for table in document.get("plot", []))
        plausibility = tuple(_plausibility(table) for table in document.get("plausibility", []))
        return Paper(
            id=paper_id,
            figures=figures,
            checks=checks,
            tables=tables,
            plots=plots,
            plausibility=plausibility,
            **document["paper"],
        )
    except TypeError as error:
        msg = f"{paper_id}: {str(error).replace('.__init__()', ':')}"
        raise ValueError(msg) from None


def _figure(table: Mapping[str, Any]) -> PaperFigure:
    return PaperFigure(**{**table, "variants": tuple(table["variants"])})


def _plot(table: Mapping[str, Any]) -> PaperPlot:
    kinds = get_args(get_type_hints(PaperPlot)["kind"])
    if table.get("kind") not in kinds:
        msg = f"{table.get('name')}: its kind is one of {', '.join(kinds)}"
        raise ValueError(msg)
    return PaperPlot(**{**table, "panels": tuple(map(str, table.get("panels", [""])))})


def _plausibility(table: Mapping[str, Any]) -> Plausibility:
    ways = {name: Expression(str(table[name])) for name in ("value", "stated")}
    if any(each.names for each in ways.values()):
        msg = f"{table['says']}: numbers are written out"
        raise ValueError(msg)
    return Plausibility(**{**table, **ways})


def _table(table: Mapping[str, Any]) -> PaperTable:
    given = {"row_factor": None, "rows": [""], "scale": 1.0, "within": None, **table}
    rows, columns = tuple(map(str, given["rows"])), tuple(given["columns"])
    values = tuple(tuple(_range(value) for value in row) for row in given["values"])
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values):
        msg = f"{table['name']}: its values are not as many as its rows and columns"
        raise ValueError(msg)
    calibrated = tuple(map(str, given.get("calibrated", ())))
    unknown = set(calibrated) - {"*", *rows, *columns}
    if unknown:
        msg = f"{table['name']}: calibrated to {', '.join(sorted(unknown))}, which it does not have"
        raise ValueError(msg)
    shaped = {"rows": rows, "columns": columns, "values": values, "calibrated": calibrated}
    return PaperTable(**{**given, **shaped})


def _range(value: float | list[float]) -> tuple[float, float]:
    low, high = value if isinstance(value, list) else (value, value)
    return low, high


def _check(table: Mapping[str, Any]) -> PaperNumber:
    value = table["value"]
    low, high = value if isinstance(value, list) else (value, value)
    return PaperNumber(
        low=low, high=high, **{name: table[name] for name in table if name != "value"}
    )
