"""Recording a real link as a trace: the link is saturated, and its deliveries are recorded."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cwndlab.errors import LinkError
from cwndlab.measure.record import RecordedDirection, Recording
from cwndlab.measure.wire import protocol, saturator
from cwndlab.measure.wire.client import Session, TransferFailedError
from cwndlab.measure.wire.datagrams import encode
from cwndlab.measure.wire.protocol import CLIENT, SERVER, Saturate
from cwndlab.measure.wire.saturator import FEEDBACK_BYTES, ArrivalRecorder, Control, Saturator
from cwndlab.measure.wire.sessions import Limits
from cwndlab.resolve.presets import load_preset
from cwndlab.schema.direction import Direction
from live_server import HOST, TOKEN, keep_secrets, record_inside, server_apart, server_here
from this_machine import needs_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MS, S = 10**6, 10**9
PACKET_BYTES = 1500
KEY, SESSION = b"k" * 32, b"12345678"


def request_of(duration_ns: int = S) -> Saturate:
    return Saturate(
        direction="forward",
        most_bits_per_sec=10**9,
        payload_bytes=1472,
        packet_bytes=PACKET_BYTES,
        duration_ns=duration_ns,
    )


def driven(
    rate_at: Callable[[float], float], *, queue_pkts: int, seconds: float = 8, way_ms: int = 20
) -> tuple[float, float, Control]:
    """Simulate the sender in front of a link in steps of a millisecond.

    Return the used share of the link's capacity after two seconds, the longest queueing delay in
    ms, and the control.
    """
    control = Control(1e9)
    queue: deque[int] = deque()
    answers: deque[tuple[int, int, int, int]] = deque()
    arrived = used = 0
    credit = capacity = served = 0.0
    longest_ms = 0
    for now_ms in range(int(seconds * 1000)):
        rate = rate_at(now_ms / 1000)
        credit = min(credit + control.bits_per_sec / 8e3, 64 * PACKET_BYTES)
        while credit >= PACKET_BYTES:
            credit -= PACKET_BYTES
            if len(queue) < queue_pkts:
                queue.append(now_ms)
        capacity = min(capacity + rate / 8e3, PACKET_BYTES) if not queue else capacity + rate / 8e3
        left_ms = None
        while queue and capacity >= PACKET_BYTES:
            capacity -= PACKET_BYTES
            left_ms = now_ms - queue.popleft()
            longest_ms = max(longest_ms, left_ms)
            arrived += PACKET_BYTES
            used += PACKET_BYTES * (now_ms >= 2_000)
        served += rate / 8e3 * (now_ms >= 2_000)
        if left_ms is not None and now_ms % 20 < 2:
            delay_ns = (left_ms + way_ms) * MS
            answers.append((now_ms + 2 * way_ms, arrived, delay_ns, (now_ms + way_ms) * MS))
        while answers and answers[0][0] <= now_ms:
            _, *facts = answers.popleft()
            control.handle_feedback(*facts)
    return used / served, longest_ms, control


@pytest.mark.parametrize("mbit_s", [1.5, 12, 300])
def test_a_link_of_any_rate_is_kept_full(mbit_s: float) -> None:
    share, _, _ = driven(lambda _: mbit_s * 1e6, queue_pkts=200)
    assert share > 0.99


def test_a_rate_that_jumps_is_followed_up_and_down() -> None:
    share, _, _ = driven(lambda s: 4e6 if s % 2 < 1 else 40e6, queue_pkts=250)
    assert share > 0.9


def test_a_deep_buffer_is_not_filled_for_ever() -> None:
    share, longest_ms, _ = driven(lambda _: 3e6, queue_pkts=10_000, seconds=20)
    assert share > 0.99
    assert 750 < longest_ms < 2_500


def test_silence_slows_down_to_a_floor() -> None:
    control = Control(1e9, bits_per_sec=50e6)
    for _ in range(20):
        control.handle_silence()
    assert control.bits_per_sec == 5e5


def test_the_limit_is_kept() -> None:
    control = Control(5e6)
    for step in range(100):
        control.handle_feedback(step * 10**6, 20 * MS, step * 20 * MS)
    assert control.bits_per_sec == 5e6


def test_arrivals_are_counted_by_the_millisecond() -> None:
    recorder = ArrivalRecorder(KEY, SESSION, request_of())
    for number, at_ms in enumerate((5.0, 5.4, 6.2, 9.9)):
        content = encode(KEY, SESSION, SERVER, number, 1472)
        assert recorder.take(content, ("h", 1), int(at_ms * MS), SERVER)
        assert not recorder.take(content, ("h", 1), int(at_ms * MS), SERVER), "each once"
    assert recorder.arrivals() == [3000, 1500, 0, 0, 1500]
    assert not recorder.take(encode(b"other", SESSION, SERVER, 9, 1472), ("h", 1), 0, SERVER)


def test_the_receivers_word_is_taken_once_and_from_nobody_else() -> None:
    recorder = ArrivalRecorder(KEY, SESSION, request_of())
    assert recorder.feedback(CLIENT) is None
    recorder.take(encode(KEY, SESSION, SERVER, 0, 1472), ("h", 1), 5 * MS, SERVER)
    said = recorder.feedback(CLIENT)
    assert said is not None
    assert len(said) == FEEDBACK_BYTES
    assert protocol.read_probe(said, KEY, CLIENT) is None, "as long as a probe, and none"
    assert recorder.feedback(CLIENT) is None, "nothing new"
    sender = Saturator(lambda _: None, KEY, SESSION, SERVER, request_of())
    assert sender.take(said, CLIENT)
    assert not sender.take(said, CLIENT), "replayed"
    assert not sender.take(said[:-1] + bytes([said[-1] ^ 1]), CLIENT)
    assert not Saturator(lambda _: None, b"other", SESSION, SERVER, request_of()).take(said, CLIENT)


def test_a_sender_whom_nobody_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saturator, "_SILENCE_S", 0.05)
    monkeypatch.setattr(saturator, "_GONE_S", 0.2)
    sent: list[bytes] = []
    sender = Saturator(sent.append, KEY, SESSION, SERVER, request_of(60 * S))
    sender.run()
    assert 0 < len(sent) < 200


def test_a_trace_has_a_line_for_each_1500_bytes(tmp_path: Path) -> None:
    per_ms = np.array([3000, 0, 700, 800, 0, 1500])
    down = RecordedDirection(Direction.DOWNLINK, per_ms, 5, 4, 30.0)
    assert down.mahimahi() == "1\n1\n4\n6\n"
    assert down.rate_mbit_s == pytest.approx(8)
    assert down.lost_pct == pytest.approx(20)
    assert down.was_full
    assert not RecordedDirection(Direction.DOWNLINK, per_ms, 4, 4, 0.5).was_full
    few_lost = RecordedDirection(Direction.DOWNLINK, per_ms, 100, 98, 0.2)
    assert not few_lost.was_full, "a busy receiver loses some, too"
    assert RecordedDirection(Direction.DOWNLINK, per_ms, 100, 67, 0.2).was_full, "policed"
    up = RecordedDirection(Direction.UPLINK, np.array([1500]), 1, 1, 30.0)
    link = Recording((down, up), 41.0).write(tmp_path / "home")[".toml"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "home-downlink.trace",
        "home-uplink.trace",
        "home.toml",
    ]
    preset = load_preset(str(link), tmp_path)
    assert preset.link["trace"] == str(tmp_path / "home-downlink.trace")
    assert "home-downlink.trace" in link.read_text(encoding="utf-8")
    assert str(tmp_path) not in link.read_text(encoding="utf-8"), "the folder may be moved"
    assert preset.reverse_link is not None
    assert (
        link.read_text(encoding="utf-8")
        == """\
title = "recorded link home"
description = "Recorded by cwndlab link record; each delay is half of the minimum round-trip time."

[link]
trace = "home-downlink.trace"
delay = "20.500 ms"

[reverse_link]
trace = "home-uplink.trace"
delay = "20.500 ms"
"""
    )
    with pytest.raises(LinkError, match="uplink: no data arrived"):
        RecordedDirection(Direction.UPLINK, np.array([0, 0]), 5, 0, 0).mahimahi()


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_the_server_saturates_and_records_within_its_limits(direction: str) -> None:
    with server_here(Limits(datagram_mbit_s=4, flow_s=2)) as address, Session(address) as session:
        request = request_of().model_copy(update={"direction": direction})
        if direction == "reverse":
            request = request.model_copy(update={"most_bits_per_sec": 4_000_000})
        found = session.saturate(request)
        assert sum(found["per_ms"]) == found["received"] * PACKET_BYTES
        assert 30 < found["received"] <= found["sent"] < 450
        with pytest.raises(TransferFailedError, match="at most 2 s"):
            session.saturate(request_of(3 * S))
        assert session.ask(protocol.Describe())["kernel"]


@needs_kernel
def test_a_trace_link_is_recorded_as_it_is(tmp_path: Path) -> None:
    # 1.5 s of steps of 250 ms, repeated.
    steps_mbit_s = (4, 16, 8, 20, 2, 10)
    capacity = np.repeat(np.array(steps_mbit_s) * 125, 250).cumsum()
    stamps = np.repeat(np.arange(1, 1501), np.diff(capacity // PACKET_BYTES, prepend=0))
    trace = tmp_path / "real.trace"
    trace.write_text("".join(f"{stamp}\n" for stamp in stamps), encoding="ascii")
    link = f"trace:{trace},delay=15 ms,queue=120 packets"
    process, port = server_apart(tmp_path, host="0.0.0.0")  # noqa: S104  a shell is another host
    try:
        links = ["--link", link, "--reverse-link", link]
        rows = record_inside(tmp_path, port, links, ["--duration", "3 s"])
    finally:
        process.kill()
        process.communicate()
    for row in rows:
        # On a busy machine, the sender occasionally leaves the link slightly underused.
        assert row["rate_mbit_s"] == pytest.approx(10, rel=0.06), row
        recorded = np.loadtxt(tmp_path / row["trace"], dtype=int)
        bins = np.bincount((recorded - 1) // 50, minlength=60)[:60]
        real = np.tile(np.bincount((stamps - 1) // 50, minlength=30), 2)
        differences = [np.abs(np.roll(real, shift) - bins).sum() for shift in range(30)]
        assert min(differences) < 0.25 * real.sum()
        assert sorted(differences)[15] > 0.5 * real.sum(), "it would tell a wrong one"


def test_the_token_is_asked_for_as_everywhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cwndlab", "link", "record", "--server", "192.0.2.1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "copy the file from the server" in done.stderr
    assert TOKEN not in done.stderr


def test_the_folder_of_a_recording_is_created_before_the_link_is_recorded(tmp_path: Path) -> None:
    keep_secrets(tmp_path)
    command = [sys.executable, "-m", "cwndlab", "link", "record", "--server", f"{HOST}:9"]
    command += ["--out", "new/home"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "does not answer" in done.stderr
    assert (tmp_path / "new").is_dir()
