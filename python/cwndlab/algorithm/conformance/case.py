"""Define test cases of an Internet-Draft, with their checks and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cwndlab.algorithm.conformance.bench import Bench


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """One requirement of a test case, with the value that was observed in a run."""

    wanted: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Case:
    """A test case that an Internet-Draft defines."""

    number: int
    title: str
    """Heading of the test case in the Internet-Draft."""
    checks: Callable[[Bench], Iterator[CaseCheck]]


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The outcome of a test case: its checks, and the phases of its last run as text."""

    case: Case
    checks: tuple[CaseCheck, ...]
    trace: str

    @property
    def passed(self) -> bool:
        """True if all checks of the test case passed."""
        return all(check.holds for check in self.checks)


def within(
    wanted: str, value: float, low: float, high: float, unit: str = "", *, digits: int = 2
) -> CaseCheck:
    """Return a check that passes if a value is between two bounds."""
    space = " " if unit else ""
    return CaseCheck(wanted, low <= value <= high, f"{value:.{digits}f}{space}{unit}")


def follows(wanted: str, found: str, *allowed: str) -> CaseCheck:
    """Return a check that passes if the observed next phase is one of the allowed phases."""
    return CaseCheck(wanted, found in allowed, found or "the end of the run")
