"""A paper's facts as data: its description, its figures, and numbers to compare with ours.

They are our own files, `data/papers/ID/paper.toml`; errors in a file name the line.
"""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, InstanceOf, model_validator

from cwndlab.papers.expression import Expression
from cwndlab.papers.library import facts_file, paper_ids
from cwndlab.schema.base import Model
from cwndlab.schema.checking import checked
from cwndlab.text.toml import TomlSource

Way = Literal["downlink", "uplink"]
"""Direction of the data."""


def _as_range(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value, value)


def _as_level(value: object) -> object:
    return str(value) if isinstance(value, int | float) else value


def _as_number(value: object) -> object:
    if not isinstance(value, str | int | float):
        return value
    written = Expression(str(value))
    if written.names:
        msg = "only numbers are allowed here, not names"
        raise ValueError(msg)
    return written


LevelText = Annotated[str, BeforeValidator(_as_level)]
"""A level of a factor; a number is read as its text."""
ReadRange = Annotated[tuple[float, float], BeforeValidator(_as_range)]
"""A number read from a figure, or a range of two."""
WrittenOut = Annotated[InstanceOf[Expression], BeforeValidator(_as_number)]
"""A calculation with the paper's numbers."""


class PaperFigure(Model):
    """A figure of the paper: the variants whose windows it shows, and the time range."""

    name: str
    title: str
    variants: tuple[str, ...]
    start_s: float
    stop_s: float


class PaperPlot(Model):
    """A figure of the paper that shows a distribution over runs; ours is drawn in the same way."""

    name: str
    title: str
    kind: Literal["cdf", "box", "bars"]
    """Kind: cumulative distribution, box plot, or means with intervals."""
    metric: str
    """Column of the flows' results."""
    direction: Way
    panel_factor: str | None = None
    """The factor whose levels are the panels or the groups of bars."""
    panels: tuple[LevelText, ...] = ("",)
    where: dict[str, LevelText] = Field(default={})
    """Levels of further factors: only runs with all of them count."""
    total: bool = False
    """Whether the flows of a run are added up."""
    note: str = ""


class PaperNumber(Model):
    """One number of the paper, and how ours is measured."""

    variant: str
    says: str
    measure: str
    """Name of a measure of `cwndlab.papers.reading`."""
    unit: str
    value: ReadRange
    at: float = 0.0
    """Parameter of the measure: a level, the number of an episode, or a time."""
    is_calibrated: bool = False
    """Whether our link was calibrated to the number; if not, ours is a prediction."""

    @property
    def low(self) -> float:
        """The lowest value of the reading."""
        return self.value[0]

    @property
    def high(self) -> float:
        """The highest value of the reading."""
        return self.value[1]

    @property
    def reading(self) -> float:
        """The number, or the middle of its range."""
        return (self.low + self.high) / 2


class PaperTable(Model):
    """A table of the paper: one metric of flows by two factors."""

    name: str
    title: str
    metric: str
    """Column of the flows' results, whose mean over flows and repetitions is compared."""
    scale: float = 1.0
    """Factor that converts our values to the paper's unit."""
    unit: str
    direction: Way
    column_factor: str
    columns: tuple[LevelText, ...]
    row_factor: str | None = None
    """Factor of the rows; None for a table of one row."""
    rows: tuple[LevelText, ...] = ("",)
    values: tuple[tuple[ReadRange, ...], ...]
    """Row by row."""
    within: float | None = None
    """Relative tolerance beyond the range; None if the table is only shown."""
    total: bool = False
    """Whether the flows of a run are summed, so that only repetitions are averaged."""
    where: dict[str, LevelText] = Field(default={})
    """Levels of further factors: only runs with all of them count."""
    calibrated: tuple[LevelText, ...] = ()
    """Rows and columns to which our link or host was calibrated; `*` means all.

    The others are predictions.
    """
    note: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.values) != len(self.rows) or any(
            len(row) != len(self.columns) for row in self.values
        ):
            msg = f"{self.name}: the number of values does not match its rows and columns"
            raise ValueError(msg)
        if unknown := set(self.calibrated) - {"*", *self.rows, *self.columns}:
            which = ", ".join(sorted(unknown))
            msg = f"{self.name}: calibrated to {which}, which it does not have"
            raise ValueError(msg)
        return self


class Plausibility(Model):
    """A check of the paper's numbers: two ways to compute one of them, which must agree."""

    says: str
    value: WrittenOut
    """Expression over the paper's numbers."""
    stated: WrittenOut
    """The number that the paper states, or another way to compute it."""
    unit: str
    within: float
    """Relative difference within the precision of the paper's numbers."""
    note: str = ""

    @property
    def computed(self) -> float:
        """The value."""
        return float(self.value.evaluate({}))

    @property
    def given(self) -> float:
        """The stated value."""
        return float(self.stated.evaluate({}))

    @property
    def difference(self) -> float:
        """Relative difference of the value from the stated one."""
        return self.computed / self.given - 1

    @property
    def holds(self) -> bool:
        """Whether the stated and the computed value agree."""
        return abs(self.difference) <= self.within


class About(Model):
    """A published study."""

    title: str
    authors: str
    method: str
    conclusion: str
    axis_label: str = ""
    """The paper's label of its axis of windows, where that differs from the quantity."""
    axis_note: str = ""
    time_tolerance: float = 0.0
    """Relative tolerance of times and periods."""
    window_tolerance_pkts: float = 0.0


class Facts(Model):
    """The file of a paper's facts."""

    paper: About
    figure: tuple[PaperFigure, ...] = ()
    check: tuple[PaperNumber, ...] = ()
    table: tuple[PaperTable, ...] = ()
    plot: tuple[PaperPlot, ...] = ()
    plausibility: tuple[Plausibility, ...] = ()


class Paper(About):
    """A published study."""

    id: str
    figures: tuple[PaperFigure, ...]
    checks: tuple[PaperNumber, ...]
    tables: tuple[PaperTable, ...]
    plots: tuple[PaperPlot, ...]
    plausibility: tuple[Plausibility, ...]


def find_paper(study_id: str) -> Paper | None:
    """Return the paper that a study of this name reproduces; None if there is none."""
    return load_paper(study_id) if study_id in paper_ids() else None


def load_paper(paper_id: str) -> Paper:
    """Return a paper's facts.

    Raises:
        UnknownNameError: there is no such paper.
        CwndlabError: its file is wrong; the message names the line.
    """
    return parse_paper(facts_file(paper_id), paper_id)


def parse_paper(source: TomlSource, paper_id: str) -> Paper:
    """Return the facts that a file holds.

    Raises:
        CwndlabError: a key is missing, unknown or of another type; the message names the line.
    """
    facts = checked(source, Facts)
    return Paper(
        id=paper_id,
        figures=facts.figure,
        checks=facts.check,
        tables=facts.table,
        plots=facts.plot,
        plausibility=facts.plausibility,
        **dict(facts.paper),
    )
