"""For any bytes, every parser returns a value or raises its own error: see `fuzz_targets`."""

from __future__ import annotations

import random
import warnings

import pytest

from fuzz_targets import TARGETS, mutated, seeds_of

_MUTANTS = 100  # per target: a second or two


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_are_too_much(name: str) -> None:
    seeds = seeds_of(name)
    draw = random.Random(name)  # noqa: S311  the same in every run
    mutants = [mutated(draw, seeds) for _ in range(_MUTANTS)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (*seeds, *mutants):
            TARGETS[name](data)
