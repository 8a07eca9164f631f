"""Check stated probabilities by decisions on random utilities whose true means are known.

Utilities are lognormal gains with a spread of up to 1, follow Student's t with 3 degrees of
freedom, or are nearly constant with outages in 5 % of the runs; all algorithms share a part of the
noise in each repetition. True means are ties, steps within the indifference zone, or far apart. In
each world, decisions are made from 6 to 40 pairs of runs of 2 to 19 algorithms; then new runs are
drawn, and the decisions are repeated.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.judge.decision import SURE, ZONE, chosen_of

if TYPE_CHECKING:
    from cwndlab._core import Chosen

PAIRS = (6, 10, 20, 40)
ALGORITHMS = (2, 6, 19)
KINDS = ("lognormal 0.1", "lognormal 0.3", "lognormal 1", "t3", "outages")
GAPS = (0.0, 0.02, 0.1, 0.5)
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.01)
OUTAGES = 0.05
FEWEST = 30  # decisions in a bin
TOLERANCE = 0.05  # accepted excess of a stated probability over the observed share


@dataclass(frozen=True, slots=True)
class World:
    """The distribution of utilities: kind of noise, true means, and shared part of the noise."""

    kind: str
    means: np.ndarray
    shared: float
    """Share of the spread that all algorithms have in common in a repetition."""

    def runs(self, pairs: int, random: np.random.Generator) -> np.ndarray:
        """Draw utilities with a row for each algorithm and a column for each repetition."""
        common = self._noise((1, pairs), random)
        own = self._noise((len(self.means), pairs), random)
        mixed = np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own
        runs: np.ndarray = self.means[:, None] + mixed
        return runs

    def _noise(self, shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
        match self.kind.split():
            case ["lognormal", spread]:
                return float(spread) * random.standard_normal(shape)
            case ["t3"]:
                return 0.1 * random.standard_t(3, shape)
            case _:
                is_out = random.random(shape) < OUTAGES
                return 0.02 * random.standard_normal(shape) - 3.0 * is_out + 0.15


def main() -> int:
    """Run the simulation and print the reliability of each probability."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trials", type=int, default=60, help="number of worlds of each kind and size"
    )
    parser.add_argument("--figure", type=Path, help="SVG file for the reliability diagram")
    options = parser.parse_args()
    random = np.random.default_rng(20_261_122)
    stays, named, good, with_best, in_zone = [], [], [], [], []
    for kind in KINDS:
        for pairs in PAIRS:
            for count in ALGORITHMS:
                for trial in range(options.trials):
                    world = made(kind, count, GAPS[trial % len(GAPS)], random)
                    first, second = (decided(world.runs(pairs, random)) for _ in range(2))
                    leader = first["order"][0]
                    best = world.means.max()
                    stays.append((first["leader_stays"], leader in second["candidates"]))
                    if first["leader_stays"] >= SURE:
                        named.append(leader in second["good"])
                    good.append((first["leader_is_good"], best - world.means[leader] <= ZONE))
                    with_best.append(any(world.means[at] == best for at in first["good"]))
                    in_zone.append(np.mean(best - world.means[first["good"]] <= ZONE))
    missed = 0
    missed += told("repeatable: the first is a candidate in fresh runs", np.array(stays, float))
    missed += told("the first is within the zone of the best", np.array(good, float))
    print(f"repeatable decisions whose first is in the set of fresh runs: {np.mean(named):.3f}")
    print(
        f"sets with the best: {np.mean(with_best):.3f}; members in the zone: {np.mean(in_zone):.3f}"
    )
    if options.figure:
        draw(options.figure, np.array(stays, float), np.array(good, float))
    return int(missed > 0)


def made(kind: str, count: int, gap: float, random: np.random.Generator) -> World:
    """Draw a world whose means are ties, or up to `gap` below the best."""
    means = -gap * random.random(count)
    means[random.integers(count)] = 0.0
    return World(kind, means, float(random.choice([0.0, 0.5, 0.95])))


def decided(utilities: np.ndarray) -> Chosen:
    """Return the decision on these utilities."""
    return chosen_of(utilities, np.zeros_like(utilities), price=0.0)


def told(title: str, found: np.ndarray) -> int:
    """Print a reliability table, and return the number of bins whose probabilities are too high."""
    stated, happened = found.T
    print(f"{title}: Brier score {np.mean((stated - happened) ** 2):.4f}, {len(found):,} decisions")
    missed = 0
    for low, high in pairwise(EDGES):
        inside = (stated >= low) & (stated < high)
        if inside.sum() < FEWEST:
            continue
        claim, fact = stated[inside].mean(), happened[inside].mean()
        is_over = claim - fact > TOLERANCE
        missed += is_over
        flag = "MISSED" if is_over else ""
        print(f"  stated {claim:.3f}   happened {fact:.3f}   of {inside.sum():6,} {flag}")
    return missed


def draw(path: Path, stays: np.ndarray, good: np.ndarray) -> None:
    """Draw the reliability diagram: stated against observed probability, with the diagonal."""
    from matplotlib.figure import Figure  # noqa: PLC0415  only with --figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, found, mark in (("repeatable", stays, "o-"), ("good selection", good, "s--")):
        stated, happened = found.T
        order = np.argsort(stated)
        bins = [part for part in np.array_split(order, 12) if len(part)]
        axes.plot(
            [stated[part].mean() for part in bins],
            [happened[part].mean() for part in bins],
            mark,
            label=name,
        )
    axes.set(xlabel="stated probability", ylabel="share that came true", xlim=(0, 1), ylim=(0, 1))
    axes.legend(loc="upper left")
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
