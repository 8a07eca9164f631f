"""Draw random networks that are similar to a link, from the ranges of all uncertain values.

The draws form a Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): with n
draws, the range of each key is divided into n parts of equal probability, and one value is drawn
from each part. A small number of draws therefore covers the whole range of each key. A hash
(SHA-256) of the seed and the key's name determines the order of the parts and the position of each
value within its part. Therefore, draws are the same on all computers and do not depend on other
keys.
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
    """A randomly drawn network: values of study keys, and the value of each uncertain property."""

    name: str
    changes: Mapping[str, Any]
    """Maps the paths of study keys to their values: `{"link.server": "23.1 ms"}`."""
    keys: Mapping[str, float | str]
    """Maps each uncertain property to its random value: a number, or the name of a choice."""

    def level(self) -> dict[str, Any]:
        """Return the drawn network as a factor level of a study: its name and its study keys."""
        return {"name": self.name, **self.changes}


@dataclass(frozen=True, slots=True)
class Sample:
    """Networks that were drawn at random, and the properties that differ between the networks."""

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
    """Draw networks that are similar to a link, from the ranges of its assumed values.

    Args:
        link: the link as one line of text, as a table of study keys, or as a `Link`.
        draws: number of networks to draw; equal networks are returned only once, so there can be
            fewer.
        seed: random seed. If a key is uncertain for two links, and `seed` and `draws` are equal,
            the key's value in draw n has the same relative position in the range of each link.
        given: paths of keys that the user has set, and that are therefore not drawn, such as
            `duration`, `stack` or `server_host`.
        folder: folder to which relative file paths refer. If None, use the current folder.

    Raises:
        QuantityError: the line does not describe a link.
        FieldError: the preset does not exist, or its keys contradict the keys of the link.
        LinkError: a range lacks a bound, or its bounds are not two numbers in ascending order with
            the same unit.
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
    """Return networks that differ from the link in a single key.

    For a key with a range, one network has the lowest value of the range, and one the highest. For
    a key with choices, there is one network for each choice that differs from the link's. For
    arguments and errors, see `vary`.
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
    """Return each draw's position in the range of one key, as a number from 0 to 1.

    The range is divided into as many equal parts as there are draws. There is one position in each
    part, and the order of the parts is random (a column of a Latin hypercube).
    """
    digests = [hashlib.sha256(f"{seed}/{name}/{n}".encode()).digest() for n in range(draws)]
    order = sorted(range(draws), key=lambda n: digests[n][8:])
    shares = [0.0] * draws
    for part, n in enumerate(order):
        shares[n] = (part + int.from_bytes(digests[n][:8], "big") / 2**64) / draws
    return shares
