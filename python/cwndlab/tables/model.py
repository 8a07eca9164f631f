"""Create a table that compares algorithms, with a row per algorithm and a column per quantity."""

from collections.abc import Sequence
from dataclasses import dataclass

from cwndlab.judge.cell import Comparison
from cwndlab.judge.uses import NOTICED
from cwndlab.results.columns import Quantity, quantity
from cwndlab.stats import Difference, Interval
from cwndlab.text.wording import format_difference, format_estimate

STANDARD_COLUMNS = (
    "goodput_mbit_s",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "retransmitted_pct",
    "timeouts",
    "utilisation_pct",
)
"""Columns that the table shows by default, unless they have no values."""

_COMPLETED = ("completion_ms", *NOTICED)
"""Columns that can be empty for a run, for example because it completed no transfer, response or
chunk."""


@dataclass(frozen=True)
class TableCell:
    """The value of one quantity for one algorithm."""

    interval: Interval | None
    difference: Difference | None
    is_leader: bool = False
    """True for the algorithm with the best mean of the quantity, unless all means are equal."""
    is_best: bool = False
    """True if the algorithm is better than all others by at least the smallest relevant effect."""
    of_runs: str = ""
    """Text such as "4 of 10 runs" if only some runs completed a transfer or response; or empty."""

    @property
    def text(self) -> str:
        """The value with its uncertainty; then `beside` and `of_runs`, both in parentheses."""
        if self.interval is None:
            return "-"
        value = format_estimate(self.interval)
        beside = ", ".join(filter(None, [self.beside, self.of_runs]))
        return f"{value} ({beside})" if beside else value

    @property
    def value_text(self) -> str:
        """The value with its uncertainty, as text."""
        if self.interval is None:
            return "-"
        value = format_estimate(self.interval)
        return f"{value} ({self.of_runs})" if self.of_runs else value

    @property
    def beside(self) -> str:
        """Text in parentheses after a value: "best", or the difference from the best mean."""
        if self.is_best:
            return "best"
        if self.difference is None:
            return ""
        return format_difference(self.difference.relative.estimate)


@dataclass(frozen=True)
class TableRow:
    """The row of one algorithm in the table of a comparison."""

    contestant: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class ComparisonTable:
    """A comparison of algorithms as rows and columns, independent of the file format."""

    title: str
    columns: tuple[Quantity, ...]
    rows: tuple[TableRow, ...]
    note: str


def comparison_table(
    comparison: Comparison, columns: Sequence[str] | None = None, title: str = ""
) -> ComparisonTable:
    """Create the table of a comparison; columns without values are omitted.

    By default, it contains `STANDARD_COLUMNS` and columns on applications and fairness.
    """
    wanted = list(STANDARD_COLUMNS if columns is None else columns)
    if columns is None:
        wanted += fairness_columns(comparison)
    if columns is None and comparison.has("completion_ms"):
        wanted.insert(1, "completion_ms")
    if columns is None:
        wanted[:0] = NOTICED
    shown = [column for column in wanted if comparison.has(column)]
    best = {column: _best(comparison, column) for column in shown}
    rows = tuple(
        TableRow(name, tuple(_cell(comparison, name, column, best[column]) for column in shown))
        for name in comparison.contestants
    )
    return ComparisonTable(
        title=title or comparison.name,
        columns=tuple(quantity(column) for column in shown),
        rows=rows,
        note=uncertainty_note(comparison),
    )


def fairness_columns(comparison: Comparison) -> list[str]:
    """Return the names of columns on fairness to a CUBIC flow, or among flows of one algorithm."""
    if comparison.has("jain_index_beside_cubic"):
        return ["share_beside_cubic_pct", "jain_index_beside_cubic"]
    return ["jain_index"] if comparison.flows_per_run > 1 else []


def uncertainty_note(comparison: Comparison) -> str:
    """Return a note that explains the uncertainty of the numbers."""
    if comparison.is_one_run:
        return "One run per algorithm: the random variation of these numbers is unknown."
    if comparison.is_deterministic:
        return (
            f"All {comparison.repetitions} repetitions resulted in the same numbers, because "
            "nothing in the runs is random; the table therefore contains no intervals."
        )
    geometric = " (geometric mean for completion times)" if comparison.has("completion_ms") else ""
    return (
        f"Mean over {comparison.repetitions} runs{geometric} ± half of the width of the "
        f"{100 * comparison.confidence:g} % interval of the mean, followed by the difference from "
        "the best algorithm."
    )


def _best(comparison: Comparison, column: str) -> str | None:
    """Return the algorithm with the best mean in a column; None if all means are equal."""
    estimates = _estimates(comparison, column).values()
    return comparison.best(column) if len(set(estimates)) > 1 else None


def _is_alone(comparison: Comparison, column: str, best: str) -> bool:
    """Return whether `best` is better than all others by at least the smallest relevant effect."""
    estimates = _estimates(comparison, column)
    leader = estimates.pop(best)
    near = comparison.smallest_effect * abs(leader)
    return all(abs(each - leader) >= near and each != leader for each in estimates.values())


def _estimates(comparison: Comparison, column: str) -> dict[str, float]:
    intervals = {name: comparison.interval(name, column) for name in comparison.contestants}
    return {name: found.estimate for name, found in intervals.items() if found is not None}


def _cell(comparison: Comparison, contestant: str, column: str, best: str | None) -> TableCell:
    interval = comparison.interval(contestant, column)
    of_runs = _share_of_runs(comparison, contestant, column)
    if interval is None or best is None:
        return TableCell(interval, None, of_runs=of_runs)
    if contestant == best:
        is_best = _is_alone(comparison, column, best)
        return TableCell(interval, None, is_leader=True, is_best=is_best, of_runs=of_runs)
    difference = comparison.difference(contestant, best, column)
    return TableCell(interval, difference, of_runs=of_runs)


def _share_of_runs(comparison: Comparison, contestant: str, column: str) -> str:
    """Return how many runs have a value in `column`, as text such as "4 of 10 runs".

    A run has no value, for example, if it completed no transfer. The text is empty if all runs have
    a value, or if none has one. It is also empty if `column` is not in `_COMPLETED`, the list of
    those columns in which the values of some runs may be missing.
    """
    completed = comparison.finite(contestant, column).size
    made = sum(run is not None for run in comparison.runs[contestant])
    if column not in _COMPLETED or completed in {0, made}:
        return ""
    return f"{completed} of {made} runs"
