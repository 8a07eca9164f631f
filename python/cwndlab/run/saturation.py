"""Simulate a saturated link, to find its capacity, its longest delay and the size of its queue.

`cwndlab link show --plot` plots the result, and `cwndlab link export` writes the arrivals of the
packets as a Mahimahi trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab import core
from cwndlab.errors import LinkError
from cwndlab.schema.paths import has_medium, propagation_ns
from cwndlab.text.files import write_text

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from cwndlab.resolve import ResolvedLink
    from cwndlab.schema.direction import Direction

PACKET_BYTES = 1500
_NS_PER_S = 10**9
_NS_PER_MS = 10**6


@dataclass(frozen=True, slots=True)
class Saturated:
    """Arrivals, delays and queue lengths if 1500-byte packets saturate one direction of a link."""

    duration_ns: int
    at_ns: npt.NDArray[np.uint64]  # when each packet arrived
    delay_ns: npt.NDArray[np.uint64]
    queue_pkts: npt.NDArray[np.uint32]  # at each millisecond
    propagation_ns: int
    block_at_ns: npt.NDArray[np.uint64]  # sending time of each transport block, if it is a cell
    block_sinr_db: npt.NDArray[np.float64]

    @property
    def has_blocks(self) -> bool:
        """True if the link is cellular and has sent transport blocks."""
        return len(self.block_at_ns) > 0

    @property
    def rate_mbit_s(self) -> float:
        """Mean rate in Mbit/s, from the first arrival of a packet to the end of the simulation."""
        if not len(self.at_ns):
            return 0.0
        seconds = (self.duration_ns - int(self.at_ns[0])) / _NS_PER_S
        return len(self.at_ns) * PACKET_BYTES * 8 / 1e6 / seconds

    def rates_mbit_s(self, bin_ms: int) -> npt.NDArray[np.float64]:
        """Return the mean rate, in Mbit/s, in each interval of `bin_ms` milliseconds."""
        bins = max(self.duration_ns // (bin_ms * _NS_PER_MS), 1)
        counts = np.bincount(
            (self.at_ns // np.uint64(bin_ms * _NS_PER_MS)).astype(np.int64), minlength=bins
        )[:bins]
        return np.asarray(counts * (PACKET_BYTES * 8 / (bin_ms * 1000)), dtype=np.float64)

    def mahimahi(self) -> str:
        """Return the recorded arrivals as a Mahimahi trace, without the propagation delay.

        Raises:
            LinkError: the link delivered no packet.
        """
        left_ms = (self.at_ns - np.uint64(self.propagation_ns)) // np.uint64(_NS_PER_MS)
        if not len(left_ms):
            msg = "the link delivered no packet, so the trace would be empty; increase the duration"
            raise LinkError(msg)
        return "".join(f"{stamp}\n" for stamp in left_ms)


def saturate(
    resolved: ResolvedLink, direction: Direction, duration_ns: int, *, user: int = 1, seed: int = 1
) -> Saturated:
    """Simulate a source that saturates one direction of a link.

    Raises:
        LinkError: the rate in this direction is unlimited, or the link has no user `user`.
    """
    if user > 1 and not has_medium(resolved.path):
        msg = (
            f"there is no user {user}: only cells and Wi-Fi channels have several users; choose "
            "user 1"
        )
        raise LinkError(msg)
    scenario = resolved.scenario(duration_ns, seed)
    try:
        columns = core.saturate(scenario.to_json(), resolved.contents, direction.wire, user)
    except ValueError as error:
        raise LinkError(str(error)) from None
    return Saturated(
        duration_ns,
        columns["at_ns"],
        columns["delay_ns"],
        columns["queue_pkts"],
        propagation_ns(resolved.path, direction),
        columns["block_at_ns"],
        columns["block_sinr_db"],
    )


def export_mahimahi(
    resolved: ResolvedLink, direction: Direction, duration_ns: int, out: Path, *, user: int = 1
) -> Saturated:
    """Write one direction of a link as a Mahimahi trace.

    Raises:
        LinkError: the rate in this direction is unlimited, or the link delivered no packet.
    """
    saturated = saturate(resolved, direction, duration_ns, user=user)
    write_text(out, saturated.mahimahi())
    return saturated
