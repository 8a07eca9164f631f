"""Estimate the cost of a measurement campaign, and the number of repetitions that it needs.

The number of repetitions is the smallest n for which a paired, two-sided t test detects a true
difference `effect` with a power of 80 %: (t(1 - level/2, n - 1) + t(power, n - 1)) s / sqrt(n) <=
effect. Here, s is the standard deviation of the relative paired differences in a pilot study. The
level is 5 % divided by the number of pairs of algorithms that are compared on one network. This is
Bonferroni's correction, which is at least as strict as Holm's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.judge.comparison import compare
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from cwndlab.schema.live import LivePath
from cwndlab.stats.students_t import quantile

if TYPE_CHECKING:
    from cwndlab.api.results import Results
    from cwndlab.judge.cell import Comparison
    from cwndlab.schema.path import PathPart
    from cwndlab.study.definition import StudyDefinition

LEVEL = 0.05
POWER = 0.8
MOST_REPETITIONS = 10_000
_FEWEST_PAIRS = 2
_OVERHEAD_S = 2.0  # for a live run without a pilot: connections, probes, last samples
_COLUMN = "goodput_mbit_s"
_ENDLESS = (apps.Bulk, apps.OnOff, apps.Paced, apps.Probe)


@dataclass(frozen=True, slots=True)
class Need:
    """Number of repetitions needed to compare one pair of algorithms on one network."""

    setting: str
    pair: tuple[str, str]
    spread_pct: float | None
    """Standard deviation of the goodput differences between paired runs, in percent of the second
    algorithm's mean goodput. None if this mean is 0, or for fewer than two pairs."""
    repetitions: int | None
    """Required number of repetitions; None if the number is unknown or above 10,000."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Estimated cost of a study as it is written, and the number of repetitions that it needs."""

    runs: int
    repetitions: int
    hours: float
    gigabytes: float | None
    """Estimated volume of transferred data; None if the data rate is unknown."""
    needs: tuple[Need, ...]

    @property
    def needed_repetitions(self) -> int | None:
        """Number of repetitions that suffices for every pair of algorithms.

        None without a pilot study, or if the number is unknown or above 10,000 for any pair.
        """
        counts = [need.repetitions for need in self.needs]
        known = [count for count in counts if count is not None]
        return max(known) if known and len(known) == len(counts) else None


def plan_study(
    study: StudyDefinition, *, pilot: Results | None, effect: float, bits_per_sec: int | None
) -> Plan:
    """Estimate the cost of a study, and the number of repetitions that the study needs.

    Args:
        study: the study whose cost is estimated.
        pilot: results of a few repetitions, from which the rates of flows and the variance between
            repetitions are estimated.
        effect: smallest relative difference of goodput that the study has to detect.
        bits_per_sec: rate of each flow, used if no rate can be estimated from the pilot.
    """
    runs = study.matrix.runs
    rate = _pilot_rate(pilot) if pilot is not None else None
    if rate is None and bits_per_sec is not None:
        rate = float(bits_per_sec)
    sizes = [_flow_bytes(flow, run.scenario, rate) for run in runs for flow in run.scenario.flows]
    known = [size for size in sizes if size is not None]
    overhead_s = _overhead_s(pilot)
    seconds = sum(
        _run_s(run.scenario, rate) + overhead_s + _pause_s(run.scenario.path) for run in runs
    )
    needs = () if pilot is None else tuple(_needs(pilot, effect))
    return Plan(
        runs=len(runs),
        repetitions=study.repetitions,
        hours=seconds / 3600,
        gigabytes=sum(known) / 1e9 if len(known) == len(sizes) else None,
        needs=needs,
    )


def needed_repetitions(spread: float, effect: float, comparisons: int = 1) -> int | None:
    """Return the smallest number of pairs of runs that can detect a difference.

    Return None if the number is above 10,000.

    Args:
        spread: standard deviation of the relative paired differences.
        effect: the relative difference to detect.
        comparisons: number of simultaneous comparisons.
    """
    if _sees(MOST_REPETITIONS, spread, effect, comparisons):
        few, enough = 1, MOST_REPETITIONS
        while enough - few > 1:
            middle = (few + enough) // 2
            if _sees(middle, spread, effect, comparisons):
                enough = middle
            else:
                few = middle
        return enough
    return None


def _sees(pairs: int, spread: float, effect: float, comparisons: int) -> bool:
    freedom = pairs - 1
    factor = quantile(1 - LEVEL / (2 * comparisons), freedom) + quantile(POWER, freedom)
    return factor * spread / math.sqrt(pairs) <= effect


def _needs(pilot: Results, effect: float) -> list[Need]:
    found = []
    for comparison in compare(pilot):
        pairs = list(combinations(comparison.contestants, 2))
        for pair in pairs:
            spread = _spread(comparison, *pair)
            count = None if spread is None else needed_repetitions(spread, effect, len(pairs))
            shown = None if spread is None else 100 * spread
            found.append(Need(comparison.name, pair, shown, count))
    return found


def _spread(comparison: Comparison, one: str, other: str) -> float | None:
    ours, theirs = (comparison.values[name].get(_COLUMN) for name in (one, other))
    if ours is None or theirs is None:
        return None
    both = np.isfinite(ours) & np.isfinite(theirs)
    if both.sum() < _FEWEST_PAIRS or not theirs[both].mean() > 0:
        return None
    differences = (ours[both] - theirs[both]) / theirs[both].mean()
    return float(np.std(differences, ddof=1))


def _pilot_rate(pilot: Results) -> float | None:
    flows = pilot.flows()
    for column in ("throughput_mbit_s", _COLUMN):
        values = flows[column].drop_nulls() if column in flows.columns else None
        if values is not None and len(values):
            return float(values.to_numpy().mean()) * 1e6
    return None


def _flow_bytes(
    flow: si.ScenarioFlow, scenario: si.Scenario, bits_per_sec: float | None
) -> float | None:
    seconds = scenario.duration_ns / 1e9
    most = None if bits_per_sec is None else bits_per_sec * seconds / 8
    match flow.application:
        case apps.Sized() as sized:
            return float(sized.bytes)
        case apps.Paced(bulk_for_ns=0) as paced:
            return paced.bits_per_sec * seconds / 8
        case apps.RequestResponse(count=int(count), response_bytes=size):
            return float(count * size)
        case (
            apps.WindowedFile(total_bytes=int(size)) | apps.Http(bytes=size) | apps.Sftp(bytes=size)
        ):
            return float(size)
        case _:
            return most


def _run_s(scenario: si.Scenario, bits_per_sec: float | None) -> float:
    """Estimate how many seconds a run lasts; it ends early if all files have arrived."""
    longest_s = scenario.duration_ns / 1e9
    if not bits_per_sec or any(isinstance(flow.application, _ENDLESS) for flow in scenario.flows):
        return longest_s
    sizes = [_flow_bytes(flow, scenario, bits_per_sec) or 0.0 for flow in scenario.flows]
    return min(longest_s, 8 * max(sizes) / bits_per_sec)


def _overhead_s(pilot: Results | None) -> float:
    """Estimate, if possible from the pilot, by how many seconds a run exceeds its `duration`."""
    entries: list[dict[str, Any]] = [] if pilot is None else pilot.history
    spent = [float(e["duration_s"]) for e in entries if e.get("backend") == "live"]
    if pilot is None or not spent or pilot.imported is not None:
        return _OVERHEAD_S
    return max(0.0, float(np.median(spent)) - pilot.study.model.duration / 1e9)


def _pause_s(path: PathPart | LivePath) -> float:
    return path.pause_ns / 1e9 if isinstance(path, LivePath) else 0.0
