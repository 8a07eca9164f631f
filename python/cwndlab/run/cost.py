"""Estimate the computing time and the disk space of a study before it runs.

The estimates are for one core of a common machine of 2023 (`make bench`) and are accurate within a
factor of about three. This accuracy suffices to decide whether to wait, and to refuse runs that
would not end in reasonable time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import StudyError
from cwndlab.resolve.queues import rate_of
from cwndlab.schema import application as apps
from cwndlab.schema.direction import Direction
from cwndlab.schema.live import LivePath
from cwndlab.schema.paths import has_medium, wire_stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cwndlab.resolve import Resolved
    from cwndlab.schema import scenario as si
    from cwndlab.schema.path import PathPart
    from cwndlab.study.runs import Cell

WORTH_SAYING_S = 60.0
WORTH_SAYING_BYTES = 1e9

_LONGEST_RUN_S = 7 * 86_400.0
_LARGEST_RUN_BYTES = 1e12

_NS_PER_S = 1e9
_PACKET_BITS = 12_000
_RUN_S = 0.5e-3
_PACKET_S = 0.5e-6
_FLOW_SECOND_S = 20e-6  # per flow and simulated second, even if the flow sends no packets
_MEDIUM_SECOND_S = 1 / 400  # per simulated second of a cell or Wi-Fi channel, with its other users
_UNLIMITED_BITS_PER_SEC = 10e9  # rate at which TCP's windows limit flows on an unlimited link
_SUMMARY_BYTES, _SAMPLE_BYTES, _ACK_BYTES, _CAPTURED_BYTES = 400, 30, 15, 90
_ACKS_PER_PACKET = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated computing time and disk space of one or more runs."""

    cpu_s: float = 0.0
    size_bytes: float = 0.0

    def times(self, count: float) -> Cost:
        """Return the cost multiplied by a number of runs."""
        return Cost(self.cpu_s * count, self.size_bytes * count)

    @property
    def is_worth_saying(self) -> bool:
        """True if the cost is large enough to be printed before the study is run."""
        return self.cpu_s > WORTH_SAYING_S or self.size_bytes > WORTH_SAYING_BYTES

    def sentence(self, cores: int) -> str:
        """Return the cost as text, for a given number of processor cores."""
        cores_text = "one core" if cores == 1 else f"{cores} cores"
        time = _time(self.cpu_s / cores)
        return f"about {time} on {cores_text}, {_size(self.size_bytes)} of results"


def cost_of(cells: Iterable[Cell], repetitions: int) -> Cost:
    """Estimate the cost of the runs of a study.

    Raises:
        StudyError: a run would take more than a week of computing or a terabyte of disk space.
    """
    cpu_s = 0.0
    size_bytes = 0.0
    for cell in cells:
        own = cost_of_run(cell.resolved)
        if own.cpu_s > _LONGEST_RUN_S or own.size_bytes > _LARGEST_RUN_BYTES:
            labels = ", ".join(str(label) for label in cell.labels.values())
            which = f"a run of {labels}" if labels else "a run"
            msg = (
                f"{which} would need {own.sentence(1)}; the limits are a week and a terabyte; "
                "shorten the duration, lower the rate or the number of flows, or record less"
            )
            raise StudyError([msg])
        cpu_s += own.cpu_s
        size_bytes += own.size_bytes
    return Cost(cpu_s, size_bytes).times(repetitions)


def cost_of_run(resolved: Resolved) -> Cost:
    """Estimate the cost of one run."""
    scenario = resolved.scenario
    turns = 1 + len(scenario.before)
    length_s = scenario.duration_ns / _NS_PER_S
    flows = len(scenario.flows)
    packets = _packets(resolved, length_s)
    second_s = flows * _FLOW_SECOND_S + (_MEDIUM_SECOND_S if has_medium(scenario.path) else 0)
    cpu_s = _RUN_S + turns * (packets * _PACKET_S + length_s * second_s)
    record = scenario.record
    size_bytes = _SUMMARY_BYTES * (1 + flows / 4)
    if record.sample_interval_ns:
        size_bytes += flows * length_s * _NS_PER_S / record.sample_interval_ns * _SAMPLE_BYTES
    acks = packets * _ACKS_PER_PACKET
    if record.ack_trace:
        size_bytes += acks * _ACK_BYTES
    if record.pcap is not None:
        size_bytes += (packets + acks) * _CAPTURED_BYTES
    return Cost(cpu_s, size_bytes)


def _packets(resolved: Resolved, length_s: float) -> float:
    """Estimate how many data packets all flows of a run send at most.

    The result is 0 for a cell, a Wi-Fi channel or a real network.
    """
    path = resolved.scenario.path
    if has_medium(path) or isinstance(path, LivePath):
        return 0.0  # the time per simulated second of a medium includes the packets
    total = 0.0
    for direction in Direction:
        flows = [flow for flow in resolved.scenario.flows if flow.direction == direction.wire]
        limit = _bits_per_sec(wire_stages(path, direction), resolved) * length_s / _PACKET_BITS
        total += min(limit, sum(_wanted(flow, length_s) for flow in flows))
    return total


def _wanted(flow: si.ScenarioFlow, length_s: float) -> float:
    """Return how many packets a flow sends; infinite if neither its size nor its rate is fixed."""
    match flow.application:
        case apps.Sized() | apps.Http() | apps.Sftp():
            return flow.application.bytes * 8 / _PACKET_BITS
        case apps.Paced(bulk_for_ns=0):
            return flow.application.bits_per_sec * length_s / _PACKET_BITS
        case _:
            return float("inf")


def _bits_per_sec(stages: Sequence[PathPart], resolved: Resolved) -> float:
    """Return the rate of the slowest stage in bits per second; 10 Gbit/s if no stage has a rate."""
    rates = [rate_of(stage, resolved.traces) for stage in stages]
    limited = [float(rate) for rate in rates if rate is not None]
    return min(limited, default=_UNLIMITED_BITS_PER_SEC)


def _time(seconds: float) -> str:
    for unit, length_s in (("day", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * length_s:
            count = f"{seconds / length_s:,.0f}"
            return f"{count} days" if unit == "day" else f"{count} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else "a second"


def _size(size_bytes: float) -> str:
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size_bytes >= one:
            return f"{size_bytes / one:,.1f} {unit}"
    return f"{size_bytes / 1e3:,.0f} kB"
