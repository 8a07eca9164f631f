"""A test case, its checks, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cwndlab.algorithm.conformance.bench import Bench


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """A requirement of a case, and the observed value."""

    wanted: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Case:
    """A test case of a draft."""

    number: int
    title: str
    """The heading in the draft."""
    checks: Callable[[Bench], Iterator[CaseCheck]]


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The checks of a case up to the first that failed, and the phases of the last run."""

    case: Case
    checks: tuple[CaseCheck, ...]
    trace: str

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)


def within(
    wanted: str, value: float, low: float, high: float, unit: str = "", *, digits: int = 2
) -> CaseCheck:
    """Compare a value with bounds."""
    space = " " if unit else ""
    return CaseCheck(wanted, low <= value <= high, f"{value:.{digits}f}{space}{unit}")


def follows(wanted: str, found: str, *allowed: str) -> CaseCheck:
    """Compare the next phase with the allowed phases."""
    return CaseCheck(wanted, found in allowed, found or "the end of the run")
