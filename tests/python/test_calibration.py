"""Stated probabilities are correct where the truth is known: bench/calibration.py, shortened."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "calibration.py"


@pytest.mark.long
def test_what_is_stated_comes_true_at_least_as_often() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--trials", "60"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MISSED" not in done.stdout
    assert done.stdout.count("stated") >= 8
