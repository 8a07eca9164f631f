"""Advice for one network and one goal, in under a minute, and how sure it is.

Repetitions are added in looks (10, 20, 40) until the goal is decided or the time is up.  Looking
three times would triple the chance of being wrong, so each look uses a third of the 5 % (Bonferroni
over looks: S. Pocock, "Clinical Trials", 1983, chapter 10): the intervals that decide are 98.3 %.

A recorded trace is one walk through a network.  Each repetition begins elsewhere in it, the same
place for all algorithms, so that intervals tell how much depends on when one is there.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cwndlab import stats
from cwndlab.campaign import default_folder, run_study
from cwndlab.comparison import Comparison, compare
from cwndlab.describe import read_link
from cwndlab.errors import ResultsError
from cwndlab.goal_measures import measures_of_flows
from cwndlab.goals import Goal, judge_goal
from cwndlab.quantity import format_duration
from cwndlab.study import Study
from cwndlab.verdict import DELAY, Standing, Verdict, is_sure_among, judge

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cwndlab.results import Results

LOOKS = (10, 20, 40)
"""Repetitions after which it is seen whether the goal is decided."""

LEVEL = 0.05
CONFIDENCE = 1 - LEVEL / len(LOOKS)
BUDGET_S = 40.0
CANDIDATES = ("cubic", "reno", "bbr", "vegas", "westwood", "illinois")
"""What is compared unless the user says otherwise: what Linux has, one of each kind."""

_NS_PER_S = 1_000_000_000
_PILOT = 2
_WINDOW = "60 s"
_WARM_UP = "5 s"
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
        verdict = judge(comparison)
        is_decided = _is_balance_decided(comparison, verdict)
        return Judged(
            comparison, verdict.headline, verdict.recommended, is_decided, _balance_change(verdict)
        )
    verdicts = [judge_goal(comparison, goal) for goal in _GOALS[wish]]
    found = next((each for each in verdicts if not each.is_missing), verdicts[0])
    return Judged(comparison, found.sentence, found.recommended, found.is_decided, found.change)


def judge_results(results: Results, wish: Wish) -> list[Judged]:
    """Return what results say of a wish, setting by setting."""
    return [judge_wish(each, wish) for each in compared(results)]


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


def _is_balance_decided(comparison: Comparison, verdict: Verdict) -> bool:
    """Whether the choice would stay: who is fast enough is known, and who of them is quickest."""
    rankings = list(verdict.rankings.values())
    if not rankings or not verdict.recommended:
        return False
    first = rankings[0]
    if first.those(Standing.UNDECIDED):
        return False
    chosen = verdict.recommended[0]
    for name in first.leaders:
        if name == chosen:
            continue
        difference = comparison.difference(name, chosen, DELAY)
        if difference is None or difference.is_negligible:
            continue
        if not is_sure_among(comparison, difference):
            return False
    return True


def _balance_change(verdict: Verdict) -> str:
    """Return what would change the choice of the best of both."""
    throughput = next(iter(verdict.rankings.values()), None)
    delay = verdict.rankings.get(DELAY)
    if throughput is None or delay is None or not verdict.recommended:
        return "More that was measured."
    chosen = verdict.recommended[0]
    parts = []
    if delay.best != chosen:
        parts.append(f"if only latency counts: {delay.best}")
    if throughput.best != chosen and throughput.standings.get(chosen) is not Standing.AS_GOOD:
        parts.append(f"if only throughput counts: {throughput.best}")
    unsure = throughput.those(Standing.UNDECIDED)
    if unsure:
        parts.append(f"more repetitions may bring in {', '.join(unsure)}")
    text = "; ".join(parts) or "another place or time; these runs leave no doubt"
    return f"{text[0].upper()}{text[1:]}."


def _document(link: str, wish: Wish, algorithms: list[str], direction: str) -> dict[str, Any]:
    """Return the study of a wish, without its repetitions."""
    document: dict[str, Any] = {
        "link": link,
        "algorithm": algorithms,
        "direction": direction,
        "duration": _WINDOW,
        "warm_up": _WARM_UP,
    }
    if wish is Wish.SHORT_TRANSFERS:
        document |= {"application": {"kind": "sized", "bytes": _TRANSFER}}
        del document["warm_up"]
    if wish is Wish.FAIRNESS:
        document |= {"flow": [{}, {"algorithm": "cubic"}]}
    longest_ns = _longest_trace_ns(link)
    if longest_ns:
        document |= {"begin_within": format_duration(longest_ns)}
    shared = sorted((key, value) for key, value in document.items() if key != "algorithm")
    name = hashlib.sha256(repr(shared).encode()).hexdigest()[:8]
    return document | {"id": f"advise-{name}", "title": f"Advice on {wish}: {link}"}


def _longest_trace_ns(link: str) -> int:
    """Return how long the link's longest trace is; 0 if it has none."""
    _, resolved = read_link(link)
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    return round(max(lengths_s, default=0.0)) * _NS_PER_S


def _only(comparisons: list[Comparison]) -> Comparison:
    if not comparisons:
        msg = "no run has a result"
        raise ResultsError(msg)
    return comparisons[0]
