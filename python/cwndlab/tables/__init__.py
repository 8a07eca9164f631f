"""Create tables that compare algorithms, as text, CSV, XLSX, Markdown and LaTeX."""

from cwndlab.tables.files import (
    table_frame,
    to_csv,
    to_latex,
    to_markdown,
    to_xlsx,
    write_tables,
)
from cwndlab.tables.model import (
    STANDARD_COLUMNS,
    ComparisonTable,
    TableCell,
    TableRow,
    comparison_table,
    uncertainty_note,
)
from cwndlab.text.wording import (
    format_bounds,
    format_difference,
    format_estimate,
    format_number,
    format_reach,
    join_words,
)

__all__ = [
    "STANDARD_COLUMNS",
    "ComparisonTable",
    "TableCell",
    "TableRow",
    "comparison_table",
    "format_bounds",
    "format_difference",
    "format_estimate",
    "format_number",
    "format_reach",
    "join_words",
    "table_frame",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_xlsx",
    "uncertainty_note",
    "write_tables",
]
