"""Run one connection of the tested algorithm over a path that changes as a test case requires.

A test case that needs an event during a phase runs the connection twice. The first run shows when
the phase begins; in the second run, the path or the application changes at that time. In the
simulator, both runs are identical until the change. On a kernel, the algorithm uses equal random
numbers in both runs, but the phase may begin some milliseconds earlier or later in the second run.
Each case therefore checks that the event happened in the phase (`Observation.require`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.api.study import Study
from cwndlab.errors import AlgorithmError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cwndlab.algorithm.conformance.case_runs import CaseRuns

PACKET_BYTES = 1_514
PAYLOAD_BYTES = 1_448
RATE_MBIT_S = 10.0
RTT_S = 0.040
LINK = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "100 packets"}

_LIMITED_WINDOW_S = 0.05
_LIMITED_SHARE = 1.15
_APPROACHES, _NEAR_S = 6, 0.3
"""Limits of the search for the time at which the application must slow down: the maximum number of
runs, and the error in seconds that is small enough to end the search."""
_STEP_S, _STEPS = 0.03, (1, -1, 2, -2, 3, -3, 4, -4)
"""Offsets, as multiples of `_STEP_S` seconds, from the time that the search found. In the first run
after the search, the application slows down at the found time plus the first offset; in the next
run, plus the second offset, and so on, until the application begins to limit the sender at an
accepted time (see `_EARLIEST_S`)."""
_EARLIEST_S, _LATEST_S = -RTT_S, RTT_S / 2
"""Accepted deviation, in seconds, from the time at which the application must begin to limit the
sender: smallest and largest value. A negative value means that the application begins too early."""


class NotReachedError(Exception):
    """An event that a test case requires did not happen; the message names the event."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A time interval during which the algorithm stays in the same phase."""

    phase: str
    begin_s: float
    end_s: float
    """Time in seconds at which the phase ends; if the run ends first, the end of the run."""

    @property
    def length_s(self) -> float:
        """Duration of the time interval, in seconds."""
        return self.end_s - self.begin_s


class Observation:
    """The algorithm's phases in one run, and the sender's state in each millisecond."""

    def __init__(self, tables: dict[str, pl.DataFrame], phases: tuple[str, ...]) -> None:
        flow = pl.col("flow") == 0
        samples = tables["samples"].filter(flow)
        self.end_s = float(samples["t_s"][-1])
        self.row: dict[str, Any] = tables["flows"].row(0, named=True)
        self._columns = {
            name: samples[name].cast(pl.Float64).to_numpy()
            for name, kind in samples.schema.items()
            if kind.is_numeric()
        }
        acks = tables["acks"].filter(flow)
        self._acks = {name: acks[name].to_numpy() for name in ("t_s", "snd_una", "snd_nxt")}
        events = tables["events"].filter(flow)
        reported = events.filter(pl.col("event") == "phase").select("t_s", "value").rows()
        begins = [*(t_s for t_s, _ in reported), self.end_s]
        self.stays = tuple(
            Stay(phases[int(value)], t_s, begins[n + 1]) for n, (t_s, value) in enumerate(reported)
        )
        self.events = tuple(events.select("t_s", "event").rows())
        self.limited_s = 0.0
        """Time in seconds from which the application limits the sender; only `Bench.run_limited`
        sets it."""

    def stay(self, phase: str, *, after: float = 0.0) -> Stay:
        """Return the first stay in a phase; ignore stays that begin before `after` seconds.

        Raises:
            NotReachedError: the connection does not enter the phase.
        """
        for each in self.stays:
            if each.phase == phase and each.begin_s >= after:
                return each
        since = f" after {after:.2f} s" if after else ""
        msg = f"the connection does not enter {phase}{since}"
        raise NotReachedError(msg)

    def next_phase(self, stay: Stay) -> str:
        """Return the phase after the time interval `stay`; empty if the run ends in `stay`."""
        following = [each for each in self.stays if each.begin_s > stay.begin_s]
        return following[0].phase if following else ""

    def visits(self, phase: str, begin_s: float, end_s: float) -> list[Stay]:
        """Return the time intervals spent in a phase, but only those that overlap a time window."""
        return [
            each
            for each in self.stays
            if each.phase == phase and each.begin_s < end_s and each.end_s > begin_s
        ]

    def require(self, t_s: float, *phases: str) -> Stay:
        """Return the `Stay` at the time `t_s`; its phase must be one of `phases`.

        Raises:
            NotReachedError: the phase at this time is not one of `phases`.
        """
        for each in self.stays:
            if each.phase in phases and each.begin_s <= t_s < each.end_s:
                return each
        msg = f"the connection is not in {' or '.join(phases)} at {t_s:.3f} s"
        raise NotReachedError(msg)

    def require_limited(self, by_s: float) -> None:
        """Check that the application begins to limit the sender no later than `by_s`.

        Raises:
            NotReachedError: the application begins to limit the sender later.
        """
        if self.limited_s > by_s:
            msg = (
                f"the application limits the sender from {self.limited_s:.3f} s on; the "
                f"test case requires {by_s:.3f} s or earlier"
            )
            raise NotReachedError(msg)

    def column(self, name: str, begin_s: float, end_s: float) -> NDArray[np.float64]:
        """Return the samples of a time series (column) in a time window.

        Raises:
            NotReachedError: the time window contains no sample.
        """
        t_s = self._columns["t_s"]
        found = self._columns[name][(t_s >= begin_s) & (t_s < end_s)]
        found = found[np.isfinite(found)]
        if not len(found):
            msg = f"no sample of {name} exists from {begin_s:.3f} to {end_s:.3f} s"
            raise NotReachedError(msg)
        return np.asarray(found, dtype=np.float64)

    def at(self, name: str, t_s: float) -> float:
        """Return the value of a time series (column) in the first sample at or after a time."""
        return float(self.column(name, t_s, self.end_s + 1)[0])

    def rate_mbit_s(self, begin_s: float, end_s: float) -> float:
        """Return the mean rate of acknowledged payload in a time window."""
        t_s, una = self._acks["t_s"], self._acks["snd_una"]
        inside = (t_s >= begin_s) & (t_s < end_s)
        if not inside.any():
            return 0.0
        moved = int(una[inside][-1]) - int(una[inside][0])
        return moved * 8 / (end_s - begin_s) / 1e6

    def round_ends(self, begin_s: float, end_s: float) -> Iterator[float]:
        """Yield the end time, in seconds, of each packet-timed round trip in a time window."""
        t_s, una, nxt = (self._acks[name] for name in ("t_s", "snd_una", "snd_nxt"))
        inside = np.nonzero((t_s >= begin_s) & (t_s <= end_s))[0]
        until: int | None = None
        for n in inside:
            # A row is the state before its ACK; the next row includes the effect of this ACK.
            acknowledged = int(una[min(int(n) + 1, len(una) - 1)])
            if until is None:
                until = int(nxt[n])
            elif acknowledged > until:
                yield float(t_s[n])
                until = int(nxt[n])

    def rounds(self, begin_s: float, end_s: float) -> int:
        """Return the number of packet-timed round trips in a time window."""
        return len(list(self.round_ends(begin_s, end_s)))

    def trace(self) -> str:
        """Return one line with the names of the phases and the times at which the phases began."""
        return ", ".join(f"{each.phase} {each.begin_s:.2f}" for each in self.stays)


class Bench:
    """Runs one connection of the tested algorithm, in the simulator or on a kernel."""

    def __init__(
        self, algorithm: str, phases: tuple[str, ...], runs: CaseRuns, *, seed: int = 1
    ) -> None:
        self._algorithm = algorithm
        self._seed = seed
        self._phases = phases
        self._runs = runs
        self._bulk_for_s: dict[tuple[float, float], float] = {}
        self.last: Observation | None = None

    def run(
        self,
        duration: str,
        link: dict[str, Any] | None = None,
        *,
        application: dict[str, Any] | None = None,
        reverse_link: dict[str, Any] | None = None,
    ) -> Observation:
        """Run one connection over the link `LINK`; keys in `link` override keys of `LINK`."""
        study = Study(
            algorithm=self._algorithm,
            duration=duration,
            link=LINK | (link or {}),
            reverse_link=reverse_link,
            application=application,
            record=dict(self._runs.record),
            seed=self._seed,
            common_seeds=True,
        )
        self.last = Observation(self._runs.tables(study), self._phases)
        return self.last

    def run_limited(
        self,
        duration: str,
        at_s: float,
        rate_mbit_s: float,
        link: dict[str, Any] | None = None,
    ) -> Observation:
        """Run one connection in bulk until `at_s`; from then on, the application limits the sender.

        When the application slows down, the sender first transmits the data in its send buffer.
        The application must therefore slow down before `at_s`; the first runs search for the right
        time. The application fills the buffer in steps, so the amount of buffered data varies.
        Further runs therefore try times near the result of the search.

        Raises:
            NotReachedError: the sender's rate does not fall to the application's rate.
        """
        wanted_s = at_s + (_EARLIEST_S + _LATEST_S) / 2
        bulk_for_s = self._bulk_for_s.get((at_s, rate_mbit_s), at_s)
        too_early_s, too_late_s = 0.0, at_s
        tried: list[Observation] = []
        steps = iter(_STEPS)
        while True:
            observed = self._run_paced(duration, bulk_for_s, rate_mbit_s, link)
            tried.append(observed)
            missing_s = wanted_s - observed.limited_s
            if _EARLIEST_S < observed.limited_s - at_s < _LATEST_S:
                self._bulk_for_s[at_s, rate_mbit_s] = bulk_for_s
                break
            if len(tried) == 1 or (abs(missing_s) > _NEAR_S and len(tried) < _APPROACHES):
                too_early_s = max(too_early_s, bulk_for_s) if missing_s > 0 else too_early_s
                too_late_s = min(too_late_s, bulk_for_s) if missing_s < 0 else too_late_s
                bulk_for_s += missing_s
                if not too_early_s < bulk_for_s < too_late_s:
                    bulk_for_s = (too_early_s + too_late_s) / 2
                center_s = bulk_for_s
                continue
            step = next(steps, None)
            if step is None:
                break
            bulk_for_s = center_s + step * _STEP_S
        # Too early is better than too late, which the case does not accept.
        observed = min(
            tried,
            key=lambda run: (run.limited_s > at_s + _LATEST_S, abs(run.limited_s - wanted_s)),
        )
        self.last = observed
        if observed.limited_s == observed.end_s:
            msg = f"the sender's rate does not fall to the application's {rate_mbit_s:g} Mbit/s"
            raise NotReachedError(msg)
        return observed

    def _run_paced(
        self, duration: str, bulk_for_s: float, rate_mbit_s: float, link: dict[str, Any] | None
    ) -> Observation:
        application = {
            "kind": "paced",
            "rate": f"{rate_mbit_s} Mbit/s",
            "write": f"{PAYLOAD_BYTES} bytes",
            "bulk_for": f"{bulk_for_s * 1e6:.0f} us",
        }
        observed = self.run(duration, link, application=application)
        observed.limited_s = _limited_from(observed, bulk_for_s, rate_mbit_s)
        return observed


def _limited_from(observed: Observation, begin_s: float, rate_mbit_s: float) -> float:
    """Return the time from which the application limits the sender; if never, the run's end."""
    t_s = max(begin_s, _LIMITED_WINDOW_S)
    while t_s < observed.end_s - _LIMITED_WINDOW_S:
        sent = observed.column("throughput_mbit_s", t_s, t_s + _LIMITED_WINDOW_S)
        if float(sent.mean()) < rate_mbit_s * PACKET_BYTES / PAYLOAD_BYTES * _LIMITED_SHARE:
            return t_s
        t_s += RTT_S / 8
    return observed.end_s


def bdp_pkts(rate_mbit_s: float = RATE_MBIT_S, rtt_s: float = RTT_S) -> float:
    """Return the bandwidth-delay product of a path in packets."""
    return rate_mbit_s * 1e6 * rtt_s / 8 / PACKET_BYTES


def payload_mbit_s(rate_mbit_s: float = RATE_MBIT_S) -> float:
    """Return the payload rate of a link, which is lower than the link rate because of headers."""
    return rate_mbit_s * PAYLOAD_BYTES / PACKET_BYTES


def check_phases(phases: tuple[str, ...], wanted: tuple[str, ...], file: str) -> None:
    """Raise an error if an algorithm does not report all phases in `wanted`.

    Raises:
        AlgorithmError: phases are missing; the message names the missing phases.
    """
    missing = [name for name in wanted if name not in phases]
    if missing:
        msg = (
            f"{file} does not report all phases that the test cases need; missing: "
            f"{', '.join(missing)}. Declare these phases with CC_PHASES and report them with "
            "cc_phase()"
        )
        raise AlgorithmError(msg)
