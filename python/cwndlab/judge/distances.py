"""Recommend algorithms separately for near, national and intercontinental servers.

A recommendation is computed from the randomly drawn networks whose server is in the same range of
distances. The ranges are separated by one-way delays of 6 ms and 30 ms. Light travels 200 km per
millisecond in optical fibre, so these delays correspond to at most 1,200 km and 6,000 km.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.judge.decision import chosen_of
from cwndlab.judge.networks import Distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.stats.bootstrap import Floats

KEY = "server"
PARTS = (("near", 0.0, 6.0), ("national", 6.0, 30.0), ("intercontinental", 30.0, math.inf))
"""Each class of distances to the server: its name and its range of one-way delays in ms."""
FEWEST_DRAWS = 6
"""Smallest number of drawn networks that suffices for a recommendation. Predicting whether a
recommendation is repeatable needs the same number of pairs of runs."""


def by_distance(
    utilities: Floats,
    names: Sequence[str],
    server_ms: Sequence[float],
) -> tuple[Distance, ...]:
    """Return the recommended algorithms for each class of distances to the server.

    No algorithm is recommended for a class with fewer than 6 drawn networks.

    Args:
        utilities: array of shape (algorithms, drawn networks); NaN if a run is missing.
        names: names of the algorithms.
        server_ms: one-way delay to the server in each drawn network.
    """
    delays_ms = np.asarray(server_ms, dtype=np.float64)
    is_whole = np.isfinite(utilities).all(axis=0)
    found = []
    for name, least_ms, most_ms in PARTS:
        is_there = is_whole & (delays_ms >= least_ms) & (delays_ms < most_ms)
        draws = int(is_there.sum())
        best: tuple[str, ...] = ()
        if draws >= FEWEST_DRAWS:
            gain = utilities[:, is_there]
            chosen = chosen_of(gain, np.zeros_like(gain), price=0.0)
            best = tuple(names[at] for at in chosen["candidates"])
        if draws:
            found.append(Distance(name, least_ms, most_ms, draws, best))
    return tuple(found)
