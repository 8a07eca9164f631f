"""Run the studies of `advise`: on the given network, on similar ones, and with competing flows."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.api.repetitions import randomness, resolve_text
from cwndlab.api.results import open_results
from cwndlab.api.running import run_study
from cwndlab.api.spending import DRAWS_AT_LEAST, Times
from cwndlab.api.study import Study
from cwndlab.judge.answer import CLASS, Knowledge, answers
from cwndlab.judge.encounters import document_of, encounters_of, network_of, report_mixes
from cwndlab.judge.evidence import Draws, draws_of_link, draws_of_population, write_draws
from cwndlab.judge.goals import GOALS_OF_USES, SHORT_TRANSFERS, STABILITY
from cwndlab.judge.populations import load_population, networks_of_draws, population_of_links
from cwndlab.judge.question import COEXISTENCE, MIXES, NETWORKS, Question
from cwndlab.judge.sampling import vary
from cwndlab.judge.uses import use_named
from cwndlab.resolve.queues import rate_of
from cwndlab.results.folder import no_result
from cwndlab.results.lock import naming_failures
from cwndlab.run.campaign import default_folder
from cwndlab.run.cost import cost_of
from cwndlab.run.executor import available_cores
from cwndlab.schema.direction import Direction
from cwndlab.schema.paths import has_medium, links_of, wire_stages
from cwndlab.text.linkspec import short_spec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.goals import Goal
    from cwndlab.judge.populations import Population
    from cwndlab.resolve import ResolvedLink

_WARM_UP = "5 s"
_USUAL_S, _SHORTEST_S = 30, 15
_MOST_PACKETS = 150_000  # per run, so that ten runs of each algorithm take at most five seconds
_PACKET_BITS = 12_000
_TRANSFER = "500 kB"
_SEED = 1
_NO_SERIES = {"samples": "none", "events": False}
_OVERHEAD = 1.3  # total time of a run, including Python, divided by its time in the simulator
_SHORTEST_TIME_S = 1e-3  # of a repetition
_FEW = 3  # repetitions of a mix of flows, which the report shows and no decision depends on


@dataclass(frozen=True, slots=True)
class Inquiry:
    """The studies that show which algorithm suits one network, or the networks of many users."""

    goal: Goal
    baseline: str
    document: Mapping[str, Any]
    """All keys of the study except `repetitions`. They define one network, or one network for each
    class of users."""
    link: str
    """The link of a single network; empty for a population of users with different networks."""
    population: Population | None
    folder: Path
    jobs: int | None

    def look(self, repetitions: int) -> tuple[Results, Answers]:
        """Run the study with `repetitions` repetitions; return its results and the decisions.

        The decisions depend only on these runs, not on runs on similar networks (`try_networks`).

        Raises:
            ResultsError: no run has a result.
        """
        question = self._question()
        if not self.folder.exists():  # so that results of interrupted runs have their question
            with naming_failures(self.folder):
                self.folder.mkdir(parents=True)
                question.write(self.folder)
        results = _run(Study(**self.document, repetitions=repetitions), self.folder, self.jobs)
        question.write(self.folder)
        alone = Knowledge(weights=question.weights_of_users())
        found = answers(results, self.goal, baseline=self.baseline, knowledge=alone)
        if found is None:
            raise no_result(self.folder)
        return results, found

    def _question(self) -> Question:
        if self.population is None:
            return Question(self.goal.name, self.baseline)
        weights = {each.name: each.weight for each in self.population.classes}
        return Question(self.goal.name, self.baseline, weights, **asdict(self.population.meaning))

    def times(self, results: Results) -> Times:
        """Estimate the durations of further runs from the durations of the runs in `results`."""
        runs = set(results.flows()["run"])
        took_s = [e["duration_s"] for e in results.history if e["run"] in runs]
        each_s = sum(took_s) / max(len(took_s), 1)
        cores = self.jobs or available_cores()
        cells = Study(**self.document, repetitions=1).cells
        one = cost_of(cells, 1).cpu_s
        drawn, _ = self._networks(DRAWS_AT_LEAST)
        beside = Study(**self._coexistence())
        repetition_s = max(_OVERHEAD * each_s * len(cells) / cores, _SHORTEST_TIME_S)
        return Times(
            repetition_s=repetition_s,
            draw_s=repetition_s * cost_of(Study(**drawn).cells, 1).cpu_s / DRAWS_AT_LEAST / one,
            coexistence_s=repetition_s * cost_of(beside.cells, beside.repetitions).cpu_s / one,
        )

    def try_networks(self, draws: int) -> None:
        """Run every algorithm once on each of many networks that are similar to the user's network.

        For a population, the networks are similar to the networks of its classes of users. Similar
        networks are drawn from the ranges of uncertain values, such as the distance of the server.
        The results are stored in a subfolder.
        """
        document, kept = self._networks(draws)
        _run(Study(**document), self.folder / NETWORKS, self.jobs)
        write_draws(self.folder / NETWORKS, kept)

    def _networks(self, draws: int) -> tuple[dict[str, Any], Draws]:
        """Return the keys of the study of similar networks, and a list of the drawn networks."""
        if self.population is None:
            sample = vary(self.link, draws, _SEED)
            levels = [draw.level() for draw in sample.draws]
            kept = draws_of_link(sample)
        else:
            drawn = networks_of_draws(self.population, draws, _SEED)
            different = {level["name"]: level for draw in drawn for level, _ in draw}
            levels = [_in_time(level) for level in different.values()]
            kept = draws_of_population(
                [{level["name"]: weight for level, weight in draw} for draw in drawn]
            )
        changed = {path for level in levels for path in level} | {"factors"}
        base = {key: value for key, value in self.document.items() if key not in changed}
        base |= {
            "id": f"{self.document['id']}-networks",
            "title": f"{self.document['title']}: similar networks",
        }
        if self.goal is not STABILITY:
            base["record"] = _NO_SERIES
        return {**base, "factors": {"draw": levels}}, kept

    def try_coexistence(self) -> None:
        """Let every algorithm compete with CUBIC in some runs, and with itself in others.

        The results are stored in a subfolder. For a population, the runs use the network of the
        class with the largest weight.
        """
        _run(Study(**self._coexistence()), self.folder / COEXISTENCE, self.jobs)

    def _coexistence(self) -> dict[str, Any]:
        return document_of(self._keys(), encounters_of(self.document["algorithm"]))

    def try_mixes(self, candidate: str) -> None:
        """Run the algorithm `candidate` in all combinations of competing flows for the report."""
        study = Study(**document_of(self._keys(), encounters_of([candidate])))
        path = study.matrix.runs[0].scenario.path
        flows = open_results(self.folder / COEXISTENCE).flows()
        wire = "reverse" if self.document["direction"] == "uplink" else "forward"
        network = network_of(path, wire, flows)
        mixes = report_mixes(is_shared=network.is_shared, has_queue_key=network.has_queue_key)
        met = encounters_of([candidate], mixes)
        document = document_of(self._keys(), met, network=network, repetitions=_FEW)
        _run(Study(**document), self.folder / MIXES, self.jobs)

    def _keys(self) -> dict[str, Any]:
        """Return the study keys that define the network in which the flows compete."""
        link: str | Mapping[str, Any] = self.link
        if self.population is not None:
            link = max(self.population.classes, key=lambda each: each.weight).link
        return {"link": link, "direction": self.document["direction"], "seed": _SEED}


def inquire(  # noqa: PLR0913, PLR0917  the parts of a question
    links: list[str],
    users: str | None,
    goal: Goal,
    algorithms: list[str],
    baseline: str,
    direction: str,
    folder: Path | None,
    jobs: int | None,
) -> Inquiry:
    """Create the studies that find the best algorithm for given links or users.

    Raises:
        CwndlabError: a link or an algorithm is unknown.
    """
    document: dict[str, Any] = {
        "algorithm": algorithms,
        "direction": direction,
        "warm_up": _WARM_UP,
        "seed": _SEED,
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
    asked = repr(sorted(document.items(), key=str))
    if population is not None:
        asked += repr((population.weights, population.meaning))
    name = hashlib.sha256(asked.encode()).hexdigest()[:8]
    document |= {"id": f"advise-{name}", "title": f"{title}: {goal.title.lower()}"}
    where = folder or default_folder(Study(**document, repetitions=1))
    link = "" if population is not None else links[0]
    return Inquiry(goal, baseline, document, link, population, where, jobs)


def _of_goal(goal: Goal) -> dict[str, Any]:
    """Return the study keys that define the traffic with which a goal is measured."""
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
    """Return the study keys that set the duration of runs and make repetitions differ."""
    resolved = resolve_text(link)
    return {"duration": f"{duration_s(resolved, direction)} s", **randomness(resolved)}


def _in_time(level: Mapping[str, Any]) -> dict[str, Any]:
    """Return `level` (the study keys of a network) with those keys of `_times` that it lacks."""
    return {**_times(level["link"], "downlink"), **level}


def _run(study: Study, folder: Path, jobs: int | None) -> Results:
    run_study(study, folder, jobs=jobs, again="the same command")
    return open_results(folder)


def duration_s(resolved: ResolvedLink, direction: str) -> int:
    """Return the simulated duration of a run in s, chosen to limit the number of packets."""
    path = resolved.path
    if has_medium(path):
        is_fast = any(link.kind == "cell" and link.radio.kind == "nr" for link in links_of(path))
        return _SHORTEST_S if is_fast else _USUAL_S
    stages = wire_stages(path, Direction(direction))
    rates = [rate for stage in stages if (rate := rate_of(stage, resolved.traces)) is not None]
    if not rates:
        return _USUAL_S
    seconds = int(_MOST_PACKETS * _PACKET_BITS / min(rates))
    return max(_SHORTEST_S, min(2 * _USUAL_S, seconds))
