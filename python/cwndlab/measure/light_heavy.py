"""Record a real link alternately under load and without load, from a single client.

CellReplay (Sentosa et al., NSDI 2025) records with two phones at once: one phone saturates the
network, the other phone sends short trains of packets. A single client alternates instead. Each
round consists of four pieces (intervals of about five seconds): trains on the downlink, trains on
the uplink, saturation of the downlink, and saturation of the uplink. After each piece with trains,
pairs of packets are sent in the same direction. Before each piece, the client waits until the
queues of the link have drained, that is, until a probe is as fast as the probes before the
recording. In the traces, all pieces of a round have the same start and end, as if they had been
recorded at the same time.

Trains are a light load only if the link is idle most of the time. In a direction in which a train
takes long, trains are therefore sent less often. In a very slow direction, trains have fewer
packets.

The duration of a piece is a compromise. In shorter pieces, the warm-up of the saturation would take
most of the time. With longer pieces, the trains and the saturation of a round would be recorded
further apart.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.measure.clock_line import ClockLine, Transits
from cwndlab.measure.light import REGULAR_MS, LightDirection, TrainSeries
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
FULL_PACKETS = 10
"""Largest number of full-size packets in a train: TCP's initial window (RFC 6928), which is the
first load of a transfer on an idle link."""
FIRST_PAYLOAD_BYTES, FIRST_BYTES = 64, 92
"""Size in bytes of the first packet of each train, and of both packets of each pair: without
headers (UDP payload), and with UDP and IPv4 headers. The payload is the smallest that the protocol
allows. With its headers, the packet is about as long as an ACK. On a slow link, such a short packet
arrives earlier than a full-size packet."""
_PIECES_OF_ROUND = 4
_FIRST_GAPS_MS = (500,) * 5
_SPREAD_MS = 20
"""A random time of up to this many ms is added to each gap between trains. Some links send only at
regular times, such as the uplink of a cell, whose users request grants every 5 to 80 ms. With
regular gaps, all trains could have to wait equally long until such a link sends."""
_MOST_LOAD = 0.3
"""Largest share of time for which trains may occupy a link."""
_LONGEST_TRAIN_MS = 10.0
"""Longest time in ms that a train may occupy the link; trains that would take longer have fewer
packets. Longer trains would load a slow link: while the signal is weak, each train would queue
behind the previous train."""
_PAIR_GAPS_MS = (1.0, 100.0)
"""Shortest and longest gap between the two packets of a pair, in ms. A link may stay busy for a few
milliseconds after a packet, or for many. The gaps are therefore drawn from a log-uniform
distribution: gaps of 1 to 10 ms are as frequent as gaps of 10 to 100 ms."""
_FEWEST_PAIRS, _PAIRS_OF_ROUND = 128, 16
_PROBES = 10
_FIRST_PROBES = 30
_MOST_WAITS = 6
_AS_FAST_AS = 0.9  # quantile of the round-trip times before the recording
_OTHER_S = 6.5  # a round's probes, and the waits for late packets
_NS_PER_MS = 10**6


def full_packets(packet_ms: float) -> int:
    """Return how many full-size packets a train has if each occupies the link for `packet_ms`."""
    most = round(_LONGEST_TRAIN_MS / packet_ms) if packet_ms > 0 else FULL_PACKETS
    return min(FULL_PACKETS, max(1, most))


class LightHeavyRecorder:
    """Records both directions of a link; each round sends trains, then saturates the link."""

    def __init__(self, session: Session, duration_ns: int, most_bits_per_sec: int) -> None:
        """Prepare a recording.

        Args:
            session: session with the server, which must have given the session its turn to measure.
            duration_ns: duration of the recording of each direction.
            most_bits_per_sec: maximum sending rate.
        """
        rounds = max(1, round(duration_ns / 1e9 / PIECE_S))
        duration_ms = duration_ns // _NS_PER_MS
        self._bounds_ms = [duration_ms * each // rounds for each in range(rounds + 1)]
        self._pairs = max(_PAIRS_OF_ROUND, ceil(_FEWEST_PAIRS / rounds))
        self._session = session
        self._most_bits_per_sec = most_bits_per_sec
        self._probes: list[ProbeResult] = []
        self._idle_rtt_ns = 0.0
        self._series = 0
        self._train_ms = dict.fromkeys(Direction, 0.0)
        self._full_packets = dict.fromkeys(Direction, FULL_PACKETS)

    @property
    def pieces(self) -> int:
        """Number of pieces (time intervals) in the recording."""
        return _PIECES_OF_ROUND * (len(self._bounds_ms) - 1)

    @property
    def expected_s(self) -> float:
        """Expected duration of the recording in seconds; on a slow link, the real one is longer."""
        rounds = len(self._bounds_ms) - 1
        low_ms, high_ms = _PAIR_GAPS_MS
        mean_gap_ms = (high_ms - low_ms) / log(high_ms / low_ms)
        pairs_s = self._pairs * (mean_gap_ms + REGULAR_MS + _SPREAD_MS / 2) / 1e3
        first_s = sum(_FIRST_GAPS_MS) / 1e3 + 2
        each_s = 2 * (WARM_UP_S + pairs_s) + _OTHER_S
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
        pairs: dict[Direction, list[TrainSeries]] = {each: [] for each in Direction}
        heavy: dict[Direction, list[RecordedDirection]] = {each: [] for each in Direction}
        for direction in Direction:  # to learn how long a train lasts
            gaps_ns = [gap * _NS_PER_MS for gap in _FIRST_GAPS_MS]
            first = self._send(direction, size, gaps_ns, (0, 0))
            if not first.arrivals:
                msg = f"{direction.title}: no packet train arrived; the network may block UDP"
                raise TransferFailedError(msg)
            self._choose_packets(direction, first)
        for begins_ms, ends_ms in zip(self._bounds_ms, self._bounds_ms[1:], strict=False):
            axis_ms = begins_ms, ends_ms - begins_ms
            for direction in Direction:
                self._wait_until_idle()
                gaps_ns = self._gaps_ns(direction, axis_ms[1])
                trains = self._send(direction, size, gaps_ns, axis_ms)
                self._train_ms[direction] = trains.train_ms() or self._train_ms[direction]
                light[direction].append(trains)
                gaps_ns = self._pair_gaps_ns()
                pairs[direction].append(self._send(direction, size, gaps_ns, None))
                on_piece(f"{direction.title} without load")
            for direction in Direction:
                self._wait_until_idle()
                heavy[direction].append(self._saturate(direction, size, axis_ms[1]))
                on_piece(f"{direction.title} under load")
        self._wait_until_idle()  # the last probes determine the drift of the clocks
        clock = self._clock({each: light[each] + pairs[each] for each in Direction})
        return Recording(
            tuple(_joined(pieces) for pieces in heavy.values()),
            min(round_trips_ns) / 1e6,
            tuple(LightDirection.of(each, light[each], pairs[each], clock) for each in Direction),
        )

    def _wait_until_idle(self) -> None:
        """Send probes until one is as fast as before the recording, at most `_MOST_WAITS` times."""
        for _ in range(_MOST_WAITS):
            probes = self._session.probe(_PROBES)
            self._probes += probes
            if any(probe.rtt_ns <= self._idle_rtt_ns for probe in probes):
                return

    def _choose_packets(self, direction: Direction, first: TrainSeries) -> None:
        """Choose the number of full-size packets in a train from how long the first trains took."""
        packet_ms = (first.train_ms() or 0.0) / FULL_PACKETS
        self._full_packets[direction] = full_packets(packet_ms)
        self._train_ms[direction] = packet_ms * self._full_packets[direction]

    def _gaps_ns(self, direction: Direction, lasts_ms: int) -> list[int]:
        """Return the gaps, in ns, between the packet trains of a piece of the recording."""
        train_ms = self._train_ms[direction]
        least_ns = ceil(max(train_ms + REGULAR_MS, train_ms / _MOST_LOAD)) * _NS_PER_MS
        random = np.random.default_rng(self._series)
        gaps_ns: list[int] = []
        while sum(gaps_ns) < lasts_ms * _NS_PER_MS:
            gaps_ns.append(least_ns + int(random.integers(_SPREAD_MS * _NS_PER_MS)))
        return gaps_ns

    def _pair_gaps_ns(self) -> list[int]:
        """Return the gaps between packets, in ns: alternately within a pair and after a pair."""
        random = np.random.default_rng(self._series)
        low_ms, high_ms = _PAIR_GAPS_MS
        within_ms = np.exp(random.uniform(log(low_ms), log(high_ms), self._pairs))
        after_ms = random.uniform(REGULAR_MS, REGULAR_MS + _SPREAD_MS, self._pairs)
        gaps_ms = np.column_stack([within_ms, after_ms]).ravel()
        return [round(each * _NS_PER_MS) for each in gaps_ms]

    def _send(
        self,
        direction: Direction,
        size: PacketSize,
        gaps_ns: list[int],
        axis_ms: tuple[int, int] | None,
    ) -> TrainSeries:
        """Send packet trains, or packet pairs if `axis_ms` is None; return the arrivals.

        `axis_ms` is the start and the duration, in ms, of an interval on the time axis of the light
        trace. The trains are placed in this interval. If its duration is 0, the trains do not
        belong to the trace. Pairs never belong to the trace.
        """
        request = protocol.Trains(
            direction=direction.wire,
            series=self._series,
            packets=1 if axis_ms is None else 1 + self._full_packets[direction],
            first_payload_bytes=FIRST_PAYLOAD_BYTES,
            payload_bytes=size.payload_bytes,
            packet_bytes=size.packet_bytes,
            gaps_ns=gaps_ns,
        )
        self._series += 1
        arrivals = self._session.near_datagrams().trains(request)
        return TrainSeries(arrivals, request, *(axis_ms or (0, 0)))

    def _saturate(self, direction: Direction, size: PacketSize, lasts_ms: int) -> RecordedDirection:
        """Saturate the link for one piece, and record the bytes that arrive in each millisecond.

        If no packets arrive at the end, the piece ends with zeros.
        """
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


def _joined(pieces: Sequence[RecordedDirection]) -> RecordedDirection:
    """Join the pieces of one direction in chronological order."""
    return RecordedDirection(
        pieces[0].direction,
        np.concatenate([each.per_ms for each in pieces]),
        sum(each.sent for each in pieces),
        sum(each.received for each in pieces),
        max(each.highest_queueing_ms for each in pieces),
    )
