"""What the columns of results mean to a reader: title, unit, which way is better, in a sentence.

Column names end in their unit, so the unit is read from the name and cannot disagree with it.
Figures, tables and the report take every title, unit and explanation from here.
"""

from dataclasses import dataclass
from enum import Enum


class Better(Enum):
    """Which way a quantity is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


_UNITS = {  # suffix of a column name -> what is printed
    "mbit_s": "Mbit/s",
    "ms": "ms",
    "us": "µs",
    "s": "s",
    "pkts": "packets",
    "bytes": "bytes",
    "pct": "%",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of results, as a reader should know it."""

    column: str
    title: str
    better: Better
    explanation: str

    @property
    def unit(self) -> str:
        """Unit as printed; empty for counts and indices."""
        return unit_of(self.column)

    @property
    def header(self) -> str:
        """Title with unit, for an axis or the head of a column."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def unit_of(column: str) -> str:
    """Return the printed unit that ends a column's name; empty if it has none."""
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            return _UNITS[suffix]
    return ""


def quantity(column: str) -> Quantity:
    """Return what is known about a column; a new column gets a title made of its name."""
    known = _BY_COLUMN.get(column)
    if known is not None:
        return known
    stem = column
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if column.endswith(f"_{suffix}"):
            stem = column.removesuffix(f"_{suffix}")
            break
    return Quantity(column, stem.replace("_", " "), Better.NEITHER, "")


_QUANTITIES = (
    Quantity(
        "goodput_mbit_s",
        "Goodput",
        Better.HIGHER,
        "What the application received in order: the useful part of the throughput.",
    ),
    Quantity(
        "throughput_mbit_s",
        "Throughput",
        Better.HIGHER,
        "What the sender's data took on the wire, retransmissions included.",
    ),
    Quantity(
        "delivery_rate_mbit_s",
        "Delivery rate",
        Better.HIGHER,
        "How fast acknowledgements came back, as the sender measures it.",
    ),
    Quantity(
        "pacing_rate_mbit_s",
        "Pacing rate",
        Better.NEITHER,
        "The rate at which the sender spaces its packets.",
    ),
    Quantity(
        "rtt_p50_ms",
        "RTT, median",
        Better.LOWER,
        "Half of the round trips were shorter. Below it lies the empty path, the rest is queueing.",
    ),
    Quantity("rtt_mean_ms", "RTT, mean", Better.LOWER, "Mean of all measured round trips."),
    Quantity(
        "rtt_p95_ms",
        "RTT, 95th percentile",
        Better.LOWER,
        "One round trip in twenty was longer: what a call or a game feels.",
    ),
    Quantity(
        "rtt_p99_ms", "RTT, 99th percentile", Better.LOWER, "One round trip in 100 was longer."
    ),
    Quantity("rtt_base_ms", "Base RTT", Better.NEITHER, "The shortest round trip: an empty path."),
    Quantity("rtt_ms", "RTT", Better.LOWER, "Round-trip time of a packet and its acknowledgement."),
    Quantity("srtt_ms", "Smoothed RTT", Better.LOWER, "RTT as the sender averages it (RFC 6298)."),
    Quantity("srtt_mean_ms", "Smoothed RTT, mean", Better.LOWER, "Mean of the smoothed RTT."),
    Quantity(
        "queueing_delay_mean_ms",
        "Queueing delay, mean",
        Better.LOWER,
        "Round-trip time above that of the empty path: time spent waiting in queues.",
    ),
    Quantity(
        "retransmitted_pct",
        "Retransmitted",
        Better.LOWER,
        "Share of the packets that were sent again.",
    ),
    Quantity("retransmitted_pkts", "Retransmitted", Better.LOWER, "Packets that were sent again."),
    Quantity(
        "retransmission_burst_mean_pkts",
        "Retransmission burst, mean",
        Better.LOWER,
        "How many packets were sent again in a row.",
    ),
    Quantity(
        "timeouts",
        "Timeouts",
        Better.LOWER,
        "How often the sender heard nothing for so long that it started again from one packet.",
    ),
    Quantity(
        "completion_ms",
        "Completion time",
        Better.LOWER,
        "From the connection's start until the last byte was read.",
    ),
    Quantity(
        "responses",
        "Responses",
        Better.HIGHER,
        "Requests that were answered, or pages that were read, whole.",
    ),
    Quantity(
        "response_p50_ms",
        "Response time, median",
        Better.LOWER,
        "From a request to the last byte of its answer, of a page with all its objects.",
    ),
    Quantity(
        "response_p95_ms",
        "Response time, 95th percentile",
        Better.LOWER,
        "One response in twenty took longer.",
    ),
    Quantity(
        "response_p99_ms",
        "Response time, 99th percentile",
        Better.LOWER,
        "One response in 100 took longer.",
    ),
    Quantity(
        "response_geometric_mean_ms",
        "Response time, geometric mean",
        Better.LOWER,
        "The mean of what counts in times as long.",
    ),
    Quantity(
        "video_bitrate_mbit_s",
        "Video bitrate",
        Better.HIGHER,
        "The mean rate at which the chunks that came are encoded.",
    ),
    Quantity(
        "video_rebuffering_pct",
        "Video rebuffering",
        Better.LOWER,
        "Share of the time since playing began in which the video stood still.",
    ),
    Quantity(
        "video_startup_ms",
        "Video start",
        Better.LOWER,
        "From the connection's start until the video played.",
    ),
    Quantity(
        "datagram_loss_pct",
        "Lost datagrams",
        Better.LOWER,
        "Share of a call's datagrams that never arrived.",
    ),
    Quantity(
        "datagram_delay_p95_ms",
        "Delay of datagrams, 95th percentile",
        Better.LOWER,
        "One way from sender to receiver; one datagram in twenty took longer.",
    ),
    Quantity(
        "call_delay_p95_ms",
        "Call's delay, 95th percentile",
        Better.LOWER,
        "One way, of the call beside the flow; one datagram in twenty took longer.",
    ),
    Quantity(
        "call_loss_pct",
        "Call's loss",
        Better.LOWER,
        "Share of the datagrams of the call beside the flow that never arrived.",
    ),
    Quantity(
        "utilisation_pct",
        "Utilisation",
        Better.HIGHER,
        "Share of the link's capacity that carried the data.",
    ),
    Quantity(
        "jain_index",
        "Jain's index",
        Better.HIGHER,
        "Fairness among flows: 1 if all got the same, 1/n if one of n got everything.",
    ),
    Quantity(
        "goodput_variation_pct",
        "Variation of goodput",
        Better.LOWER,
        "How far the goodput of a second is off the run's mean: standard deviation over mean.",
    ),
    Quantity(
        "jain_index_beside_cubic",
        "Jain's index beside CUBIC",
        Better.HIGHER,
        "Fairness between a flow of it and a flow of CUBIC: 1 if both got the same, 1/2 if one got "
        "everything.",
    ),
    Quantity(
        "share_beside_cubic_pct",
        "Share beside CUBIC",
        Better.NEITHER,
        "Of what a flow of it and a flow of CUBIC got together; 50 % is fair.",
    ),
    Quantity(
        "cwnd_pkts",
        "Congestion window",
        Better.NEITHER,
        "How much the sender allows itself to have in the network at once.",
    ),
    Quantity("cwnd_mean_pkts", "Congestion window, mean", Better.NEITHER, "Mean of cwnd."),
    Quantity("cwnd_max_pkts", "Congestion window, largest", Better.NEITHER, "Largest cwnd."),
    Quantity(
        "ssthresh_pkts",
        "Slow-start threshold",
        Better.NEITHER,
        "Below it the window doubles every round trip, above it it grows with care.",
    ),
    Quantity(
        "inflight_pkts", "In flight", Better.NEITHER, "Sent and not yet acknowledged or lost."
    ),
    Quantity(
        "queue_pkts", "Queue", Better.LOWER, "Packets waiting before the slowest link of the path."
    ),
    Quantity(
        "host_queue_pkts",
        "Queue in the host",
        Better.LOWER,
        "Packets in the sender's own machine: its device and the queue before it.",
    ),
    Quantity(
        "host_refusals",
        "Refused by the host",
        Better.LOWER,
        "How often the queue of the sender's own device had no room, and TCP reduced its window.",
    ),
    Quantity("t_s", "Time", Better.NEITHER, "Since the run began."),
)

_BY_COLUMN = {entry.column: entry for entry in _QUANTITIES}
