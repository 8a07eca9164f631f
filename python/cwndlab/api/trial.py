"""Conduct trials: test a registered prediction on a real network, and judge the outcome."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from cwndlab import core
from cwndlab.api.study import Study
from cwndlab.api.two_hosts import HostPeriods
from cwndlab.errors import ResultsError
from cwndlab.judge.answer import BASELINE, class_of
from cwndlab.judge.comparison import flows_of
from cwndlab.judge.decision import runs_of
from cwndlab.judge.evidence import read_draws, utilities_by_draw
from cwndlab.judge.goals import THROUGHPUT, goal_named
from cwndlab.judge.ledger import LedgerEntry
from cwndlab.judge.measures import measures_of_flows
from cwndlab.judge.plan import needed_repetitions
from cwndlab.judge.prediction import FILE, RegisteredPrediction, chances, read_prediction
from cwndlab.judge.question import NETWORKS
from cwndlab.judge.switchback import FEWEST_BLOCKS, Verdict, change_of, verdict_of
from cwndlab.measure.trial import periods as trial_periods
from cwndlab.measure.trial.conduct import conduct, due
from cwndlab.measure.trial.guard import LASTING_S
from cwndlab.measure.trial.periods import NOTHING, PeriodLog
from cwndlab.measure.trial.server import ServerPeriods
from cwndlab.measure.trial.settings import require_algorithms
from cwndlab.measure.trial.way_back import changing
from cwndlab.results.manifest import MANIFEST
from cwndlab.text.files import write_text
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.backends.live import RealNetwork
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.switchback import MeasuredChange
    from cwndlab.measure.trial.guard import Guardrails
    from cwndlab.measure.trial.periods import MeasuredPeriod
    from cwndlab.measure.trial.settings import Default, Route
    from cwndlab.stats.bootstrap import Floats

STUDY = "study.toml"
"""Name of the file that contains the study of a trial between two hosts."""
RUNS = "runs"
"""Subfolder for the results of a trial between two hosts.

If a trial is continued with a second command, that command's results are in `runs-2`, and so on.
"""
STUDY_OF_PART = "part.toml"
"""Name of the file that contains the study of the latest part of a trial between two hosts.

A part is a return to the baseline, or the remaining time of an interrupted period.
"""
PARTS = "part"
"""Subfolder for the results of the first part (see `STUDY_OF_PART`).

The results of the second part are in `part-2`, and so on.
"""
ASSUMED_SPREAD = 0.15
"""Value of `Design.spread` if no earlier trial has measured the spread."""


@dataclass(frozen=True, slots=True)
class Design:
    """The number, duration and random order of a trial's periods; each tests one algorithm."""

    blocks: int | None = None
    """Number of blocks (pairs of periods). If None, enough to detect the predicted change."""
    period_s: float = 60.0
    washout_s: float = 5.0
    spread: float = ASSUMED_SPREAD
    """Standard deviation, over blocks (pairs of periods), of the difference in utility between the
    two periods of a block."""
    seed: int = 1

    @property
    def return_s(self) -> float:
        """Duration in seconds of a return to the baseline, which checks suspected harm.

        A return lasts half a period, but at least two seconds longer than the wash-out, and never
        longer than a whole period. The wash-out is the time after each change of the algorithm; it
        does not count in the outcome.
        """
        return max(self.period_s / 2, min(self.washout_s + LASTING_S, self.period_s))

    def blocks_for(self, change: float) -> int:
        """Return the number of blocks with which a trial detects a change with 80 % power.

        Raises:
            ResultsError: the change needs more blocks than a trial can have.
        """
        if self.blocks is not None:
            return self.blocks
        needed = needed_repetitions(self.spread, abs(change)) if change else None
        if needed is None:
            msg = (
                f"no feasible trial detects a change of {100 * change:.1f} % if the difference in "
                "utility between the two periods of a block has a standard deviation of "
                f"{100 * self.spread:.0f} %; to run a trial anyway, set the number of blocks with "
                "--blocks"
            )
            raise ResultsError(msg)
        return max(needed, FEWEST_BLOCKS)


def register(
    results: Results,
    challenger: str | None,
    baseline: str | None,
    design: Design,
    goal: str | None = None,
) -> RegisteredPrediction:
    """Predict the outcome of a trial on a real network, from results of `advise` or `compare`.

    Args:
        results: results of simulations; results of `advise` also contain similar networks.
        challenger: the algorithm that the trial tests. If None, the recommended algorithm.
        baseline: the algorithm in use today. If None, the baseline of the results, or else `cubic`.
        design: the design of the trial.
        goal: the goal of the comparison. If None, the goal of the results.

    Raises:
        ArgumentError: the results do not contain the baseline.
        ResultsError: these results do not allow a prediction, or no feasible trial could test it;
            the message states the reason.
    """
    answers = results.answers(goal, baseline=baseline)
    decision = answers.together
    if not decision.is_explained:
        msg = (
            f"{results.path}: the simulated links do not explain the measurement, so they "
            "allow no prediction; compare the algorithms with `cwndlab live` instead"
        )
        raise ResultsError(msg)
    baseline = baseline or decision.baseline or BASELINE
    if decision.goal.gain != THROUGHPUT.gain:
        msg = (
            f"a trial compares throughput and delay, not the goal {decision.goal.name}; add "
            "--goal throughput, --goal balance or --goal latency"
        )
        raise ResultsError(msg)
    chosen = challenger or decision.first or baseline
    names = [each.name for each in decision.entrants]
    for name in (chosen, baseline):
        if name not in names:
            msg = f"{results.path} contains no result for {name}, only for {', '.join(names)}"
            raise ResultsError(msg)
    if chosen == baseline:
        msg = (
            f"{baseline} is the baseline and would also be the challenger; name another "
            "algorithm with --challenger"
        )
        raise ResultsError(msg)
    differences = _differences(results, decision.goal, chosen, baseline)
    probability, change, low, high = chances(differences)
    scenario = results.scenario(answers.settings[0].comparison.cell)
    return RegisteredPrediction(
        goal=decision.goal.name,
        challenger=chosen,
        baseline=baseline,
        network=results.title,
        network_class=class_of(scenario) if scenario else "wire",
        probability=probability,
        change=change,
        low=low,
        high=high,
        networks=int(np.isfinite(differences).sum()),
        version=f"{core.version()}, epoch {core.behaviour_epoch()}",
        study=hashlib.sha256((results.path / MANIFEST).read_bytes()).hexdigest(),
        registered=datetime.now(UTC).isoformat(timespec="seconds"),
        blocks=design.blocks_for(change),
        period_s=design.period_s,
        washout_s=design.washout_s,
        seed=design.seed,
        return_s=design.return_s,
    )


def _differences(results: Results, goal: Goal, challenger: str, baseline: str) -> Floats:
    """Return the predicted differences in utility.

    If similar networks were simulated, there is one difference for each of these networks.
    Otherwise, there is one difference for each pair of runs on the link itself.
    """
    beside = results.beside(NETWORKS)
    if beside is None:
        comparison = results.answers(goal.name, baseline=baseline).settings[0].comparison
        utilities = runs_of(comparison, goal).utilities(goal)
        names = list(comparison.contestants)
        own: Floats = utilities[names.index(challenger)] - utilities[names.index(baseline)]
        return own
    measures = measures_of_flows(beside)
    flows = flows_of(beside, beside.flows().join(measures, on=["run", "flow"], how="left"))
    ours, theirs = utilities_by_draw(
        flows, goal, [challenger, baseline], read_draws(results.path / NETWORKS)
    )
    apart: Floats = ours - theirs
    return apart


def spread_of(trial: Path) -> float:
    """Return a cautious (high) estimate of `Design.spread` from the blocks of an earlier trial.

    Raises:
        ResultsError: the trial has fewer than two blocks.
    """
    change = _change(read_prediction(trial / FILE), PeriodLog(trial / trial_periods.FILE).read())
    if change is None:
        msg = (
            f"{trial} contains fewer than two measured blocks (pairs of periods), but a standard "
            "deviation needs two"
        )
        raise ResultsError(msg)
    return change.cautious_spread


def run_on_server(
    trial: Path,
    setting: Route | Default,
    *,
    limits: Guardrails | None = None,
    on_period: Callable[[MeasuredPeriod, int], None] | None = None,
) -> None:
    """Conduct a trial on this server by changing the algorithm that its connections use.

    The original setting is restored at the end, even if cwndlab is killed.

    Raises:
        SettingError: the setting cannot be changed.
        ResultsError: no prediction is registered for this trial.
    """
    prediction = read_prediction(trial / FILE)
    require_algorithms((prediction.baseline, prediction.challenger))
    goal = goal_named(prediction.goal)
    log = PeriodLog(trial / trial_periods.FILE)
    with changing(setting) as switch:
        server = ServerPeriods(switch, goal, prediction.washout_s)
        conduct(prediction, log, server, limits=limits, on_period=on_period)


def run_between_hosts(
    trial: Path,
    backend: RealNetwork,
    *,
    direction: str = "downlink",
    flows: int = 1,
    limits: Guardrails | None = None,
    on_period: Callable[[MeasuredPeriod, int], None] | None = None,
) -> None:
    """Conduct a trial between this machine and a server, without changing their settings.

    Raises:
        ResultsError: no prediction is registered for this trial.
        CampaignEndedError: the server was unreachable for too long.
    """
    prediction = read_prediction(trial / FILE)

    def study(name: str, duration_s: float, repetitions: int) -> Study:
        document = {
            "study": {
                "id": f"trial-{prediction.id[:8]}",
                "title": f"Trial: {prediction.challenger} against {prediction.baseline}",
                "duration": f"{duration_s:g} s",
                "warm_up": f"{prediction.washout_s:g} s",
                "direction": direction,
                "repetitions": repetitions,
            },
            "live": {"pause": "1 ms"},
            "record": {"samples": "100 ms"},
            "flow": [{"count": flows}],
            "factors": {"algorithm": [prediction.baseline, prediction.challenger]},
        }
        path = trial / name
        write_text(path, write_toml(document))
        return Study.load(path, is_live=True)

    hosts = HostPeriods(
        study(STUDY, prediction.period_s, prediction.blocks + 1),
        lambda duration_s: study(STUDY_OF_PART, duration_s, 1),
        backend,
        _free_folder(trial, RUNS),
        lambda: _free_folder(trial, PARTS),
        goal_named(prediction.goal),
    )
    log = PeriodLog(trial / trial_periods.FILE)
    conduct(prediction, log, hosts, limits=limits, on_period=on_period)


def _free_folder(trial: Path, first: str) -> Path:
    """Return an unused path, so that results of an earlier command are not reused."""
    names = itertools.chain([first], (f"{first}-{n}" for n in itertools.count(2)))
    return next(trial / name for name in names if not (trial / name).exists())


@dataclass(frozen=True, slots=True)
class TrialState:
    """The state of a trial: its verdict, its measured periods, and its missing periods."""

    entry: LedgerEntry
    periods: tuple[MeasuredPeriod, ...]
    left: int
    """Number of periods that still have to be measured."""

    @property
    def returns(self) -> list[MeasuredPeriod]:
        """The periods in which the trial returned to the baseline to check for harm.

        These periods do not count towards the measured change.
        """
        return [each for each in self.periods if each.checks]


def judge_trial(trial: Path) -> TrialState:
    """Return the state of a trial, including the verdict on its prediction.

    Raises:
        ResultsError: the trial does not exist, or its files are damaged.
    """
    prediction = read_prediction(trial / FILE)
    log = PeriodLog(trial / trial_periods.FILE)
    found = log.read()
    left = len(due(prediction, found))
    harm = next((each.harm for each in found if each.harm), "")
    change = _change(prediction, found)
    # A verdict before the end would be wrong more often than its stated error rate.
    verdict = Verdict.NOT_ENOUGH if left else verdict_of(change)
    entry = LedgerEntry(
        prediction,
        Verdict.REFUTED if harm else verdict,
        change,
        datetime.now(UTC).isoformat(timespec="seconds"),
        harm,
    )
    return TrialState(entry, tuple(found), left)


def _change(prediction: RegisteredPrediction, found: list[MeasuredPeriod]) -> MeasuredChange | None:
    by_block = trial_periods.blocks(found)
    nothing = float("nan")

    def utilities(name: str) -> list[float]:
        values = [own.get(name, NOTHING).utility for _, own in sorted(by_block.items())]
        return [nothing if value is None else value for value in values]

    return change_of(utilities(prediction.challenger), utilities(prediction.baseline))
