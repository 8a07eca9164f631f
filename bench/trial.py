"""Trials in simulated worlds: error rates of switchback and flow-by-flow verdicts, and their power.

The worlds (bench/trial_worlds.py) are wires, cells or Wi-Fi networks with drift, busy hours, cross
traffic and interference.  Both algorithms are simulated in every period of a trial, so that the
true change is known; the trial sees only one of them.  For comparison, algorithms are also compared
flow by flow (A/B): in each period, half of the flows use each algorithm, over the same queue.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from trial_worlds import KINDS, scenario, world

from cwndlab import core
from cwndlab.judge.decision import ZONE
from cwndlab.judge.goals import Goal, goal_named
from cwndlab.judge.plan import needed_repetitions
from cwndlab.judge.switchback import Verdict, change_of, orders, verdict_of
from cwndlab.measure.trial.guard import Guard, Guardrails
from cwndlab.measure.trial.periods import PeriodOutcome

FLOWS = 4
_CLEAR = Guard(Guardrails(rtt_ratio=3.75, goodput_ratio=0.27, retransmitted_points=7.5))
PAIRS = (("bbr", "cubic"), ("reno", "cubic"), ("vegas", "cubic"), ("cubic", "cubic"))
HARMFUL = ("cubic", "vegas")
HARMS = (HARMFUL, ("highspeed", "vegas"), ("bbr", "vegas"), ("vegas", "cubic"))
"""Challengers that often fill queues, resend much or starve, each with its baseline."""
_AT_ONCE = 50


def flows_of(texts: list[str]) -> list[list[dict[str, Any]]]:
    """Return the rows of the trial's own flows, run by run."""
    found: list[list[dict[str, Any]]] = []
    while texts:
        tables = core.run_many(texts, {})
        done = len(tables["errors"])
        own: list[list[dict[str, Any]]] = [[] for _ in range(done)]
        columns = tables["flows"]
        for n, run in enumerate(columns["run"]):
            if columns["flow"][n] < FLOWS:
                own[int(run)].append({name: values[n] for name, values in columns.items()})
        found += own
        texts = texts[done:]
    return found


def outcome(rows: list[dict[str, Any]], goal: Goal) -> PeriodOutcome:
    """Return the outcome of a period, computed from the rows of its flows."""
    # A flow whose data never arrived has the smallest goodput and no queueing delay.
    base = min((row["rtt_base_ms"] for row in rows if row["rtt_base_ms"] is not None), default=0.0)
    goodputs = [max(row["goodput_mbit_s"], 0.01) for row in rows]
    late = [row["rtt_p95_ms"] if row["rtt_p95_ms"] is not None else base for row in rows]
    utilities = [
        goal.utility_of_flow(goodput, max(rtt - base, 0))
        for goodput, rtt in zip(goodputs, late, strict=True)
    ]
    again = float(np.mean([row["retransmitted_pct"] or 0.0 for row in rows]))
    return PeriodOutcome(
        float(np.mean(utilities)), float(np.mean(goodputs)), float(np.mean(late)), again, len(rows)
    )


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
    clear_harm: bool
    """Whether the challenger's first period exceeds a limit of the guardrails by half."""
    harm: bool
    """Whether the challenger's first period exceeds a limit of the guardrails."""
    is_stopped: bool


def tried(kind: str, seed: int, blocks: int, pair: tuple[str, str] | None = None) -> Tried:
    """Conduct a trial; the seed chooses the pair if none is given."""
    draws = np.random.default_rng([20, seed])
    challenger, baseline = pair or PAIRS[seed % len(PAIRS)]
    goal = goal_named("balance" if seed % 8 < 4 else "throughput")  # noqa: PLR2004  half of each
    texts = []
    for n, each in enumerate(world(kind, draws, 2 * blocks)):
        half = [challenger] * (FLOWS // 2) + [baseline] * (FLOWS // 2)
        for k, algorithms in enumerate(([challenger] * FLOWS, [baseline] * FLOWS, half)):
            run = 0 if each.is_radio else k
            texts.append(scenario(each, algorithms, 10_000 * seed + 3 * n + run + 1))
    rows = flows_of(texts)
    ours = [outcome(run, goal) for run in rows[0::3]]
    theirs = [outcome(run, goal) for run in rows[1::3]]
    truth = float(np.mean([a.utility - b.utility for a, b in zip(ours, theirs, strict=True)]))
    first = orders(blocks, seed)
    seen_ours = [ours[2 * n if first[n] else 2 * n + 1].utility for n in range(blocks)]
    seen_theirs = [theirs[2 * n + 1 if first[n] else 2 * n].utility for n in range(blocks)]
    change = change_of(seen_ours, seen_theirs)
    mixed = [
        (outcome(run[: FLOWS // 2], goal).utility, outcome(run[FLOWS // 2 :], goal).utility)
        for run in rows[2::3]
    ]
    apart = change_of([a for a, _ in mixed], [b for _, b in mixed])
    at = 0 if first[0] else 1
    guard, reference = Guard(Guardrails()), [theirs[1 - at]]
    stopped = guard.harm_of_period(ours[at], reference) is not None
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
        _CLEAR.harm_of_period(ours[at], [theirs[at]]) is not None,
        guard.harm_of_period(ours[at], [theirs[at]]) is not None,
        stopped,
    )


def guarded(seeds: range, count: int) -> None:
    """Print how many clearly harmful challengers are stopped within their first period.

    A challenger is clearly harmful if its period exceeds a limit by half, compared with the
    baseline in the same period of the same world.  The guard cannot make this comparison: its
    reference is the baseline's previous period.  Only these three periods of each world are
    simulated.
    """
    goal = goal_named("balance")
    guard = Guard(Guardrails())
    harms = stopped = quiet = false_alarms = worlds = 0
    for first in range(seeds.start, seeds.stop, _AT_ONCE):
        texts = []
        for seed in range(first, min(first + _AT_ONCE, seeds.stop)):
            draws = np.random.default_rng([21, seed])
            challenger, baseline = HARMS[seed % len(HARMS)]
            before, now = world("wire", draws, 2)
            for n, (each, name) in enumerate(
                ((before, baseline), (now, baseline), (now, challenger))
            ):
                texts.append(scenario(each, [name] * FLOWS, 10 * seed + n + 1))
        runs = [outcome(run, goal) for run in flows_of(texts)]
        for reference, same, own in zip(runs[0::3], runs[1::3], runs[2::3], strict=True):
            worlds += 1
            is_stopped = guard.harm_of_period(own, [reference]) is not None
            if _CLEAR.harm_of_period(own, [same]) is not None:
                harms += 1
                stopped += is_stopped
            elif guard.harm_of_period(own, [same]) is None:
                quiet += 1
                false_alarms += is_stopped
        print(f"{worlds} worlds: {stopped} of {harms} clear harms stopped", flush=True)
        if harms >= count:
            break
    low = _least_share(stopped, harms)
    print(
        f"guardrails: {stopped} of {harms} clearly harmful challengers stopped within their first "
        f"period ({100 * stopped / harms:.1f} %; at least {100 * low:.1f} % with 95 % confidence); "
        f"{false_alarms} of {quiet} challengers within the limits stopped, too"
    )


def _least_share(hits: int, count: int) -> float:
    """Return the lower 95 % limit of a share (Clopper and Pearson, 1934), by bisection."""
    low, high = 0.0, hits / count
    for _ in range(60):
        share = (low + high) / 2
        tail = sum(
            math.exp(
                math.lgamma(count + 1)
                - math.lgamma(k + 1)
                - math.lgamma(count - k + 1)
                + k * math.log(share)
                + (count - k) * math.log1p(-share)
            )
            for k in range(hits, count + 1)
        )
        low, high = (share, high) if tail < 0.05 else (low, share)  # noqa: PLR2004  95 %
    return low


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--worlds", nargs="+", choices=KINDS, default=["wire"])
    parser.add_argument(
        "--guardrails", type=int, metavar="HARMS", help="measure only the guardrails"
    )
    options = parser.parse_args()
    if options.guardrails:
        guarded(range(10_000), options.guardrails)
        return
    for kind in options.worlds:
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
    # CUBIC, unlike Vegas, fills queues, so it often does harm if it replaces Vegas.
    found += [tried(kind, seed, 2, HARMFUL) for seed in range(trials, 2 * trials)]
    for title, own in (
        ("beyond the limits by half", [t for t in found if t.clear_harm]),
        ("beyond the limits", [t for t in found if t.harm]),
        ("within the limits", [t for t in found if not t.harm]),
    ):
        print(
            f"guardrails: challengers {title}: {sum(t.is_stopped for t in own)} of {len(own)} "
            "stopped within the first period"
        )


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
