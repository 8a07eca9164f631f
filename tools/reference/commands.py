"""Generate the reference of the command line from the commands."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from cwndlab.cli import app
from cwndlab.cli.group import SECTIONS
from reference.markdown import block, code, heading, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# Commands

`cwndlab COMMAND --help` prints the same information. The exit status of every command is 0 after
success, 1 if some runs of a study or checks of an algorithm failed, 2 if the input is invalid or
the machine lacks something that the command needs, and 130 if you stopped the command. Commands
that print a table also support `--format csv` and `--format json`.

"""


def page() -> str:
    """Return all commands with their arguments and options, in the sections of `cwndlab --help`."""
    root = click.Context(app, info_name="cwndlab")
    parts = [HEAD]
    for section, entries in SECTIONS.items():
        parts.append(heading(2, section))
        for name in entries:
            command = app.get_command(root, name)
            if command is not None:
                parts += [_entry(*each) for each in _tree(command, name, root)]
    return "".join(parts)


def _tree(
    command: click.Command, name: str, parent: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command and all its subcommands."""
    context = click.Context(command, info_name=name, parent=parent)
    yield command, context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from _tree(found, below, context)


def _entry(command: click.Command, context: click.Context) -> str:
    """Return the entry of one command."""
    path = context.command_path
    parts = [heading(3, f"`{path}`", path.replace(" ", "-"))]
    parts.append(_help(inspect.cleandoc(command.help or "")))
    if isinstance(command, click.Group):
        return "".join(parts)
    usage = " ".join(command.collect_usage_pieces(context))
    parts.append(block(f"{path} {usage}"))
    parts.append(_options(command, context))
    return "".join(parts)


def _help(text: str) -> str:
    """Return a help text as Markdown; paragraphs that click does not rewrap become code."""
    paragraphs = []
    for paragraph in text.replace("\f", "").split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append(block(inspect.cleandoc(paragraph.lstrip("\b\n"))))
        else:
            paragraphs.append(f"{plain(' '.join(paragraph.split()))}\n\n")
    return "".join(paragraphs)


def _options(command: click.Command, context: click.Context) -> str:
    """Return the table of a command's options."""
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            rows.append((code(record[0].replace("|", " | ")), plain(" ".join(record[1].split()))))
    return table(("option", "what it does"), rows) if rows else ""
