"""Measure the periods of a trial: change the server's algorithm, and observe its connections."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cwndlab.measure.machine.sock_diag import connections
from cwndlab.measure.trial.conduct import Tried
from cwndlab.measure.trial.traffic import PeriodTraffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.judge.goals import Goal
    from cwndlab.measure.machine.sock_diag import Connection
    from cwndlab.measure.trial.conduct import Alarm, Step
    from cwndlab.measure.trial.way_back import Switch

LOOK_S = 0.25
"""Interval in seconds at which connections are sampled; shorter connections may be missed."""


class ServerPeriods:
    """Measures the periods of a trial on this server, by observing the connections of users."""

    def __init__(
        self,
        switch: Switch,
        goal: Goal,
        washout_s: float,
        *,
        see: Callable[[], list[Connection]] = connections,
    ) -> None:
        """Change algorithms with `switch`; after each change, wait `washout_s` before measuring."""
        self._switch = switch
        self._goal = goal
        self._washout_s = washout_s
        self._see = see

    def measure(self, step: Step, alarm: Alarm) -> Tried:
        """Use a step's algorithm for new connections; end the step early if the alarm reports harm.

        After the change of the algorithm, queues drain and the wash-out passes. Connections are
        not measured until both are over.
        """
        duration_s, washout_s = step.duration_s + step.drain_s, self._washout_s + step.drain_s
        period = PeriodTraffic(step.algorithm, self._switch.has_peer, self._goal)
        period.look(self._see(), counts=False)
        self._switch.choose(step.algorithm)
        began_s = time.monotonic()
        while (passed_s := time.monotonic() - began_s) < duration_s:
            time.sleep(min(LOOK_S, duration_s - passed_s))
            counts = time.monotonic() - began_s >= washout_s
            period.look(self._see(), counts=counts)
            if counts and (harm := alarm(period.outcome())):
                return Tried(period.outcome(), harm, time.monotonic() - began_s)
        return Tried(period.outcome(), None, duration_s)
