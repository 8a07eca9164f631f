"""Every benchmark starts: a renamed class once broke one, unnoticed for days."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_BENCH = Path(__file__).resolve().parents[2] / "bench"
_SCRIPTS = sorted(
    path.name for path in _BENCH.glob("*.py") if "ArgumentParser" in path.read_text("utf-8")
)


def test_there_are_benchmarks() -> None:
    assert len(_SCRIPTS) > 10


@pytest.mark.parametrize("script", _SCRIPTS)
def test_a_benchmark_says_what_it_measures(script: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_BENCH / script), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
    assert len(done.stdout.split("\n\n")) > 1, "no description"
