"""Recommend algorithms for one network and one goal, within a limit on the computing time.

`advise` compares the algorithms after 10, 20 and 40 repetitions on the given link, and stops as
soon as it is clear which algorithms belong to the recommended set. The confidence intervals stay
valid although the algorithms are compared repeatedly (`cwndlab_judge::sequence`).

`advise` also simulates every algorithm once on each of several similar networks. Some values of a
network, such as the distance of the server, are only assumed. For each of these values, the preset
of the link or `data/ranges.toml` defines a range. For each similar network, a value is drawn at
random from each range.

On a recorded trace, each repetition begins at a different point of the trace; within a repetition,
all algorithms begin at the same point. The start of each flow is delayed by a random time of up to
100 ms, so that repetitions differ even on a link without randomness.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.api.arguments import checked_budget_s, checked_jobs, checked_links, named
from cwndlab.api.inquiry import inquire
from cwndlab.api.spending import BUDGET_S, draws_within, has_time_for
from cwndlab.errors import ArgumentError
from cwndlab.judge.answer import BASELINE
from cwndlab.judge.goals import goal_named
from cwndlab.judge.uses import use_named
from cwndlab.schema.direction import Direction
from cwndlab.text.files import checked_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.decision import Decision

LOOKS = (10, 20, 40)
"""Numbers of repetitions after which `advise` decides whether more repetitions are needed."""

CANDIDATES = ("cubic", "reno", "bbr", "vegas", "westwood", "illinois")
"""Algorithms that are compared by default: six Linux algorithms of different kinds."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommendation for one network, or for a population of users with different networks."""

    answers: Answers
    results: Results
    is_late: bool
    """True if the time limit was reached before it was clear which algorithms belong to the
    recommended set."""

    @property
    def decision(self) -> Decision:
        """The decision on the best algorithm, for all network settings combined."""
        return self.answers.together


def advise(  # noqa: PLR0913  each has its default
    link: str | Sequence[str] = (),
    goal: str = "balance",
    *,
    users: str | None = None,
    use: str = "bulk",
    algorithms: str | Sequence[str] = CANDIDATES,
    baseline: str = BASELINE,
    direction: str = "downlink",
    budget_s: float | None = None,
    folder: Path | None = None,
    jobs: int | None = None,
    has_mixes: bool = False,
    on_first: Callable[[Answers], None] | None = None,
) -> Advice:
    """Recommend a congestion control algorithm for a link, and report how certain that is.

    Args:
        link: a preset, `trace:PATH`, a TOML file, or "KEY=VALUE,KEY=VALUE". In a list of links,
            each link is a class of users; all classes have equal weights.
        goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
            `fairness-to-cubic` or `stability`.
        users: a population of users, instead of `link`: `mobile`, `home`, `train`, `satellite` or
            a TOML file.
        use: use of the network: `bulk`, `web`, `video`, `rpc`, `upload` or `call`. The uses `web`,
            `video`, `rpc` and `call` have their own goals, which replace `goal`.
        algorithms: the algorithms to compare with the baseline.
        baseline: the algorithm in use today, which is always part of the comparison.
        direction: direction in which the data flow, `downlink` or `uplink`.
        budget_s: limit on the time for all runs; by default, 15 s for one network or for each
            class of a population.
        folder: the results folder. If None, `results/advise-HASH`.
        jobs: number of parallel runs. If None, one run per processor core.
        has_mixes: whether to simulate how the recommended algorithm competes with CUBIC and with
            itself: with many flows, unequal round-trip times, several queue sizes and several
            start orders. The report shows the results.
        on_first: function that receives the first answer, before similar networks are simulated.

    Raises:
        ArgumentError: a time limit, a number of runs or a folder is not valid.
        CwndlabError: a link, the goal or an algorithm is unknown, or a run failed.
        ValueError: both `link` and `users` are given, or neither is given.
    """
    given_s = checked_budget_s(budget_s)
    links = checked_links(link)
    if bool(links) == (users is not None):
        msg = "give either `link` or `users`" + (", not both" if links else "")
        raise ValueError(msg)
    if users is not None:
        users = named(users, "users", "mobile")
    names = [algorithms] if isinstance(algorithms, str) else algorithms
    wanted = use_named(use)
    goal = wanted.goal.name if wanted.goal else goal
    direction = wanted.keys.get("direction", direction)
    if direction not in {each.title for each in Direction}:
        raise ArgumentError(direction, "direction", 'write "downlink" or "uplink"')
    inquiry = inquire(
        links,
        users,
        goal_named(goal),
        list(dict.fromkeys([*names, baseline])),
        baseline,
        direction,
        None if folder is None else checked_path(folder, "folder"),
        checked_jobs(jobs),
    )
    classes = 1 if inquiry.population is None else len(inquiry.population.classes)
    budget = given_s or BUDGET_S * classes
    began_s = time.monotonic()
    results, answers = inquiry.look(LOOKS[0])
    if answers.together.first is None:
        return Advice(results.answers(goal, baseline=baseline), results, is_late=False)
    if on_first is not None:
        on_first(answers)
    times = inquiry.times(results)
    inquiry.try_networks(draws_within(budget, classes, LOOKS[0], times))
    inquiry.try_coexistence()
    done, is_late = LOOKS[0], False
    for count in LOOKS[1:]:
        if answers.together.is_settled or answers.together.pairs == 0:
            break
        spent_s = time.monotonic() - began_s
        if not has_time_for(count - done, times, budget, spent_s):
            is_late = True
            break
        results, answers = inquiry.look(count)
        done = count
    final = results.answers(goal, baseline=baseline)
    if has_mixes and final.together.first is not None:
        inquiry.try_mixes(final.together.first)
    return Advice(final, results, is_late)
