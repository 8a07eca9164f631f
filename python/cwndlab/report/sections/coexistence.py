"""Write the section on competition of the recommended algorithm with CUBIC and with itself."""

from dataclasses import dataclass

from cwndlab.judge.coexistence import Coexistence, judge_coexistence
from cwndlab.judge.encounters import Mix, Order, report_mixes
from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection
from cwndlab.stats import Interval
from cwndlab.text.wording import percent

_SHARED = frozenset({"cell", "wifi"})


@dataclass(frozen=True)
class _MixRow:
    """The text of one table row: a combination of competing flows, and the results of its runs."""

    neighbour: str
    mix: str
    share: str
    starved: str
    harms: tuple[str, ...]
    """Harm to the competitor's throughput, delay, completion time and loss, each followed by the
    acceptable harm in parentheses."""


def _coexistence(context: Context) -> Content | None:
    if not context.settings:
        return None
    decision = context.together or context.settings[0].decision
    met = decision.encounters
    scenario = context.settings[0].scenario
    mixes = context.knowledge.mixes
    if mixes is not None and decision.first is not None and scenario is not None:
        kind = scenario["path"]["kind"]
        shown = report_mixes(is_shared=kind in _SHARED, has_queue_key=kind != "chain")
        met = judge_coexistence(mixes.flows(), [decision.first], shown)
    rows = [_row(each) for each in met if each.share_pct is not None]
    if not rows:
        return None
    return Content(render("coexistence.html", first=decision.first, rows=rows))


def _row(met: Coexistence) -> _MixRow:
    pairs = [
        (met.done.throughput, met.accepted.throughput),
        (met.done.delay, met.accepted.delay),
        (met.done.completion, met.accepted.completion),
        (met.done.loss, met.accepted.loss),
    ]
    return _MixRow(
        neighbour="its own kind" if met.neighbour == met.candidate else met.neighbour,
        mix=_mix(met.mix),
        share="-" if met.share_pct is None else percent(met.share_pct.estimate / 100),
        starved=met.starved or "",
        harms=tuple(_harm(done, accepted) for done, accepted in pairs),
    )


def _mix(mix: Mix) -> str:
    parts = [f"{mix.candidates} : {mix.neighbours}"]
    if mix.rtt_ratio != 1:
        parts.append(f"the competitor's round-trip time is {mix.rtt_ratio:g} times the candidate's")
    if mix.queue_bdp is not None:
        parts.append(f"queue of {mix.queue_bdp:g} BDP")
    if mix.order is not Order.TOGETHER:
        first = "competitor" if mix.order is Order.NEIGHBOUR_FIRST else "candidate"
        parts.append(f"the {first} starts first")
    if mix.is_across_users:
        parts.append("another user")
    return ", ".join(parts)


def _harm(done: Interval | None, accepted: Interval | None) -> str:
    if done is None:
        return "-"
    value = percent(done.estimate)
    return value if accepted is None else f"{value} ({percent(accepted.estimate)})"


COEXISTENCE = PageSection("coexistence", "Competition with other flows", _coexistence)
