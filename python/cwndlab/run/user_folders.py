"""Find the folders for a user's files, as the XDG Base Directory Specification says."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder with the known servers, the ledger of predictions, and files of trials."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "cwndlab")
