"""Compute how many similar networks `advise` can simulate within its time limit.

The number is estimated from the durations of the first runs, which are stored with the results. If
the command is repeated, it reads the stored durations and therefore simulates the same networks.
"""

from __future__ import annotations

from dataclasses import dataclass

BUDGET_S = 15.0
"""Default time limit of `advise` in seconds, for one network or for each class of users."""

DRAWS_AT_LEAST, DRAWS_AT_MOST = 24, 256
# At most this number of networks in `BUDGET_S`; the standard error of a share of 64 networks is
# 0.06, of 128 networks 0.04.
_DRAWS_OF_BUDGET = 64
_AROUND_S = 2.0  # start of Python, reading results and deciding
_SHARE_OF_NETWORKS = 0.85  # of the remaining time, because runs may take longer than estimated


@dataclass(frozen=True, slots=True)
class Times:
    """Estimated times that `advise` needs for further runs; several may run in parallel."""

    repetition_s: float
    """Time in seconds to run each algorithm once on the link of each class of users."""
    draw_s: float
    """Time in seconds to run each algorithm once for each class of users, on one network that is
    similar to the link of this class."""
    coexistence_s: float
    """Total time in seconds of the runs in which algorithms compete with CUBIC or themselves."""


def draws_within(budget_s: float, classes: int, first_look: int, times: Times) -> int:
    """Return the number of similar networks to simulate for each class of users.

    Args:
        budget_s: time limit for all runs.
        classes: number of classes of the population; 1 for one network.
        first_look: number of repetitions that run before the runs on similar networks.
        times: estimated computing times.
    """
    before_s = _AROUND_S + first_look * times.repetition_s + times.coexistence_s
    affordable = int(_SHARE_OF_NETWORKS * (budget_s - before_s) / times.draw_s)
    useful = round(_DRAWS_OF_BUDGET * budget_s / (BUDGET_S * classes))
    return max(DRAWS_AT_LEAST, min(DRAWS_AT_MOST, useful, affordable))


def has_time_for(repetitions: int, times: Times, budget_s: float, spent_s: float) -> bool:
    """Return whether the given number of further repetitions fits into the time limit."""
    return spent_s + repetitions * times.repetition_s + _AROUND_S <= budget_s
