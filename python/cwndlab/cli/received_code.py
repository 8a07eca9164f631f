"""Ask the user before the C files that came with a study are compiled and run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError, plural
from cwndlab.resolve.algorithms import references_in
from cwndlab.text.toml import TomlSource
from cwndlab.usercode.trust import is_trusted, trust
from cwndlab.usercode.worker import is_confining

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

trust_option = click.option(
    "--trust",
    "is_trusting",
    is_flag=True,
    help="Compile and run, without asking, the C files that came with a study.",
)


class UntrustedCodeError(CwndlabError):
    """A study uses C files, and the user has not agreed to run these files."""


def load_study(
    path: Path, *, is_trusting: bool, is_quick: bool = False, is_live: bool = False
) -> Study:
    """Read a study; if it uses C files that are not yet trusted, first ask the user.

    Raises:
        UntrustedCodeError: the user refused, or there is no terminal on which to ask the user.
        StudyError: the study has an error.
    """
    files = sorted(references_in(TomlSource.read(path).document).values())
    if files:
        _ask(path, files, is_trusting=is_trusting)
    return Study.load(path, is_quick=is_quick, is_live=is_live)


def trust_own(study: Study, folder: Path) -> None:
    """Trust the results folder of a study whose C files the user named on the command line.

    Do nothing if the study uses no C files.
    """
    if references_in(study.document) and not is_trusted(folder.resolve()):
        trust(folder.resolve())


def _ask(path: Path, files: Sequence[str], *, is_trusting: bool) -> None:
    folder = path.resolve().parent
    if is_trusted(folder):
        return
    names = ", ".join(files)
    if not is_trusting:
        what = f"{path} compiles and runs {plural(len(files), 'C file')}: {names}"
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            msg = f"{what}\n  read the code; if you trust the code, add --trust to the command"
            raise UntrustedCodeError(msg)
        confined = (
            "The C files run in a sandbox: they cannot open connections or write files, and can "
            "read only the files of the system and of Python."
        )
        click.echo(f"{what}\n{confined if is_confining() else ''}", err=True)
        if not click.confirm("Do you trust these C files?", err=True):
            msg = f"{path} was not run"
            raise UntrustedCodeError(msg)
    trust(folder)
