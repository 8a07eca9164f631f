"""Print the output of commands: tables for people to read, JSON and CSV for programs."""

from __future__ import annotations

import csv
import functools
import json
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cwndlab.text.wording import spreadsheet_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import polars as pl
    from rich.console import RenderableType

_WIDTH_OF_PIPES = 200  # columns; programs that read a pipe need no wrapped lines

CommandAnswer = TypeVar("CommandAnswer")
CommandArguments = ParamSpec("CommandArguments")

_format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="Format in which results are printed.",
)


direction_option = click.option(
    "--direction",
    type=click.Choice(["downlink", "uplink"]),
    default="downlink",
    show_default=True,
    help="Direction of the data: downlink (server to user) uses the link, uplink the reverse link.",
)


def format_option(
    command: Callable[CommandArguments, CommandAnswer],
) -> Callable[CommandArguments, CommandAnswer]:
    """Add the option `--format` to a command that prints results."""
    return functools.wraps(command)(_format_option(command))


def console() -> Console:
    """Return a console that writes to standard output and wraps lines only in a terminal."""
    plain = Console(highlight=False)
    if plain.is_terminal:
        return plain
    return Console(highlight=False, width=max(_WIDTH_OF_PIPES, shutil.get_terminal_size().columns))


def say(*lines: RenderableType) -> None:
    """Print lines for people to read. Strings are not wrapped, but other renderables are."""
    to = console()
    for line in lines:
        to.print(Text(line) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


def prose(text: str) -> RenderableType:
    """Return a line of text.

    If the output is a terminal, the line is wrapped between words, with a hanging indent.
    """
    to = console()
    if not to.is_terminal or len(text) <= to.width:
        return text
    indent = len(text) - len(text.lstrip())
    named = re.match(r"\s*\S+\s{2,}", text)
    hanging = named.end() if named else indent and indent + 2
    lines = textwrap.wrap(
        text[indent:],
        to.width,
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return Text("\n".join(lines))


def print_rows(rows: Iterable[Mapping[str, Any]], output_format: str) -> None:
    """Print records, all with the same keys, as a table, JSON or CSV."""
    if output_format == "json":
        click.echo(json.dumps(list(rows), indent=2, ensure_ascii=False))
    elif output_format == "csv":
        _print_csv(rows)
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        rows = list(rows)
        for name in rows[0] if rows else ():
            table.add_column(_heading(name), overflow="fold")
        for row in rows:
            table.add_row(*(Text(_cell(value)) for value in row.values()))
        say(fitted(table))


def print_frame(frame: pl.DataFrame, output_format: str) -> None:
    """Print a data frame as a table, JSON or CSV."""
    if output_format == "csv":
        _print_csv(frame.iter_rows(named=True))
    else:
        print_rows(frame.to_dicts(), output_format)


def print_text(text: str) -> None:
    """Print a string to standard output without wrapping or formatting it."""
    click.echo(text)


def command_line(*parts: str | Path) -> str:
    """Return the words of a command as one line, quoted for a shell."""
    return shlex.join(
        f"./{part}" if isinstance(part, Path) and str(part).startswith("-") else str(part)
        for part in parts
    )


def _heading(name: str) -> str:
    """Return the heading of a column; for goodput_mbit_s, the heading is "goodput Mbit/s"."""
    for suffix, unit in (("_mbit_s", "Mbit/s"), ("_pct", "%"), ("_pkts", "packets")):
        if name.endswith(suffix):
            name = f"{name.removesuffix(suffix)} {unit}"
    return name.replace("_", " ")


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4g}"
        case list() | tuple():
            return ", ".join(str(item) for item in value)
        case _:
            return str(value)


def _print_csv(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print rows one by one, because all rows together may not fit into memory."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow([spreadsheet_safe(name) for name in row])
        values = (
            " ".join(map(str, value)) if isinstance(value, list | tuple) else value
            for value in row.values()
        )
        writer.writerow([spreadsheet_safe(value) for value in values])


def indented(drawn: RenderableType) -> Padding:
    """Return a Rich renderable that is indented by two columns."""
    return Padding(
        fitted(drawn, 2) if isinstance(drawn, Table) else drawn, (0, 0, 0, 2), expand=False
    )


def fitted(table: Table, indent: int = 0) -> RenderableType:
    """Return `table` if it fits into the terminal, otherwise a text with one line per value."""
    to = console()
    least = Measurement.get(to, to.options.update(width=_WIDTH_OF_PIPES), table).minimum
    if least + indent <= to.width:
        _keep_words(table, to.width - indent)
        return table
    heads = [str(column.header) for column in table.columns]
    longest = max(map(len, heads))
    blocks = [
        Text("\n").join(
            Text.assemble((head.ljust(longest), "dim"), "  ", cell)
            for head, cell in zip(heads, row, strict=True)
        )
        for row in zip(*(column.cells for column in table.columns), strict=True)
    ]
    return Text("\n\n").join(blocks)


def _keep_words(table: Table, width: int) -> None:
    """Set the widths of the columns so that the table fits and no word is broken.

    Rich reduces the widest columns first, even to less than the length of a word.
    """
    texts = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    widths = [max(map(cell_len, own)) for own in texts]
    longest = [max((cell_len(w) for text in own for w in text.split()), default=1) for own in texts]
    least = [
        wide if column.no_wrap else word
        for column, wide, word in zip(table.columns, widths, longest, strict=True)
    ]
    _, right, _, _ = table.padding
    room = width - right * (len(widths) - 1)
    if sum(widths) <= room or sum(least) > room:
        return
    while sum(widths) > room:
        slack = [wide - short for wide, short in zip(widths, least, strict=True)]
        widths[slack.index(max(slack))] -= 1
    for column, wide in zip(table.columns, widths, strict=True):
        column.width = wide
