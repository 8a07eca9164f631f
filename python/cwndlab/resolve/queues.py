"""Compute the queue limits of wired links, in packets and in bandwidth-delay products."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.resolve.traces import mean_rate_bits_per_sec
from cwndlab.schema.direction import Direction
from cwndlab.schema.paths import base_rtt_ns, wire_stages
from cwndlab.text.quantity import format_duration, format_rate
from cwndlab.text.wording import two_digits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.resolve.traces import Trace
    from cwndlab.schema.live import LivePath
    from cwndlab.schema.path import PathPart


@dataclass(frozen=True, slots=True)
class QueueSize:
    """The limit of a drop-tail queue in front of a link whose rate is limited."""

    packets: int
    bdp: float
    rate_bits_per_sec: int
    """The rate of the link; for a trace, its mean rate."""
    rtt_ns: int
    is_trace: bool
    is_default: bool
    """True if the limit equals the default limit of this link's queue."""

    def __str__(self) -> str:
        """Return the limit as text: "250 packets, 1 BDP of 30 Mbit/s and 100 ms, by default"."""
        mean = " on average" if self.is_trace else ""
        default = ", by default" if self.is_default else ""
        rate, rtt = format_rate(round(self.rate_bits_per_sec, -4)), format_duration(self.rtt_ns)
        if not self.is_trace:
            rate = format_rate(self.rate_bits_per_sec)
        bdp = two_digits(self.bdp)
        return f"{self.packets:,} packets, {bdp} BDP of {rate}{mean} and {rtt}{default}"


def rate_of(stage: PathPart, traces: Mapping[str, Trace]) -> int | None:
    """Return the rate of a wired link, or the mean rate of its trace; None if it has no rate."""
    if stage.rate.path is not None:
        return mean_rate_bits_per_sec(traces[stage.rate.path])
    rate_bits_per_sec: int | None = stage.rate.bits_per_sec
    return rate_bits_per_sec


def size_of(
    stage: PathPart, path: PathPart | LivePath, traces: Mapping[str, Trace], server_ns: int
) -> QueueSize | None:
    """Return the size of a wired link's queue in packets; None if it has no size in packets.

    A queue has no size in packets if it is managed (AQM), unlimited or limited in bytes. Also
    return None if the link has no rate, or if the RTT of the path without queueing is 0.

    `server_ns` is the one-way delay between the link and the server. The default size of the queue
    is a bandwidth-delay product, which is computed from the RTT without the delay to the server.
    """
    rates = {
        name: mean_rate_bits_per_sec(trace)
        for name, trace in traces.items()
        if trace.kind != "light"
    }
    size = core.queue_size(json.dumps(stage), base_rtt_ns(path), server_ns, rates)
    return None if size is None else QueueSize(**size)


def narrowest_queue(
    path: PathPart | LivePath,
    traces: Mapping[str, Trace],
    server_ns: int,
    direction: str = "forward",
) -> QueueSize | None:
    """Return the queue size of the slowest wired link in one direction.

    Links whose queue has no size in packets are ignored. If no link remains, return None.
    """
    stages = wire_stages(path, Direction.of(direction))
    sizes = [
        size for stage in stages if (size := size_of(stage, path, traces, server_ns)) is not None
    ]
    return min(sizes, key=lambda size: size.rate_bits_per_sec, default=None)
