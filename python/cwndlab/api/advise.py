"""Advice for one network and one goal: run, decide, look again, for as long as the budget lasts.

The link itself is repeated in looks of 10, 20 and 40 repetitions, until every algorithm is known to
be in the set or not by an interval that holds at all looks (`cwndlab_judge::sequence`).  Beside it,
networks like it are drawn from the declared ranges of everything that was assumed, each once.

A recorded trace is one walk through a network.  Each repetition begins elsewhere in it, at the same
place for all algorithms.  Where nothing is random, flows start up to 100 ms later, by chance.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.api.inquiry import inquire
from cwndlab.judge.answer import BASELINE
from cwndlab.judge.goals import goal_named
from cwndlab.judge.uses import use_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.decision import Decision

LOOKS = (10, 20, 40)
"""Repetitions after which it is seen whether the goal is decided."""

BUDGET_S = 15.0
"""Time for one network, and for each class of a population."""
CANDIDATES = ("cubic", "reno", "bbr", "vegas", "westwood", "illinois")
"""The default candidates: those of Linux, one of each kind."""

DRAWS_AT_MOST, DRAWS_AT_LEAST = 96, 24
_SHARE_OF_NETWORKS = 0.85  # of the budget


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer for a network or a population."""

    answers: Answers
    results: Results
    is_late: bool
    """Whether the budget ended before every algorithm was known to be in the set or not."""

    @property
    def decision(self) -> Decision:
        """The answer."""
        return self.answers.together


def advise(  # noqa: PLR0913  each has its default
    link: str | Sequence[str] = (),
    goal: str = "balance",
    *,
    users: str | None = None,
    use: str = "bulk",
    algorithms: Sequence[str] = CANDIDATES,
    baseline: str = BASELINE,
    direction: str = "downlink",
    budget_s: float | None = None,
    folder: Path | None = None,
    jobs: int | None = None,
    has_mixes: bool = False,
    on_first: Callable[[Answers], None] | None = None,
) -> Advice:
    """Say which congestion control to use on a link, and how sure that is.

    Args:
        link: a preset, `trace:PATH`, a TOML file, or keys in one line; several are classes of users
            that count the same.
        goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
            `fairness-to-cubic` or `stability`.
        users: a population instead: `mobile`, `home`, `train`, `satellite` or a TOML file.
        use: what the network is for: `bulk`, `web`, `video`, `rpc`, `upload` or `call`; all but
            `bulk` and `upload` say themselves what counts, and `goal` does not.
        algorithms: what is compared; the baseline is added.
        baseline: the algorithm that is run today.
        direction: of the data: `downlink` or `uplink`.
        budget_s: time for all of it; 15 s for one network, or for each class of a population.
        folder: of the results; `results/advise-HASH` if None.
        jobs: runs at once; one per core if None.
        has_mixes: whether the recommended algorithm is run beside others in all mixes, for the
            report: many flows, other round trips, queues and orders of starting.
        on_first: is given the answer of the first look, before networks like it are tried.

    Raises:
        CwndlabError: a link, the goal or an algorithm is not known, or a run failed.
        ValueError: neither a link nor users, or both.
    """
    links = [link] if isinstance(link, str) else list(link)
    if bool(links) == (users is not None):
        msg = "give either links or users"
        raise ValueError(msg)
    wanted = use_named(use)
    goal = wanted.goal.name if wanted.goal else goal
    direction = wanted.keys.get("direction", direction)
    inquiry = inquire(
        links,
        users,
        goal_named(goal),
        list(dict.fromkeys([*algorithms, baseline])),
        baseline,
        direction,
        folder,
        jobs,
    )
    classes = 1 if inquiry.population is None else len(inquiry.population.classes)
    budget = budget_s or BUDGET_S * classes
    began_s = time.monotonic()
    results, answers = inquiry.look(LOOKS[0])
    if on_first is not None:
        on_first(answers)
    spent_s = time.monotonic() - began_s
    per_repetition_s = spent_s / LOOKS[0]
    draw_s = per_repetition_s * inquiry.cost_of_draw(DRAWS_AT_LEAST)
    draws = int((budget - spent_s) * _SHARE_OF_NETWORKS / draw_s)
    inquiry.try_networks(max(DRAWS_AT_LEAST, min(DRAWS_AT_MOST, draws)))
    inquiry.try_coexistence()
    done, is_late = LOOKS[0], False
    for count in LOOKS[1:]:
        if answers.together.is_settled or answers.together.pairs == 0:
            break
        left_s = budget - (time.monotonic() - began_s)
        if per_repetition_s * (count - done) > left_s:
            is_late = True
            break
        results, answers = inquiry.look(count)
        done = count
    final = results.answers(goal, baseline=baseline)
    if has_mixes and final.together.first is not None:
        inquiry.try_mixes(final.together.first)
    return Advice(final, results, is_late)
