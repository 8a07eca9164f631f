"""Compute the keys under which the results of runs are stored."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cwndlab.study.matrix import Matrix


def rekeyed(matrix: Matrix, way: str) -> Matrix:
    """Return the runs with new keys, which also depend on `way` (for example `vm/6.12`)."""

    def key(name: str) -> str:
        return hashlib.sha256(f"{name}/{way}".encode()).hexdigest()[: len(name)]

    runs = (dataclasses.replace(run, key=key(run.key)) for run in matrix.runs)
    return dataclasses.replace(matrix, runs=tuple(runs))
