"""Folders for a user's files, according to the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for persistent state: known servers, the ledger, settings to restore."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "cwndlab")
