"""Measure periods of a trial on a server: change its algorithm, and watch connections."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cwndlab.measure.machine.sock_diag import connections
from cwndlab.measure.trial.traffic import PeriodTraffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.judge.goals import Goal
    from cwndlab.measure.machine.sock_diag import Connection
    from cwndlab.measure.trial.conduct import Alarm, TriedPeriod
    from cwndlab.measure.trial.way_back import Switch

LOOK_S = 0.25
"""Interval in seconds at which connections are sampled; shorter connections may be missed."""


class ServerPeriods:
    """Measures periods on this computer, from the connections of its users."""

    def __init__(
        self,
        switch: Switch,
        goal: Goal,
        period_s: float,
        washout_s: float,
        *,
        see: Callable[[], list[Connection]] = connections,
    ) -> None:
        """Change the algorithm with `switch`; ignore the wash-out time after each change."""
        self._switch = switch
        self._goal = goal
        self._period_s = period_s
        self._washout_s = washout_s
        self._see = see

    def measure(self, algorithm: str, _block: int, alarm: Alarm) -> TriedPeriod:
        """Use an algorithm for new connections during a period; end the period early on harm."""
        period = PeriodTraffic(algorithm, self._switch.has_peer, self._goal)
        period.look(self._see(), counts=False)
        self._switch.choose(algorithm)
        began_s = time.monotonic()
        while (passed_s := time.monotonic() - began_s) < self._period_s:
            time.sleep(min(LOOK_S, self._period_s - passed_s))
            counts = time.monotonic() - began_s >= self._washout_s
            period.look(self._see(), counts=counts)
            if counts and (harm := alarm(period.outcome())):
                return period.outcome(), harm
        return period.outcome(), None
