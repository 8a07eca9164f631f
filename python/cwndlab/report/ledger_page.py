"""Write the page of a ledger of predictions: a reliability diagram, scores and all entries.

The scores are computed for each class of networks. The page is one HTML file without scripts, so
that it can be published as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import plural
from cwndlab.judge.ledger_scores import (
    LEAST_TAU,
    MOST_GAP,
    MOST_REGRET,
    MOST_REGRET_OF_NINE_IN_TEN,
    Reliability,
    better,
    reliability,
    score,
    scores,
    share_lost,
)
from cwndlab.report.page import page_without_scripts
from cwndlab.text.wording import percent, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.judge.ledger import LedgerEntry
    from cwndlab.judge.ledger_scores import Score

_SIDE = 300.0
"""Width and height of the reliability diagram, in pixels."""
_OUTCOMES = {None: "undecided", 0.0: "worse", 0.5: "equal", 1.0: "better"}


@dataclass(frozen=True, slots=True)
class _Dot:
    """A point of the reliability diagram, in pixels from the diagram's upper left corner."""

    x: float
    y: float
    radius: float
    title: str


def ledger_page(entries: Sequence[LedgerEntry], title: str) -> str:
    """Return the page of a ledger as HTML: scores, reliability diagram and entries.

    Args:
        entries: predictions with their measured outcomes.
        title: the title of the page.
    """
    bins = reliability(entries)
    rows = [*scores(entries), score("all", entries)] if entries else []
    return page_without_scripts(
        "ledger.html",
        title=title,
        facts=plural(len(entries), "prediction"),
        side=_SIDE,
        dots=[_dot(each) for each in bins],
        bins=[
            {
                "range": f"{each.low:g} to {each.high:g}",
                "stated": f"{each.stated:.2f}",
                "happened": f"{each.happened:.2f}",
                "count": each.count,
            }
            for each in bins
        ],
        band=_SIDE * MOST_GAP,
        scores=[_row(each) for each in rows],
        bars={
            "gap": f"{100 * MOST_GAP:.0f} points",
            "regret": percent(MOST_REGRET),
            "regret_p90": percent(MOST_REGRET_OF_NINE_IN_TEN),
            "tau": f"{LEAST_TAU:g}",
        },
        entries=[_entry(each) for each in entries],
    )


def _dot(each: Reliability) -> _Dot:
    words = (
        f"{each.count} predictions with a mean probability of {probability(each.stated)}; "
        f"share that came true: {probability(each.happened)}"
    )
    radius = min(4.0 + each.count**0.5, 14.0)
    return _Dot(_SIDE * each.stated, _SIDE * (1 - each.happened), radius, words)


def _row(each: Score) -> dict[str, object]:
    return {
        "class": each.network_class,
        "predictions": each.predictions,
        "agreed": "-" if not each.compared else f"{each.agreed:g} of {each.compared}",
        "brier": _number(each.brier),
        "gap": "-" if each.gap is None else f"{100 * each.gap:.0f} points",
        "regret": _lost(each.regret),
        "regret_p90": _lost(each.regret_p90),
        "tau": _number(each.tau),
        "covered": _share(each.covered),
        "failures": ", ".join(each.failures),
    }


def _entry(each: LedgerEntry) -> dict[str, str]:
    claim = each.prediction
    change = each.change
    return {
        "network": claim.network,
        "class": claim.network_class,
        "goal": claim.goal,
        "comparison": f"{claim.challenger} against {claim.baseline}",
        "probability": f"{claim.probability:.2f}",
        "predicted": _change(claim.change),
        "measured": "-" if change is None else _change(change.estimate),
        "outcome": _OUTCOMES[better(each)],
        "verdict": each.source or each.verdict.value,
        "id": claim.id[:12],
    }


def _change(logarithm: float) -> str:
    """Convert a change in utility (a difference of natural logarithms) to percent."""
    return f"{100 * math.expm1(logarithm):+,.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _lost(regret: float | None) -> str:
    return _share(None if regret is None else share_lost(regret))
