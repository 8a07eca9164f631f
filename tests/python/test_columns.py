"""Columns have one list: what the core returns is named there, and described in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_stub_has_the_columns_that_the_core_has() -> None:
    command = [sys.executable, "tools/make_stub.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
