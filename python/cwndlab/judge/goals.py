"""Define the goals of users, and a utility that measures how well a run meets a goal.

The utility of a run is U = gain - price x cost, averaged over the flows of the run. Gain and cost
are natural logarithms, so a difference of 0.03 is 3 %.

For bulk data, the gain is log(goodput), and the cost is log(q + 20 ms), where q is the 95th
percentile of the queueing delay. Because of the constant 20 ms, a delay much smaller than 20 ms
costs hardly more than no delay. The price is the weight of the cost: at a price of d, a user would
give up a fraction 1 - 2^-d of the goodput to halve q + 20 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

DELAY_FLOOR_MS = 20.0
"""Duration of one frame of a voice call; queueing delays far below this duration hardly matter."""

STARVED_MBIT_S = 0.01
"""Goodput assumed for a starved flow, because the logarithm of 0 does not exist."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of a user, such as low latency: the quantities that matter, and their weights."""

    name: str
    """Name of the user's goal in commands and in JSON."""
    title: str
    gain: str
    """Column with the logarithm of the gain. The gain is the quantity that should be high, such as
    the goodput (see `cwndlab.judge.measures`)."""
    cost: str | None
    """Column with the logarithm of the cost. The cost is the quantity that should be low, such as
    the delay. None if the goal has no cost."""
    price: float
    """Weight of the cost relative to the gain; 0 if the cost does not matter."""
    missing: str
    """Reason that is displayed if the gain was not measured, often with a remedy."""
    shown: tuple[str, ...] = ("goodput_mbit_s", "rtt_p95_ms")
    """Columns of results whose change is reported if an algorithm replaces another."""

    def utility_of_flow(self, goodput_mbit_s: float, queueing_delay_ms: float) -> float:
        """Return the utility of a flow for a goal whose gain is the goodput.

        `queueing_delay_ms` is the 95th percentile of the flow's queueing delay.
        """
        return math.log(goodput_mbit_s) - self.price * math.log(queueing_delay_ms + DELAY_FLOOR_MS)


def share_given(price: float) -> float:
    """Return the fraction of throughput that a user would give up in order to halve the delay.

    `price` is the weight of the delay in the user's utility (see `Goal.price`).
    """
    return float(1.0 - 2.0**-price)


THROUGHPUT = Goal(
    "throughput",
    "Throughput",
    "log_goodput",
    "log_queueing_delay",
    0.0,
    "no goodput was measured",
)
BALANCE = Goal(
    "balance",
    "Balance of throughput and delay",
    "log_goodput",
    "log_queueing_delay",
    0.25,
    "no round trips were measured",
)
LATENCY = Goal(
    "latency",
    "Latency",
    "log_goodput",
    "log_queueing_delay",
    0.5,
    "no round trips were measured",
)
SHORT_TRANSFERS = Goal(
    "short-transfers",
    "Short transfers",
    "log_completion_speed",
    None,
    0.0,
    "no flow completed a transfer of a fixed size; add such a flow (cwndlab compare --bytes "
    "500kB), or make the runs longer (cwndlab compare --duration TIME)",
    ("completion_ms", "rtt_p95_ms"),
)
FAIRNESS = Goal(
    "fairness",
    "Fairness among flows of the same algorithm",
    "log_jain_index",
    None,
    0.0,
    "each algorithm had only one flow per run; add flows (cwndlab compare --flows 2)",
)
FAIRNESS_TO_CUBIC = Goal(
    "fairness-to-cubic",
    "Fairness to CUBIC",
    "log_jain_index_beside_cubic",
    None,
    0.0,
    'no algorithm shared the link with CUBIC; add a [[flow]] with algorithm = "cubic"',
)
STABILITY = Goal(
    "stability",
    "Stability",
    "log_steadiness",
    None,
    0.0,
    "no time series of 10 s or more was recorded (to record one, set record.samples)",
)

GOALS: Mapping[str, Goal] = {
    goal.name: goal
    for goal in (
        BALANCE,
        THROUGHPUT,
        LATENCY,
        SHORT_TRANSFERS,
        FAIRNESS,
        FAIRNESS_TO_CUBIC,
        STABILITY,
    )
}
"""Maps the name of each goal of users, such as `latency`, to the goal; the first is the default."""

WEB = Goal(
    "web",
    "Web pages",
    "log_page_speed",
    None,
    0.0,
    "no web page was loaded completely; make the runs longer (cwndlab compare --duration TIME), or "
    "load pages (cwndlab compare --use web)",
    ("response_p95_ms", "response_geometric_mean_ms"),
)
VIDEO = Goal(
    "video",
    "Video",
    "log_video_quality",
    None,
    0.0,
    "no video was played; make the runs longer (cwndlab compare --duration TIME), or play a video "
    "(cwndlab compare --use video)",
    ("video_bitrate_mbit_s", "video_rebuffering_pct", "video_startup_ms"),
)
RPC = Goal(
    "rpc",
    "Remote procedure calls",
    "log_answer_speed",
    None,
    0.0,
    "no request was answered; make the runs longer (cwndlab compare --duration TIME), or send "
    "requests (cwndlab compare --use rpc)",
    ("response_p99_ms", "response_p50_ms"),
)
CALL = Goal(
    "call",
    "A call during a transfer",
    "log_call_quality",
    None,
    0.0,
    "the runs contain no voice call (to add one: cwndlab advise --use call)",
    ("call_delay_p95_ms", "call_loss_pct", "goodput_mbit_s"),
)

GOALS_OF_USES: Mapping[str, Goal] = {goal.name: goal for goal in (WEB, VIDEO, RPC, CALL)}
"""Maps each use of the network that has its own measure of quality, such as `video`, to the goal
that is based on this measure."""


def goal_named(name: str) -> Goal:
    """Return the goal called `name`.

    The name is a key of `GOALS` (such as `latency`) or of `GOALS_OF_USES` (such as `video`).

    Raises:
        UnknownNameError: no goal has this name.
    """
    known = {**GOALS, **GOALS_OF_USES}
    if name not in known:
        raise UnknownNameError(name, known, "cwndlab advise --help", kind="goal")
    return known[name]
