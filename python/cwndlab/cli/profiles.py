"""`cwndlab stack`, `host` and `schema`: print stack profiles, host presets and JSON Schemas."""

from __future__ import annotations

import json
from typing import Literal

import click

from cwndlab import core
from cwndlab.cli.output import (
    format_option,
    print_rows,
    print_text,
)
from cwndlab.resolve.hosts import hosts, load_host
from cwndlab.schema.json_schema import schema_text


@click.group("stack")
def stack_group() -> None:
    """List stack profiles, each of which describes a release of a TCP stack."""


@stack_group.command("list")
@format_option
def stack_list(output_format: str) -> None:
    """List the stack profiles."""
    print_rows(
        [
            {"name": entry.name, "summary": entry.values.get("summary", "")}
            for entry in core.stacks().values()
        ],
        output_format,
    )


@stack_group.command("show")
@click.argument("name")
@format_option
def stack_show(name: str, output_format: str) -> None:
    """Show the stack profile NAME, with the source of each value."""
    entry = core.stack(name)
    if output_format == "json":
        print_text(json.dumps(entry.values, indent=2, ensure_ascii=False))
    elif output_format == "csv":
        print_rows([{"key": key, "value": v} for key, v in entry.values.items()], output_format)
    else:
        print_text(entry.text.rstrip())


@click.group("host")
def host_group() -> None:
    """List host presets, which describe a computer's network device and its queue."""


@host_group.command("list")
@format_option
def host_list(output_format: str) -> None:
    """List the host presets."""
    rows = [{"name": name, "title": load_host(name).title} for name in hosts()]
    print_rows(rows, output_format)


@host_group.command("show")
@click.argument("name")
@format_option
def host_show(name: str, output_format: str) -> None:
    """Show the host preset NAME, with the source of each value."""
    host = load_host(name).host
    if output_format == "table":
        print_text(hosts()[name].read_text(encoding="utf-8").rstrip())
    else:
        figures = host.model_dump(exclude_none=True)
        print_rows([{"key": key, "value": value} for key, value in figures.items()], output_format)


@click.command("schema")
@click.argument("of", type=click.Choice(["study", "users"]), default="study")
def schema_command(of: Literal["study", "users"]) -> None:
    """Print the JSON Schema of study files, or of files for `advise --users`.

    Text editors use the schema to complete and check these files.
    """
    click.echo(schema_text(of), nl=False)
