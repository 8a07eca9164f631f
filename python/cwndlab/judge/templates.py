"""All text of the answer: sentence templates, and names for the keys of ranges."""

TEMPLATES = {
    "no result": "No run has a result.",
    "not measured": "{goal}: not measured; {missing}.",
    "alone": "{goal}: {name} is the only algorithm here; there is nothing to compare it with.",
    "one": "{goal}: use {names}{beside}, {how_sure}.",
    "elsewhere": (
        "{goal}: use {names} on exactly this network, but {safest} on networks like it{beside}, "
        "{how_sure}."
    ),
    "several": ("{goal}: use {names}; they are as good as each other here{beside}, {how_sure}."),
    "all": "{goal}: any of {names}; no difference matters here{beside}, {how_sure}.",
    # What flows beside flows get, in the middle of the headline.
    "share": " (beside a flow of {neighbour}, {first} gets {share} of the link)",
    "starves": " ({first} starves a flow of {neighbour} beside it, which gets {share} of the link)",
    "is starved": " (beside a flow of {neighbour}, {first} starves: it gets {share} of the link)",
    "own kind": " (two flows of {first} do not share: one gets {share})",
    "harms": "Beside {first}, a flow of {neighbour} loses more than beside its kind: {metrics}.",
    "harm": "{metric} by {harm} (acceptable {accepted})",
    # How sure, at the end of the headline.
    "sure": "sure ({sure})",
    "sure in simulation": "sure in simulation ({sure}), never checked on a real network",
    "not sure": "not sure ({sure}): {weakest}",
    "not robust": "it is good on {share} of networks like this",
    "not repeatable": "other random draws would name it with probability {share}",
    "not real": "advice for {kind} agreed with {agreed} of {checked} measurements of real networks",
    "this link only": "in simulation of exactly this network; networks like it were not tried",
    "measured only": "as measured on exactly this network; networks like it were not tried",
    "nothing differs": "from identical runs, which say nothing about chance",
    "too few": "from {runs}, too few to say how sure",
    "nothing random": "in simulation of exactly this network, in which nothing is random",
    # The step from what the user runs.
    "step": "From {old} to {new}: {changes} (95 % intervals).",
    "step without intervals": "From {old} to {new}: {changes}.",
    "no step": "But {baseline} is as good: the change gains less than {zone}, or by chance.",
    "is baseline": "{baseline} is already the best; no change is needed.",
    # Conditions under which the answer is another.
    "default queue": "The queue holds {queue}; a shorter or longer one may give another answer.",
    "price": (
        "{name} is right as long as half the delay is worth {range} of the throughput to you"
        "{others}."
    ),
    "price other": "; {name} if it is worth {side}",
    "no turn": "No trade-off between throughput and delay changes the answer.",
    "break-even": "{name} instead if {condition}.",
    "turn above": "{title} is above {value}",
    "turn below": "{title} is below {value}",
    "turn is": "{title} is {value}",
    "first look": "after {pairs} repetitions: {names}; now networks like it are tried",
    "loser": "{name} loses: to these {weight} of the users {best} is worth {regret} {first}.",
    "times": "{times} times as much as",
    "more": "{share} more than",
    "weight turn": "{first} unless {name} {side} {at} of the users, then {instead}{invented}.",
    "invented": " (weights are invented)",
    "safest": (
        "Over networks like this {safest} is worth {least} less than the best of each on average, "
        "{first} {own} less."
    ),
    "distances": "By the distance of the server: {places}.",
    "distance": "{names} if it is {name} ({range} one way)",
    "distance below": "below {most}",
    "distance between": "{least} to {most}",
    "distance above": "from {least} on",
    # The three lines.
    "repeatable": "other random draws on this link name {name} again ({pairs} pairs)",
    "repeatable unknown": "{runs}: at least 6 random ones are needed",
    "robust": "{name} is within {zone} of the best on this share of {draws} networks like this",
    "robust unknown": "networks like this were not tried (cwndlab advise tries them)",
    "reality": (
        "advice for {kind} agreed with {agreed} of {checked} claims measured on real networks"
    ),
    "reality unknown": "never checked",
}

CHANGES = {
    "goodput_mbit_s": "throughput",
    "rtt_p95_ms": "95th percentile of the round trip",
    "completion_ms": "completion time",
    "log_queueing_delay": "queueing delay (95th percentile plus 20 ms)",
    "response_p50_ms": "median response time",
    "response_p95_ms": "95th percentile of response times",
    "response_p99_ms": "99th percentile of response times",
    "response_geometric_mean_ms": "geometric mean of response times",
    "video_bitrate_mbit_s": "bitrate",
    "video_rebuffering_pct": "rebuffering",
    "video_startup_ms": "start of the video",
    "call_delay_p95_ms": "95th percentile of the call's delay",
    "call_loss_pct": "the call's loss",
}
"""Phrases for the effect of a change of algorithm, by column (`Goal.shown`)."""

KEYS = {
    "server": "the one-way delay to the server",
    "queue": "the bottleneck's queue",
    "coverage": "the signal-to-noise ratio",
    "drift": "the spread of shadowing",
    "speed": "the Doppler frequency",
    "load": "the number of other users",
    "length": "the time a connection sends",
    "stack": "the TCP stack",
    "qdisc": "the sender's queueing discipline",
    "loss": "the random loss",
    "distance": "the distance to the access point",
    "power": "the transmit power",
    "bursts": "the mean burst of the network nearby",
    "grants": "the interval between scheduling requests",
    "recovery": "the time to recover a block",
    "block_errors": "the share of lost blocks",
    "rate": "the rate",
    "stations": "the number of stations",
}
"""Keys of ranges in words."""

SHARES = KEYS | {"load": "the share of airtime that others take"}
"""Keys of ranges in words where their values are percentages."""
