"""Classes of a server's clients, from a log of its connections, with weights.

A log that is read again and again sees long connections more often than short ones: one that
lasts L is seen in a log of length W, read every D, with a chance proportional to W + L if L is
longer than D, and to W L / D if it is shorter.  Each connection counts by the inverse of that
(Horvitz and Thompson, Journal of the American Statistical Association 47, 1952).  Connections are
grouped by their shortest round trip and their goodput.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.inference.measurement import MeasuredFlow
    from cwndlab.stats.bootstrap import Floats

MOST_CLASSES = 4
"""Classes of clients: each needs a fit of its own."""
_SPLIT = 1.0
"""Classes are split while their spread is larger than this, in powers of two."""


@dataclass(frozen=True, slots=True)
class ClientClass:
    """Connections whose paths are alike."""

    flow: MeasuredFlow
    """The one that shows the path best."""
    connections: int
    share_of_flows: float
    share_of_bytes: float

    @property
    def title(self) -> str:
        """A name by what its connections have in common."""
        row = self.flow.row
        return f"{row['rtt_base_ms']:.3g} ms, {row['goodput_mbit_s']:.3g} Mbit/s"


def weights(durations_s: Floats, window_s: float, interval_s: float) -> Floats:
    """How many connections each one that was seen stands for."""
    lengths = np.maximum(durations_s, interval_s / 2)
    short = lengths / interval_s
    long = (window_s + lengths - interval_s) / window_s
    found: Floats = 1 / np.where(lengths < interval_s, short, np.maximum(long, 1.0))
    return found


def classes(
    flows: Sequence[MeasuredFlow], is_usable: Sequence[bool], window_s: float, interval_s: float
) -> list[ClientClass]:
    """Group connections; classes without one that shows its path are left out.

    Args:
        flows: all connections of a log, short ones as well.
        is_usable: whether each shows its path.
        window_s: how long the log is.
        interval_s: how often it was read.
    """
    known = [
        n
        for n, flow in enumerate(flows)
        if flow.row.get("rtt_base_ms") and flow.row.get("delivered_bytes")
    ]
    durations = np.array([flows[n].duration_s for n in known])
    counts = weights(durations, window_s, interval_s)
    sizes = counts * np.array([float(flows[n].row["delivered_bytes"]) for n in known])
    places = np.array(
        [
            [
                np.log2(flows[n].row["rtt_base_ms"]),
                np.log2(max(flows[n].row.get("goodput_mbit_s") or 1e-3, 1e-3)),
            ]
            for n in known
        ]
    )
    usable = np.array([is_usable[n] for n in known], bool)
    # A short connection's goodput is that of slow start: only its round trip says where it belongs.
    centres = _centres(places[usable])
    apart = (places[:, None, :] - centres[None, :, :]) ** 2
    apart[:, :, 1] *= usable[:, None]
    owner = apart.sum(axis=2).argmin(axis=1)
    found = []
    for at in range(len(centres)):
        own = np.flatnonzero(owner == at)
        shown = own[usable[own]]
        if not len(shown):
            continue
        best = min(shown, key=lambda n: (apart[n, at].sum(), -durations[n]))
        found.append(
            ClientClass(
                flows[known[best]],
                len(own),
                float(counts[own].sum() / counts.sum()),
                float(sizes[own].sum() / sizes.sum()),
            )
        )
    return sorted(found, key=lambda each: -each.share_of_flows)


def _centres(places: Floats) -> Floats:
    """Centres of as few groups as are narrow, by repeated splitting of the widest."""
    groups = [np.arange(len(places))]
    while len(groups) < MOST_CLASSES:
        widest = max(groups, key=lambda own: places[own].std(axis=0).max())
        spread = places[widest].std(axis=0)
        if spread.max() < _SPLIT:
            break
        column = places[widest, spread.argmax()]
        order = np.sort(column)
        gaps = np.diff(order)
        edge = order[gaps.argmax()] + gaps.max() / 2
        groups = [own for own in groups if own is not widest]
        groups += [widest[column <= edge], widest[column > edge]]
    found: Floats = np.array([np.median(places[own], axis=0) for own in groups])
    return found
