"""The number of networks that advice tries within its budget, from the durations of its own runs.

The results hold the duration of each run. The plan is therefore the same whether the first look
was computed now or earlier, and the same command tries the same networks again.
"""

from __future__ import annotations

from dataclasses import dataclass

BUDGET_S = 15.0
"""Time for one network, or for each class of a population."""

DRAWS_AT_LEAST, DRAWS_AT_MOST = 24, 256
_DRAWS_OF_BUDGET = 64  # in `BUDGET_S` at most; a share of them is known to 0.06, of twice to 0.04
_AROUND_S = 2.0  # Python's start, reading results and deciding
_SHARE_OF_NETWORKS = 0.85  # of the time that is left; runs may take longer than thought


@dataclass(frozen=True, slots=True)
class Times:
    """Estimated times on the cores in use."""

    repetition_s: float
    """Time of one run of each algorithm, in each class of a population."""
    draw_s: float
    """Time of one run of each algorithm on one similar network, in each class."""
    coexistence_s: float
    """Time of all runs together with CUBIC and with the same algorithm."""


def draws_within(budget_s: float, classes: int, first_look: int, times: Times) -> int:
    """Return the number of networks to try for each class of a population.

    Args:
        budget_s: time for the whole answer.
        classes: number of classes of the population; 1 for one network.
        first_look: number of repetitions before similar networks are tried.
        times: estimated times of the parts of the answer.
    """
    before_s = _AROUND_S + first_look * times.repetition_s + times.coexistence_s
    affordable = int(_SHARE_OF_NETWORKS * (budget_s - before_s) / times.draw_s)
    useful = round(_DRAWS_OF_BUDGET * budget_s / (BUDGET_S * classes))
    return max(DRAWS_AT_LEAST, min(DRAWS_AT_MOST, useful, affordable))


def has_time_for(repetitions: int, times: Times, budget_s: float, spent_s: float) -> bool:
    """Return whether this number of further repetitions fits into the budget."""
    return spent_s + repetitions * times.repetition_s + _AROUND_S <= budget_s
