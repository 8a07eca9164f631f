"""Check function arguments that no schema covers, and name a remedy for invalid ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cwndlab.errors import ArgumentError

_MOST_JOBS = 1024


def named(value: object, name: str, example: str) -> str:
    """Return the argument `value` if it is a string; an error quotes `name` and `example`.

    Raises:
        ArgumentError: the value is not a string.
    """
    if isinstance(value, str):
        return value
    raise ArgumentError(value, name, f'write a string, such as "{example}"')


def checked_jobs(jobs: int | None) -> int | None:
    """Return a number of parallel runs, after checking it; None means one run per processor core.

    Raises:
        ArgumentError: the value is neither None nor a valid number of runs.
    """
    is_number = isinstance(jobs, int) and not isinstance(jobs, bool)
    if jobs is None or (is_number and 1 <= jobs <= _MOST_JOBS):
        return jobs
    remedy = f"write a number from 1 to {_MOST_JOBS:,}, or None for one run per processor core"
    raise ArgumentError(jobs, "jobs", remedy)


def checked_budget_s(budget_s: float | None) -> float | None:
    """Check and return the time limit, in seconds, for all runs together; None means the default.

    Raises:
        ArgumentError: the value is neither None nor a positive number.
    """
    is_number = isinstance(budget_s, int | float) and not isinstance(budget_s, bool)
    if budget_s is None or (is_number and math.isfinite(budget_s) and budget_s > 0):
        return budget_s
    raise ArgumentError(budget_s, "budget_s", "write a number of seconds, such as 15")


def checked_links(link: object) -> list[str]:
    """Return the links in an argument as a list; the argument is one link or a sequence of links.

    Raises:
        ArgumentError: the value contains something that is not a string.
    """
    links = [link] if isinstance(link, str) else link
    if isinstance(links, Sequence) and all(isinstance(each, str) for each in links):
        return list(links)
    remedy = 'give the name of a preset, "trace:PATH", a TOML file or "rate=10 Mbit/s,delay=20 ms"'
    raise ArgumentError(link, "link", remedy)
