"""Write the line "in reality", which states how often advice agreed with measured networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.judge.ledger_scores import share_lost
from cwndlab.judge.templates import say
from cwndlab.text.wording import join_words, percent

if TYPE_CHECKING:
    from cwndlab.judge.ledger_scores import Score
    from cwndlab.judge.reality import Reality


def phrase_of_record(reality: Reality) -> str:
    """Return a phrase: how often advice agreed with measurements, and any poor predictions."""
    return say(
        "reality",
        kind=reality.kind,
        agreed=reality.agreed,
        checked=reality.checked,
        misses=_misses(reality),
    )


def _misses(reality: Reality) -> str:
    if not reality.misses:
        return ""
    if len(reality.misses) > 1:
        kinds = join_words([each.kind for each in reality.misses])
        return say("misses of several", kinds=kinds)
    (miss,) = reality.misses
    what = ", ".join(_miss(name, miss.score) for name in miss.score.failures)
    return say("misses", what=what)


def _miss(bar: str, score: Score) -> str:
    worst = score.worst
    return say(
        f"miss of {bar}",
        gap=round(100 * (score.gap or 0)),
        stated="" if worst is None else f"{worst.stated:.2f}",
        happened="" if worst is None else percent(worst.happened),
        count="" if worst is None else worst.count,
        median=percent(share_lost(score.regret or 0)),
        tail=percent(share_lost(score.regret_p90 or 0)),
        tau=f"{score.tau or 0:.2g}",
    )
