"""Compute goodput, delay and losses in a period of a trial from a server's connections."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.measure.trial.periods import NOTHING, PeriodOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cwndlab.judge.goals import Goal
    from cwndlab.measure.machine.sock_diag import Connection

LEAST_BYTES = 50_000
"""Minimum number of bytes that a connection must carry to show the effect of congestion control."""


@dataclass(slots=True)
class WatchedFlow:
    """A connection in a period: its TCP_INFO counters at start and end, and its RTT samples."""

    first: dict[str, int]
    last: dict[str, int]
    rtts_ms: list[float] = field(default_factory=list)

    @property
    def bytes_acked(self) -> int:
        """Bytes that the receiver acknowledged in the period."""
        return self.last.get("bytes_acked", 0) - self.first.get("bytes_acked", 0)

    @property
    def goodput_mbit_s(self) -> float | None:
        """Goodput in Mbit/s while data were in flight; None if no data were in flight."""
        busy_us = self.last.get("busy_time_us", 0) - self.first.get("busy_time_us", 0)
        return self.bytes_acked * 8 / busy_us if busy_us > 0 else None

    @property
    def queueing_delay_ms(self) -> float:
        """Queueing delay in ms: 95th percentile of the smoothed RTT, minus the minimum RTT."""
        base_ms = self.last.get("min_rtt_us", 0) / 1e3
        return max(0.0, float(np.percentile(self.rtts_ms, 95)) - base_ms)

    def grown(self, name: str) -> int:
        """Return by how much the counter `name` increased in the period."""
        return max(0, self.last.get(name, 0) - self.first.get(name, 0))


class PeriodTraffic:
    """The connections that began in a period and use the algorithm of the period.

    Connections that began before the period keep their congestion control and are ignored.
    """

    def __init__(self, algorithm: str, has_peer: Callable[[str], bool], goal: Goal) -> None:
        """Measure connections that use `algorithm` and for whose peers `has_peer` returns true."""
        self._algorithm = algorithm
        self._has_peer = has_peer
        self._goal = goal
        self._older: set[bytes] | None = None
        self._washed_out: dict[bytes, dict[str, int]] = {}
        self._flows: dict[bytes, WatchedFlow] = {}

    def look(self, connections: Iterable[Connection], *, counts: bool) -> None:
        """Sample all connections.

        If `counts` is false, as during the wash-out, the sample does not enter the outcome of the
        period. The sample only provides the counter values at which the measurement starts.
        """
        seen = [each for each in connections if self._has_peer(each.peer[0])]
        if self._older is None:
            self._older = {each.cookie for each in seen}
        for each in seen:
            if each.cookie in self._older or each.algorithm != self._algorithm:
                continue
            if not counts:
                self._washed_out[each.cookie] = each.info
                continue
            flow = self._flows.get(each.cookie)
            if flow is None:  # new connections count from their first byte
                flow = WatchedFlow(self._washed_out.get(each.cookie, {}), each.info)
                self._flows[each.cookie] = flow
            flow.last = each.info
            if each.info.get("rtt_us"):
                flow.rtts_ms.append(each.info["rtt_us"] / 1e3)

    def outcome(self) -> PeriodOutcome:
        """Return the outcome of the period, from all samples so far."""
        known = [
            flow
            for flow in self._flows.values()
            if flow.bytes_acked >= LEAST_BYTES and flow.goodput_mbit_s and flow.rtts_ms
        ]
        if not known:
            return NOTHING
        sent = sum(flow.grown("segs_out") for flow in known)
        again = sum(flow.grown("total_retrans") for flow in known)
        rtts_ms = np.concatenate([flow.rtts_ms for flow in known])
        rtt_p25_ms, rtt_p95_ms = (float(each) for each in np.percentile(rtts_ms, (25, 95)))
        goodputs = [flow.goodput_mbit_s or math.nan for flow in known]
        return PeriodOutcome(
            float(np.mean([self._utility(flow) for flow in known])),
            float(np.mean(goodputs)),
            rtt_p95_ms,
            100 * again / sent if sent else 0.0,
            len(known),
            rtt_p25_ms,
        )

    def _utility(self, flow: WatchedFlow) -> float:
        return self._goal.utility_of_flow(flow.goodput_mbit_s or math.nan, flow.queueing_delay_ms)
