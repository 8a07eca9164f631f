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


def further_plans(paper_id: str) -> list[str]:
    """Return the names of the plans for a paper's network that were written after the first fit.

    The plan `NAME` is the file `inference-NAME.toml`.
    """
    files = _FOLDER.glob(f"{paper_id}/{_INFERENCE}-*.toml")
    return sorted(path.stem.removeprefix(f"{_INFERENCE}-") for path in files)


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


def inference_file(paper_id: str, plan: str | None = None) -> TomlSource:
    """Read the file that states how the network of a paper is inferred.

    `plan` is the name of a further plan, which was written after the first fit.

    Raises:
        UnknownNameError: cwndlab contains no paper with this name, or cannot infer its network, or
            has no such plan for this paper.
    """
    kind = "paper whose network cwndlab can infer"
    if plan is None:
        return _file(paper_id, inferred_papers(), _INFERENCE, kind)
    if plan not in (known := further_plans(paper_id)):
        remedy = f"known: {', '.join(known) or 'none'}"
        raise UnknownNameError(plan, known, remedy, kind=f"plan of {paper_id}")
    return _file(paper_id, inferred_papers(), f"{_INFERENCE}-{plan}", kind)


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
        if path.stem.partition("-")[0] not in {_PAPER, _CLAIMS, _INFERENCE}:
            name = path.parent.name
            found[name if path.stem == _STUDY else f"{name}-{path.stem}"] = path
    return found
