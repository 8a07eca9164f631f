"""Recording with and without load in rounds, over a link that is computed instead of measured."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from cwndlab.measure.light_heavy import LightHeavyRecorder, full_packets
from cwndlab.measure.wire.client import TransferFailedError
from cwndlab.measure.wire.probes import ProbeResult
from cwndlab.schema.direction import Direction

MS, S = 1_000_000, 1_000_000_000
START_NS = 1_800_000_000 * S
AHEAD_NS = 3 * S
WAY_MS = {"forward": 20, "reverse": 30}
PACKET_MS = {"forward": 1, "reverse": 8}
FULL = {"forward": 10, "reverse": 1}  # packets after the first, short one


class ComputedLink:
    """A session whose link has fixed delays and rates, on a clock that only it advances."""

    peer = "192.0.2.1"
    server: dict[str, Any] = {"path": {"path_mtu_bytes": 1500}}  # noqa: RUF012  like a session

    def __init__(self) -> None:
        self.now_ns = START_NS
        self.asked: list[str] = []
        self.backlog_ms = 0.0
        self.trains_asked: list[Any] = []
        self.lasts_ms = 1e9

    def view(self) -> dict[str, Any]:
        return {"path_mtu_bytes": 1500}

    def probe(self, count: int, every_s: float = 0.02) -> list[ProbeResult]:
        self.asked.append("probe")
        found = []
        for _ in range(count):
            self.now_ns += int(every_s * S)
            self.backlog_ms = max(0.0, self.backlog_ms - every_s * 1e3)
            there_ns = self.now_ns + int((30 + self.backlog_ms) * MS) + AHEAD_NS
            back_ns = there_ns - AHEAD_NS + 20 * MS
            found.append(ProbeResult(self.now_ns, there_ns, there_ns, back_ns))
        return found

    def near_datagrams(self) -> ComputedLink:
        return self

    def trains(self, request: Any) -> list[tuple[int, int, int, int]]:  # noqa: ANN401
        self.asked.append(f"trains {request.direction}")
        self.trains_asked.append(request)
        assert self.backlog_ms == 0, "the queue has drained"
        is_down = request.direction == "forward"
        ahead_ns = (AHEAD_NS, 0) if is_down else (0, AHEAD_NS)
        arrivals = []
        for train, gap_ns in enumerate(request.gaps_ns):
            for place in range(request.packets):
                late_ms = WAY_MS[request.direction] + PACKET_MS[request.direction] * place
                at_ns = self.now_ns + late_ms * MS
                arrivals.append((train, place, self.now_ns + ahead_ns[0], at_ns + ahead_ns[1]))
            self.now_ns += gap_ns
        return arrivals

    def saturate(self, request: Any) -> dict[str, Any]:  # noqa: ANN401
        self.asked.append(f"saturate {request.direction}")
        self.now_ns += request.duration_ns
        self.backlog_ms = 700
        arrived = int(min(request.duration_ns / MS, 2_000 + self.lasts_ms))
        per_ms = np.full(arrived, 1500 if request.direction == "forward" else 750)
        return {
            "per_ms": per_ms.tolist(),
            "sent": 2_000,
            "received": 1_000,
            "highest_queueing_ms": 700.0,
        }


def recorder(link: ComputedLink, duration_ns: int) -> LightHeavyRecorder:
    return LightHeavyRecorder(link, duration_ns, 10**8)  # type: ignore[arg-type]


def test_each_round_records_both_directions_with_and_without_load() -> None:
    link = ComputedLink()
    told: list[str] = []
    made = recorder(link, 12 * S)
    recording = made.record(told.append)
    assert made.pieces == len(told) == 8
    assert told[:4] == [
        "downlink without load",
        "uplink without load",
        "downlink under load",
        "uplink under load",
    ]
    assert [each for each in link.asked if each != "probe"] == [
        "trains forward",
        "trains reverse",
        *[
            *["trains forward"] * 2,  # trains, then pairs
            *["trains reverse"] * 2,
            *["saturate forward", "saturate reverse"],
        ]
        * 2,
    ]
    spent_s = (link.now_ns - START_NS) / S
    assert made.expected_s == pytest.approx(spent_s, rel=0.25)
    assert [each.per_ms.size for each in recording.directions] == [12_000, 12_000]
    assert [each.rate_mbit_s for each in recording.directions] == [12, 6]
    for light, wire in zip(recording.light, ("forward", "reverse"), strict=True):
        full = FULL[wire]
        assert light.packets == 1 + full
        assert light.train_ms == pytest.approx(full * PACKET_MS[wire])
        # The clocks are set by the probes, which need 30 and 20 ms: 25 ms in each direction.
        shift_ms = 5 if wire == "forward" else -5
        assert light.base_ms[1] == pytest.approx(WAY_MS[wire] + shift_ms)
        lines = [line.split() for line in light.trace().splitlines()]
        assert {len(line) for line in lines} == {3 + full}
        times_ms = np.array([float(line[0]) for line in lines])
        assert times_ms[0] == 0
        assert 6_000 in times_ms, "the second round begins at its place on the axis"
        assert times_ms[-1] < 12_000
        steps_ms = np.diff(times_ms)
        assert steps_ms.min() > 0
        assert 100 < np.median(steps_ms) - full * PACKET_MS[wire] < 120, "idle for 100 to 120 ms"
        assert light.has_enough_pairs
        assert light.keys() == {"light_first": "92 B"}, "the link remembers nothing"


def test_trains_are_sent_less_often_and_with_fewer_packets_if_the_link_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PACKET_MS, "reverse", 90)
    link = ComputedLink()
    recorder(link, 5 * S).record(lambda _: None)
    first, _, down, down_pairs, up, _ = link.trains_asked
    assert set(first.gaps_ns) == {500 * MS}
    assert (down.packets, up.packets) == (11, 2)
    assert (10 + 100) * MS <= down.gaps_ns[0] < (10 + 120) * MS
    assert 300 * MS <= min(up.gaps_ns) < 320 * MS, "a train takes 90 ms, 30 % of the time"
    assert len(set(down.gaps_ns[:40])) == 40, "irregular intervals meet all phases of a link"
    assert down.duration_ns > 5 * S
    assert down_pairs.packets == 1
    within_ms, after_ms = np.array(down_pairs.gaps_ns).reshape(-1, 2).T / MS
    assert len(within_ms) >= 100
    assert within_ms.min() == pytest.approx(1, abs=0.2)
    assert within_ms.max() == pytest.approx(100, abs=20)
    assert 100 <= after_ms.min() <= after_ms.max() <= 120


@pytest.mark.parametrize(("packet_ms", "count"), [(0, 10), (0.1, 10), (2.5, 4), (6, 2), (50, 1)])
def test_a_train_takes_at_most_about_ten_ms(packet_ms: float, count: int) -> None:
    assert full_packets(packet_ms) == count


def test_an_outage_at_the_end_of_a_piece_keeps_its_place_on_the_axis() -> None:
    link = ComputedLink()
    link.lasts_ms = 4_000
    recording = recorder(link, 10 * S).record(lambda _: None)
    per_ms = recording.directions[0].per_ms
    assert per_ms.size == 10_000
    assert per_ms[3_999] > 0
    assert not per_ms[4_000:5_000].any()
    assert per_ms[5_000] > 0


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_without_trains_in_a_direction_there_is_no_recording(
    direction: Literal["forward", "reverse"], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = ComputedLink()
    whole = link.trains
    monkeypatch.setattr(
        link, "trains", lambda asked: [] if asked.direction == direction else whole(asked)
    )
    told: list[str] = []
    name = next(each.title for each in Direction if each.wire == direction)
    with pytest.raises(
        TransferFailedError, match=rf"{name}: no packet train arrived; .* block UDP"
    ):
        recorder(link, 5 * S).record(told.append)
    assert told == [], "it is reported before minutes have passed"


def test_without_an_answer_to_probes_there_is_no_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = ComputedLink()
    monkeypatch.setattr(link, "probe", lambda _: [])
    with pytest.raises(TransferFailedError, match=r"no probe was answered; .* block UDP"):
        recorder(link, 5 * S).record(lambda _: None)
