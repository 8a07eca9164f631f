"""Modules that commands load before they start to work; counts do not depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest

import cwndlab as cw
from cwndlab import cli
from cwndlab.cli.group import SECTIONS

SLOW = {"duckdb", "jinja2", "matplotlib", "numpy", "polars", "pydantic", "rich"}


def loaded_by(program: str) -> set[str]:
    """Return the modules that a program has loaded at its end."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; {report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_no_other() -> None:
    loaded = loaded_by("import cwndlab")
    assert not loaded & (SLOW | {"click"})
    assert {name for name in loaded if name.startswith("cwndlab")} == {"cwndlab"}


def test_only_the_package_itself_is_imported_before_ctrl_c_ends_the_process() -> None:
    """The default handler prints a traceback for as long as modules are imported before it ends."""
    program = (
        "import sys; before = set(sys.modules); import cwndlab; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"__future__", "cwndlab"}
    names = "signal.getsignal(signal.SIGINT) is signal.SIG_DFL"
    program = f"import cwndlab.__main__, signal; print({names})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_no_command(option: str) -> None:
    loaded = loaded_by(f"from cwndlab import cli; cli.run([{option!r}])")
    assert not loaded & SLOW
    commands = {entry.module for section in SECTIONS.values() for entry in section.values()}
    assert not loaded & commands


def test_every_public_name_is_there_when_it_is_used() -> None:
    for name in cw.__all__:
        assert getattr(cw, name) is not None
    assert set(cw.__all__) <= set(dir(cw))
    with pytest.raises(AttributeError, match="no attribute 'Studies'"):
        cw.Studies  # noqa: B018  reading it is the point


def test_a_command_is_listed_with_the_first_sentence_of_its_help() -> None:
    context = click.Context(cli.app)
    for section in SECTIONS.values():
        for name, entry in section.items():
            command = cli.app.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert command.help is not None
            assert entry.summary == " ".join(command.help.split("\n\n")[0].split())


def test_the_help_shows_every_command_under_a_heading() -> None:
    lines = cli.app.get_help(click.Context(cli.app)).splitlines()
    for heading, section in SECTIONS.items():
        below = lines[lines.index(f"{heading}:") + 1 :]
        assert set(section) <= {line.split()[0] for line in below if line.strip()}


def test_a_terminal_without_unicode_gets_question_marks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cwndlab", "algorithm", "show", "reno"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"?" in done.stdout
    assert done.stdout.isascii()
