"""Explain in sentences which algorithm to use; the templates are in `judge.templates`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.judge.amounts import change, given, worth
from cwndlab.judge.decision import SURE, ZONE
from cwndlab.judge.elsewhere import (
    break_even_sentence,
    distances_sentence,
    is_safer_elsewhere,
    meaning_of_robust,
    safest_sentence,
)
from cwndlab.judge.record import phrase_of_record
from cwndlab.judge.templates import CHANGES, say
from cwndlab.text.wording import (
    join_words,
    percent,
    probability,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.judge.coexistence import Harm, Metric
    from cwndlab.judge.decision import Decision, Entrant, Replacement
    from cwndlab.stats import Interval

_LEAST_PRICE = -math.log2(1 - 0.0005)  # lower prices are displayed as 0.0 % of the throughput
_UNEVEN_PCT = 35.0
"""Two flows share the link unequally if one flow gets less than this percentage of the goodput."""

_PROBABLE = 0.05
"""The classes of a population can be several estimates of the user's one network, each with a
probability. The estimate for which the recommended algorithm loses the most utility, compared with
the best algorithm, is mentioned only if the estimate's probability is at least this value."""

_HALF = 0.5
"""If the recommended algorithm is nearly the best on less than this fraction of similar networks,
the headline also names a safer algorithm."""


@dataclass(frozen=True, slots=True)
class Line:
    """One of the lines that state how certain an answer is: a probability and its meaning."""

    name: str
    value: str
    """A probability as text, or a dash if the probability is unknown."""
    meaning: str


def headline(decision: Decision) -> str:
    """Return the recommendation of a decision as one sentence."""
    goal = decision.goal.title
    if decision.is_idle:
        return say("idle", goal=goal)
    if not decision.best:
        return say("not measured", goal=goal, missing=decision.goal.missing)
    if decision.is_alone:
        template = "only unpaired" if decision.unpaired else "alone"
        return say(template, goal=goal, name=quoted(decision.best[0]))
    said = {
        "goal": goal,
        "names": join_words([quoted(name) for name in decision.best], "or"),
        "beside": _beside(decision),
        "how_sure": _how_sure(decision),
    }
    networks = None if decision.are_estimates else decision.networks
    if networks is not None and networks.is_good < _HALF and is_safer_elsewhere(decision):
        return say("elsewhere", safest=quoted(networks.safest), **said)
    if len(decision.best) == 1:
        return say("one", **said)
    return _several(decision, said)


def _several(decision: Decision, said: Mapping[str, str]) -> str:
    """Return the recommendation of a decision that names several algorithms."""
    if decision.are_estimates:
        first, *others = (quoted(name) for name in decision.best)
        return say("several, estimates", first=first, others=join_words(others, "or"), **said)
    is_all = len(decision.best) == len(decision.entrants) and not decision.unpaired
    return say("all" if is_all else "several", **said)


def step_sentence(decision: Decision) -> str:
    """Return a sentence on the effect of replacing the baseline algorithm; empty if unknown."""
    if decision.baseline is None or not decision.best or decision.is_alone:
        return ""
    baseline = quoted(decision.baseline)
    if decision.first == decision.baseline:
        is_best = decision.is_explained and decision.candidates == decision.best
        return say("is baseline", baseline=baseline) if is_best else ""
    if decision.step is None or not decision.step.changes:
        return ""
    has_intervals = any(each.low is not None for each in decision.step.changes.values())
    sentence = say(
        "step" if has_intervals else "step without intervals",
        old=baseline,
        new=quoted(decision.step.new),
        changes=_changes(decision.step),
    )
    if decision.baseline in decision.best:
        template = "no step, estimates" if decision.are_estimates else "no step"
        return f"{sentence} {say(template, baseline=baseline, zone=percent(ZONE))}"
    return sentence


def condition(decision: Decision) -> str:
    """Return a sentence on the conditions that change the recommendation; empty if unknown."""
    return break_even_sentence(decision) or price_sentence(decision)


def price_sentence(decision: Decision) -> str:
    """Return a sentence on the users for whom the recommended algorithm is a good choice.

    The sentence describes these users by the share of throughput that they would give up to halve
    the delay (their price of delay). The sentence is empty if there are no such users, if the delay
    does not matter for the goal, or if only one algorithm was run.
    """
    first = decision.first
    if first is None or decision.is_alone or not decision.goal.cost:
        return ""
    own = decision.entrant(first).prices
    if own is None:
        return ""
    low, high = (0.0 if own[0] < _LEAST_PRICE else own[0]), own[1]
    others = ""
    if low > 0 and (name := _leader_beyond(decision.entrants, first, low, is_above=False)):
        others += say("price other", name=quoted(name), more_or_less="less")
    name = _leader_beyond(decision.entrants, first, high, is_above=True)
    if name and math.isfinite(high):
        others += say("price other", name=quoted(name), more_or_less="more")
    if not others:
        return say("no turn")
    return say("price", name=quoted(first), range=given(low, high), others=others)


def certainty(decision: Decision) -> tuple[Line, ...]:
    """Return three lines: a decision's repeatability, robustness and agreement with reality."""
    first = quoted(decision.first or "")
    if decision.repeatable is None:
        meaning = say("repeatable unknown", runs=_runs(decision))
        repeatable = Line("repeatable", "-", meaning)
    else:
        where = "this link" if decision.population is None else "these networks"
        meaning = say("repeatable", where=where, name=first, pairs=decision.pairs)
        repeatable = Line("repeatable", probability(decision.repeatable), meaning)
    value = "-" if decision.robust is None else probability(decision.robust)
    robust = Line("robust", value, meaning_of_robust(decision))
    reality = decision.reality
    if reality is None:
        real = Line("in reality", "-", say("reality unknown"))
    else:
        real = Line("in reality", probability(reality.share), phrase_of_record(reality))
    return repeatable, robust, real


def sentences(decision: Decision) -> list[str]:
    """Return the sentences that follow the headline of a decision."""
    found = [
        _unpaired(decision),
        _candidates(decision),
        step_sentence(decision),
        condition(decision),
        distances_sentence(decision),
        safest_sentence(decision),
        _queue(decision),
        _harms(decision),
        *_population(decision),
    ]
    return [sentence for sentence in found if sentence]


def _unpaired(decision: Decision) -> str:
    """Return a sentence on algorithms that no repetition compares with the best; empty if none."""
    if not decision.unpaired or decision.is_alone or decision.first is None:
        return ""
    names = join_words([quoted(name) for name in decision.unpaired])
    return say("unpaired", names=names, first=quoted(decision.first))


def _candidates(decision: Decision) -> str:
    """Return a sentence on algorithms that may be the best but are not recommended."""
    others = [quoted(name) for name in decision.candidates if name not in decision.best]
    return say("candidates", others=join_words(others, "or")) if others else ""


def _queue(decision: Decision) -> str:
    """Return a sentence on the queue's default size, or "" if the user set the size."""
    if decision.queue is None or not decision.queue.is_default or not decision.best:
        return ""
    return say("default queue", queue=decision.queue)


def _beside(decision: Decision) -> str:
    """Return the headline's remark on unequal shares, or "" if flows share the link fairly."""
    for each in decision.encounters:
        share = each.share_pct
        if share is None:
            continue
        is_own = each.neighbour == each.candidate
        if is_own:
            lower = min(share.estimate, 100 - share.estimate)
            if lower < _UNEVEN_PCT:
                return say("own kind", first=quoted(each.candidate), share=percent(lower / 100))
        elif each.starved == each.neighbour:
            left = percent(1 - share.estimate / 100)
            return say(
                "starves",
                first=quoted(each.candidate),
                neighbour=_title(each.neighbour),
                share=left,
            )
        elif each.starved == each.candidate:
            got = percent(share.estimate / 100)
            return say(
                "is starved",
                first=quoted(each.candidate),
                neighbour=_title(each.neighbour),
                share=got,
            )
        elif abs(share.estimate - 50) > 50 - _UNEVEN_PCT:
            got = percent(share.estimate / 100)
            return say(
                "share", first=quoted(each.candidate), neighbour=_title(each.neighbour), share=got
            )
    return ""


def _harms(decision: Decision) -> str:
    """Return a sentence on unacceptable harm to competing flows; empty if there is none."""
    for each in decision.encounters:
        if each.neighbour == each.candidate or not each.harmed:
            continue
        parts = [
            say(
                "harm",
                metric=metric.value,
                harm=percent(done),
                accepted=percent(max(accepted, 0.0)),
            )
            for metric in each.harmed
            if (done := _estimate(each.done, metric)) is not None
            and (accepted := _estimate(each.accepted, metric)) is not None
        ]
        return say(
            "harms",
            first=quoted(each.candidate),
            neighbour=_title(each.neighbour),
            metrics=join_words(parts),
        )
    return ""


def _estimate(harm: Harm, metric: Metric) -> float | None:
    interval: Interval | None = getattr(harm, metric.value)
    return None if interval is None else interval.estimate


def _title(algorithm: str) -> str:
    return algorithm.upper() if algorithm == "cubic" else quoted(algorithm)


def _population(decision: Decision) -> list[str]:
    """Return sentences on the class that loses the most utility, and on a break-even weight."""
    population, first = decision.population, decision.first
    if population is None or first is None or not decision.is_explained:
        return []
    found = []
    loser = population.loser
    if loser is not None and (not decision.are_estimates or loser.weight >= _PROBABLE):
        found.append(
            say(
                "loser, estimates" if decision.are_estimates else "loser",
                name=loser.name,
                best=quoted(loser.best),
                weight=percent(loser.weight),
                regret=worth(loser.regret),
                first=quoted(first),
            )
        )
    turns = [each for each in population.turns if each.instead not in decision.candidates]
    if turns and not decision.are_estimates:
        turn = turns[0]
        found.append(
            say(
                "weight turn",
                first=quoted(first),
                instead=quoted(turn.instead),
                more_or_fewer="more" if turn.side == "above" else "fewer",
                share=percent(turn.at),
                name=turn.name,
                invented=say("invented") if population.meaning.is_invented else "",
            )
        )
    return found


def first_look(decision: Decision) -> str:
    """Return a first recommendation for a link, before similar networks are simulated."""
    names = join_words([quoted(name) for name in decision.candidates], "or")
    return say("first look", pairs=decision.pairs, names=names)


def _how_sure(decision: Decision) -> str:
    if not decision.is_explained:
        is_new = decision.first not in (None, decision.baseline)
        remedy = say("measure first", name=quoted(decision.first or "")) if is_new else ""
        return say("unexplained", remedy=remedy)
    if decision.pairs == 0:
        return say("nothing differs" if decision.is_measured else "nothing random")
    if decision.repeatable is None:
        return say("too few", runs=_runs(decision))
    if decision.sure is None:
        return _on_these_networks(decision, decision.repeatable)
    if decision.is_sure:
        template = "sure in simulation" if decision.reality is None else "sure"
        return say(template, sure=probability(decision.sure))
    return say("not sure", sure=probability(decision.sure), weakest=_weakest(decision))


def _on_these_networks(decision: Decision, repeatable: float) -> str:
    """Return a phrase on the certainty of a decision made without simulating similar networks."""
    if repeatable < SURE:
        first = quoted(decision.first or "")
        weakest = say("not repeatable", name=first, share=probability(repeatable))
        return say("not sure", sure=probability(repeatable), weakest=weakest)
    if decision.is_measured:
        return say("measured only")
    return say("this link only" if decision.population is None else "these links only")


def _weakest(decision: Decision) -> str:
    reality = decision.reality
    if reality is not None and reality.share == decision.sure:
        return say("not real", kind=reality.kind, agreed=reality.agreed, checked=reality.checked)
    if decision.robust is not None and decision.robust == decision.sure:
        template = "not robust, estimates" if decision.are_estimates else "not robust"
        return say(template, share=percent(decision.robust))
    share = probability(decision.repeatable or 0.0)
    return say("not repeatable", name=quoted(decision.first or ""), share=share)


def _runs(decision: Decision) -> str:
    if decision.pairs == 0:
        return "identical runs"
    return "one run" if decision.pairs == 1 else f"{decision.pairs} repetitions"


def _changes(step: Replacement) -> str:
    return join_words([f"{CHANGES[name]} {change(own)}" for name, own in step.changes.items()])


def _leader_beyond(
    entrants: Sequence[Entrant], first: str, price: float, *, is_above: bool
) -> str | None:
    """Return an algorithm other than `first` that is nearly the best at another price of delay.

    This price is about 5 % above `price` if `is_above` is true, and 5 % below it otherwise.
    """
    beyond = price * 1.05 + 1e-6 if is_above else price * 0.95
    for each in entrants:
        if each.name == first or each.prices is None:
            continue
        if each.prices[0] <= beyond <= each.prices[1]:
            return each.name
    return None
