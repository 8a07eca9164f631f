"""The folder of each paper: its facts, its claims, and the studies that reproduce it."""

import tomllib
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "data" / "papers"
_PAPER, _CLAIMS, _STUDY = "paper", "claims", "study"


def paper_ids() -> list[str]:
    """Return the papers whose facts are here."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{_PAPER}.toml"))


def claimed_papers() -> list[str]:
    """Return the papers whose claims are here."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{_CLAIMS}.toml"))


def facts_document(paper_id: str) -> dict[str, Any]:
    """Return the document of a paper's facts."""
    return tomllib.loads((_FOLDER / paper_id / f"{_PAPER}.toml").read_text("utf-8"))


def claims_document(paper_id: str) -> dict[str, Any]:
    """Return the document of a paper's claims."""
    return tomllib.loads((_FOLDER / paper_id / f"{_CLAIMS}.toml").read_text("utf-8"))


def paper_studies() -> dict[str, Path]:
    """Return the files of studies by name: `ID`, and `ID-NAME` for a paper's further ones."""
    found = {}
    for path in sorted(_FOLDER.glob("*/*.toml")):
        if path.stem not in {_PAPER, _CLAIMS}:
            name = path.parent.name
            found[name if path.stem == _STUDY else f"{name}-{path.stem}"] = path
    return found
