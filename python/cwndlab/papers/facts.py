"""Read the facts of a paper: its description, its figures, and its numbers for comparison.

The facts are stored in `data/papers/ID/paper.toml`; error messages name the line of the file.
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
"""A level (value) of a factor of the study, as text; a number is converted to text."""
ReadRange = Annotated[tuple[float, float], BeforeValidator(_as_range)]
"""The two ends of a range that the paper states; a single number is stored as two equal ends."""
WrittenOut = Annotated[InstanceOf[Expression], BeforeValidator(_as_number)]
"""An expression that contains numbers, but no names of table cells."""


class PaperFigure(Model):
    """A figure in the paper that shows variants' congestion windows from `start_s` to `stop_s`."""

    name: str
    title: str
    variants: tuple[str, ...]
    start_s: float
    stop_s: float


class PaperPlot(Model):
    """A figure of distributions or means in the paper, which cwndlab redraws from its own runs."""

    name: str
    title: str
    kind: Literal["cdf", "box", "bars", "lines"]
    """Kind of the figure: cumulative distribution, box plot, or means as bars or lines."""
    metric: str
    """Column of the table `flows` whose distribution, or whose mean, the figure shows."""
    direction: Way
    panel_factor: str | None = None
    """Factor of the study whose levels are the figure's panels or groups of bars."""
    panels: tuple[LevelText, ...] = ("",)
    where: dict[str, LevelText] = Field(default={})
    """Maps factors of the study to levels; cwndlab's figure shows only runs with all
    these levels."""
    total: bool = False
    """True if the values of all flows in a run are added, rather than shown for each flow."""
    note: str = ""


class PaperNumber(Model):
    """A number in the paper, and how cwndlab computes the corresponding number from its runs."""

    variant: str
    says: str
    measure: str
    """Name of a measure in `cwndlab.papers.reading`."""
    unit: str
    value: ReadRange
    at: float = 0.0
    """Argument of the measure. The measure determines the meaning of this argument: a window in
    packets, a loss episode (1 is the first), or a start time in seconds."""
    is_calibrated: bool = False
    """True if the link was calibrated to this number, so that cwndlab's number is not a
    prediction."""

    @property
    def low(self) -> float:
        """The number in the paper, or the lower end of the range that the paper states."""
        return self.value[0]

    @property
    def high(self) -> float:
        """The number in the paper, or the upper end of the range that the paper states."""
        return self.value[1]

    @property
    def reading(self) -> float:
        """The number in the paper, or the middle of the range that the paper states."""
        return (self.low + self.high) / 2


class PaperTable(Model):
    """A table in the paper that shows one metric of the flows for levels of one or two factors."""

    name: str
    title: str
    metric: str
    """Column of the table `flows`; its mean over flows and repetitions is compared with the
    paper."""
    scale: float = 1.0
    """Factor by which values in cwndlab's unit are multiplied to obtain the paper's unit."""
    unit: str
    direction: Way
    column_factor: str
    columns: tuple[LevelText, ...]
    row_factor: str | None = None
    """Factor of the study whose levels are the rows; None for a table with a single row."""
    rows: tuple[LevelText, ...] = ("",)
    values: tuple[tuple[ReadRange, ...], ...]
    """Values that the paper prints, row by row."""
    within: float | None = None
    """Tolerated relative difference of cwndlab's numbers from the paper's; None if agreement with
    the table is not judged."""
    total: bool = False
    """True if the values of all flows in a run are added before averaging over repetitions."""
    where: dict[str, LevelText] = Field(default={})
    """Maps factors of the study to levels; only runs with all these levels are compared with the
    table."""
    calibrated: tuple[LevelText, ...] = ()
    """Rows and columns to which the simulated link or host was calibrated; `*` means all.

    cwndlab's values in other rows and columns are predictions.
    """
    note: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.values) != len(self.rows) or any(
            len(row) != len(self.columns) for row in self.values
        ):
            msg = f"{self.name}: the number of values does not match the rows and columns"
            raise ValueError(msg)
        if unknown := set(self.calibrated) - {"*", *self.rows, *self.columns}:
            which = ", ".join(sorted(unknown))
            msg = f"{self.name}: calibrated to {which}, which is not a row or column of the table"
            raise ValueError(msg)
        return self


class Plausibility(Model):
    """A consistency check of the paper: two ways to compute a number, which must agree."""

    says: str
    value: WrittenOut
    """Expression that computes the number from other numbers in the paper."""
    stated: WrittenOut
    """The number as the paper states it, or an expression that computes it in another way."""
    unit: str
    within: float
    """Largest relative difference that the rounding of the paper's numbers can cause."""
    note: str = ""

    @property
    def computed(self) -> float:
        """The number, as computed from other numbers of the paper."""
        return float(self.value.evaluate({}))

    @property
    def given(self) -> float:
        """The number that the paper states."""
        return float(self.stated.evaluate({}))

    @property
    def difference(self) -> float:
        """Relative difference between the computed number and the stated number."""
        return self.computed / self.given - 1

    @property
    def holds(self) -> bool:
        """True if the computed number and the stated number agree, apart from rounding."""
        return abs(self.difference) <= self.within


class About(Model):
    """Description of a published study."""

    title: str
    authors: str
    method: str
    conclusion: str
    axis_label: str = ""
    """The paper's label for the axis of the congestion window, if the axis does not count
    packets."""
    axis_note: str = ""
    time_tolerance: float = 0.0
    """Tolerated relative difference of cwndlab's times and periods from the paper's."""
    window_tolerance_pkts: float = 0.0


class Facts(Model):
    """The content of a file `paper.toml`, which contains the facts of a paper."""

    paper: About
    figure: tuple[PaperFigure, ...] = ()
    check: tuple[PaperNumber, ...] = ()
    table: tuple[PaperTable, ...] = ()
    plot: tuple[PaperPlot, ...] = ()
    plausibility: tuple[Plausibility, ...] = ()


class Paper(About):
    """A published study with its facts."""

    id: str
    figures: tuple[PaperFigure, ...]
    checks: tuple[PaperNumber, ...]
    tables: tuple[PaperTable, ...]
    plots: tuple[PaperPlot, ...]
    plausibility: tuple[Plausibility, ...]


def find_paper(study_id: str) -> Paper | None:
    """Return the paper that a study reproduces, or None if the study reproduces no paper."""
    return load_paper(study_id) if study_id in paper_ids() else None


def load_paper(paper_id: str) -> Paper:
    """Load the facts of a paper.

    Raises:
        UnknownNameError: cwndlab contains no paper with this name.
        CwndlabError: the file with the facts is invalid; the message names the line.
    """
    return parse_paper(facts_file(paper_id), paper_id)


def parse_paper(source: TomlSource, paper_id: str) -> Paper:
    """Parse a file with the facts of a paper, and return these facts.

    Raises:
        CwndlabError: a key is missing, unknown or of the wrong type; the message names the line.
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
