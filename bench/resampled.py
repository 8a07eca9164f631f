"""Check the bars of `bench/verdicts.py` on known links by resampling, in minutes, not hours.

Each link is simulated many times, only once for all checks. These runs are treated as the whole
population: their mean is the truth, and ten of these runs, drawn with replacement, give one answer.
Therefore, many answers need no further simulation, the truth has no sampling error, and a rule can
be tested before it is adopted. With --truth, the truth is instead the mean of that number of drawn
repetitions, as in `bench/verdicts.py`.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from verdicts import FEWEST_STRONG, GOALS, STRONG, TRUTH_SEED, Answers, Tally, short

from cwndlab.judge.decision import ZONE, chosen_of

if TYPE_CHECKING:
    from cwndlab.judge.goals import Goal

SEED = 20_261_126


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("links", nargs="+")
    parser.add_argument(
        "--answers", type=int, default=100, help="number of answers for each link and goal"
    )
    parser.add_argument(
        "--repetitions", type=int, default=10, help="number of repetitions of an answer"
    )
    parser.add_argument("--pool", type=int, default=100, help="number of repetitions of each link")
    parser.add_argument(
        "--truth", type=int, default=0, help="repetitions that define the truth; 0: all"
    )
    parser.add_argument("--duration", default="30 s")
    parser.add_argument("--keep", type=Path, default=Path("target/verdicts"))
    options = parser.parse_args()
    random = np.random.default_rng(SEED)
    print(f"{'link':26}{'goal':11} contradict repeat. with top in zone   size+   regret   p95")
    totals = {goal.name: Tally() for goal in GOALS}
    could = {goal.name: [] for goal in GOALS}
    for link in options.links:
        runs = Pool(link, options)
        for goal in GOALS:
            tally, stays = runs.tally(goal, random)
            totals[goal.name].add(tally)
            could[goal.name] += stays
            print(f"{short(link):26}{goal.name:11} {tally.row()}", flush=True)
    missed = []
    for name, tally in totals.items():
        print(f"{'all':26}{name:11} {tally.row()}")
        known = np.mean([share >= STRONG for share in could[name]])
        print(f"  repeatable with {STRONG} or more, with the link known: {100 * known:.0f} %")
        missed += [f"{name}: {bar}" for bar in tally.missed()]
    for bar in missed:
        print(f"MISSED {bar} (at least {FEWEST_STRONG:.0%} are to be repeatable)")
    return int(bool(missed))


class Pool(Answers):
    """Many repetitions of one link, and answers from a few of them."""

    def __init__(self, link: str, options: argparse.Namespace) -> None:
        self.link, self.options, self.change = link, options, None
        self.keep = options.keep
        self.truth = self._comparison(TRUTH_SEED, options.pool)

    def tally(self, goal: Goal, random: np.random.Generator) -> tuple[Tally, list[float]]:
        """Return counts over answers, and for each answer the share of sets with its first one."""
        rows = list(self.truth.values.values())
        gain = np.array([each[goal.gain] for each in rows])
        cost = np.array([each[goal.cost] for each in rows]) if goal.cost else np.zeros_like(gain)
        of_truth = self._drawn(self.options.truth, random) if self.options.truth else slice(None)
        means = (gain - goal.price * cost)[:, of_truth].mean(axis=1)
        behind = means.max() - means
        tally, sets, firsts = Tally(), [], []
        for _ in range(self.options.answers):
            at = self._drawn(self.options.repetitions, random)
            chosen = chosen_of(gain[:, at], cost[:, at], goal.price)
            good, stays = set(chosen["good"]), chosen["leader_stays"]
            tally.with_top.append(int(np.argmin(behind)) in good)
            tally.in_zone += [bool(behind[each] <= ZONE) for each in good]
            tally.extra.append(len(good) - int((behind <= ZONE).sum()))
            tally.regret.append(float(behind[chosen["good"][0]]))
            tally.strong.append(stays is None or stays >= STRONG)
            sets.append(good)
            firsts.append(chosen["good"][0])
        strong = [each for each, is_strong in zip(sets, tally.strong, strict=True) if is_strong]
        tally.contradictions += [not a & b for a, b in itertools.combinations(strong, 2)]
        return tally, [float(np.mean([first in each for each in sets])) for first in firsts]

    def _drawn(self, count: int, random: np.random.Generator) -> np.ndarray:
        return random.integers(self.options.pool, size=count)


if __name__ == "__main__":
    sys.exit(main())
