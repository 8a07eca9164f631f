"""Simulate trials: error rates and power of switchback verdicts and flow-by-flow verdicts.

The worlds (bench/trial_worlds.py) are wires, cells or Wi-Fi networks with drift, busy hours, cross
traffic and interference. Both algorithms are simulated in every period of a trial, so that the true
change is known; the trial sees only one of the two simulations. Algorithms are also compared flow
by flow (A/B test): in each period, half of the flows use each algorithm, over the same queue.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from trial_guard import CONDITIONS, WASHOUTS_S, Setting, guarded
from trial_runs import FLOWS, LOOK_S, Flows, flows_of, outcome
from trial_worlds import KINDS, PERIOD_S, WASHOUT_S, scenario, world

from cwndlab.api.trial import Design
from cwndlab.judge.decision import ZONE
from cwndlab.judge.goals import goal_named
from cwndlab.judge.plan import needed_repetitions
from cwndlab.judge.switchback import Verdict, change_of, orders, verdict_of
from cwndlab.measure.trial.guard import Guard, Guardrails

if TYPE_CHECKING:
    from cwndlab.measure.trial.periods import PeriodOutcome

PAIRS = (("bbr", "cubic"), ("reno", "cubic"), ("vegas", "cubic"), ("cubic", "cubic"))
_RETURN_S = Design(period_s=PERIOD_S, washout_s=WASHOUT_S).return_s


@dataclass(frozen=True)
class Guarded:
    """What the guardrails do in a trial."""

    is_stopped: bool
    returns: int


@dataclass(frozen=True)
class Tried:
    """The result of a trial, and the true change."""

    pair: tuple[str, str]
    truth: float
    verdict: Verdict
    estimate: float
    covers: bool
    apart: Verdict
    apart_covers: bool
    apart_estimate: float
    spread: float
    differences: tuple[float, ...]
    is_harmless: bool
    """Whether every period of the challenger is within the limits of the guardrails, compared with
    the baseline in the same period."""
    guards: dict[str, Guarded]
    """What the guardrails do in the whole trial, with and without returns to the baseline."""


def tried(kind: str, seed: int, blocks: int) -> Tried:
    """Conduct a trial; the seed chooses the pair."""
    draws = np.random.default_rng([20, seed])
    challenger, baseline = PAIRS[seed % len(PAIRS)]
    goal = goal_named("balance" if seed % 8 < 4 else "throughput")  # noqa: PLR2004  half of each
    texts = []
    for n, each in enumerate(world(kind, draws, 2 * blocks)):
        half = [challenger] * (FLOWS // 2) + [baseline] * (FLOWS // 2)
        for k, algorithms in enumerate(([challenger] * FLOWS, [baseline] * FLOWS, half)):
            run = 0 if each.is_radio else k
            flows = [{"algorithm": name} for name in algorithms]
            texts.append(scenario(each, flows, 10_000 * seed + 3 * n + run + 1, samples_s=LOOK_S))
        back = [{"algorithm": baseline}] * FLOWS
        again = 10_000 * seed + 5_000 + n  # the same conditions, another moment
        texts.append(scenario(each, back, again, duration_s=_RETURN_S, samples_s=LOOK_S))
    runs = flows_of(texts)

    def of(run: Flows, first: int = 0, end: int = FLOWS) -> PeriodOutcome:
        return outcome(run, run.rows[first:end], WASHOUT_S, goal)

    ours, theirs, backs = ([of(run) for run in runs[k::4]] for k in (0, 1, 3))
    truth = float(np.mean([a.utility - b.utility for a, b in zip(ours, theirs, strict=True)]))
    first = orders(blocks, seed)
    seen_ours = [ours[2 * n if first[n] else 2 * n + 1].utility for n in range(blocks)]
    seen_theirs = [theirs[2 * n + 1 if first[n] else 2 * n].utility for n in range(blocks)]
    change = change_of(seen_ours, seen_theirs)
    mixed = [
        (of(run, 0, FLOWS // 2).utility, of(run, FLOWS // 2, FLOWS).utility) for run in runs[2::4]
    ]
    apart = change_of([a for a, _ in mixed], [b for _, b in mixed])
    guard = Guard(Guardrails())
    harms = [
        guard.harm_of_period(a, [replace(b, rtt_p25_ms=None)])
        for a, b in zip(ours, theirs, strict=True)
    ]
    own_periods = [2 * n if first[n] else 2 * n + 1 for n in range(blocks)]
    return Tried(
        (challenger, baseline),
        truth,
        verdict_of(change),
        change.estimate,
        change.low <= truth <= change.high,
        verdict_of(apart),
        apart.low <= truth <= apart.high,
        apart.estimate,
        change.spread,
        tuple(float(a - b) for a, b in zip(seen_ours, seen_theirs, strict=True)),
        not any(harms[n] for n in own_periods),
        {
            title: _guarded(own_periods, ours, theirs, found)
            for title, found in (("with returns", backs), ("without", None))
        },
    )


def _guarded(
    own_periods: list[int],
    ours: list[PeriodOutcome],
    theirs: list[PeriodOutcome],
    backs: list[PeriodOutcome] | None,
) -> Guarded:
    """Check the challenger's periods, each at its end, as a trial does."""
    guard, returns = Guard(Guardrails()), 0
    reference = [theirs[own_periods[0] ^ 1]]  # instead of a pilot period
    for n in own_periods:
        before = [*reference, theirs[n ^ 1]] if n % 2 else reference
        if backs is None:
            harm = guard.harm_of_period(ours[n], before)
        elif n != own_periods[0] and guard.suspicion_of_period(ours[n], before) is None:
            harm = None
        else:
            returns += 1
            is_first = n == own_periods[0]
            harm = guard.harm_after_return(
                ours[n], before, backs[n], is_whole=True, is_first=is_first
            )
        if harm is not None:
            return Guarded(is_stopped=True, returns=returns)
        reference.append(theirs[n ^ 1])
    return Guarded(is_stopped=False, returns=returns)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--worlds", nargs="+", choices=KINDS, default=["wire"])
    parser.add_argument(
        "--guardrails", type=int, metavar="HARMS", help="measure only the guardrails"
    )
    parser.add_argument("--conditions", choices=CONDITIONS, default=CONDITIONS[0])
    parser.add_argument("--period", type=int, choices=WASHOUTS_S, default=60, metavar="SECONDS")
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    options = parser.parse_args()
    for kind in options.worlds:
        if options.guardrails:
            setting = Setting(kind, options.conditions, options.period)
            seeds = range(options.first, options.first + 100_000)
            guarded(setting, seeds, options.guardrails)
            continue
        measure(kind, options.trials, options.blocks)


def measure(kind: str, trials: int, blocks: int) -> None:
    """Conduct trials in worlds of one kind, and print their error rates and power."""
    found = []
    for seed in range(trials):
        found.append(tried(kind, seed, blocks))
        if seed % 20 == 19:  # noqa: PLR2004  now and then
            print(f"{kind}: {seed + 1} trials", flush=True)
    print(f"{kind}: {trials} trials of {blocks} blocks")
    for title, name in (("switchback", "verdict"), ("flow by flow", "apart")):
        covers = "covers" if name == "verdict" else "apart_covers"
        wrong_good = [getattr(t, name) is Verdict.CONFIRMED for t in found if t.truth <= 0]
        wrong_bad = [getattr(t, name) is Verdict.REFUTED for t in found if t.truth >= ZONE]
        decided = [getattr(t, name) is not Verdict.NOT_ENOUGH for t in found]
        print(
            f"{title}: interval holds the true change in "
            f"{100 * np.mean([getattr(t, covers) for t in found]):.1f} % (stated 95); confirmed "
            f"where it is not better {sum(wrong_good)} of {len(wrong_good)}; refuted where it is "
            f"better by the zone {sum(wrong_bad)} of {len(wrong_bad)} (stated 2.5 %); decided "
            f"{100 * np.mean(decided):.0f} %"
        )
    for pair in PAIRS:
        own = [t for t in found if t.pair == pair]
        print(
            f"  {pair[0]} for {pair[1]}: true change {np.mean([t.truth for t in own]):+.3f}, "
            f"switchback {np.mean([t.estimate for t in own]):+.3f}, flow by flow "
            f"{np.mean([t.apart_estimate for t in own]):+.3f}"
        )
    _print_power(found, blocks)
    for title in ("with returns", "without"):
        for what, own in (
            ("within the limits in every period", [t for t in found if t.is_harmless]),
            ("better by the zone", [t for t in found if t.truth >= ZONE]),
            (
                "better by the zone and within the limits in every period",
                [t for t in found if t.truth >= ZONE and t.is_harmless],
            ),
        ):
            print(
                f"guardrails {title}: {sum(t.guards[title].is_stopped for t in own)} of {len(own)} "
                f"trials stopped whose challenger is {what}"
            )
    returns = [t.guards["with returns"].returns for t in found if t.is_harmless]
    print(f"returns in a trial within the limits: {np.mean(returns):.1f} in {2 * blocks} periods")


def _print_power(found: list[Tried], blocks: int) -> None:
    """Print how often the planned number of blocks detects an effect of the planned size."""
    draws = np.random.default_rng(1)
    seen, planned = [], []
    for each in found:
        apart = np.array(each.differences) - np.mean(each.differences)
        pilot = draws.choice(apart, blocks) * math.sqrt(blocks / (blocks - 1))
        for effect in (0.05, 0.1, 0.2):
            spread = change_of(pilot, np.zeros(blocks)).cautious_spread
            count = needed_repetitions(spread, effect)
            if count is None or count > 400:  # noqa: PLR2004  no trial is longer
                continue
            wide = draws.choice(apart, max(count, 6)) * math.sqrt(blocks / (blocks - 1))
            change = change_of(effect + wide, np.zeros(len(wide)))
            seen.append(change is not None and change.low > 0)
            planned.append(count)
    print(
        f"power: the planned length sees the planned effect in {100 * np.mean(seen):.0f} % of "
        f"{len(seen)} trials (stated 80); blocks {np.median(planned):.0f} in the median"
    )


if __name__ == "__main__":
    main()
