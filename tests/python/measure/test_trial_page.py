"""The script in docs/how-to/try-advice.md, run unchanged from the advice to the verdict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.judge.ledger import read_ledger
from patience import PATIENCE_S
from this_machine import needs_kernel

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "try-advice.md"
HEADING = "## Rehearse a trial on one machine"


def script() -> str:
    """Return the only block of commands in the section about the rehearsal."""
    section = PAGE.read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


@needs_kernel
def test_a_trial_by_the_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("compare", "trial register", "serve", "preflight", "trial run", "trial verdict"):
        assert f"cwndlab {step} " in script()
    command = tmp_path / "bin" / "cwndlab"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cwndlab "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        ["/bin/sh", "-ec", script()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=20 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^(Confirmed|Refuted|Not enough):", done.stdout, re.MULTILINE)
    (entry,) = read_ledger(tmp_path / "rehearsal.jsonl")
    assert (entry.prediction.challenger, entry.prediction.baseline) == ("reno", "cubic")
    assert entry.change is not None or entry.harm
    assert "Stated probabilities" in (tmp_path / "ledger.html").read_text()
