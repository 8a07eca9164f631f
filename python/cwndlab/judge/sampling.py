"""Networks like this one: draws over the ranges of everything that a link assumes.

A Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): with n draws, each key's
range is cut into n parts of equal probability and each part is drawn from once, so that few draws
cover every key. How parts are combined, and where in its part a value lies, follows from the
SHA-256 of the seed and the key's name: it is the same on every machine and does not depend on
other keys.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.judge.keys import keys_of
from cwndlab.schema.link import Link

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cwndlab.judge.figures import Figures
    from cwndlab.judge.keys import Key


@dataclass(frozen=True, slots=True)
class Draw:
    """One drawn network: the study's changed keys, and the value of each."""

    name: str
    changes: Mapping[str, Any]
    """Changed settings by path, as in a study: `{"link.server": "23.1 ms"}`."""
    keys: Mapping[str, float | str]
    """Drawn values by key, in the key's unit, or the name of a choice."""

    def level(self) -> dict[str, Any]:
        """The draw as a level of a factor with a name of its own."""
        return {"name": self.name, **self.changes}


@dataclass(frozen=True, slots=True)
class Sample:
    """Draws, and the keys that were drawn."""

    keys: tuple[Key, ...]
    draws: tuple[Draw, ...]


def vary(
    link: str | Mapping[str, Any] | Link,
    draws: int,
    seed: int,
    *,
    given: Collection[str] = (),
    folder: Path | None = None,
) -> Sample:
    """Draw networks over the ranges of a link.

    Args:
        link: the link in one line, as a table of study keys, or as a `Link`.
        draws: number of draws; fewer are returned if draws coincide, as they may with whole
            numbers.
        seed: random seed; with equal seeds, draw n of two links lies at the same fraction of the
            range of every key that both have.
        given: further paths that the user has set and that are therefore not drawn, such as
            `duration`, `stack` or `server_host`.
        folder: the folder to which paths of files are relative; the current one if absent.

    Raises:
        QuantityError: the line is not a link.
        FieldError: there is no such preset, or its keys contradict the link's own.
        LinkError: a range cannot be read.
    """
    keys, figures = keys_of(_read(link), folder or Path(), given)
    columns = {key.name: _shares(draws, seed, key.name) for key in keys}
    digits = len(str(max(draws - 1, 0)))
    drawn = [
        _draw(
            f"draw {n:0{digits}}",
            [(key, key.value_at(columns[key.name][n])) for key in keys],
            figures,
        )
        for n in range(draws)
    ]
    different: dict[str, Draw] = {}
    for draw in drawn:
        different.setdefault(repr(draw.changes), draw)
    return Sample(keys, tuple(different.values()))


def ends(
    link: str | Mapping[str, Any] | Link,
    *,
    given: Collection[str] = (),
    folder: Path | None = None,
) -> Sample:
    """Return both ends of every range and every other choice, changing one key at a time.

    Arguments and errors are those of `vary`.
    """
    keys, figures = keys_of(_read(link), folder or Path(), given)
    drawn = []
    for key in keys:
        others: list[float | str] = [choice.name for choice in key.choices if choice.set]
        values = others if key.choices else [key.low, key.high]
        for value in values:
            text = value if isinstance(value, str) else f"{value:g} {key.unit}".strip()
            drawn.append(_draw(f"{key.name}: {text}", [(key, value)], figures))
    return Sample(keys, tuple(drawn))


def _draw(name: str, values: list[tuple[Key, float | str]], figures: Figures) -> Draw:
    written: dict[str, Any] = {}
    for key, value in values:
        written |= key.values(value)
    return Draw(name, figures.changes(written), {key.name: value for key, value in values})


def _read(link: str | Mapping[str, Any] | Link) -> Link:
    return Link.read(link)


def _shares(draws: int, seed: int, name: str) -> list[float]:
    """Return one column of the hypercube: a point in each of `draws` parts, in random order."""
    digests = [hashlib.sha256(f"{seed}/{name}/{n}".encode()).digest() for n in range(draws)]
    order = sorted(range(draws), key=lambda n: digests[n][8:])
    shares = [0.0] * draws
    for part, n in enumerate(order):
        shares[n] = (part + int.from_bytes(digests[n][:8], "big") / 2**64) / draws
    return shares
