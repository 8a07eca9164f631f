"""Group the clients of a server into weighted classes, from a log of the server's connections.

A log of periodic snapshots contains long connections more often than short ones.  Let W be the
length of the log, D the interval between snapshots, and L the duration of a connection.  The
probability that the log contains the connection is proportional to W + L - D if L exceeds D, and
to W L / D otherwise.  Each connection is weighted by the inverse of this probability (Horvitz and
Thompson, Journal of the American Statistical Association 47, 1952).  Connections are grouped by
minimum round-trip time and goodput.
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
"""Maximum number of classes of clients; it is small, because each class needs a separate fit."""
_SPLIT = 1.0
"""A class is split if the standard deviation of log2(RTT) or log2(goodput) in this class is at
least this value."""


@dataclass(frozen=True, slots=True)
class ClientClass:
    """A class of connections with similar paths."""

    flow: MeasuredFlow
    """The connection whose path is most typical of this class of clients."""
    connections: int
    share_of_flows: float
    share_of_bytes: float

    @property
    def title(self) -> str:
        """Name of the class: a text with the minimum RTT and the goodput of `flow`."""
        row = self.flow.row
        return f"{row['rtt_base_ms']:.3g} ms, {row['goodput_mbit_s']:.3g} Mbit/s"


def weights(durations_s: Floats, window_s: float, interval_s: float) -> Floats:
    """Return the number of real connections that each logged connection represents."""
    lengths = np.maximum(durations_s, interval_s / 2)
    short = lengths / interval_s
    long = (window_s + lengths - interval_s) / window_s
    found: Floats = 1 / np.where(lengths < interval_s, short, np.maximum(long, 1.0))
    return found


def classes(
    flows: Sequence[MeasuredFlow], is_usable: Sequence[bool], window_s: float, interval_s: float
) -> list[ClientClass]:
    """Group connections into classes, each with at least one usable connection.

    Args:
        flows: all connections of a log, including short ones.
        is_usable: for each connection, whether the connection contains enough information to
            infer its link.
        window_s: length of the log.
        interval_s: interval between snapshots.
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
    # The goodput of a short connection reflects slow start: only its round-trip time is used.
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
    """Group connections by their RTT and goodput; return the median RTT and goodput of each group.

    All values are logarithms to the base 2.
    """
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
