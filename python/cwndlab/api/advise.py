"""Advice for one network and one goal: run, decide, look again, for as long as the budget lasts.

The link itself is repeated in looks of 10, 20 and 40 repetitions, until every algorithm is known to
be in the set or not by an interval that holds at all looks (`cwndlab_judge::sequence`).  Beside it,
networks like it are drawn from the declared ranges of everything that was assumed, each once.

A recorded trace is one walk through a network.  Each repetition begins elsewhere in it, at the same
place for all algorithms.  Where nothing is random, flows start up to 100 ms later, by chance.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.api.results import open_results
from cwndlab.api.study import Study
from cwndlab.errors import ResultsError
from cwndlab.judge.answer import BASELINE, Answer, answers
from cwndlab.judge.evidence import write_draws
from cwndlab.judge.goals import SHORT_TRANSFERS, goal_named
from cwndlab.judge.question import NETWORKS, Question
from cwndlab.judge.sampling import vary
from cwndlab.run.campaign import default_folder, run_study
from cwndlab.schema import scenario as si
from cwndlab.schema.medium import CellPath
from cwndlab.study.describe import read_link
from cwndlab.text.linkspec import short_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.judge.goals import Goal
    from cwndlab.resolve import ResolvedLink

LOOKS = (10, 20, 40)
"""Repetitions after which it is seen whether the goal is decided."""

BUDGET_S = 15.0
CANDIDATES = ("cubic", "reno", "bbr", "vegas", "westwood", "illinois")
"""What is compared unless the user says otherwise: what Linux has, one of each kind."""

DRAWS_AT_MOST, DRAWS_AT_LEAST = 96, 24
START_JITTER = "100 ms"
_SHARE_OF_NETWORKS = 0.6  # of the budget
_WARM_UP = "5 s"
_USUAL_S, _SHORTEST_S = 30, 15
_MOST_PACKETS = 150_000  # of a run: more would not let ten of each fit into five seconds
_PACKET_BITS = 12_000
_TRANSFER = "500 kB"
_SEED = 1


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer for a network."""

    answer: Answer
    results: Results
    is_late: bool
    """Whether the budget ended before everyone was known to be in the set or not."""


def advise(  # noqa: PLR0913  each has its default
    link: str,
    goal: str = "balance",
    *,
    algorithms: Sequence[str] = CANDIDATES,
    baseline: str = BASELINE,
    direction: str = "downlink",
    budget_s: float = BUDGET_S,
    folder: Path | None = None,
    jobs: int | None = None,
    on_first: Callable[[Answer], None] | None = None,
) -> Advice:
    """Say which congestion control to use on a link, and how sure that is.

    Args:
        link: a preset, `trace:PATH`, a TOML file, or keys in one line.
        goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
            `fairness-to-cubic` or `stability`.
        algorithms: what is compared; the baseline is added.
        baseline: the algorithm that is run today.
        direction: of the data: `downlink` or `uplink`.
        budget_s: time for all of it.
        folder: of the results; `results/advise-HASH` if None.
        jobs: runs at once; one per core if None.
        on_first: is given the answer of the first look, before networks like the link are tried.

    Raises:
        CwndlabError: the link, the goal or an algorithm is not known, or a run failed.
    """
    wanted = goal_named(goal)
    names = list(dict.fromkeys([*algorithms, baseline]))
    document = _document(link, wanted, names, direction)
    began_s = time.monotonic()
    where = folder or default_folder(Study(**document, repetitions=1))

    def look(repetitions: int) -> tuple[Results, Answer]:
        results = _run(Study(**document, repetitions=repetitions), where, jobs)
        Question(goal, baseline, link).write(where)
        return results, _only(answers(results, wanted, baseline=baseline))

    results, answer = look(LOOKS[0])
    if on_first is not None:
        on_first(answer)
    spent_s = time.monotonic() - began_s
    per_network_s = spent_s / LOOKS[0]
    draws = int((budget_s - spent_s) * _SHARE_OF_NETWORKS / per_network_s)
    _try_networks(document, link, max(DRAWS_AT_LEAST, min(DRAWS_AT_MOST, draws)), where, jobs)
    is_late = False
    for count in LOOKS[1:]:
        if answer.decision.is_settled or answer.decision.pairs == 0:
            break
        left_s = budget_s - (time.monotonic() - began_s)
        if per_network_s * (count - answer.comparison.repetitions) > left_s:
            is_late = True
            break
        results, answer = look(count)
    return Advice(_only(answers(results, wanted, baseline=baseline)), results, is_late)


def _try_networks(
    document: dict[str, Any], link: str, draws: int, folder: Path, jobs: int | None
) -> None:
    """Run every algorithm once on networks like the link, below the results."""
    given = {"duration"} if "trace" in link else set()
    sample = vary(link, draws, _SEED, given=given)
    changed = {path for draw in sample.draws for path in draw.changes}
    base = {key: value for key, value in document.items() if key not in changed}
    study = Study(
        **base | {"id": f"{document['id']}-networks", "title": f"{document['title']}: networks"},
        factors={"draw": [draw.level() for draw in sample.draws]},
    )
    _run(study, folder / NETWORKS, jobs)
    write_draws(folder / NETWORKS, sample)


def _run(study: Study, folder: Path, jobs: int | None) -> Results:
    run_study(study, folder, jobs=jobs, again="the same command")
    return open_results(folder)


def _document(link: str, goal: Goal, algorithms: list[str], direction: str) -> dict[str, Any]:
    """Return the study of a question, without its repetitions."""
    _, resolved = read_link(link)
    document: dict[str, Any] = {
        "link": link,
        "algorithm": algorithms,
        "direction": direction,
        "duration": f"{duration_s(resolved, direction)} s",
        "warm_up": _WARM_UP,
        "seed": _SEED,
        "flow": [{"start_jitter": START_JITTER}],
    }
    if goal is SHORT_TRANSFERS:
        document |= {"application": {"kind": "sized", "bytes": _TRANSFER}}
        del document["warm_up"]
    if goal.name == "fairness":
        document |= {"flow": [{"count": 2, "start_jitter": START_JITTER}]}
    if goal.name == "fairness-to-cubic":
        document |= {"flow": [{"start_jitter": START_JITTER}, {"algorithm": "cubic"}]}
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    if lengths_s:
        document |= {"begin_within": f"{round(max(lengths_s) * 1000)} ms"}
    name = hashlib.sha256(repr(sorted(document.items())).encode()).hexdigest()[:8]
    title = f"{short_spec(link)}: {goal.title.lower()}"
    return document | {"id": f"advise-{name}", "title": title}


def duration_s(resolved: ResolvedLink, direction: str) -> int:
    """Return how long a run is: by the packets it has, so that it is the same on every machine."""
    path = resolved.path
    if not isinstance(path, si.WirePath):
        is_fast = isinstance(path, CellPath) and path.radio.kind == "nr"
        return _SHORTEST_S if is_fast else _USUAL_S
    stages = path.forward if direction == "downlink" else path.reverse
    rates = [rate for stage in stages if (rate := _bits_per_sec(stage.rate, resolved)) is not None]
    if not rates:
        return _USUAL_S
    seconds = int(_MOST_PACKETS * _PACKET_BITS / min(rates))
    return max(_SHORTEST_S, min(2 * _USUAL_S, seconds))


def _bits_per_sec(rate: si.Rate, resolved: ResolvedLink) -> float | None:
    match rate:
        case si.FixedRate() | si.TokenBucketRate():
            return float(rate.bits_per_sec)
        case si.MahimahiRate() | si.LogRate():
            return float(resolved.traces[rate.path].info["mean_rate_mbit_s"]) * 1e6
        case _:
            return None


def _only(found: list[Answer]) -> Answer:
    if not found:
        msg = "no run has a result"
        raise ResultsError(msg)
    return found[0]
