"""Numbers for the keys of runs: of a large study, keys themselves would fill the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_AT_ONCE = 1 << 12


class Numbering:
    """The runs of a matrix by their position in it; other runs have the numbers behind."""

    def __init__(self, keys: pl.Series) -> None:
        """Number the runs of a matrix."""
        self.of_matrix = len(keys)
        self._keys = keys
        pieces = [_encoded(some) for some in in_pieces(keys)]
        whole = np.concatenate(pieces) if pieces else np.array([], np.bytes_)
        self._order = np.argsort(whole, kind="stable").astype(np.uint32)
        self._sorted = whole[self._order]
        self._others: dict[str, int] = {}

    def __len__(self) -> int:
        """How many keys have a number."""
        return self.of_matrix + len(self._others)

    def numbers(self, keys: Sequence[str]) -> NDArray[np.uint32]:
        """The number of each key; one that has none gets the next."""
        wanted = _encoded(keys)
        at = np.searchsorted(self._sorted, wanted)
        found = np.zeros(len(keys), np.uint32)
        is_known = at < self.of_matrix
        is_known[is_known] = self._sorted[at[is_known]] == wanted[is_known]
        found[is_known] = self._order[at[is_known]]
        for n in np.flatnonzero(~is_known).tolist():
            found[n] = self._others.setdefault(keys[n], len(self))
        return found

    def keys(self, numbers: NDArray[np.integer]) -> pl.Series:
        """The keys of these numbers."""
        of_matrix = self._keys.gather(numbers[numbers < self.of_matrix])
        others = list(self._others)
        behind = [others[n - self.of_matrix] for n in numbers[numbers >= self.of_matrix]]
        return of_matrix.append(pl.Series("run", behind, pl.String))


def in_pieces(keys: pl.Series) -> Iterator[list[str]]:
    """A column as lists that are not long."""
    for first in range(0, len(keys), _AT_ONCE):
        yield keys.slice(first, _AT_ONCE).to_list()


def _encoded(keys: Sequence[str]) -> NDArray[np.bytes_]:
    return np.array([key.encode() for key in keys], np.bytes_)
