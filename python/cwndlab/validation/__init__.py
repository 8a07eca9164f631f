"""Does the simulator do what the kernel does? The same study on both, judged run for run."""

from cwndlab.validation.judge import Agreement, CellAgreement, judge
from cwndlab.validation.page import write_page
from cwndlab.validation.replays import Replayed, replayed
from cwndlab.validation.run import Validation, validate, with_traces

__all__ = [
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
