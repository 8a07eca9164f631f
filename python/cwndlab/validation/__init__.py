"""Does the simulator do what the kernel does? The same study on both, judged run for run."""

from cwndlab.validation.judge import Judgement, Verdict, judge
from cwndlab.validation.page import write_page
from cwndlab.validation.run import validate

__all__ = ["Judgement", "Verdict", "judge", "validate", "write_page"]
