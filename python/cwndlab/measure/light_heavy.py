"""Record a real link under load and without load at the same time, as far as one client can.

CellReplay (Sentosa et al., NSDI 2025) records with two phones at once: one saturates the network,
the other sends short trains of packets. A single client alternates. In each round, it records four
pieces of some seconds: trains and saturation, each on the downlink and on the uplink. In the
traces, the trains and the saturation of the same round and direction have the same place on the
time axis. Trains are sent in one direction at a time. Before each piece, the client waits until the
queues of the link have drained: until a probe is as fast as probes before the recording.

The sizes of the pieces are a compromise: in shorter pieces, the warm-up of the saturation would
take most of the time; in longer pieces, trains and saturation that share a place on the time axis
would have been recorded further apart.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.measure.clock_line import ClockLine, Transits
from cwndlab.measure.light import IDLE_MS, REGULAR_MS, LightDirection, TrainSeries
from cwndlab.measure.record import PacketSize, RecordedDirection, Recording, record_direction
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.client import TransferFailedError
from cwndlab.measure.wire.saturator import WARM_UP_S
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cwndlab.measure.wire.client import Session
    from cwndlab.measure.wire.probes import ProbeResult

PIECE_S = 5.0
TRAIN_PACKETS = 10
"""Number of packets in a train: TCP's initial window (RFC 6928), because a new transfer sends this
amount of data into an idle link."""
_PIECES_OF_ROUND = 4
_FIRST_GAPS_MS = (500,) * 5
_SPREAD_MS = 20
"""The trains of the trace are sent at irregular intervals: a random time of up to this many ms is
added to each interval. At regular intervals, all trains could meet the same phase of a link that
sends at regular times only, such as a cell's uplink, whose users ask for grants every 5 to 80
ms."""
_FEWEST_SWEEPS, _SWEEPS_OF_ROUND = 10, 2
_PROBES = 10
_FIRST_PROBES = 30
_MOST_WAITS = 6
_AS_FAST_AS = 0.9  # quantile of the round-trip times before the recording
_OTHER_S = 6.5  # a round's probes, and the waits for late packets
_NS_PER_MS = 10**6


class LightHeavyRecorder:
    """Records both directions of a link in rounds, each with trains and with saturation."""

    def __init__(self, session: Session, duration_ns: int, most_bits_per_sec: int) -> None:
        """Prepare a recording.

        Args:
            session: session with the server, which has the turn to measure.
            duration_ns: duration of the recording of each direction.
            most_bits_per_sec: maximum sending rate.
        """
        rounds = max(1, round(duration_ns / 1e9 / PIECE_S))
        duration_ms = duration_ns // _NS_PER_MS
        self._bounds_ms = [duration_ms * each // rounds for each in range(rounds + 1)]
        self._sweeps = max(_SWEEPS_OF_ROUND, ceil(_FEWEST_SWEEPS / rounds))
        self._session = session
        self._most_bits_per_sec = most_bits_per_sec
        self._probes: list[ProbeResult] = []
        self._idle_rtt_ns = 0.0
        self._series = 0
        self._train_ms = dict.fromkeys(Direction, 0.0)

    @property
    def pieces(self) -> int:
        """Number of pieces of the recording."""
        return _PIECES_OF_ROUND * (len(self._bounds_ms) - 1)

    @property
    def expected_s(self) -> float:
        """Expected duration of the recording in seconds; slow trains make the recording longer."""
        rounds = len(self._bounds_ms) - 1
        sweep_s = self._sweeps * sum(each + REGULAR_MS for each in _sweep()) / 1e3
        first_s = sum(_FIRST_GAPS_MS) / 1e3 + 2
        each_s = 2 * (WARM_UP_S + sweep_s) + _OTHER_S
        return 2 * first_s + rounds * each_s + _PIECES_OF_ROUND * self._bounds_ms[-1] / 1e3

    def record(self, on_piece: Callable[[str], object]) -> Recording:
        """Record the link; call `on_piece` with a description after each piece.

        Raises:
            TransferFailedError: the server refuses a request, or UDP is blocked.
            LinkError: none of the trains arrived in one of the directions.
        """
        self._probes = self._session.probe(_FIRST_PROBES)
        if not self._probes:
            msg = "no probe was answered; the network may block UDP"
            raise TransferFailedError(msg)
        round_trips_ns = [probe.rtt_ns for probe in self._probes]
        self._idle_rtt_ns = float(np.quantile(round_trips_ns, _AS_FAST_AS))
        size = PacketSize.of(self._session)
        light: dict[Direction, list[TrainSeries]] = {each: [] for each in Direction}
        heavy: dict[Direction, list[RecordedDirection]] = {each: [] for each in Direction}
        for direction in Direction:  # to learn how long a train lasts
            gaps_ns = [gap * _NS_PER_MS for gap in _FIRST_GAPS_MS]
            if not self._send_trains(direction, size, gaps_ns, (0, 0)).arrivals:
                msg = f"{direction.title}: no train arrived; the network may block UDP"
                raise TransferFailedError(msg)
        for begins_ms, ends_ms in zip(self._bounds_ms, self._bounds_ms[1:], strict=False):
            axis_ms = begins_ms, ends_ms - begins_ms
            for direction in Direction:
                self._wait_until_idle()
                gaps_ns = self._gaps_ns(direction, axis_ms[1])
                light[direction].append(self._send_trains(direction, size, gaps_ns, axis_ms))
                on_piece(f"{direction.title} without load")
            for direction in Direction:
                self._wait_until_idle()
                heavy[direction].append(self._saturate(direction, size, axis_ms[1]))
                on_piece(f"{direction.title} under load")
        self._wait_until_idle()  # the last probes determine the drift of the clocks
        clock = self._clock(light)
        return Recording(
            tuple(_joined(pieces) for pieces in heavy.values()),
            min(round_trips_ns) / 1e6,
            tuple(LightDirection.of(each, series, clock) for each, series in light.items()),
        )

    def _wait_until_idle(self) -> None:
        """Send probes, at most for some seconds, until one is as fast as before the recording."""
        for _ in range(_MOST_WAITS):
            probes = self._session.probe(_PROBES)
            self._probes += probes
            if any(probe.rtt_ns <= self._idle_rtt_ns for probe in probes):
                return

    def _gaps_ns(self, direction: Direction, lasts_ms: int) -> list[int]:
        """Return the gaps between trains: first those of the trace, then various idle times."""
        train_ns = ceil(self._train_ms[direction]) * _NS_PER_MS
        least_ns = train_ns + REGULAR_MS * _NS_PER_MS
        random = np.random.default_rng(self._series)
        gaps_ns: list[int] = []
        while sum(gaps_ns) < lasts_ms * _NS_PER_MS:
            gaps_ns.append(least_ns + int(random.integers(_SPREAD_MS * _NS_PER_MS)))
        for idle_ms in _sweep() * self._sweeps:
            gaps_ns += [train_ns + idle_ms * _NS_PER_MS, least_ns]
        return gaps_ns

    def _send_trains(
        self,
        direction: Direction,
        size: PacketSize,
        gaps_ns: list[int],
        axis_ms: tuple[int, int],
    ) -> TrainSeries:
        request = protocol.Trains(
            direction=direction.wire,
            series=self._series,
            packets=TRAIN_PACKETS,
            payload_bytes=size.payload_bytes,
            packet_bytes=size.packet_bytes,
            gaps_ns=gaps_ns,
        )
        self._series += 1
        arrivals = self._session.near_datagrams().trains(request)
        series = TrainSeries(arrivals, request, *axis_ms)
        self._train_ms[direction] = series.train_ms() or self._train_ms[direction]
        return series

    def _saturate(self, direction: Direction, size: PacketSize, lasts_ms: int) -> RecordedDirection:
        """Record a piece under load; if no packets arrive at its end, the piece ends with zeros."""
        piece = record_direction(
            self._session, direction, size, lasts_ms * _NS_PER_MS, self._most_bits_per_sec
        )
        per_ms = np.zeros(lasts_ms, dtype=np.int64)
        per_ms[: piece.per_ms.size] = piece.per_ms
        return replace(piece, per_ms=per_ms)

    def _clock(self, light: Mapping[Direction, Sequence[TrainSeries]]) -> ClockLine:
        up = Transits.of([(each.sent_ns, each.received_there_ns) for each in self._probes])
        down = Transits.of([(each.answered_there_ns, each.received_ns) for each in self._probes])
        for series in light[Direction.UPLINK]:
            up += series.first_packets()
        for series in light[Direction.DOWNLINK]:
            down += series.first_packets()
        return ClockLine.of(up, down)


def _sweep() -> tuple[int, ...]:
    return tuple(each for each in IDLE_MS if each != REGULAR_MS)


def _joined(pieces: Sequence[RecordedDirection]) -> RecordedDirection:
    """Join the pieces of a direction, one after the other."""
    return RecordedDirection(
        pieces[0].direction,
        np.concatenate([each.per_ms for each in pieces]),
        sum(each.sent for each in pieces),
        sum(each.received for each in pieces),
        max(each.highest_queueing_ms for each in pieces),
    )
