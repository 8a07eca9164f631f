"""Folders of the user, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The folder of what outlives a command: known servers, the ledger, a trial's way back."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "cwndlab")
