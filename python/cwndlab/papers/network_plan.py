"""Read the plan for inferring a paper's network, and define the study that simulates networks.

The plan is stored in `data/papers/ID/inference.toml`; it was committed to the repository before
the first fit. The plan contains the columns of the paper's tables from which the network is
inferred, and the ranges of the settings that the paper does not state.
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
from cwndlab.schema.ranges import Range

if TYPE_CHECKING:
    from cwndlab.schema.link import Link
    from cwndlab.stats.bootstrap import Floats
    from cwndlab.study.definition import StudyDefinition

POINT = "point"
"""Name of the study's factor whose levels are the simulated networks."""
_SEED = 1
_QUICK = 5  # the short version simulates one network in five


class PaperPlan(Model):
    """A plan that states how the network of a paper is inferred."""

    points: int
    """Number of networks that are drawn at random from the ranges in `range` and simulated."""
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
class PossibleNetworks:
    """Networks drawn at random from the ranges of a plan, and the study that simulates them."""

    plan: PaperPlan
    keys: tuple[Key, ...]
    shares: Floats
    """Positions of the networks within the ranges, from 0 to 1: one row for each network, one
    column for each range."""
    study: dict[str, Any]
    """Content of the study file for the study that simulates every variant on every network."""


def load_plan(paper_id: str) -> PaperPlan:
    """Load the plan with which a paper's network is inferred.

    Raises:
        UnknownNameError: cwndlab contains no plan for this paper.
        CwndlabError: the file with the plan is invalid; the message names the line.
    """
    return checked(inference_file(paper_id), PaperPlan)


def possible_networks(
    plan: PaperPlan, study: StudyDefinition, *, is_quick: bool = False
) -> PossibleNetworks:
    """Draw networks from the ranges of a plan, and return the study that simulates them.

    Raises:
        LinkError: the bounds of a range are not two numbers in ascending order with the same unit,
            or the study has no link that all variants use.
    """
    figures = Figures(*expand_link(_link_of(study), study.folder))
    keys = tuple(key_of(name, span, figures, study.id) for name, span in plan.range.items())
    count = plan.points // (_QUICK if is_quick else 1)
    sampler = Sampler(np.empty(0), len(keys), np.random.default_rng(_SEED))
    shares = sampler.propose(count)
    levels = []
    for n, row in enumerate(shares):
        written: dict[str, Any] = {}
        for key, share in zip(keys, row, strict=True):
            written |= key.values(key.value_at(float(share)))
        levels.append({"name": n, **figures.changes(written)})
    document = copy.deepcopy(study.document)
    document.pop("quick", None)
    factors = document["factors"]
    for name, kept in plan.levels.items():
        factors[name] = [each for each in factors[name] if _label(each) in kept]
    factors[POINT] = levels
    document |= {"id": f"{study.id}-inferred", "repetitions": 1}
    return PossibleNetworks(plan, keys, shares, document)


def _link_of(study: StudyDefinition) -> Link:
    if study.model.link is None:
        msg = f"{study.id}: the network can be inferred only if all variants use the same link"
        raise LinkError(msg)
    return study.model.link


def _label(level: object) -> str:
    return str(level["name"] if isinstance(level, dict) else level)
