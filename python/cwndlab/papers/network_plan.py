"""Read the plan for inferring a paper's network, and define the study that simulates networks.

A plan contains the columns of the paper's tables from which the network is inferred, and the ranges
of the settings that the paper does not state. It is stored in `data/papers/ID/inference.toml`, and
was committed to the repository before the first fit. A further plan `inference-NAME.toml` was
written after this fit, to test an idea; it is no independent test of the paper's numbers.

A paper may have measured at several places, each with its own network. For each place, networks are
drawn from the ranges independently of the other places, and only the rows of the tables that belong
to the place determine their weights.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from cwndlab.errors import LinkError
from cwndlab.inference.importance import Sampler
from cwndlab.judge.figures import Figures
from cwndlab.judge.keys import Key, key_of
from cwndlab.papers.facts import LevelText
from cwndlab.papers.library import inference_file
from cwndlab.resolve.path import expand_link
from cwndlab.schema.base import Model
from cwndlab.schema.checking import checked
from cwndlab.schema.link import Link
from cwndlab.schema.ranges import Range
from cwndlab.study.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.stats.bootstrap import Floats
    from cwndlab.study.definition import StudyDefinition

POINT = "point"
"""Name of the study's factor whose levels are the simulated networks."""
_SEED = 1
_QUICK = 5  # the short version simulates one network in five


class PaperPlan(Model):
    """A plan that states how the network of a paper is inferred."""

    after: str | None = None
    """Results that were known when the plan was written, as a phrase; None if there were none."""
    points: int
    """Number of networks that are drawn at random from the ranges in `range` and simulated; if the
    plan has a key `place`, so many for each place."""
    place: LevelText | None = None
    """Factor of the study whose levels are places with different networks. If it is not given, all
    numbers of the paper are from one network."""
    training: tuple[LevelText, ...]
    """Columns of the paper's tables from which the network is inferred; the other columns are
    predicted."""
    tables: tuple[str, ...]
    """Names of those tables of the paper from which numbers are used."""
    levels: dict[str, tuple[LevelText, ...]] = Field(default={})
    """Maps each factor of the study to the levels that are simulated. If a factor is not listed,
    all of its levels are simulated."""
    range: dict[str, Range]
    """Maps each setting that the paper does not state to the range of its possible values."""


@dataclass(frozen=True, slots=True)
class PlaceNetworks:
    """The networks of one place, drawn at random from the ranges of a plan."""

    name: str
    """Level of the plan's factor `place`; empty if the paper has one network."""
    first: int
    """Level of the factor `POINT` for the first network; the other networks have the next ones."""
    keys: tuple[Key, ...]
    shares: Floats
    """Positions of the networks within the ranges, from 0 to 1: one row for each network, one
    column for each range."""

    @property
    def points(self) -> slice:
        """Levels of the factor `POINT` for the networks of this place."""
        return slice(self.first, self.first + len(self.shares))


@dataclass(frozen=True, slots=True)
class PossibleNetworks:
    """Networks drawn at random from the ranges of a plan, and the study that simulates them."""

    plan: PaperPlan
    places: tuple[PlaceNetworks, ...]
    study: dict[str, Any]
    """Content of the study file for the study that simulates every variant on every network."""

    @property
    def count(self) -> int:
        """Number of networks of all places."""
        return sum(len(each.shares) for each in self.places)


def load_plan(paper_id: str, name: str | None = None) -> PaperPlan:
    """Load a plan with which a paper's network is inferred.

    Args:
        paper_id: the paper.
        name: a plan that was written after the first fit, or None for the plan of the first fit.

    Raises:
        UnknownNameError: cwndlab contains no such plan for this paper.
        CwndlabError: the file with the plan is invalid; the message names the line.
    """
    return checked(inference_file(paper_id, name), PaperPlan)


def possible_networks(
    plan: PaperPlan, study: StudyDefinition, *, is_quick: bool = False
) -> PossibleNetworks:
    """Draw networks from the ranges of a plan, and return the study that simulates them.

    Raises:
        LinkError: the bounds of a range are not two numbers in ascending order with the same unit,
            or the study has no link that all variants use.
    """
    links = _links(plan, study)
    document = copy.deepcopy(study.document)
    document.pop("quick", None)
    factors = document["factors"]
    for name, kept in plan.levels.items():
        factors[name] = [each for each in factors[name] if _label(each) in kept]
    count = plan.points // (_QUICK if is_quick else 1)
    draws = np.random.default_rng(_SEED)
    places: list[PlaceNetworks] = []
    levels: list[dict[str, Any]] = []
    for name, link in links.items():
        figures = Figures(*expand_link(link, study.folder))
        keys = tuple(key_of(each, span, figures, study.id) for each, span in plan.range.items())
        shares = Sampler(np.empty(0), len(keys), draws).propose(count)
        places.append(PlaceNetworks(name, len(levels), keys, shares))
        levels += [
            {"name": n, **_settings(keys, row, figures)}
            for n, row in enumerate(shares, start=len(levels))
        ]
    factors[POINT] = levels
    if plan.place is not None:
        factors["exclude"] = [*factors.get("exclude", []), *_elsewhere(plan.place, places)]
    document |= {"id": f"{study.id}-inferred", "repetitions": 1}
    return PossibleNetworks(plan, tuple(places), document)


def _links(plan: PaperPlan, study: StudyDefinition) -> dict[str, Link]:
    """Map the name of each place to its link; without places, an empty name to the study's link."""
    if plan.place is None:
        if study.model.link is None:
            msg = f"{study.id}: the network can be inferred only if all variants use the same link"
            raise LinkError(msg)
        return {"": study.model.link}
    found = {}
    for level in study.document["factors"][plan.place]:
        name = _label(level)
        if name not in plan.levels.get(plan.place, (name,)):
            continue
        draft = Draft({"link": copy.deepcopy(study.document.get("link", {}))})
        for path in sorted(level, key=lambda path: path.count(".")):
            if path.partition(".")[0] == "link":
                draft.set(path, level[path], ("factors", plan.place))
        found[name] = Link.read(draft.document["link"])
    return found


def _settings(keys: Sequence[Key], shares: Floats, figures: Figures) -> dict[str, Any]:
    """Return the study keys that set up one network, and their values."""
    written: dict[str, Any] = {}
    for key, share in zip(keys, shares, strict=True):
        written |= key.values(key.value_at(float(share)))
    return figures.changes(written)


def _elsewhere(factor: str, places: Sequence[PlaceNetworks]) -> list[dict[str, Any]]:
    """Return rules of a study by which the networks of a place are not used at other places."""
    return [
        {
            factor: [other.name for other in places if other is not place],
            POINT: list(range(place.points.start, place.points.stop)),
        }
        for place in places
    ]


def _label(level: object) -> str:
    return str(level["name"] if isinstance(level, dict) else level)
