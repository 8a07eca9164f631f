"""Explain the technical terms of a report in one or two sentences each."""

from markupsafe import Markup, escape

GLOSSARY = {
    "congestion control": (
        "The part of TCP that determines the sending rate, so that the network is used but not "
        "overloaded. Several algorithms exist; this report compares some of them."
    ),
    "goodput": (
        "Rate at which the application received data in order, without retransmitted duplicates."
    ),
    "throughput": "Rate at which the sender transmitted data, including retransmitted data.",
    "RTT": (
        "Round-trip time: the time from sending a packet to receiving its acknowledgement. The RTT "
        "minus the RTT of an empty path is the time that packets waited in queues."
    ),
    "median": "Median: half of the values are smaller than this value.",
    "95th percentile": "The 95th percentile: one value in twenty is larger than this value.",
    "cwnd": (
        "Congestion window: the largest number of packets that the sender may have in flight."
    ),
    "ssthresh": (
        "Slow-start threshold: the size of the congestion window up to which the window doubles "
        "every round trip. Above the threshold, the window grows slowly."
    ),
    "slow start": (
        "The phase in which the congestion window doubles every round trip: at the start of a "
        "connection, and again after a retransmission timeout."
    ),
    "retransmitted": "Packets that were sent again because they were lost or considered lost.",
    "timeout": (
        "Retransmission timeout: acknowledgements failed to arrive for so long that the sender "
        "started again with one packet. The user sees a stall."
    ),
    "queue": "Packets that wait in front of the slowest link of the path.",
    "in flight": "Data that was sent and is neither acknowledged nor considered lost yet.",
    "BDP": (
        "Bandwidth-delay product: the rate of the path multiplied by its RTT without queueing. "
        "This amount of data fills the path without a queue."
    ),
    "fairness": "Fairness: the degree to which flows share a link equally.",
    "Jain's index": (
        "A measure of fairness: 1 if all flows have the same rate, 1/n if one of n flows has the "
        "whole rate."
    ),
    "95 % interval": (
        "Confidence interval (95 %): in 95 of 100 repetitions of the study, the interval would "
        "contain the true mean. It is a BCa bootstrap interval from 10,000 resamples. With few "
        "runs, it is widened."
    ),
    "pair": (
        "Pair: two runs of different algorithms with the same random seed. Both runs had the "
        "same channel, so the difference between their results is due to the algorithm."
    ),
    "most representative run": (
        "The run of an algorithm whose goodput, RTT and number of timeouts, taken together, are "
        "nearest to the means over all runs of this algorithm."
    ),
    "seed": (
        "Random seed: the start value of the random numbers. Two runs of the same scenario with "
        "the same seed are identical."
    ),
    "utilisation": "Percentage of the link's capacity that the flows used.",
}


def term(word: str, shown: str | None = None) -> Markup:
    """Return HTML for a word whose explanation appears on hover, focus or tap."""
    meaning = GLOSSARY[word]
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(
        meaning, escape(shown or word)
    )
