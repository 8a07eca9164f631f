"""Validate the simulator: compare its results for a study with those of a Linux kernel."""

from pathlib import Path

from cwndlab.validation.judge import Agreement, CellAgreement, judge
from cwndlab.validation.page import write_page
from cwndlab.validation.replays import Replayed, replayed
from cwndlab.validation.run import Validation, validate, with_traces

__all__ = [
    "OWN_STUDY",
    "Agreement",
    "CellAgreement",
    "Replayed",
    "Validation",
    "judge",
    "replayed",
    "validate",
    "with_traces",
    "write_page",
]

OWN_STUDY = Path(__file__).parents[1] / "data" / "validation" / "study.toml"
"""Default study of the validation: six algorithms on three links."""
