"""Find the folder for a user's state files, as the XDG Base Directory Specification says."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder of the known servers, the ledger of predictions and the trial's state."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "cwndlab")
