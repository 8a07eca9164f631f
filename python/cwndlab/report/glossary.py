"""Explanations of technical terms, in one or two sentences each."""

from markupsafe import Markup, escape

GLOSSARY = {
    "congestion control": (
        "The part of TCP that decides how fast to send, so that the network is used but not "
        "overloaded. Several algorithms exist; this report compares some of them."
    ),
    "goodput": (
        "Rate at which the application received data in order: the useful part of the throughput."
    ),
    "throughput": "Rate of the sender's data on the wire, retransmissions included.",
    "RTT": (
        "Round-trip time: the time from sending a packet to receiving its acknowledgement. Any "
        "time in excess of the RTT of the empty path was spent in queues."
    ),
    "median": "The value below which half of the values lie.",
    "95th percentile": "The value above which one value in twenty lies.",
    "cwnd": (
        "Congestion window: the largest number of packets that the sender may have in flight."
    ),
    "ssthresh": (
        "Slow-start threshold: below this size the window doubles every round trip; above this "
        "size the window grows slowly."
    ),
    "slow start": "The first phase of a connection, in which the window doubles every round trip.",
    "retransmitted": "Packets sent again because they were lost or seemed to be lost.",
    "timeout": (
        "No acknowledgement arrived for so long that the sender started again with one packet. "
        "The user sees a stall."
    ),
    "queue": "Packets waiting before the slowest link of the path.",
    "in flight": "Sent, but neither acknowledged nor lost yet.",
    "BDP": (
        "Bandwidth-delay product: the amount of data that fills the path without a queue, which "
        "is the rate multiplied by the RTT of the empty path."
    ),
    "fairness": "The degree to which flows share a link equally.",
    "Jain's index": (
        "Fairness as a number: 1 if all flows have the same rate, 1/n if one of n flows has the "
        "whole rate."
    ),
    "95 % interval": (
        "If the study were repeated many times, the interval would contain the true mean in "
        "95 of 100 cases. BCa bootstrap over runs with 10,000 draws; widened if there are few runs."
    ),
    "pair": (
        "Two runs of different algorithms with the same seed: both had the same channel, so the "
        "difference between the runs is due to the algorithm."
    ),
    "most representative run": (
        "The run whose goodput, RTT and number of timeouts are nearest to the mean of all runs."
    ),
    "seed": "The start value of a run's random number generator; the same seed repeats the run.",
    "utilisation": "Share of the link's capacity that carried the data.",
}


def term(word: str, shown: str | None = None) -> Markup:
    """Return a word with an explanation that appears on hover, focus or tap."""
    meaning = GLOSSARY[word]
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(
        meaning, escape(shown or word)
    )
