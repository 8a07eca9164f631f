"""Find the files of papers: the facts, the claims, and the studies that reproduce each paper."""

from pathlib import Path

from cwndlab.errors import UnknownNameError
from cwndlab.text.toml import TomlSource

_FOLDER = Path(__file__).parents[1] / "data" / "papers"
_PAPER, _CLAIMS, _INFERENCE, _STUDY = "paper", "claims", "inference", "study"


def paper_ids() -> list[str]:
    """Return the names of the papers whose facts are part of cwndlab."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{_PAPER}.toml"))


def claimed_papers() -> list[str]:
    """Return the names of the papers whose claims are part of cwndlab."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{_CLAIMS}.toml"))


def inferred_papers() -> list[str]:
    """Return the names of the papers from whose tables cwndlab can infer the network."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{_INFERENCE}.toml"))


def facts_file(paper_id: str) -> TomlSource:
    """Read the file that contains the facts of a paper.

    Raises:
        UnknownNameError: cwndlab contains no paper with this name.
    """
    return _file(paper_id, paper_ids(), _PAPER, "paper")


def claims_file(paper_id: str) -> TomlSource:
    """Read the file that contains the claims of a paper.

    Raises:
        UnknownNameError: cwndlab contains no paper with this name, or no claims of this paper.
    """
    return _file(paper_id, claimed_papers(), _CLAIMS, "paper with claims")


def inference_file(paper_id: str) -> TomlSource:
    """Read the file that states how the network of a paper is inferred.

    Raises:
        UnknownNameError: cwndlab contains no paper with this name, or cannot infer its network.
    """
    return _file(paper_id, inferred_papers(), _INFERENCE, "paper whose network cwndlab can infer")


def _file(paper_id: str, known: list[str], stem: str, kind: str) -> TomlSource:
    if paper_id not in known:
        raise UnknownNameError(paper_id, known, "cwndlab papers", kind=kind)
    return TomlSource.read(_FOLDER / paper_id / f"{stem}.toml")


def paper_studies() -> dict[str, Path]:
    """Return the paths of the papers' study files, by the name of the study.

    The name is `ID` for the main study of a paper, and `ID-NAME` for a further study.
    """
    found = {}
    for path in sorted(_FOLDER.glob("*/*.toml")):
        if path.stem not in {_PAPER, _CLAIMS, _INFERENCE}:
            name = path.parent.name
            found[name if path.stem == _STUDY else f"{name}-{path.stem}"] = path
    return found
