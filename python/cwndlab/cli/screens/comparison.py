"""Terminal table of a comparison, as `cwndlab compare` prints it."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from cwndlab.judge.cell import Comparison
from cwndlab.judge.uses import NOTICED
from cwndlab.results.columns import quantity
from cwndlab.results.metrics import TOTALS
from cwndlab.tables.model import (
    ComparisonTable,
    TableCell,
    comparison_table,
    fairness_columns,
)
from cwndlab.text.wording import format_number

_HEADS = {
    "goodput_mbit_s": "goodput Mbit/s",
    "rtt_p50_ms": "RTT ms median (p95)",
    "retransmitted_pct": "retransmitted %",
    "timeouts": "timeouts",
    "completion_ms": "completion ms",
    "jain_index": "Jain's index",
    "share_beside_cubic_pct": "goodput share against CUBIC, %",
    "jain_index_beside_cubic": "Jain's index against CUBIC",
}
_NARROW_HEADS = _HEADS | {"rtt_p50_ms": "RTT ms p50 (p95)", "retransmitted_pct": "retrans. %"}
_NARROW, _NARROWEST = 100, 78
"""Terminal widths in characters. In a terminal narrower than `_NARROW`, headings are shortened; in
a terminal narrower than `_NARROWEST`, cells may also be wrapped."""
_COLUMNS = ("goodput_mbit_s", "rtt_p50_ms", "retransmitted_pct", "timeouts")
_WHOLE = ("goodput_mbit_s", "rtt_p50_ms")
"""Columns whose cells are not wrapped, if the table has at most `_FITTING` columns and the terminal
is at least `_NARROWEST` wide."""
_FITTING = 4


def terminal_table(
    comparison: Comparison, limits: Mapping[str, str] | None = None, width: int = 200
) -> Table:
    """Return a comparison as a terminal table, with the best value of each column in bold.

    `limits` states what limits the throughput of each algorithm, if known; `width` is the
    terminal's width in columns.
    """
    heads, gap = (_NARROW_HEADS, 2) if width < _NARROW else (_HEADS, 3)
    wanted = [*(column for column in NOTICED if comparison.has(column)), *_COLUMNS]
    if comparison.has("completion_ms"):
        wanted.insert(1, "completion_ms")
    wanted += fairness_columns(comparison)
    model = comparison_table(comparison, wanted)
    whole = _WHOLE if width >= _NARROWEST and len(model.columns) <= _FITTING else ()
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    table.add_column("algorithm", no_wrap=True)
    for column in model.columns:
        head = heads.get(column.column, quantity(column.column).header)
        if comparison.is_per_flow and column.column in TOTALS:
            head = f"{head} per flow"
        table.add_column(head, no_wrap=column.column in whole)
    if limits:
        table.add_column("limited by")
    for row in model.rows:
        texts = [
            _text(comparison, row.contestant, model, at, cell) for at, cell in enumerate(row.cells)
        ]
        if limits:
            texts.append(Text(limits.get(row.contestant, "-")))
        table.add_row(Text(row.contestant), *texts)
    return table


def _text(
    comparison: Comparison, contestant: str, model: ComparisonTable, at: int, cell: TableCell
) -> Text:
    column = model.columns[at].column
    if column == "rtt_p50_ms" and cell.interval is not None:
        text = _round_trip(comparison, contestant, cell)
    elif column == "goodput_mbit_s":
        text = cell.text
    else:
        text = cell.value_text
    return Text(text, style="bold" if cell.is_best else "")


def _round_trip(comparison: Comparison, contestant: str, cell: TableCell) -> str:
    text = cell.value_text
    tail = comparison.interval(contestant, "rtt_p95_ms")
    if tail is not None:
        text = f"{text} ({format_number(tail.estimate)})"
    return f"{text} best" if cell.is_best else text
