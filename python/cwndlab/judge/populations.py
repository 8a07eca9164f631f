"""Define populations of users with different networks, divided into weighted classes.

A population comes from the package (`data/users`), from a file in the same format, from several
links, or from the settings of a study. The recommendation for a population is the algorithm with
the highest weighted mean of the utilities in all classes. The recommendation also names the class
of users that loses the most utility with this algorithm, and the weights that would change the
recommendation (`cwndlab.judge.sensitivity.weigh`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from cwndlab.errors import CwndlabError, StudyError, UnknownNameError
from cwndlab.judge.sampling import Sample, vary
from cwndlab.judge.weighing import Meaning
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.users import WrittenPopulation
from cwndlab.study import matrix
from cwndlab.study.places import Arguments
from cwndlab.text.files import user_path
from cwndlab.text.linkspec import parse_spec, short_spec
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cwndlab.text.toml import KeyPath

_FOLDER = Path(__file__).parents[1] / "data" / "users"
_FILES_OF_LINKS = ("trace", "log", "light_trace")
_EQUAL = "invented: equal weights"


@dataclass(frozen=True, slots=True)
class Class:
    """A class of users, with its network, its weight and the source of the weight."""

    name: str
    link: str | Mapping[str, Any]
    weight: float
    """Fraction of the population that belongs to the class; all fractions sum to 1."""
    weight_source: str
    """Source of the weight, or the word "invented" and a reason if there is no source."""
    changes: Mapping[str, Any]
    """Study keys that are set for this class of users: maps the path of each key to its value."""
    is_invented: bool = True
    """True if the weight, or a part of it, is not supported by a publication or a data set."""

    def level(self) -> dict[str, Any]:
        """Return this class as a level of a study's factor: its name, link and `changes`."""
        return {"name": self.name, "link": self.link, **self.changes}


@dataclass(frozen=True, slots=True)
class Population:
    """A population of users with different networks, divided into classes."""

    title: str
    classes: tuple[Class, ...]
    are_estimates: bool = False
    """True if each class is one estimate of the same network, and its weight is the probability of
    this estimate."""
    is_explained: bool = True
    """False if the networks were inferred from a measurement, but do not explain its results."""

    @property
    def meaning(self) -> Meaning:
        """Properties of the classes and weights, such as whether a weight was invented."""
        is_invented = any(each.is_invented for each in self.classes)
        return Meaning(is_invented, self.are_estimates, self.is_explained)

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each class, in the order of the classes; the weights sum to 1."""
        return tuple(each.weight for each in self.classes)


@dataclass(frozen=True, slots=True)
class DrawnClass:
    """One class of users, with the networks that were drawn for the class."""

    users: Class
    sample: Sample

    def levels(self) -> list[dict[str, Any]]:
        """Return each drawn network as a factor level of a study: its name and its study keys."""
        return [
            {**self.users.level(), **draw.changes, "name": f"{self.users.name}, {draw.name}"}
            for draw in self.sample.draws
        ]


@functools.cache
def populations() -> Mapping[str, Path]:
    """Return a dictionary that maps the name of each population in the package to its file."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_population(name: str, folder: Path | None = None) -> Population:
    """Load a population by name; a name ending in `.toml` is a file path relative to `folder`.

    Raises:
        UnknownNameError: the package contains no population with this name.
        StudyError: the file does not describe a population; the message names the file, the line
            and the key of each problem.
    """
    if name.endswith(".toml"):
        return _read((folder or Path()) / user_path(name))
    if name not in populations():
        known = f"use {', '.join(populations())}, or a TOML file such as ./mine.toml"
        raise UnknownNameError(name, populations(), known, kind="population")
    return _read(populations()[name])


def population_of_links(links: Sequence[str]) -> Population:
    """Return a population with one class of users for each link; the weights are equal."""
    return population_of_settings({short_spec(link): link for link in links})


def population_of_settings(links: Mapping[str, str | Mapping[str, Any]]) -> Population:
    """Return a population with one class for each named link of a study; the weights are equal."""
    weight = 1 / len(links)
    classes = tuple(Class(name, link, weight, _EQUAL, {}) for name, link in links.items())
    return Population(", ".join(links), classes)


def expand(
    population: Population, draws: int, seed: int, *, given: Collection[str] = ()
) -> tuple[DrawnClass, ...]:
    """Draw the same number of networks for each class of users, with common random numbers.

    The nth draw has the same position within a key's range in all classes, so chance does not cause
    differences between classes. Keys that a class sets are not drawn. If the classes are estimates
    of one network, their links are not changed; only keys of the hosts are drawn. For arguments and
    errors, see `vary`.
    """
    known = (*given, "link") if population.are_estimates else tuple(given)
    return tuple(
        DrawnClass(each, vary(each.link, draws, seed, given=(*known, *each.changes)))
        for each in population.classes
    )


def networks_of_draws(
    population: Population, draws: int, seed: int
) -> list[list[tuple[dict[str, Any], float]]]:
    """Return random samples (draws) of a population: for each draw, its networks and their weights.

    Each network is described as a named level of a study's factor. If the classes of the population
    contain different users, each draw consists of one network per class. If the classes are
    estimates of one network, each draw consists of a single network, from one of the estimates.
    Each estimate supplies a number of draws that is proportional to its probability. If a class has
    fewer different networks than draws, its networks are repeated. For arguments and errors, see
    `expand`.
    """
    drawn = expand(population, draws, seed)
    levels = [each.levels() for each in drawn]
    if not population.are_estimates:
        return [
            [
                (own[n % len(own)], each.users.weight)
                for own, each in zip(levels, drawn, strict=True)
            ]
            for n in range(draws)
        ]
    middles = (np.arange(draws) + 0.5) / draws
    turns = np.searchsorted(np.cumsum(population.weights)[:-1], middles)
    return [[(levels[turn][n % len(levels[turn])], 1.0)] for n, turn in enumerate(turns)]


def _read(path: Path) -> Population:
    source = TomlSource.read(path)
    try:
        written = WrittenPopulation.model_validate(source.document)
    except ValidationError as error:
        problems = field_errors(error, WrittenPopulation, source.document)
        raise StudyError([source.problem(p.key, p.message) for p in problems]) from None
    total = sum(each.weight for each in written.users)
    classes: list[Class] = []
    for n, each in enumerate(written.users):
        if any(each.name == other.name for other in classes):
            message = "two classes have this name; rename one class"
            raise StudyError([source.problem(("users", n, "name"), message)])
        link = _with_absolute_paths(source.document["users"][n]["link"], path.parent)
        is_invented = each.invented is not None
        found = Class(each.name, link, each.weight / total, each.basis, each.set, is_invented)
        _check(found, ("users", n), source)
        classes.append(found)
    are_estimates = written.classes == "estimates"
    return Population(written.title or path.stem, tuple(classes), are_estimates, written.explained)


def _check(users: Class, key: KeyPath, source: TomlSource) -> None:
    """Check that the network of a class can be simulated and that its uncertain keys can be drawn.

    Raises:
        StudyError: a study of this network, or the range of an uncertain key, is not valid; the
            message names the file, line and key of the class.
    """
    document = {"algorithm": "reno", "link": users.link}
    if users.changes:
        document["factors"] = {path: [value] for path, value in users.changes.items()}
    try:
        matrix.build(document, Arguments(document), Path())
        vary(users.link, 1, 1, given=tuple(users.changes))
    except (CwndlabError, FieldError) as error:
        place = (*key, "link" if not users.changes else "set")
        raise StudyError([source.problem(place, str(error))]) from None


def _with_absolute_paths(link: str | Mapping[str, Any], folder: Path) -> str | Mapping[str, Any]:
    """Return the link with absolute file paths; relative paths in `link` start at `folder`."""
    table = dict(parse_spec(link) if isinstance(link, str) else link)
    preset = table.get("preset")
    keys = [key for key in _FILES_OF_LINKS if key in table]
    if isinstance(preset, str) and preset.endswith(".toml"):
        keys.append("preset")
    if not keys:
        return link
    return table | {key: str((folder / user_path(table[key])).absolute()) for key in keys}
