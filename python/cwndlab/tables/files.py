"""Write tables to files.

A CSV file contains numbers. A Markdown or LaTeX file contains formatted text. An XLSX file contains
both.
"""

import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from cwndlab.tables.model import ComparisonTable, TableCell
from cwndlab.text.wording import spreadsheet_safe

_CREATED = datetime(2000, 1, 1)  # noqa: DTZ001  fixed, so that equal tables result in equal files
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "µ": r"$\mu$",
}


def write_tables(
    table: ComparisonTable, folder: Path, name: str, formats: Sequence[str] | None = None
) -> list[Path]:
    """Write a table to `folder/name.csv`, `.xlsx`, `.md` and `.tex`; return the files' paths.

    With `formats`, write only the files in these formats.

    Raises:
        ValueError: `formats` contains a format that is not csv, xlsx, md or tex.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for extension in _WRITERS if formats is None else formats:
        write = _WRITERS.get(extension)
        if write is None:
            msg = f'tables cannot be written as "{extension}"; formats are {", ".join(_WRITERS)}'
            raise ValueError(msg)
        path = folder / f"{name}.{extension}"
        path.write_bytes(write(table))
        written.append(path)
    return written


def table_frame(table: ComparisonTable) -> pl.DataFrame:
    """Return the numbers of a comparison's table, such as means and intervals, as a data frame."""
    columns: dict[str, list[object]] = {"algorithm": [row.contestant for row in table.rows]}
    for at, column in enumerate(table.columns):
        cells = [row.cells[at] for row in table.rows]
        name = column.column
        columns[name] = [cell.interval and cell.interval.estimate for cell in cells]
        columns[f"{name}_low"] = [cell.interval and cell.interval.low for cell in cells]
        columns[f"{name}_high"] = [cell.interval and cell.interval.high for cell in cells]
        columns[f"{name}_runs"] = [cell.interval and cell.interval.runs for cell in cells]
        columns[f"{name}_to_best_pct"] = [_percent_to_best(cell) for cell in cells]
    return pl.DataFrame(columns)


def to_csv(table: ComparisonTable) -> str:
    """Return the numbers of a table as CSV; the column names contain the units."""
    frame = table_frame(table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows(
        [f"{value:.6g}" if isinstance(value, float) else spreadsheet_safe(value) for value in row]
        for row in frame.iter_rows()
    )
    return out.getvalue()


def to_markdown(table: ComparisonTable) -> str:
    """Return the table as Markdown; differences from the best value are in parentheses."""
    heads = ["algorithm", *(column.header for column in table.columns)]
    rows = [[row.contestant, *(cell.text for cell in row.cells)] for row in table.rows]
    body = [[text.replace("|", "\\|") for text in row] for row in [heads, *rows]]
    widths = [max(len(row[at]) for row in body) for at in range(len(heads))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for row in [body[0], rule, *body[1:]]:
        first = row[0].ljust(widths[0])
        others = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"| {' | '.join([first, *others])} |")
    head = [f"**{table.title}**", ""] if table.title else []
    return "\n".join([*head, *lines, "", table.note, ""])


def to_latex(table: ComparisonTable) -> str:
    """Return the table as LaTeX (package booktabs), with the best values in bold."""
    heads = ["algorithm", *(column.header for column in table.columns)]
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_latex(' '.join(filter(None, [_sentence(table.title), table.note])))}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"    \toprule",
        f"    {' & '.join(_latex(head) for head in heads)} \\\\",
        r"    \midrule",
    ]
    for row in table.rows:
        cells = [_latex_cell(cell) for cell in row.cells]
        lines.append(f"    {' & '.join([_latex(row.contestant), *cells])} \\\\")
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def to_xlsx(table: ComparisonTable) -> bytes:
    """Return a workbook with the table as text on one sheet, and its numbers on another sheet."""
    out = io.BytesIO()
    import xlsxwriter  # noqa: PLC0415  slow to load, seldom used

    workbook = xlsxwriter.Workbook(out, {"in_memory": True, "nan_inf_to_errors": True})
    workbook.set_properties({"created": _CREATED, "title": table.title})
    head = workbook.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
    best = workbook.add_format({"bold": True, "align": "right"})
    # "quote_prefix" keeps a cell that begins with "=" as text, even after a user edits the cell.
    text = workbook.add_format({"quote_prefix": True})
    plain = workbook.add_format({"align": "right", "quote_prefix": True})
    sheet = workbook.add_worksheet("comparison")
    sheet.freeze_panes(1, 1)
    sheet.set_column(0, 0, 16)
    sheet.set_column(1, len(table.columns), 22)
    for at, title in enumerate(["algorithm", *(column.header for column in table.columns)]):
        sheet.write_string(0, at, title, head)
    for down, row in enumerate(table.rows, start=1):
        sheet.write_string(down, 0, row.contestant, text)
        for across, cell in enumerate(row.cells, start=1):
            sheet.write_string(down, across, cell.text, best if cell.is_best else plain)
    sheet.write_string(len(table.rows) + 2, 0, table.note)
    numbers = workbook.add_worksheet("numbers")
    numbers.freeze_panes(1, 1)
    frame = table_frame(table)
    for at, name in enumerate(frame.columns):
        numbers.set_column(at, at, max(12, len(name) + 1))
        numbers.write_string(0, at, name, head)
        for down, value in enumerate(frame[name], start=1):
            if isinstance(value, str):
                numbers.write_string(down, at, value, text)
            else:
                numbers.write(down, at, value)
    workbook.close()
    return out.getvalue()


def _percent_to_best(cell: TableCell) -> float | None:
    if cell.is_leader:
        return 0.0
    return None if cell.difference is None else 100 * cell.difference.relative.estimate


def _sentence(text: str) -> str:
    return f"{text}." if text else ""


def _latex(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(letter, letter) for letter in text)


def _latex_cell(cell: TableCell) -> str:
    text = _latex(cell.value_text)
    text = rf"\textbf{{{text}}}" if cell.is_best else text
    beside = _latex(cell.beside).replace("-", "$-$", 1) if cell.beside else ""
    return f"{text} ({beside})" if beside else text


_WRITERS: dict[str, Callable[[ComparisonTable], bytes]] = {
    "csv": lambda table: to_csv(table).encode(),
    "xlsx": to_xlsx,
    "md": lambda table: to_markdown(table).encode(),
    "tex": lambda table: to_latex(table).encode(),
}
