"""Compare the numbers in a paper's tables with cwndlab's means over flows and repetitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cwndlab.papers.facts import PaperPlot, PaperTable
from cwndlab.stats.bootstrap import Floats

_WAYS = {"downlink": "forward", "uplink": "reverse"}


@dataclass(frozen=True, slots=True)
class PaperCell:
    """A number in the paper, with cwndlab's number and the difference between the two."""

    row: str
    column: str
    low: float
    high: float
    ours: float | None
    away: float | None
    """Deviation of `ours` from the nearest end of the paper's range, as a fraction of this end.

    The deviation is 0 inside the range, and None if `ours` is None.
    """
    within: float | None
    is_calibrated: bool
    """True if the simulated link or host was calibrated to the number in the paper."""

    @property
    def holds(self) -> bool | None:
        """True if cwndlab's value is within the tolerance; None if the table has no tolerance."""
        if self.within is None:
            return None
        return self.away is not None and abs(self.away) <= self.within


def read_table(table: PaperTable, flows: pl.DataFrame) -> list[PaperCell]:
    """Return each cell of a paper's table, with cwndlab's number for the cell.

    The number is None if the cell has no runs. Only flows that send data in the direction of the
    table are used.
    """
    found = []
    for row, values in zip(table.rows, table.values, strict=True):
        for column, (low, high) in zip(table.columns, values, strict=True):
            cell = _cell(table, flows, row, column)
            mean = cell[table.metric].mean() if len(cell) else None
            ours = float(mean) * table.scale if isinstance(mean, float) else None
            away = None if ours is None else relative_difference(ours, low, high)
            is_calibrated = not {"*", row, column}.isdisjoint(table.calibrated)
            found.append(PaperCell(row, column, low, high, ours, away, table.within, is_calibrated))
    return found


def cell_values(
    table: PaperTable, flows: pl.DataFrame, row: str, column: str, factor: str
) -> pl.DataFrame:
    """Return cwndlab's number for one cell of a table at each level of a further factor.

    The result has two columns: the factor, and `value`, which has the unit of the paper's table.
    """
    cell = _cell(table, flows, row, column, factor)
    means = cell.group_by(factor).agg(value=pl.col(table.metric).mean() * table.scale)
    return means.drop_nulls("value").sort(factor)


def _cell(
    table: PaperTable, flows: pl.DataFrame, row: str, column: str, *factors: str
) -> pl.DataFrame:
    """Return the flows that belong to a table cell; for totals, return the metric's sum per run."""
    own = flows.filter(
        pl.col("direction") == _WAYS[table.direction],
        of_levels(flows, table.where),
        is_level(flows, table.column_factor, column),
    )
    if table.row_factor is not None:
        own = own.filter(is_level(own, table.row_factor, row))
    if table.total:
        return own.group_by("run", *factors).agg(pl.col(table.metric).sum())
    return own


def read_plot(
    plot: PaperPlot, flows: pl.DataFrame, variant_factor: str, variants: Sequence[str]
) -> list[dict[str, Floats]]:
    """Return cwndlab's values for a plot: for each panel, the values of each variant.

    If `plot.total` is set, each value is the sum over all flows of a run. Otherwise, each value is
    the mean over all flows of a run if the plot shows bars or lines, and the value of a single flow
    if the plot shows a distribution.
    """
    own = flows.filter(pl.col("direction") == _WAYS[plot.direction])
    own = own.filter(of_levels(own, plot.where))
    value = pl.col(plot.metric).cast(pl.Float64)
    found = []
    for panel in plot.panels:
        shown = own
        if plot.panel_factor is not None:
            shown = own.filter(is_level(own, plot.panel_factor, panel))
        values = {}
        for name in variants:
            each = shown.filter(is_level(shown, variant_factor, name)).select("run", value=value)
            if plot.total or plot.kind in {"bars", "lines"}:
                over = pl.col("value").sum() if plot.total else pl.col("value").mean()
                each = each.group_by("run", maintain_order=True).agg(over)
            values[name] = each["value"].drop_nulls().to_numpy()
        found.append(values)
    return found


def paper_values(
    plot: PaperPlot, tables: Sequence[PaperTable], variant_factor: str
) -> list[dict[str, tuple[float, float]]]:
    """Return the paper's numbers for a plot: a range for each panel and variant.

    The numbers are in cwndlab's unit. They come from the tables with the metric, the direction and
    the factor levels of the plot.
    """
    found: list[dict[str, tuple[float, float]]] = []
    for panel in plot.panels:
        levels = plot.where | ({plot.panel_factor: panel} if plot.panel_factor else {})
        values: dict[str, tuple[float, float]] = {}
        for table in tables:
            own = (table.metric, table.direction, table.total, table.column_factor)
            if own != (plot.metric, plot.direction, plot.total, variant_factor):
                continue
            for row, numbers in zip(table.rows, table.values, strict=True):
                here = table.where | ({table.row_factor: row} if table.row_factor else {})
                if here == levels:
                    scaled = ((low / table.scale, high / table.scale) for low, high in numbers)
                    values |= dict(zip(table.columns, scaled, strict=True))
        found.append(values)
    return found


def is_level(flows: pl.DataFrame, factor: str, level: str) -> pl.Expr:
    """Return a Polars expression that selects the flows with a given level (value) of a factor."""
    name = f"factor_{factor}" if f"factor_{factor}" in flows.columns else factor
    return pl.col(name).cast(pl.String) == level


def of_levels(flows: pl.DataFrame, levels: Mapping[str, str]) -> pl.Expr:
    """Return a Polars expression that selects the flows with all of the given factor levels.

    Factors without a column in `flows` are ignored.
    """
    known = [
        is_level(flows, factor, level)
        for factor, level in levels.items()
        if factor in flows.columns or f"factor_{factor}" in flows.columns
    ]
    return pl.all_horizontal(pl.lit(value=True), *known)


def relative_difference(ours: float, low: float, high: float) -> float:
    """Return the deviation from the nearest end of the range, as a fraction of this end."""
    nearest = min(max(ours, low), high)
    return (ours - nearest) / nearest if nearest else 0.0
