"""The field's words in a sentence each, for readers who meet them here first."""

from markupsafe import Markup, escape

GLOSSARY = {
    "congestion control": (
        "The part of TCP that decides how fast to send, so that the network is used but not "
        "flooded. Several algorithms for it exist; this report compares some."
    ),
    "goodput": "What the application received in order: the useful part of the throughput.",
    "throughput": "Rate of the sender's data on the wire, retransmissions included.",
    "RTT": (
        "Round-trip time: from sending a packet until its acknowledgement is back. What exceeds "
        "the empty path's RTT was spent waiting in queues."
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
        "No acknowledgement came for so long that the sender started again with one packet. A "
        "user sees a stall."
    ),
    "queue": "Packets waiting before the slowest link of the path.",
    "in flight": "Sent, and not yet acknowledged or lost.",
    "BDP": (
        "Bandwidth-delay product: as much data as fills the path without any queue, rate times "
        "empty RTT."
    ),
    "fairness": "Whether flows that share a link get equal shares of it.",
    "Jain's index": "Fairness in one number: 1 if all got the same, 1/n if one of n got all.",
    "95 % interval": (
        "If the study were repeated many times, such an interval would contain the true mean in "
        "95 of 100 cases. BCa bootstrap over runs, 10,000 draws, widened for few runs."
    ),
    "pair": (
        "Two runs of different algorithms with the same seed: both saw the same channel, so their "
        "difference is due to the algorithm."
    ),
    "most representative run": (
        "The run nearest to the average of all runs in goodput, RTT and timeouts."
    ),
    "seed": "The number from which all of a run's randomness follows; it makes runs repeatable.",
    "utilisation": "Share of the link's capacity that carried the data.",
}


def term(word: str, shown: str | None = None) -> Markup:
    """Return a word that explains itself on hover, focus or tap."""
    meaning = GLOSSARY[word]
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(
        meaning, escape(shown or word)
    )
