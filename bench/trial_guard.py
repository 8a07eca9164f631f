"""Simulate the guardrails of trials: how many harmful and harmless challengers they stop.

In each world, the challenger is tried for one period. The challenger is *harmful* if this period
exceeds a limit compared with the baseline in the same period (same channel, same cross traffic),
and *clearly harmful* if it exceeds a limit by half. A real trial cannot make this comparison: its
guard sees an earlier period of the baseline, and the return to the baseline after the challenger's
period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from trial_runs import FLOWS, LOOK_S, Flows, flows_of, outcome, outcomes_so_far
from trial_worlds import drifting, scenario, world

from cwndlab.api.trial import Design
from cwndlab.judge.goals import goal_named
from cwndlab.measure.trial.conduct import drain_time_s
from cwndlab.measure.trial.guard import Guard, Guardrails

if TYPE_CHECKING:
    from cwndlab.measure.trial.periods import PeriodOutcome

HARMS = (("cubic", "vegas"), ("highspeed", "vegas"), ("bbr", "vegas"), ("vegas", "cubic"))
"""Challengers that often fill queues, resend much or starve, each with its baseline."""
CLEAR = Guard(Guardrails().scaled(1.5))
CONDITIONS = ("steps", "drifting", "continuous")
"""Whether conditions change only between periods, also within them, or only continuously."""
WASHOUTS_S = {10: 3, 60: 5}
"""Wash-out of the period lengths that can be measured; 60 s and 5 s are the defaults of a trial."""
_AT_ONCE = 40
_SLOWEST_S = 600
_GOAL = goal_named("balance")


@dataclass(frozen=True)
class Setting:
    """Kind of the worlds, how their conditions change, and the length of a period in seconds."""

    kind: str
    conditions: str
    period_s: int

    @property
    def washout_s(self) -> int:
        """Wash-out of a period in seconds."""
        return WASHOUTS_S[self.period_s]

    @property
    def exposed(self) -> int:
        """Number of the challenger's period in its run, counted from 0."""
        return 1 if self.conditions == "continuous" else 0

    def texts(self, seed: int, drain_s: float) -> list[str]:
        """Return the scenarios of a world, of which the last one has the challenger.

        Args:
            seed: seed of the world.
            drain_s: time in seconds between the challenger's period and the return.
        """
        draws = np.random.default_rng([21, seed])
        challenger, baseline = HARMS[seed % len(HARMS)]
        before, now = world(self.kind, draws, 2)
        inner = np.random.default_rng([23, seed])
        if self.conditions == "continuous":
            before = now = drifting(self.kind, before, inner, slowest_s=_SLOWEST_S)
        elif self.conditions == "drifting":
            before = drifting(self.kind, before, inner)
            now = drifting(self.kind, now, inner)
        period_s, washout_s = self.period_s, self.washout_s
        at_s = period_s if self.conditions == "continuous" else 0
        return_s = Design(period_s=period_s, washout_s=washout_s).return_s
        back_s = at_s + period_s + drain_s
        first = (baseline, 0, period_s)
        after = (baseline, back_s, back_s + return_s)
        end_s = at_s + period_s
        # Runs with the same numbers of flows have the same random cross traffic.
        both = [[(name, at_s, end_s), after] for name in (baseline, challenger)]
        if self.conditions == "continuous":
            timelines = [(now, 1, [first, *parts]) for parts in both]
        else:
            timelines = [(before, 0, [first]), *((now, 1, parts) for parts in both)]
        return [
            scenario(
                conditions,
                [
                    {"algorithm": name, "start": f"{start:g} s", "stop": f"{stop:g} s"}
                    for name, start, stop in parts
                    for _ in range(FLOWS)
                ],
                10 * seed + stream,
                duration_s=parts[-1][2],
                washout_s=washout_s,
                samples_s=LOOK_S,
            )
            for conditions, stream, parts in timelines
        ]


@dataclass(frozen=True)
class Exposed:
    """A challenger's first period, and what the guard finds without and with a return."""

    is_clear: bool
    is_harm: bool
    stop_s: float | None
    """Exposure to the challenger until the stop, if suspected harm ends the trial unchecked."""
    checked_stop_s: float | None
    """Exposure until the stop, if the trial returns to the baseline; None without a stop."""
    is_suspected: bool
    """Whether a later period like this one would make the trial return to the baseline."""


def _exposed(setting: Setting, runs: list[Flows]) -> Exposed:
    def of(run: int, period: int) -> PeriodOutcome:
        return outcome(runs[run], runs[run].period(period), setting.washout_s, _GOAL)

    if setting.conditions == "continuous":
        before, same, own, back, last, at = of(0, 0), of(0, 1), of(1, 1), of(1, 2), runs[1], 1
    else:
        before, same, own, back, last, at = of(0, 0), of(1, 0), of(2, 0), of(2, 1), runs[2], 0
    clock_s = 0.0
    guard = Guard(Guardrails(), lambda: clock_s)
    guard.begin()
    stop_s = checked_stop_s = None
    begins_s = at * setting.period_s
    for clock_s, now in outcomes_so_far(last, at, begins_s, setting.washout_s, _GOAL):
        if guard.harm(now, [before]) is None:
            continue
        stop_s = stop_s or clock_s
        if guard.harm_after_return(now, [before], back, is_whole=False, is_first=True) is not None:
            checked_stop_s = clock_s
        break
    if guard.harm_of_period(own, [before]) is not None:
        stop_s = stop_s or setting.period_s
    if guard.harm_after_return(own, [before], back, is_whole=True, is_first=True) is not None:
        checked_stop_s = checked_stop_s or setting.period_s
    # Harm is defined by the 95th percentile of the RTT, goodput and losses.
    defined = replace(same, rtt_p25_ms=None)
    return Exposed(
        CLEAR.harm_of_period(own, [defined]) is not None,
        guard.harm_of_period(own, [defined]) is not None,
        stop_s,
        checked_stop_s,
        stop_s is not None or guard.suspicion_of_period(own, [before]) is not None,
    )


def _exposures(setting: Setting, seeds: range) -> list[Exposed]:
    """Simulate worlds; where the queue needs longer to drain, simulate the last run again."""
    texts = [setting.texts(seed, setting.washout_s) for seed in seeds]
    flat = iter(flows_of([text for each in texts for text in each]))
    worlds = [[next(flat) for _ in each] for each in texts]
    drains_s = {}
    for n, runs in enumerate(worlds):
        last = runs[-1]
        own = outcome(last, last.period(setting.exposed), setting.washout_s, _GOAL)
        drain_s = drain_time_s(own, setting.washout_s, setting.period_s)
        if drain_s > setting.washout_s:
            drains_s[n] = drain_s
    again = flows_of([setting.texts(seeds[n], drain_s)[-1] for n, drain_s in drains_s.items()])
    for n, run in zip(drains_s, again, strict=True):
        worlds[n][-1] = run
    return [_exposed(setting, runs) for runs in worlds]


def guarded(setting: Setting, seeds: range, count: int) -> None:
    """Print which challengers are stopped within their first period, until `count` harms."""
    found: list[Exposed] = []
    for first in range(seeds.start, seeds.stop, _AT_ONCE):
        found += _exposures(setting, range(first, min(first + _AT_ONCE, seeds.stop)))
        print(f"{len(found)} worlds, {sum(e.is_clear for e in found)} clear harms", flush=True)
        if sum(each.is_clear for each in found) >= count:
            break
    quiet = [each.is_suspected for each in found if not each.is_harm]
    print(
        f"{setting.kind}, {setting.conditions}, periods of {setting.period_s} s; "
        f"{sum(quiet)} of {len(quiet)} challengers within the limits are suspected:"
    )
    for title, own in (
        ("clearly harmful", [e for e in found if e.is_clear]),
        ("harmful", [e for e in found if e.is_harm]),
        ("within the limits", [e for e in found if not e.is_harm]),
    ):
        for way, stops in (
            ("with returns", [e.checked_stop_s for e in own]),
            ("without", [e.stop_s for e in own]),
        ):
            seen_s = [stop_s for stop_s in stops if stop_s is not None]
            low, high = _interval(len(seen_s), len(stops))
            exposure = f", after {np.median(seen_s):.1f} s in the median" if seen_s else ""
            print(
                f"  {title}, {way}: {len(seen_s)} of {len(stops)} stopped "
                f"({100 * len(seen_s) / max(1, len(stops)):.1f} %; 95 % interval "
                f"{100 * low:.1f} to {100 * high:.1f} %){exposure}"
            )


def _interval(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Clopper and Pearson, 1934), by bisection."""
    low = 0.0 if hits == 0 else _limit(hits, count)
    high = 1.0 if hits == count else 1 - _limit(count - hits, count)
    return low, high


def _limit(hits: int, count: int) -> float:
    """Return the share for which `hits` or more of `count` have a probability of 2.5 %."""
    low, high = 0.0, 1.0
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
        low, high = (share, high) if tail < 0.025 else (low, share)  # noqa: PLR2004  half of 5 %
    return low
