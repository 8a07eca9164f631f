"""Represent the measured flow to which links are fitted, and refuse unsuitable flows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cwndlab.errors import MeasurementError
from cwndlab.inference.probe import Ramp, bulk_samples
from cwndlab.inference.summaries import least_srtt_ms, summarize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.schema.application import Probe
    from cwndlab.stats.bootstrap import Floats

LONGEST_S = 120.0
"""Longest simulated duration in s; the part of a measurement after this time is ignored."""
SHORTEST_S = 10.0
"""Shortest usable measurement in s; shorter measurements show only slow start."""
_LEAST_BUSY = 0.8
_MOST_LIMITED = 0.2
_FEWEST_NUMBERS = 6
_SHORTEST_INTERVAL_S, _LONGEST_INTERVAL_S = 0.1, 1.0
_SAME = 1e-3
"""Largest relative difference at which two round-trip times are treated as equal."""
_FAR_ABOVE = 3.0
"""Factor in the upper limit of a simulated link's goodput in the first seconds.

The limit is this factor times the measured goodput in the first seconds or, if higher, times the
95th percentile of the measured goodput in one-second intervals. A simulated link that exceeds the
limit is left out.
"""


@dataclass(frozen=True, slots=True)
class MeasuredFlow:
    """A measured flow; usable if only congestion control and the link limited the flow."""

    place: str
    """The folder and the run of the measurement, as text for messages."""
    row: Mapping[str, Any]
    """The flow's row in the table `flows`."""
    samples: Mapping[str, Floats]
    """Columns of the table `samples`, with only the rows of this flow."""
    losses_s: Floats | None = None
    """Times at which the flow lost packets; None if losses were not recorded."""
    probe: Probe | None = None
    """Schedule of the flow's data if the flow was a probe; None if it always had data to send."""

    @property
    def algorithm(self) -> str:
        """Congestion control algorithm of the sender."""
        return str(self.row.get("sent_by") or self.row["algorithm"])

    @property
    def duration_s(self) -> float:
        """Duration of the flow in seconds."""
        return float(self.row["end_s"] - self.row["start_s"])

    @property
    def interval_s(self) -> float:
        """Median time between consecutive samples, in s.

        The time is rounded to tenths; it is at least 0.1 s and at most 1 s.
        """
        steps_s = np.diff(np.asarray(self.samples.get("t_s", ()), np.float64))
        usual_s = float(np.median(steps_s)) if len(steps_s) else _LONGEST_INTERVAL_S
        return min(max(round(usual_s, 1), _SHORTEST_INTERVAL_S), _LONGEST_INTERVAL_S)

    @property
    def ramp(self) -> Ramp | None:
        """Ramp of a probe; None if the flow was not a probe.

        `half_step` is the last step whose rate is at most half of the bulk phase's goodput.
        """
        if self.probe is None:
            return None
        rates = bulk_samples(self.samples, self.probe).get("goodput_mbit_s", np.empty(0))
        known = rates[np.isfinite(rates)]
        goodput = float(known.mean()) if len(known) else 0.0
        return Ramp.of(self.probe, goodput, min(self.duration_s, LONGEST_S))

    @property
    def is_smoothed(self) -> bool:
        """True if the minimum round-trip time is only the minimum of smoothed samples.

        iperf3 reports this minimum. A smoothed sample is an average over many packets. If most of
        these packets waited in a queue, even the smallest average is longer than the round-trip
        time of the path. A probe also sends slowly for some seconds, in which there is no queue.
        Its shortest smoothed round-trip time is therefore that of the path, and the value is False.
        """
        if self.ramp is not None and self.ramp.half_step > 0:
            return False
        base_ms, least_ms = self.row.get("rtt_base_ms"), least_srtt_ms(self.samples)
        return bool(base_ms and least_ms and base_ms > (1 - _SAME) * least_ms)

    @property
    def fastest_mbit_s(self) -> float | None:
        """Upper limit of a simulated link's goodput in the first seconds, in Mbit/s.

        Faster links are left out. None if the goodput of the first seconds was not measured.
        """
        known = summarize(self.row, self.samples, ramp=self.ramp)
        if not {"start", "high_second"} <= known.keys():
            return None
        return _FAR_ABOVE * math.exp(max(known["start"], known["high_second"]))

    def numbers(self) -> dict[str, float]:
        """Return the summary statistics of the flow, which characterise the link.

        Raises:
            MeasurementError: the flow contains too little information about the link; the message
                states the reason.
        """
        self._require_link()
        found = summarize(self.row, self.samples, self.losses_s, self.ramp)
        # Percentiles of round-trip times and of their smoothed samples differ, so that only the
        # percentiles of the same kind are compared.
        if "rtt_p95" in found:
            found.pop("srtt_mid", None)
        else:
            found.pop("rtt_p50", None)
        if self.is_smoothed:
            found.pop("rtt_base", None)
        if len(found) < _FEWEST_NUMBERS or not ("rtt_base" in found or self.is_smoothed):
            self._refuse(
                "the measurement does not contain a round-trip time for each second; measure with"
                " iperf3 --json on Linux, with cwndlab live, or with a log of ss -tin"
            )
        return found

    def _require_link(self) -> None:
        row = self.row
        if not (row.get("sent_by") or row.get("algorithm")):
            self._refuse(
                "the file does not state the sender's congestion control algorithm; rename the "
                'file to ALGORITHM.pcap, run cwndlab import FOLDER --pattern "{algorithm}.pcap", '
                "and use the imported results"
            )
        if row.get("goodput_mbit_s") is None:
            self._refuse(
                "the goodput is missing: if an iperf3 server sends the data, its file does not "
                "contain the goodput; use the client's file"
            )
        if not row["goodput_mbit_s"]:
            self._refuse("the flow carried no data")
        if self.duration_s < SHORTEST_S:
            self._refuse(
                f"the flow lasted {self.duration_s:.3g} s and shows slow start, not the link; "
                f"measure {SHORTEST_S:g} s or more"
            )
        if row.get("completion_ms") is not None:
            self._refuse(
                "the flow was a transfer of fixed size; measure a flow that always has data to send"
            )
        for column, what in (
            ("sndbuf_limited_s", "the send buffer"),
            ("rwnd_limited_s", "the receiver's window"),
        ):
            share = (row.get(column) or 0.0) / self.duration_s
            if share > _MOST_LIMITED:
                self._refuse(f"the flow was limited by {what} for {100 * share:.0f} % of the time")
        busy = row.get("busy_s")
        if self.probe is None and busy is not None and busy < _LEAST_BUSY * self.duration_s:
            idle = 100 * (1 - busy / self.duration_s)
            self._refuse(f"the flow had no data to send for {idle:.0f} % of the time")
        times = np.asarray(self.samples.get("t_s", ()), np.float64)
        if (np.diff(times) <= 0).any():
            self._refuse(
                "the times of the samples do not increase, because the clock was set back; "
                "measure again"
            )

    def _refuse(self, why: str) -> NoReturn:
        msg = f"{self.place}: {why}"
        raise MeasurementError(msg)
