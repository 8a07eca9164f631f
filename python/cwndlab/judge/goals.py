"""Goals: what a user may want of a network, and the utility that says it in one number.

The utility of a run is U = gain - price x cost, in natural logarithms, averaged over the flows of
the run: a difference of 0.03 is 3 %.  Of bulk data the gain is the logarithm of goodput and the
cost that of the 95th percentile of queueing delay plus a floor, below which shorter is no better.
A price d says what delay is worth: half the delay is worth a share 1 - 2^-d of the throughput.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

DELAY_FLOOR_MS = 20.0
"""Queueing delay below which shorter is hardly better: a frame of a 50 Hz call."""

STARVED_MBIT_S = 0.01
"""Goodput attributed to a starved flow, as 0 has no logarithm."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: the measured quantities and their weights."""

    name: str
    """As the command line and JSON have it."""
    title: str
    gain: str
    """Column of the logarithm of what is good; see `cwndlab.judge.measures`."""
    cost: str | None
    """Column of the logarithm of what is bad."""
    price: float
    """Weight of cost, in units of gain; 0 where cost does not count."""
    missing: str
    """Message for a study that did not measure the gain, with the remedy."""
    shown: tuple[str, ...] = ("goodput_mbit_s", "rtt_p95_ms")
    """Columns that show what a change of algorithm brings."""

    @property
    def given_for_half(self) -> float:
        """The share of the gain that half the cost is worth."""
        return share_given(self.price)


def share_given(price: float) -> float:
    """Return the share of the throughput that half the delay is worth at a price of delay."""
    return float(1.0 - 2.0**-price)


THROUGHPUT = Goal(
    "throughput",
    "Throughput",
    "log_goodput",
    "log_queueing_delay",
    0.0,
    "no flow has a goodput",
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
    "no flow has an end; add flows of a size (compare --bytes 500kB)",
    ("completion_ms", "rtt_p95_ms"),
)
FAIRNESS = Goal(
    "fairness",
    "Fairness among its own flows",
    "log_jain_index",
    None,
    0.0,
    "each algorithm ran alone; add flows (compare --flows 2)",
)
FAIRNESS_TO_CUBIC = Goal(
    "fairness-to-cubic",
    "Fairness to CUBIC",
    "log_jain_index_beside_cubic",
    None,
    0.0,
    'none ran beside CUBIC; add a [[flow]] with algorithm = "cubic"',
)
STABILITY = Goal(
    "stability",
    "Stability",
    "log_steadiness",
    None,
    0.0,
    "no time series of 10 s or more was recorded (record.samples)",
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
"""All goals by name; the first is what is answered unless the user says otherwise."""

WEB = Goal(
    "web",
    "Web pages",
    "log_page_speed",
    None,
    0.0,
    "no pages were loaded (advise --use web)",
    ("response_p95_ms", "response_geometric_mean_ms"),
)
VIDEO = Goal(
    "video",
    "Video",
    "log_video_quality",
    None,
    0.0,
    "no video was played (advise --use video)",
    ("video_bitrate_mbit_s", "video_rebuffering_pct", "video_startup_ms"),
)
RPC = Goal(
    "rpc",
    "Remote procedure calls",
    "log_answer_speed",
    None,
    0.0,
    "nothing was asked and answered (advise --use rpc)",
    ("response_p99_ms", "response_p50_ms"),
)
CALL = Goal(
    "call",
    "A call beside a transfer",
    "log_call_quality",
    None,
    0.0,
    "no call was made (advise --use call)",
    ("call_delay_p95_ms", "call_loss_pct", "goodput_mbit_s"),
)

GOALS_OF_USES: Mapping[str, Goal] = {goal.name: goal for goal in (WEB, VIDEO, RPC, CALL)}
"""Goals of uses that have a measure of their own (`cwndlab.judge.uses`), by name."""


def goal_named(name: str) -> Goal:
    """Return the goal of this name, also one of a use.

    Raises:
        UnknownNameError: there is none.
    """
    known = {**GOALS, **GOALS_OF_USES}
    if name not in known:
        raise UnknownNameError(name, known, "cwndlab advise --help", kind="goal")
    return known[name]
