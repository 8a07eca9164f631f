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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.api.results import open_results
from cwndlab.api.study import Study
from cwndlab.judge.answer import BASELINE, CLASS
from cwndlab.judge.evidence import draws_of_link, draws_of_population, write_draws
from cwndlab.judge.goals import GOALS_OF_USES, SHORT_TRANSFERS, goal_named
from cwndlab.judge.populations import expand, load_population, population_of_links
from cwndlab.judge.question import NETWORKS, Question
from cwndlab.judge.sampling import vary
from cwndlab.judge.uses import use_named
from cwndlab.resolve import resolve_link
from cwndlab.run.campaign import default_folder, run_study
from cwndlab.schema import scenario as si
from cwndlab.schema.cell import CellPath
from cwndlab.schema.link import Link
from cwndlab.study.describe import read_link
from cwndlab.text.linkspec import short_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cwndlab.api.results import Results
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.decision import Decision
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.populations import Population
    from cwndlab.resolve import ResolvedLink

LOOKS = (10, 20, 40)
"""Repetitions after which it is seen whether the goal is decided."""

BUDGET_S, CLASS_BUDGET_S = 15.0, 20.0
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
    """The answer for a network or a population."""

    answers: Answers
    results: Results
    is_late: bool
    """Whether the budget ended before every algorithm was known to be in the set or not."""

    @property
    def decision(self) -> Decision:
        """The answer."""
        return self.answers.together


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """What is to be found out, and where."""

    goal: Goal
    baseline: str
    document: Mapping[str, Any]
    """The study of one network, or that of all classes, without repetitions."""
    link: str
    """Of one network; empty of a population."""
    population: Population | None
    folder: Path
    jobs: int | None

    def look(self, repetitions: int) -> tuple[Results, Answers]:
        """Run as many repetitions, and decide."""
        results = _run(Study(**self.document, repetitions=repetitions), self.folder, self.jobs)
        self._question().write(self.folder)
        return results, results.answers(self.goal.name, baseline=self.baseline)

    def _question(self) -> Question:
        if self.population is None:
            return Question(self.goal.name, self.baseline)
        weights = {each.name: each.weight for each in self.population.classes}
        is_invented = any(each.is_invented for each in self.population.classes)
        return Question(self.goal.name, self.baseline, weights, is_invented)

    def try_networks(self, draws: int) -> None:
        """Run every algorithm once on networks like it, below the results."""
        if self.population is None:
            sample = vary(self.link, draws, _SEED)
            levels = [draw.level() for draw in sample.draws]
            kept = draws_of_link(sample)
        else:
            drawn = expand(self.population, draws, _SEED)
            levels = [_in_time(level) for each in drawn for level in each.levels()]
            kept = draws_of_population(
                [
                    {each.levels()[n]["name"]: each.users.weight for each in drawn}
                    for n in range(draws)
                ]
            )
        changed = {path for level in levels for path in level} | {"factors"}
        base = {key: value for key, value in self.document.items() if key not in changed}
        base |= {
            "id": f"{self.document['id']}-networks",
            "title": f"{self.document['title']}: networks like it",
        }
        _run(Study(**base, factors={"draw": levels}), self.folder / NETWORKS, self.jobs)
        write_draws(self.folder / NETWORKS, kept)


def advise(  # noqa: PLR0913  each has its default
    link: str | Sequence[str] = (),
    goal: str = "balance",
    *,
    users: str | None = None,
    use: str = "bulk",
    algorithms: Sequence[str] = CANDIDATES,
    baseline: str = BASELINE,
    direction: str = "downlink",
    budget_s: float | None = None,
    folder: Path | None = None,
    jobs: int | None = None,
    on_first: Callable[[Answers], None] | None = None,
) -> Advice:
    """Say which congestion control to use on a link, and how sure that is.

    Args:
        link: a preset, `trace:PATH`, a TOML file, or keys in one line; several are classes of users
            that count the same.
        goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
            `fairness-to-cubic` or `stability`.
        users: a population instead: `mobile`, `home`, `train`, `satellite` or a TOML file.
        use: what the network is for: `bulk`, `web`, `video`, `rpc`, `upload` or `call`; all but
            `bulk` and `upload` say themselves what counts, and `goal` does not.
        algorithms: what is compared; the baseline is added.
        baseline: the algorithm that is run today.
        direction: of the data: `downlink` or `uplink`.
        budget_s: time for all of it; 15 s for one network, 20 s for each class of a population.
        folder: of the results; `results/advise-HASH` if None.
        jobs: runs at once; one per core if None.
        on_first: is given the answer of the first look, before networks like it are tried.

    Raises:
        CwndlabError: a link, the goal or an algorithm is not known, or a run failed.
        ValueError: neither a link nor users, or both.
    """
    links = [link] if isinstance(link, str) else list(link)
    if bool(links) == (users is not None):
        msg = "give either links or users"
        raise ValueError(msg)
    wanted = use_named(use)
    goal = wanted.goal.name if wanted.goal else goal
    direction = wanted.keys.get("direction", direction)
    inquiry = _inquiry(
        links,
        users,
        goal_named(goal),
        list(dict.fromkeys([*algorithms, baseline])),
        baseline,
        direction,
        folder,
        jobs,
    )
    classes = 1 if inquiry.population is None else len(inquiry.population.classes)
    budget = budget_s or (BUDGET_S if classes == 1 else CLASS_BUDGET_S * classes)
    began_s = time.monotonic()
    results, answers = inquiry.look(LOOKS[0])
    if on_first is not None:
        on_first(answers)
    spent_s = time.monotonic() - began_s
    per_repetition_s = spent_s / LOOKS[0]
    draws = int((budget - spent_s) * _SHARE_OF_NETWORKS / per_repetition_s)
    inquiry.try_networks(max(DRAWS_AT_LEAST, min(DRAWS_AT_MOST, draws)))
    done, is_late = LOOKS[0], False
    for count in LOOKS[1:]:
        if answers.together.is_settled or answers.together.pairs == 0:
            break
        left_s = budget - (time.monotonic() - began_s)
        if per_repetition_s * (count - done) > left_s:
            is_late = True
            break
        results, answers = inquiry.look(count)
        done = count
    final = results.answers(goal, baseline=baseline)
    return Advice(final, results, is_late)


def _inquiry(  # noqa: PLR0913, PLR0917  what was asked
    links: list[str],
    users: str | None,
    goal: Goal,
    algorithms: list[str],
    baseline: str,
    direction: str,
    folder: Path | None,
    jobs: int | None,
) -> _Inquiry:
    document: dict[str, Any] = {
        "algorithm": algorithms,
        "direction": direction,
        "warm_up": _WARM_UP,
        "seed": _SEED,
        "start_jitter": START_JITTER,
        **_of_goal(goal),
    }
    if goal is SHORT_TRANSFERS:
        del document["warm_up"]
    population = None
    if users is None and len(links) == 1:
        document |= {"link": links[0], **_times(links[0], direction), **_of_goal(goal)}
        title = short_spec(links[0])
    else:
        population = population_of_links(links) if users is None else load_population(users)
        levels = [{**_times(each.link, direction), **each.level()} for each in population.classes]
        document |= {"factors": {CLASS: levels}}
        title = population.title
    name = hashlib.sha256(repr(sorted(document.items(), key=str)).encode()).hexdigest()[:8]
    document |= {"id": f"advise-{name}", "title": f"{title}: {goal.title.lower()}"}
    where = folder or default_folder(Study(**document, repetitions=1))
    link = "" if population is not None else links[0]
    return _Inquiry(goal, baseline, document, link, population, where, jobs)


def _of_goal(goal: Goal) -> dict[str, Any]:
    """Return what a study needs so that the goal is measured."""
    match goal.name:
        case "short-transfers":
            return {"application": {"kind": "sized", "bytes": _TRANSFER}}
        case "fairness":
            return {"flow": [{"count": 2}]}
        case "fairness-to-cubic":
            return {"flow": [{}, {"algorithm": "cubic"}]}
        case name if name in GOALS_OF_USES:
            return use_named(name).document()
        case _:
            return {}


def _times(link: str | Mapping[str, Any], direction: str) -> dict[str, str]:
    """Return how long runs on a link are, and when in a recorded trace they begin."""
    resolved = resolve_link(_read(link), Path())
    times = {"duration": f"{duration_s(resolved, direction)} s"}
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    if lengths_s:
        times["begin_within"] = f"{round(max(lengths_s) * 1000)} ms"
    return times


def _read(link: str | Mapping[str, Any]) -> Link:
    if isinstance(link, str):
        return read_link(link)[0]
    return Link.model_validate(dict(link))


def _in_time(level: Mapping[str, Any]) -> dict[str, Any]:
    """Return a network of a class with the usual length of runs, unless it has one of its own."""
    return {**_times(level["link"], "downlink"), **level}


def _run(study: Study, folder: Path, jobs: int | None) -> Results:
    run_study(study, folder, jobs=jobs, again="the same command")
    return open_results(folder)


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
