"""Write sentences about networks that are similar to the link for which a decision was made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cwndlab.judge.decision import ZONE
from cwndlab.judge.templates import KEYS, SHARES, say
from cwndlab.text.wording import join_words, percent, probability, quoted

if TYPE_CHECKING:
    from cwndlab.judge.decision import Decision
    from cwndlab.judge.networks import Distance, Turn


def is_safer_elsewhere(decision: Decision) -> bool:
    """Return whether similar networks need another algorithm than the link itself.

    That is, on similar networks, the mean utility of another algorithm is clearly higher than that
    of the first algorithm recommended for the link.
    """
    networks, first = decision.networks, decision.first
    if networks is None or first is None:
        return False
    return networks.regrets[first] - networks.regrets[networks.safest] > ZONE


def break_even_sentence(decision: Decision) -> str:
    """Return sentences on conditions under which another algorithm is better than the safest.

    The text is empty if no such condition is known.
    """
    networks = decision.networks
    if networks is None:
        return ""
    template = "break-even" if networks.safest in decision.best else "break-even elsewhere"
    return " ".join(
        say(
            template,
            name=quoted(turn.instead),
            safest=quoted(networks.safest),
            condition=_condition(turn),
        )
        for turn in networks.turns
    )


def _condition(turn: Turn) -> str:
    title = (SHARES if turn.value.endswith("%") else KEYS).get(turn.key, turn.key)
    return say(f"turn {turn.side}", title=title, value=turn.value)


def distances_sentence(decision: Decision) -> str:
    """Return a sentence that recommends algorithms for different distances to the server.

    The sentence is empty if there is no recommendation for any distance.
    """
    networks = decision.networks
    if networks is None or decision.is_alone:
        return ""
    answered = [each for each in networks.distances if each.best]
    if not answered:
        return ""
    unknown = [each.name for each in networks.distances if not each.best]
    gap = say("distances unknown", places=join_words(unknown, "and")) if unknown else ""
    groups: dict[frozenset[str], list[Distance]] = {}
    for each in answered:
        groups.setdefault(frozenset(each.best), []).append(each)
    places = [
        say(
            "distance",
            names=join_words([quoted(name) for name in group[0].best], "or"),
            places=join_words([f"{each.name} ({_range_ms(each)})" for each in group], "and"),
        )
        for group in groups.values()
    ]
    return say("distances", places="; ".join(places), gap=gap)


def _range_ms(distance: Distance) -> str:
    least, most = (f"{value:g} ms" for value in (distance.least_ms, distance.most_ms))
    if not distance.least_ms:
        return say("distance below", most=most)
    is_bounded = math.isfinite(distance.most_ms)
    return say("distance between" if is_bounded else "distance above", least=least, most=most)


def safest_sentence(decision: Decision) -> str:
    """Return a sentence that names the algorithm that is safest on similar networks.

    The sentence is empty unless this algorithm is clearly safer than the first recommended one.
    """
    networks, first = decision.networks, decision.first
    if networks is None or first is None or not is_safer_elsewhere(decision):
        return ""
    return say(
        "safest, estimates" if decision.are_estimates else "safest",
        safest=quoted(networks.safest),
        least=percent(-math.expm1(-networks.regrets[networks.safest])),
        first=quoted(first),
        own=percent(-math.expm1(-networks.regrets[first])),
    )


def meaning_of_robust(decision: Decision) -> str:
    """Return the explanation of the probability in the line "robust" of the answer."""
    networks = decision.networks
    if not decision.is_explained:
        return say("robust unexplained")
    if networks is None:
        return say("robust unknown")
    first = quoted(decision.first or "")
    template = "robust, estimates" if decision.are_estimates else "robust"
    meaning = say(template, name=first, zone=percent(ZONE), draws=networks.draws)
    if not is_safer_elsewhere(decision):
        return meaning
    share = probability(networks.is_safest_good)
    return say("robust of another", meaning=meaning, safest=quoted(networks.safest), share=share)
