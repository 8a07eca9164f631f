"""Find the folder for a user's state files, as the XDG Base Directory Specification says."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for the current user's state files.

    These files are the known servers, the ledger of predictions, and the state of the trial.
    """
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "cwndlab")
