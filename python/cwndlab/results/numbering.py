"""Replace the keys of runs by numbers, because the keys of a large study need much memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_KEY_BYTES = 16
_PACKED = f"S{_KEY_BYTES}"


class Numbering:
    """Assigns a number to the key of each run: the position of the run in the study's run list.

    A key consists of 32 hexadecimal digits and needs 20 bytes of memory: 16 for the digits and 4
    for its rank in sorted order.
    """

    def __init__(self, pieces: Iterable[pl.Series]) -> None:
        """Assign the numbers 0, 1, ... to a study's runs; `pieces` contains their keys in order."""
        packed = bytearray()
        for keys in pieces:
            packed += _packed(keys.to_list())
        self._keys = np.frombuffer(packed, _PACKED)
        self.of_matrix = len(self._keys)
        self._order = np.argsort(self._keys, kind="stable").astype(np.uint32)
        self._others: dict[str, int] = {}

    def __len__(self) -> int:
        """Return the number of keys that have been numbered."""
        return self.of_matrix + len(self._others)

    def numbers(self, keys: Sequence[str]) -> NDArray[np.uint32]:
        """Return the number of each key; a new key gets the next free number."""
        wanted = np.frombuffer(_packed(keys), _PACKED)
        at = np.searchsorted(self._keys, wanted, sorter=self._order)
        found = np.zeros(len(keys), np.uint32)
        is_known = at < self.of_matrix
        found[is_known] = self._order[at[is_known]]
        is_known[is_known] = self._keys[found[is_known]] == wanted[is_known]
        for n in np.flatnonzero(~is_known).tolist():
            found[n] = self._others.setdefault(keys[n], len(self))
        return found

    def keys(self, numbers: NDArray[np.integer]) -> pl.Series:
        """Return the keys for `numbers`; keys that are not in the study's run list come last."""
        text = self._keys[numbers[numbers < self.of_matrix]].tobytes().hex()
        width = 2 * _KEY_BYTES
        of_matrix = [text[at : at + width] for at in range(0, len(text), width)]
        others = list(self._others)
        behind = [others[n - self.of_matrix] for n in numbers[numbers >= self.of_matrix]]
        return pl.Series("run", of_matrix + behind, pl.String)


def _packed(keys: Sequence[str]) -> bytes:
    """Convert keys from hexadecimal digits to bytes.

    Raises:
        ValueError: a key does not consist of 32 hexadecimal digits.
    """
    content = bytes.fromhex("".join(keys))
    if len(content) != _KEY_BYTES * len(keys):
        msg = f"the key of a run must consist of {2 * _KEY_BYTES} hexadecimal digits"
        raise ValueError(msg)
    return content
