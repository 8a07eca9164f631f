"""Templates for sentences of recommendations, and phrases for result columns and study keys."""

TEMPLATES = {
    "no result": "No run has a result.",
    "not measured": "{goal}: not measured; {missing}.",
    "idle": "{goal}: no algorithm delivered any data; make the runs longer, or check the link.",
    "alone": "{goal}: {name} is the only algorithm that was run; no comparison is possible.",
    "unpaired": (
        "Not compared: {names}, because none of their repetitions contains a run of {first}."
    ),
    "only unpaired": (
        "{goal}: no repetition contains runs of both {name} and another algorithm, so no "
        "comparison is possible."
    ),
    "one": "{goal}: use {names}{beside}, {how_sure}.",
    "elsewhere": (
        "{goal}: use {names} on exactly this network, but {safest} on similar networks{beside}, "
        "{how_sure}."
    ),
    "several": "{goal}: use {names}; they perform equally well here{beside}, {how_sure}.",
    "several, estimates": (
        "{goal}: use {first}; but the network is not known exactly, and {others} may be better"
        "{beside}, {how_sure}."
    ),
    "all": (
        "{goal}: use {names}; all compared algorithms perform equally well here{beside}, "
        "{how_sure}."
    ),
    # Shares of competing flows, in the middle of the headline.
    "share": " (in competition with a flow of {neighbour}, {first} gets {share} of the link)",
    "starves": " ({first} starves a competing {neighbour} flow, which gets {share} of the link)",
    "is starved": (
        " (a competing {neighbour} flow starves {first}, which gets {share} of the link)"
    ),
    "own kind": " (two flows of {first} share the link unequally: one of them gets {share})",
    "harms": (
        "{first} harms a flow of {neighbour} more than another flow of {neighbour} does: {metrics}."
    ),
    "harm": "{metric} by {harm} (acceptable: {accepted})",
    # Phrases on certainty, at the end of the headline.
    "sure": "sure ({sure})",
    "sure in simulation": "sure in simulation ({sure}), never checked on a real network",
    "not sure": "not sure ({sure}): {weakest}",
    "not robust": "this choice is good on {share} of similar networks",
    "not robust, estimates": (
        "this choice is good on {share} of the networks that may be your network"
    ),
    "not repeatable": (
        "a repeated experiment would again find {name} among the best with a probability of {share}"
    ),
    "not real": "advice for {kind} agreed with {agreed} of {checked} measurements of real networks",
    "this link only": "in simulation of exactly this network; similar networks were not simulated",
    "these links only": (
        "in simulation of exactly these networks; similar networks were not simulated"
    ),
    "unexplained": "in simulations of links that do not explain your measurement{remedy}",
    "measure first": "; measure {name} on your network before you use it",
    "measured only": "as measured on exactly this network; similar networks were not simulated",
    "nothing differs": "from identical runs, which do not show the effect of chance",
    "too few": "from {runs}, too few to estimate the uncertainty",
    "nothing random": "in simulation of exactly this network, in which nothing is random",
    "candidates": "But {others} may be the best; more repetitions may decide.",
    # The change from the algorithm that the user runs now.
    "step": "From {old} to {new}: {changes} (95 % intervals).",
    "step without intervals": "From {old} to {new}: {changes}.",
    "no step": "But {baseline} is equally good: the gain is less than {zone}, or due to chance.",
    "no step, estimates": "But {baseline} may be better, because the network is not known exactly.",
    "is baseline": "{baseline} is already the best; no change is needed.",
    # Conditions under which the recommendation is different.
    "default queue": (
        "The queue holds {queue}; a shorter or longer queue may give a different answer."
    ),
    "price": (
        "{name} is the right choice if you would give up {range} of the throughput to halve the "
        "delay{others}."
    ),
    "price other": "; {name} is the right choice if you would give up {more_or_less} for this",
    "no turn": "The answer is the same for every trade-off between throughput and delay.",
    "break-even": "Use {name} instead if {condition}.",
    "break-even elsewhere": "On similar networks, use {name} instead of {safest} if {condition}.",
    "turn above": "{title} is above {value}",
    "turn below": "{title} is below {value}",
    "turn is": "{title} is {value}",
    "first look": (
        "first answer, from {pairs} repetitions: use {names}; now simulating similar networks"
    ),
    "loser": (
        "This choice is bad for users of the class {name} ({weight} of all users): for them, "
        "{best} is {regret} {first}."
    ),
    "loser, estimates": (
        "With a probability of {weight}, your network is like {name}; on such a network, {best} is "
        "{regret} {first}."
    ),
    "times": "{times} times as good as",
    "more": "{share} better than",
    "weight turn": (
        "Use {first}, but use {instead} if {more_or_fewer} than {share} of the users belong to the "
        "class {name}{invented}."
    ),
    "invented": " (the weights are invented)",
    "safest": (
        "On average over similar networks, {safest} is {least} worse than the best algorithm for "
        "each network, and {first} is {own} worse than the best."
    ),
    "safest, estimates": (
        "On average over the estimates of your network, {safest} is {least} worse than the best "
        "algorithm for each estimate, and {first} is {own} worse than the best."
    ),
    "distances": "By distance to the server: {places}{gap}.",
    "distances unknown": (
        "; unknown for {places} servers, because too few of these networks have such a server"
    ),
    "distance": "{names} for {places} servers",
    "distance below": "below {most} one way",
    "distance between": "{least} to {most}",
    "distance above": "{least} or more",
    # The three lines of the table of certainty.
    "repeatable": (
        "new runs on {where} would again find {name} among the best (estimated from {pairs} pairs "
        "of runs)"
    ),
    (
        "repeatable unknown"
    ): "cannot be estimated from {runs}; at least 6 random repetitions are needed",
    "robust": "share of {draws} similar networks on which {name} is within {zone} of the best",
    "robust, estimates": (
        "share of {draws} networks, drawn from the estimates of your network, on which {name} is "
        "within {zone} of the best"
    ),
    "robust unexplained": "unknown: the simulated links do not explain your measurement",
    "robust of another": "{meaning} ({safest}: {share})",
    "robust unknown": "similar networks were not simulated (cwndlab advise simulates them)",
    "reality": (
        "advice for {kind} agreed with {agreed} of {checked} measurements of real networks{misses}"
    ),
    "misses": "; published predictions for this class were poor: {what}",
    "misses of several": (
        "; published predictions for {kinds} were poor (see: cwndlab ledger --public)"
    ),
    "miss of probabilities": (
        "predicted probabilities were off by up to {gap} percentage points (predictions of "
        "{stated} came true in {happened} of {count} cases)"
    ),
    "miss of regret": (
        "the loss from following the advice had a median of {median} and a 90th percentile of "
        "{tail}"
    ),
    "miss of order": "Kendall's tau between predicted and measured order was {tau}",
    "reality unknown": "advice for this kind of network was never checked by measurement",
}

CHANGES = {
    "goodput_mbit_s": "throughput",
    "rtt_p95_ms": "95th percentile of the round trip",
    "completion_ms": "completion time",
    "log_queueing_delay": "95th percentile of (queueing delay + 20 ms)",
    "response_p50_ms": "median response time",
    "response_p95_ms": "95th percentile of the response times",
    "response_p99_ms": "99th percentile of response times",
    "response_geometric_mean_ms": "geometric mean of response times",
    "video_bitrate_mbit_s": "bitrate",
    "video_rebuffering_pct": "rebuffering",
    "video_startup_ms": "startup delay of the video",
    "call_delay_p95_ms": "95th percentile of the delay of the call",
    "call_loss_pct": "packet loss of the call",
}
"""Phrases for result columns. The template `step` uses these phrases to state by how much the
columns change if the user replaces one algorithm with another."""

KEYS = {
    "server": "the one-way delay to the server",
    "queue": "the bottleneck's queue",
    "coverage": "the signal-to-noise ratio",
    "drift": "the standard deviation of shadowing",
    "speed": "the Doppler frequency",
    "load": "the number of other users",
    "length": "the duration of the connection",
    "stack": "the TCP stack",
    "qdisc": "the sender's queueing discipline",
    "loss": "the random loss",
    "distance": "the distance to the access point",
    "power": "the transmit power",
    "bursts": "the mean burst duration of the neighbouring network",
    "grants": "the interval between scheduling requests",
    "recovery": "the time to recover a lost radio block",
    "block_errors": "the share of lost radio blocks",
    "rate": "the rate",
    "stations": "the number of stations",
}
"""Phrases for the keys (network properties) whose values differ between similar networks."""

SHARES = KEYS | {"load": "the share of airtime that other stations take"}
"""Phrases for the keys in `KEYS` if their values are percentages. Only the phrase for `load`
differs from the one in `KEYS`: a load in percent is a share of airtime, not a number of users."""


def say(template: str, **values: object) -> str:
    """Fill the fields of the sentence template called `template`, and return the sentence."""
    return TEMPLATES[template].format(**values)
