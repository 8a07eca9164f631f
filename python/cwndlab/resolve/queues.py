"""How much a wire's queue holds: in packets, in bandwidth-delay products, and by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.schema import scenario as si
from cwndlab.schema.direction import Direction
from cwndlab.schema.paths import base_rtt_ns, wire_stages
from cwndlab.text.quantity import format_duration, format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.resolve.traces import Trace

FULL_PACKET_BYTES = 1500
SMALLEST_DEFAULT_QUEUE_PACKETS = 10  # the initial window, RFC 6928 section 2
SMALLEST_TRACE_QUEUE_PACKETS = 250  # a recording's rate rises far above its mean

_NS_PER_S = 10**9


def packets_of_bdp(
    rate_bits_per_sec: int, rtt_ns: int, framing_bytes: int, milli_bdp: int = 1000
) -> int:
    """How many full packets so many thousandths of the bandwidth-delay product are, rounded up."""
    packet_bits = 8 * (FULL_PACKET_BYTES + framing_bytes)
    return -(-rate_bits_per_sec * rtt_ns * milli_bdp // (_NS_PER_S * 1000 * packet_bits))


def default_packets(
    rate_bits_per_sec: int, rtt_ns: int, framing_bytes: int, *, is_trace: bool
) -> int:
    """The limit of a queue that nobody names: 1 BDP, of a trace at its mean rate."""
    least = SMALLEST_TRACE_QUEUE_PACKETS if is_trace else SMALLEST_DEFAULT_QUEUE_PACKETS
    return max(packets_of_bdp(rate_bits_per_sec, rtt_ns, framing_bytes), least)


def mean_rate_bits_per_sec(trace: Trace) -> int:
    """The mean rate over one lap of a trace."""
    mean_rate_mbit_s: float = trace.info["mean_rate_mbit_s"]
    return max(1, round(mean_rate_mbit_s * 1e6))


@dataclass(frozen=True, slots=True)
class QueueSize:
    """How much a drop-tail queue behind a rate holds."""

    packets: int
    bdp: float
    rate_bits_per_sec: int
    """The mean rate of a trace."""
    rtt_ns: int
    is_trace: bool
    is_default: bool
    """Whether it is as large as if nobody had named its size."""

    def __str__(self) -> str:
        """As in "1,097 packets, 1 BDP of 330 Mbit/s on average and 40 ms, by default"."""
        mean = " on average" if self.is_trace else ""
        default = ", by default" if self.is_default else ""
        rate, rtt = format_rate(round(self.rate_bits_per_sec, -4)), format_duration(self.rtt_ns)
        if not self.is_trace:
            rate = format_rate(self.rate_bits_per_sec)
        return f"{self.packets:,} packets, {self.bdp:.2g} BDP of {rate}{mean} and {rtt}{default}"


def size_of(
    stage: si.Stage, path: si.Path, traces: Mapping[str, Trace], server_ns: int
) -> QueueSize | None:
    """The size of a wire's queue; None if it is managed, endless, in bytes or without a rate.

    `server_ns` is the part of the path's delay, one way, that no default depends on.
    """
    rate = stage.rate
    if isinstance(rate, si.MahimahiRate | si.LogRate):
        rate_bits_per_sec = mean_rate_bits_per_sec(traces[rate.path])
    elif isinstance(rate, si.FixedRate | si.TokenBucketRate):
        rate_bits_per_sec = rate.bits_per_sec
    else:
        return None
    queue = stage.queue
    rtt_ns = base_rtt_ns(path)
    if not isinstance(queue, si.DropTailQueue) or queue.packets is None or not rtt_ns:
        return None
    is_trace = isinstance(rate, si.MahimahiRate | si.LogRate)
    packet_bits = 8 * (FULL_PACKET_BYTES + stage.framing_bytes)
    bdp = queue.packets * packet_bits * _NS_PER_S / (rate_bits_per_sec * rtt_ns)
    own_rtt_ns = rtt_ns - 2 * server_ns
    usual = default_packets(rate_bits_per_sec, own_rtt_ns, stage.framing_bytes, is_trace=is_trace)
    return QueueSize(
        queue.packets, bdp, rate_bits_per_sec, rtt_ns, is_trace, is_default=queue.packets == usual
    )


def narrowest_queue(
    path: si.Path, traces: Mapping[str, Trace], server_ns: int, direction: str = "forward"
) -> QueueSize | None:
    """The wire's queue behind the lowest rate of a direction; None where there is none to tell."""
    stages = wire_stages(path, Direction.of(direction))
    sizes = [
        size for stage in stages if (size := size_of(stage, path, traces, server_ns)) is not None
    ]
    return min(sizes, key=lambda size: size.rate_bits_per_sec, default=None)
