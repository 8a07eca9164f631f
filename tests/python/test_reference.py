"""The generated reference has an entry for each command, option, public name, column and preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

import cwndlab as cw
from cwndlab import _core, core
from cwndlab.cli import app
from cwndlab.judge.populations import populations
from cwndlab.resolve.hosts import hosts
from cwndlab.resolve.presets import presets
from cwndlab.results.columns import all_columns
from reference import commands, python_api
from reference.pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator


def every_command(
    command: click.Command = app, parent: click.Context | None = None, name: str = "cwndlab"
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command, info_name=name, parent=parent)
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield from every_command(found, context, below)


def entries(page: str, level: str = "##") -> dict[str, str]:
    """Return the text below each heading that consists of code."""
    text = PAGES[page]()
    found = {}
    for part in text.split(f"\n{level} `")[1:]:
        found[part.split("`", 1)[0]] = part
    return found


def test_every_command_and_option_has_its_entry() -> None:
    found = entries("reference/commands.md", "###")
    for path, command in every_command():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                for option in (*parameter.opts, *parameter.secondary_opts):
                    assert option in found[path], f"{path} {option}"


def test_every_public_name_has_its_entry() -> None:
    text = python_api.page()
    for name in cw.__all__:
        assert f"cw.{name}`" in text or f"cw.{name}.`" in text, name
    for error in python_api.error_classes():
        assert f"`cw.errors.{error.__name__}`" in text
    for owner in (cw.Study, cw.Results, cw.Advice):
        for name, _ in python_api.members(owner):
            assert f"{{#cw.{owner.__name__}.{name}}}" in text, name


def test_every_public_name_is_documented() -> None:
    for owner in (cw.Study, cw.Results, cw.Advice, *python_api.REACHED):
        public = {name for name in dir(owner) if not name.startswith("_")}
        documented = {name for name, _ in python_api.members(owner)}
        fields = set(getattr(owner, "__annotations__", ()))
        assert not public - documented - fields, owner


def test_every_column_has_its_entry() -> None:
    text = PAGES["reference/columns.md"]()
    names = {column["name"] for column in _core.columns() if column["table"] != "saturation"}
    for name in names | {column.column for column in all_columns()}:
        assert f"| `{name}` |" in text, name


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("reference/links.md", presets()),
        ("reference/algorithms.md", core.algorithms()),
        ("reference/stacks.md", core.stacks()),
        ("reference/hosts.md", hosts()),
        ("reference/populations.md", populations()),
    ],
)
def test_every_name_that_a_study_takes_has_its_entry(page: str, names: dict[str, object]) -> None:
    assert set(entries(page)) == set(names)


def test_help_keeps_its_lines_of_code() -> None:
    assert "```text\n  cwndlab" not in commands.page(), "code begins at the left"
