"""Compute how flows of two competing algorithms affect each other.

*Harm* is defined by Ware, Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index (HotNets
2019): the fraction by which a metric of a flow in competition (`beside`) is worse than the same
metric when the flow runs alone. If higher values are better, harm is (alone - beside) / alone. If
lower values are better, harm is (beside - alone) / beside. The harm that a flow suffers from
another flow of the same algorithm is called *accepted*; any additional harm is called *excess*.

A negative harm is a benefit. The paper's formula gives benefits arbitrarily far below -1. To keep
all values between -1 and 1, `alone` and `beside` are exchanged in the formula for a benefit, and
the sign is reversed.

Each run with competition is compared with runs that have the same random seed, but no competing
flows. Each value is a mean over repetitions, with its confidence interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.judge.encounters import NEIGHBOUR, PLAIN, Encounter, Mix, alone, meeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cwndlab.stats.bootstrap import Floats

STARVING_SHARE = 0.25
"""A flow is starved if its goodput is below this fraction of its fair (equal) share."""


class Metric(StrEnum):
    """A metric of a flow that competing flows may make worse, such as throughput."""

    THROUGHPUT = "throughput"
    DELAY = "delay"
    COMPLETION = "completion"
    LOSS = "loss"


_CONFIDENCE_OF_ONE = 1 - 0.05 / len(Metric)  # Bonferroni correction: four intervals hold together


@dataclass(frozen=True, slots=True)
class Harm:
    """Fraction by which competition makes each metric of a flow worse; negative if it helps."""

    throughput: stats.Interval | None
    delay: stats.Interval | None
    """Harm measured by the 95th percentile of the queueing delay."""
    completion: stats.Interval | None
    """Harm measured by the completion time of short transfers; None if there were none."""
    loss: stats.Interval | None
    """Harm measured by the percentage of retransmitted packets."""


@dataclass(frozen=True, slots=True)
class Coexistence:
    """Results of runs in which flows of two algorithms, candidate and neighbour, share a link."""

    candidate: str
    neighbour: str
    mix: Mix
    share_pct: stats.Interval | None
    """100 c / (c + n), where c and n are the mean goodputs of a candidate's and of a neighbour's
    flow."""
    done: Harm
    """Harm that the candidate's flows do to flows of the competing algorithm."""
    accepted: Harm
    """Harm that flows of the competing algorithm do to each other."""
    excess: Harm
    """The harm `done` minus the harm `accepted`, computed in each repetition; a negative `accepted`
    counts as 0."""
    suffered: Harm
    """Harm that the candidate's flows suffer from flows of the competing algorithm."""
    starved: str | None
    """Algorithm whose flows got less than the fraction `STARVING_SHARE` of a fair share; None if
    no flows were starved."""

    def to_json(self) -> dict[str, Any]:
        """Return the results of the competition as a dictionary for JSON."""
        share = self.share_pct
        return {
            "candidate": self.candidate,
            "neighbour": self.neighbour,
            "share_pct": None if share is None else share.estimate,
            "share_pct_low": None if share is None else share.low,
            "share_pct_high": None if share is None else share.high,
            "starved": self.starved,
            "harmed": [metric.value for metric in self.harmed],
            "harm": _estimates(self.done),
            "acceptable": _estimates(self.accepted),
            "suffered": _estimates(self.suffered),
        }

    @property
    def harmed(self) -> tuple[Metric, ...]:
        """Metrics with excess harm: the whole confidence interval of `excess` is above 0."""
        intervals = ((metric, getattr(self.excess, metric.value)) for metric in Metric)
        return tuple(m for m, each in intervals if each is not None and (each.low or 0.0) > 0)


def _estimates(harm: Harm) -> dict[str, float | None]:
    """Return the mean harm to each metric as a dictionary for JSON."""
    found = {metric.value: getattr(harm, metric.value) for metric in Metric}
    return {name: None if each is None else each.estimate for name, each in found.items()}


def judge_coexistence(
    flows: pl.DataFrame,
    candidates: Sequence[str],
    mixes: Iterable[Mix] = (PLAIN,),
    neighbour: str = NEIGHBOUR,
) -> tuple[Coexistence, ...]:
    """Compute how much the flows of each candidate and of the neighbour harm each other.

    Also compute the harm between flows of the same candidate.

    Args:
        flows: one row for each flow in the runs that `encounters_of` lists for `candidates`,
            `mixes` and `neighbour`.
            Columns are `encounter`, `repetition` and the columns of results.
        candidates: the algorithms whose coexistence is judged.
        mixes: the combinations of competing flows that were run.
        neighbour: the algorithm with which the candidates competed.
    """
    measured = _MeasuredMix(flows)
    return tuple(
        _coexistence(measured, candidate, beside, mix, neighbour)
        for mix in mixes
        for candidate in candidates
        for beside in dict.fromkeys([neighbour, candidate])
    )


def harm_where_more_is_better(alone: Floats, beside: Floats) -> Floats:
    """Return the harm to a metric for which higher values are better, such as throughput."""
    return _lost_share(alone, beside)


def harm_where_less_is_better(alone: Floats, beside: Floats) -> Floats:
    """Return the harm to a metric for which lower values are better, such as delay."""
    return _lost_share(beside, alone)


def _lost_share(better: Floats, worse: Floats) -> Floats:
    """Return `better` minus `worse`, divided by the larger of the two absolute values."""
    larger = np.maximum(np.abs(better), np.abs(worse))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (better - worse) / larger
    harm: Floats = np.where(larger == 0, 0.0, share)
    return harm


class _MeasuredMix:
    """Mean metrics of the candidate's and of the neighbour's flows in each repetition."""

    def __init__(self, flows: pl.DataFrame) -> None:
        self.repetitions = flows["repetition"].unique().sort().to_list()
        self._flows = {
            str(name): rows
            for (name,), rows in flows.partition_by("encounter", as_dict=True).items()
        }

    def values(self, encounter: Encounter, metric: Metric, *, is_candidate: bool) -> Floats:
        """Return a metric's mean over the flows of one side, in each repetition of an encounter.

        `is_candidate` selects the side: the candidate or the neighbour. The mean is NaN if the
        repetition has no run.
        """
        rows = self._flows.get(encounter.name)
        found = np.full(len(self.repetitions), np.nan)
        if rows is None:
            return found
        count = encounter.mix.candidates if encounter.candidate is not None else 0
        is_own = pl.col("flow") < count if is_candidate else pl.col("flow") >= count
        side = rows.filter(is_own).select("repetition", _expression(metric).alias("value"))
        means = side.group_by("repetition").agg(pl.col("value").mean())
        for repetition, value in means.iter_rows():
            if value is not None:
                found[self.repetitions.index(repetition)] = value
        return found


def _expression(metric: Metric) -> pl.Expr:
    """Return the expression that computes a metric from the columns of the table of flows.

    An unfinished transfer is assumed to end with its run.
    """
    match metric:
        case Metric.THROUGHPUT:
            return pl.col("goodput_mbit_s").fill_null(0.0)
        case Metric.DELAY:
            return pl.col("rtt_p95_ms") - pl.col("rtt_base_ms")
        case Metric.COMPLETION:
            had_ms = 1000 * (pl.col("end_s") - pl.col("start_s"))
            return pl.coalesce("completion_ms", had_ms)
        case Metric.LOSS:
            return pl.col("retransmitted_pct")


def _coexistence(
    measured: _MeasuredMix, candidate: str, beside: str, mix: Mix, neighbour: str
) -> Coexistence:
    both = meeting(candidate, beside, mix)
    own_kind = meeting(beside, beside, mix)
    ours = measured.values(both, Metric.THROUGHPUT, is_candidate=True)
    theirs = measured.values(both, Metric.THROUGHPUT, is_candidate=False)
    has_transfers = mix == PLAIN and beside == neighbour
    done = _harms(measured, both, has_transfers=has_transfers)
    accepted = _harms(measured, own_kind, has_transfers=has_transfers)
    # Where flows of the neighbour benefit each other, a smaller benefit is not a harm.
    excess = {metric: done[metric] - np.maximum(accepted[metric], 0.0) for metric in Metric}
    return Coexistence(
        candidate=candidate,
        neighbour=beside,
        mix=mix,
        share_pct=_interval(100 * ours / (ours + theirs)),
        done=_as_harm(done),
        accepted=_as_harm(accepted),
        excess=_as_harm(excess, _CONFIDENCE_OF_ONE),
        suffered=_as_harm(_suffered(measured, both)),
        starved=_starved(both, ours, theirs),
    )


def _harms(measured: _MeasuredMix, both: Encounter, *, has_transfers: bool) -> dict[Metric, Floats]:
    """Return the harm that the neighbour's flows suffer from the candidate's, by metric.

    Each array contains one value for each repetition.
    """
    neighbour = both.neighbour or NEIGHBOUR
    solo = alone(neighbour, both.mix)
    found = {
        metric: _harm(
            metric,
            measured.values(solo, metric, is_candidate=False),
            measured.values(both, metric, is_candidate=False),
        )
        for metric in (Metric.THROUGHPUT, Metric.DELAY, Metric.LOSS)
    }
    nothing = np.full(len(measured.repetitions), np.nan)
    found[Metric.COMPLETION] = nothing
    if has_transfers:
        quiet = Encounter(None, neighbour, both.mix, is_transfer=True)
        busy = replace(both, is_transfer=True)
        times = [
            measured.values(each, Metric.COMPLETION, is_candidate=False) for each in (quiet, busy)
        ]
        found[Metric.COMPLETION] = _harm(Metric.COMPLETION, *times)
    return found


def _suffered(measured: _MeasuredMix, both: Encounter) -> dict[Metric, Floats]:
    solo = alone(both.candidate or NEIGHBOUR, replace(both.mix, rtt_ratio=1.0))
    found = {
        metric: _harm(
            metric,
            measured.values(solo, metric, is_candidate=False),
            measured.values(both, metric, is_candidate=True),
        )
        for metric in (Metric.THROUGHPUT, Metric.DELAY, Metric.LOSS)
    }
    return {**found, Metric.COMPLETION: np.full(len(measured.repetitions), np.nan)}


def _harm(metric: Metric, alone: Floats, beside: Floats) -> Floats:
    if metric is Metric.THROUGHPUT:
        return harm_where_more_is_better(alone, beside)
    return harm_where_less_is_better(alone, beside)


def _as_harm(values: Mapping[Metric, Floats], confidence: float = stats.CONFIDENCE) -> Harm:
    return Harm(**{metric.value: _interval(values[metric], confidence) for metric in Metric})


def _starved(both: Encounter, ours: Floats, theirs: Floats) -> str | None:
    """Return the algorithm whose flows are starved (see `STARVING_SHARE`); None if none are."""
    flows = both.mix.candidates + both.mix.neighbours
    total = both.mix.candidates * ours + both.mix.neighbours * theirs
    known = np.isfinite(total) & (total > 0)
    if not known.any():
        return None
    for name, got in ((both.candidate, ours), (both.neighbour, theirs)):
        if float((got[known] / (total[known] / flows)).mean()) < STARVING_SHARE:
            return name
    return None


def _interval(values: Floats, confidence: float = stats.CONFIDENCE) -> stats.Interval | None:
    finite = values[np.isfinite(values)]
    return stats.covering_mean(finite, confidence=confidence) if finite.size else None
