"""Run the program as a user does."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import cli
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "cwndlab")
LINK = "rate=10 Mbit/s,delay=20 ms,queue=50 packets"


def run(folder: Path, *arguments: str, status: int = 0) -> tuple[str, str]:
    """Run the program as a user does; return its output and its error messages."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def run_here(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command in this process; its status, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = cli.run(list(arguments))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call
