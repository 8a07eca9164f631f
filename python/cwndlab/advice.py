"""Advice for one network and one goal, in under a minute, and how sure it is.

Repetitions are added in looks (10, 20, 40, 80) until the goal is decided or the time is up: decided
means that everyone's interval lies on one side of the smallest effect of interest.  Looking
four times would make it up to four times as likely to be wrong, so each look has a quarter of the
5 % (Bonferroni's correction over looks): the intervals that decide are 98.75 %.

A recorded trace is one walk through a network.  Each repetition begins elsewhere in it, the same
place for all algorithms, so that intervals tell how much depends on when one is there.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cwndlab import stats
from cwndlab.api.study import Study
from cwndlab.errors import ResultsError
from cwndlab.judge.comparison import Comparison, compare
from cwndlab.judge.goal_measures import measures_of_flows
from cwndlab.judge.goals import Goal, compare_directions, judge_goal
from cwndlab.judge.verdict import DELAY, Verdict, is_sure_among, judge, names_of, quoted
from cwndlab.run.campaign import default_folder, run_study
from cwndlab.schema import scenario as si
from cwndlab.schema.medium import CellPath
from cwndlab.study.describe import read_link
from cwndlab.text.linkspec import short_spec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.resolve import ResolvedLink

LOOKS = (10, 20, 40, 80)
"""Repetitions after which it is seen whether the goal is decided."""

LEVEL = 0.05
CONFIDENCE = 1 - LEVEL / len(LOOKS)
BUDGET_S = 40.0
CANDIDATES = ("cubic", "reno", "bbr", "vegas", "westwood", "illinois")
"""What is compared unless the user says otherwise: what Linux has, one of each kind."""

_PILOT = 2
_WARM_UP = "5 s"
_LONGEST_S, _SHORTEST_S, _UNKNOWN_S = 120, 15, 60
_MOST_PACKETS = 600_000  # of a run: more would not let ten of each fit into the budget
_PACKET_BITS = 12_000
_NOTICEABLE = 0.005  # what rounds to a per cent
_TRANSFER = "500 kB"


class Wish(StrEnum):
    """What the user wants, as the command line has it."""

    BALANCE = "balance"
    THROUGHPUT = "throughput"
    LATENCY = "latency"
    SHORT_TRANSFERS = "short-transfers"
    FAIRNESS = "fairness"
    STABILITY = "stability"


_GOALS = {
    Wish.THROUGHPUT: (Goal.THROUGHPUT,),
    Wish.LATENCY: (Goal.LATENCY,),
    Wish.SHORT_TRANSFERS: (Goal.SHORT_TRANSFERS,),
    Wish.FAIRNESS: (Goal.FAIRNESS_TO_CUBIC, Goal.FAIRNESS),
    Wish.STABILITY: (Goal.STABILITY,),
}


@dataclass(frozen=True)
class Judged:
    """What is known of a wish in one setting."""

    comparison: Comparison
    sentence: str
    recommended: tuple[str, ...]
    """The best first; empty where nothing was measured."""
    is_decided: bool
    change: str
    """What would change it."""
    direction: str = ""
    """Whose data it is about, where a study has both directions."""

    @property
    def setting(self) -> str:
        """The setting and direction in words; empty where there is one of each."""
        return ", ".join(filter(None, [self.comparison.name, self.direction]))


@dataclass(frozen=True)
class Advice:
    """The answer for a network."""

    wish: Wish
    judged: Judged
    results: Results
    repetitions: int
    looks: int
    """How often it was seen whether the wish is decided."""
    sure: str
    """How sure it is, in a sentence."""


def judge_wish(comparison: Comparison, wish: Wish) -> Judged:
    """Return what a comparison says of a wish."""
    if wish is Wish.BALANCE:
        return _balance(comparison)
    verdicts = [judge_goal(comparison, goal) for goal in _GOALS[wish]]
    found = next((each for each in verdicts if not each.is_missing), verdicts[0])
    return Judged(comparison, found.sentence, found.recommended, found.is_decided, found.change)


def judge_results(results: Results, wish: Wish) -> list[Judged]:
    """Return what results say of a wish, setting by setting and direction by direction."""
    directions = compare_directions(results, beside=measures_of_flows(results))
    return [
        replace(judge_wish(each, wish), direction=direction.title if len(directions) > 1 else "")
        for direction in directions
        for each in direction.comparisons
    ]


def compared(results: Results, confidence: float = stats.CONFIDENCE) -> list[Comparison]:
    """Return the comparisons of results with the goals' measures in them."""
    return compare(results, confidence=confidence, beside=measures_of_flows(results))


def advise(  # noqa: PLR0913  each has its default
    link: str,
    wish: Wish,
    *,
    algorithms: Sequence[str] = CANDIDATES,
    direction: str = "downlink",
    budget_s: float = BUDGET_S,
    folder: Path | None = None,
    jobs: int | None = None,
) -> Advice:
    """Compare algorithms on a link until the wish is decided or the time is up.

    Raises:
        CwndlabError: the link or an algorithm is not known, or a run failed.
    """
    document = _document(link, wish, list(algorithms), direction)
    began = time.monotonic()

    def look(repetitions: int) -> Results:
        study = Study(**document, repetitions=repetitions)
        where = folder or default_folder(study)
        return run_study(study, where, jobs=jobs, again="the same command")

    results = look(_PILOT)
    comparison = _only(compared(results, CONFIDENCE))
    if comparison.is_deterministic:
        sure = "nothing in this link is random: every repetition gives the same numbers"
        return Advice(wish, judge_wish(comparison, wish), results, _PILOT, 0, sure)
    judged = judge_wish(comparison, wish)
    looks, repetitions, is_late = 0, _PILOT, False
    for count in LOOKS:
        spent_s = time.monotonic() - began
        if spent_s * count / repetitions > budget_s:
            is_late = True
            break
        results = look(count)
        looks, repetitions = looks + 1, count
        judged = judge_wish(_only(compared(results, CONFIDENCE)), wish)
        if judged.is_decided:
            break
    sure = _how_sure(judged, looks, repetitions, is_late=is_late, budget_s=budget_s)
    return Advice(wish, judged, results, repetitions, looks, sure)


def _how_sure(
    judged: Judged, looks: int, repetitions: int, *, is_late: bool, budget_s: float
) -> str:
    if looks == 0:
        return (
            f"{repetitions} repetitions are all that fit into {budget_s:g} s, too few to be sure; "
            "give it more with --budget"
        )
    errors = f"wrong in at most {100 * LEVEL:g} of 100 such answers"
    if judged.is_decided:
        return f"decided after {repetitions} repetitions, {errors}"
    until = f"after {repetitions} repetitions"
    more = "; --budget gives it more" if is_late else ""
    return f"not all of it is decided {until}{more}; what is called sure is {errors}"


def _open_questions(comparison: Comparison, verdict: Verdict) -> tuple[list[str], list[str]]:
    """Return who may be fast enough for the choice, and whose delay may be as short."""
    throughput = next(iter(verdict.rankings.values()))
    delay = verdict.rankings.get(DELAY)
    chosen = verdict.recommended[0]
    fast = []
    for name, difference in throughput.differences.items():
        is_known = difference is None or difference.is_settled
        other = comparison.difference(name, chosen, DELAY) if delay and name != chosen else None
        would_win = other is None or other.relative.estimate < 0
        if not is_known and name not in throughput.leaders and would_win:
            fast.append(name)
    short = []
    for name in throughput.leaders:
        difference = comparison.difference(name, chosen, DELAY) if name != chosen else None
        if difference is None or difference.is_negligible:
            continue
        if not is_sure_among(comparison, difference):
            short.append(name)
    return fast, short


def _balance(comparison: Comparison) -> Judged:
    """Return the best of both, and what of it is not decided."""
    verdict = judge(comparison)
    if not verdict.rankings or not verdict.recommended:
        return Judged(comparison, verdict.headline, (), is_decided=False, change="")
    fast, short = _open_questions(comparison, verdict)
    sentence = verdict.headline
    if fast:
        effect = f"{100 * comparison.smallest_effect:g} %"
        sentence += (
            f" Not decided: whether {names_of(fast)} {'is' if len(fast) == 1 else 'are'} within "
            f"{effect} of the best throughput, and so the better choice."
        )
    chosen = verdict.recommended[0]
    delay = verdict.rankings.get(DELAY)
    throughput = next(iter(verdict.rankings.values()))
    parts = []
    if delay is not None and delay.best not in verdict.recommended:
        parts.append(f"if only latency counts: {quoted(delay.best)}")
    behind = throughput.differences.get(chosen)
    if behind is not None and abs(behind.relative.estimate) >= _NOTICEABLE:
        effect = f"{100 * comparison.smallest_effect:g} %"
        parts.append(f"if every per cent of throughput counts: {quoted(throughput.best)}")
    change = "; ".join(parts) or "another place or time"
    change = f"{change[0].upper()}{change[1:]}."
    is_decided = not (fast or short)
    return Judged(comparison, sentence, verdict.recommended, is_decided, change)


def _document(link: str, wish: Wish, algorithms: list[str], direction: str) -> dict[str, Any]:
    """Return the study of a wish, without its repetitions."""
    _, resolved = read_link(link)
    document: dict[str, Any] = {
        "link": link,
        "algorithm": algorithms,
        "direction": direction,
        "duration": f"{window_s(resolved, direction)} s",
        "warm_up": _WARM_UP,
    }
    if wish is Wish.SHORT_TRANSFERS:
        document |= {"application": {"kind": "sized", "bytes": _TRANSFER}}
        del document["warm_up"]
    if wish is Wish.FAIRNESS:
        document |= {"flow": [{}, {"algorithm": "cubic"}]}
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    if lengths_s:
        document |= {"begin_within": f"{round(max(lengths_s) * 1000)} ms"}
    shared = sorted((key, value) for key, value in document.items() if key != "algorithm")
    name = hashlib.sha256(repr(shared).encode()).hexdigest()[:8]
    return document | {
        "id": f"advise-{name}",
        "title": f"{short_spec(link)}: advice on {wish.replace('-', ' ')}",
    }


def window_s(resolved: ResolvedLink, direction: str) -> int:
    """Return how long a run is: by the packets it has, so that it is the same on every machine."""
    path = resolved.path
    if not isinstance(path, si.WirePath):
        is_fast = isinstance(path, CellPath) and path.radio.kind == "nr"
        return _SHORTEST_S if is_fast else _UNKNOWN_S
    stages = path.forward if direction == "downlink" else path.reverse
    rates = [rate for stage in stages if (rate := _bits_per_sec(stage.rate, resolved)) is not None]
    if not rates:
        return _UNKNOWN_S
    seconds = int(_MOST_PACKETS * _PACKET_BITS / min(rates))
    return max(_SHORTEST_S, min(_LONGEST_S, seconds))


def _bits_per_sec(rate: si.Rate, resolved: ResolvedLink) -> float | None:
    match rate:
        case si.FixedRate() | si.TokenBucketRate():
            return float(rate.bits_per_sec)
        case si.MahimahiRate() | si.LogRate():
            return float(resolved.traces[rate.path].info["mean_rate_mbit_s"]) * 1e6
        case _:
            return None


def _only(comparisons: list[Comparison]) -> Comparison:
    if not comparisons:
        msg = "no run has a result"
        raise ResultsError(msg)
    return comparisons[0]
