"""Read the stored output of `reproduce ID --inferred`: the verdicts on a paper's claims."""

import json
from pathlib import Path

from cwndlab.papers.judgement import ClaimVerdict

INFERRED_FILE = "inferred.json"


def read_inferred(results: Path, paper_id: str) -> dict[str, str]:
    """Map the ID of each claim to a text with the verdict and the probability of the claim.

    The verdicts are read from `inferred.json` in the folder `ID-inferred`, where ID is the paper's
    ID. This folder is beside the results of the paper's study. The dictionary is empty if the file
    does not exist or is damaged.
    """
    path = results.parent / f"{paper_id}-inferred" / INFERRED_FILE
    try:
        claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return {name: _text(**found) for name, found in claims.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _text(verdict: str, probability: float | None) -> str:
    known = ClaimVerdict(verdict).value
    return known if probability is None else f"{known} ({probability:.2f})"
