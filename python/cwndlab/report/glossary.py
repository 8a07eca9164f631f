"""The terms of the field, explained in a sentence each."""

from markupsafe import Markup, escape

GLOSSARY = {
    "congestion control": (
        "The part of TCP that decides how fast to send, so that the network is used but not "
        "overloaded. There are several algorithms for it; this report compares some."
    ),
    "goodput": (
        "Rate at which the application received data in order: the useful part of the throughput."
    ),
    "throughput": "Rate of the sender's data on the wire, retransmissions included.",
    "RTT": (
        "Round-trip time: from sending a packet until its acknowledgement is back. Any time "
        "beyond the RTT of the empty path was spent in queues."
    ),
    "median": "Half of the values are below it.",
    "95th percentile": "One value in twenty is above it.",
    "cwnd": ("Congestion window: how many packets the sender may have in the network at once."),
    "ssthresh": (
        "Slow-start threshold: below it the window doubles every round trip, above it the window "
        "grows slowly."
    ),
    "slow start": "The first phase of a connection, in which the window doubles every round trip.",
    "retransmitted": "Packets sent again because they were lost, or seemed to be.",
    "timeout": (
        "No acknowledgement arrived for so long that the sender started again with one packet. A "
        "user sees a stall."
    ),
    "queue": "Packets waiting before the slowest link of the path.",
    "in flight": "Sent, and not yet acknowledged or lost.",
    "BDP": (
        "Bandwidth-delay product: the amount of data that fills the path without a queue, rate "
        "times RTT of the empty path."
    ),
    "fairness": "How equally flows share a link.",
    "Jain's index": (
        "Fairness as one number: 1 if all flows got the same, 1/n if one of n flows got everything."
    ),
    "95 % interval": (
        "If the study were repeated many times, the interval would contain the true mean in "
        "95 of 100 cases. BCa bootstrap over runs, 10,000 draws, widened for few runs."
    ),
    "pair": (
        "Two runs of different algorithms with the same seed: both saw the same channel, so their "
        "difference is due to the algorithm."
    ),
    "most representative run": (
        "The run nearest to the average of all runs in goodput, RTT and timeouts."
    ),
    "seed": "The number that determines all random draws of a run, so that it can be repeated.",
    "utilisation": "Share of the link's capacity that carried the data.",
}


def term(word: str, shown: str | None = None) -> Markup:
    """Return a word that explains itself on hover, focus or tap."""
    meaning = GLOSSARY[word]
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(
        meaning, escape(shown or word)
    )
