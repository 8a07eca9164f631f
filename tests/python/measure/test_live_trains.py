"""Trains of packets over real sockets, and recordings of links whose delays are known."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cwndlab as cw
from cwndlab.measure.wire import protocol, trains
from cwndlab.measure.wire.client import Session, TransferFailedError
from cwndlab.measure.wire.datagrams import encode
from cwndlab.measure.wire.near_datagrams import NearDatagrams
from cwndlab.measure.wire.protocol import CLIENT, SERVER, Trains
from cwndlab.measure.wire.sessions import Limits
from cwndlab.measure.wire.trains import TrainReceiver, encode_train, send_trains
from live_server import HOST, keep_secrets, record_inside, server_here
from patience import PATIENCE_S
from this_machine import needs_kernel

if TYPE_CHECKING:
    from pathlib import Path

MS, S = 10**6, 10**9
KEY, SESSION = b"k" * 32, b"12345678"
HERE = (HOST, 1)


def request_of(
    direction: str = "forward", *, count: int = 3, gap_ms: int = 20, series: int = 7
) -> Trains:
    return Trains.model_validate(
        {
            "direction": direction,
            "series": series,
            "packets": 4,
            "first_payload_bytes": 64,
            "payload_bytes": 1000,
            "packet_bytes": 1028,
            "gaps_ns": [gap_ms * MS] * count,
        }
    )


def test_each_packet_of_the_requested_trains_is_recorded_once() -> None:
    receiver = TrainReceiver(KEY, SESSION, request_of())
    for at_ns, place in enumerate([(0, 0), (2, 3), (1, 1)]):
        packet = encode_train(KEY, SESSION, SERVER, request_of(), place)
        assert len(packet) == (64 if place[1] == 0 else 1000)
        assert receiver.take(packet, HERE, at_ns, SERVER)
        assert not receiver.take(packet, HERE, at_ns, SERVER), "each once"
    for place in ((3, 0), (0, 4)):
        packet = encode_train(KEY, SESSION, SERVER, request_of(), place)
        assert not receiver.take(packet, HERE, 0, SERVER), "not requested"
    assert [(train, place, at_ns) for train, place, _, at_ns in receiver.arrivals()] == [
        (0, 0, 0),
        (1, 1, 2),
        (2, 3, 1),
    ]


def test_packets_of_others_are_not_recorded() -> None:
    receiver = TrainReceiver(KEY, SESSION, request_of())
    request, place = request_of(), (0, 0)
    right = encode_train(KEY, SESSION, SERVER, request, place)
    for wrong in (
        encode_train(b"other", SESSION, SERVER, request, place),
        encode_train(KEY, b"87654321", SERVER, request, place),
        encode_train(KEY, SESSION, CLIENT, request, place),
        encode_train(KEY, SESSION, SERVER, request_of(series=6), place),
        encode(KEY, SESSION, SERVER, 0, 100),
        right[:22] + bytes([right[22] ^ 1]) + right[23:],
        right[:37],
        b"",
    ):
        assert not receiver.take(wrong, HERE, 0, SERVER)
    assert receiver.peer is None
    assert protocol.read_probe(right, KEY, SERVER) is None
    assert receiver.take(right, HERE, 0, SERVER)


def test_no_gap_is_shorter_than_requested_even_after_a_late_train() -> None:
    sent_s: list[float] = []

    def send(_: bytes) -> None:
        if len(sent_s) == 4:
            time.sleep(0.15)  # a busy machine
        sent_s.append(time.monotonic())

    request = request_of(count=4, gap_ms=50)
    assert send_trains(send, KEY, SESSION, SERVER, request, threading.Event()) == 4
    begins_s = np.array(sent_s[::4])
    assert len(sent_s) == 16
    assert np.diff(begins_s)[[0, 2]].min() >= 0.05
    assert begins_s[2] - sent_s[7] >= 0


def test_a_full_buffer_loses_packets_and_ctrl_c_ends_the_trains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[int, int]] = []
    stopping = threading.Event()
    monkeypatch.setattr(trains, "encode_train", lambda *facts: facts[4])

    def send(place: tuple[int, int]) -> None:
        if place == (0, 1):
            raise OSError
        sent.append(place)
        if place == (1, 3):
            stopping.set()

    request = request_of(count=3, gap_ms=1000)
    assert send_trains(send, KEY, SESSION, SERVER, request, stopping) == 2  # type: ignore[arg-type]
    assert sent == [(0, 0), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_the_server_sends_and_records_trains_within_its_limits(direction: str) -> None:
    limits = Limits(datagram_mbit_s=4, flow_s=2)
    with server_here(limits) as address, Session(address) as session:
        datagrams = session.near_datagrams()
        arrivals = datagrams.trains(request_of(direction, count=20))
        assert [each[:2] for each in arrivals] == [(t, p) for t in range(20) for p in range(4)]
        delays_ns = [at_ns - sent_ns for _, _, sent_ns, at_ns in arrivals]
        assert 0 <= min(delays_ns) < 50 * MS, "both ends have the same clock here"
        begins_ns = [sent_ns for _, place, sent_ns, _ in arrivals if place == 0]
        late_ns = [began_ns - number * 20 * MS for number, began_ns in enumerate(begins_ns)]
        # A train that leaves late does not delay the following trains.
        assert min(late_ns[10:]) == pytest.approx(min(late_ns[:10]), abs=40 * MS)
        with pytest.raises(TransferFailedError, match="at most 2 s"):
            datagrams.trains(request_of(direction, count=101))
        with pytest.raises(TransferFailedError, match="limited to 4 Mbit/s"):
            datagrams.trains(request_of(direction, gap_ms=8))
        assert session.ask(protocol.Describe())["kernel"]


def test_trains_are_sent_only_to_the_client_that_asks_with_a_signed_datagram() -> None:
    with server_here(Limits(asking_s=0.5)) as address, Session(address) as session:
        assert list(session.turn()) == []
        stop = threading.Event()
        name = bytes.fromhex(session.id)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.connect((address.host, address.port))

            def pretend() -> None:
                while not stop.wait(0.02):
                    other.send(encode(b"wrong key", name, CLIENT, secrets.randbelow(100), 64))
                    other.send(encode_train(b"wrong key", name, CLIENT, request_of(), (0, 0)))

            pretending = threading.Thread(target=pretend)
            pretending.start()
            try:
                with pytest.raises(TransferFailedError, match="no datagram arrived"):
                    session.ask(request_of())
            finally:
                stop.set()
                pretending.join()
            other.settimeout(0.1)
            with pytest.raises(TimeoutError):
                other.recv(2048)


def test_a_server_of_an_older_version_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        protocol, "greeting", lambda nonce: b"cwndlab 2 %s\n" % nonce.hex().encode()
    )
    with server_here() as address, pytest.raises(protocol.ProtocolError) as refused:
        Session(address).__enter__()
    expected = "the server uses protocol version 2, not 3; update the older program"
    assert str(refused.value) == expected


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("kind", ["saturate", "trains"])
def test_ctrl_c_ends_all_threads_at_once(kind: str, direction: str) -> None:
    def ask(_request: object, _lasts_s: float) -> dict[str, Any]:
        time.sleep(0.5)
        raise KeyboardInterrupt

    saturate = protocol.Saturate.model_validate(
        {
            "direction": direction,
            "most_bits_per_sec": 1_000_000,
            "payload_bytes": 1000,
            "packet_bytes": 1028,
            "duration_ns": 60 * S,
        }
    )
    request = saturate if kind == "saturate" else request_of(direction, count=20, gap_ms=3000)
    before = threading.active_count()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there,
    ):
        there.bind((HOST, 0))
        here.connect(there.getsockname())
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            getattr(NearDatagrams(here, KEY, SESSION, ask), kind)(request)
        assert time.monotonic() - began_s < 5
    assert threading.active_count() == before


@pytest.mark.parametrize("after_s", [0.2, 5])
def test_ctrl_c_ends_a_recording_at_once_and_leaves_no_file(tmp_path: Path, after_s: float) -> None:
    keep_secrets(tmp_path)
    words = ["link", "record", "--light-heavy", "--most", "5 Mbit/s", "--out", "new/home"]
    with server_here() as address:
        process = subprocess.Popen(
            [sys.executable, "-m", "cwndlab", *words, "--server", f"{HOST}:{address.port}"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )
        assert process.stderr is not None
        assert process.stderr.readline().startswith("the recording takes about ")
        time.sleep(after_s)
        began_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began_s < 5
        assert process.returncode == 130
        assert "Traceback" not in err
        assert list((tmp_path / "new").iterdir()) == []
        with Session(address) as session:
            assert list(session.turn()) == [], "the server serves the next client at once"


# The server's clock is an hour ahead and gains 12 ms a minute.
SERVE = """
import sys
from cwndlab.measure.machine import clock
ours_ns, began_ns = clock.now_ns, clock.now_ns()
clock.now_ns = lambda: ours_ns() + 3_600 * 10**9 + (ours_ns() - began_ns) // 5_000
from cwndlab import cli
sys.exit(cli.run(["serve", "--host", "0.0.0.0", "--port", "0"]))
"""


@dataclass(frozen=True)
class RecordedLink:
    """The rows and the folder of a recording, between this machine and a namespace."""

    down: dict[str, float]
    up: dict[str, float]
    folder: Path


def recorded(folder: Path, *links: str, duration: str) -> RecordedLink:
    """Record a link between this machine and a namespace."""
    keep_secrets(folder)
    server = subprocess.Popen(
        [sys.executable, "-u", "-c", SERVE], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        serving = next(line for line in server.stdout if "serving on" in line)
        port = serving.split(" port ")[1].split(",")[0]
        options = ["--light-heavy", "--duration", duration, "--out", "real"]
        down, up = record_inside(folder, port, links, options)
    finally:
        server.kill()
        server.communicate()
    return RecordedLink(down, up, folder)


@needs_kernel
def test_the_delays_of_a_known_link_are_recorded_despite_a_clock_that_drifts(
    tmp_path: Path,
) -> None:
    common = "delay=20 ms,queue=60 packets"
    links = ("--link", f"rate=12 Mbit/s,{common}", "--reverse-link", f"rate=2.4 Mbit/s,{common}")
    wire = recorded(tmp_path, *links, duration="2 s")
    # Whole packets of 1500 bytes take 1 and 5 ms. The drift alone would be 6 ms in half a minute.
    for row, packet_ms, full, rate_mbit_s in ((wire.down, 1, 10, 12), (wire.up, 5, 2, 2.4)):
        assert row["base_delay_ms"] == pytest.approx(20, abs=1.5), row
        assert row["base_delay_p10_ms"] == pytest.approx(20, abs=1), row
        assert row["train_pkts"] == 1 + full
        assert row["train_ms"] == pytest.approx(full * packet_ms, rel=0.1), row
        assert row["trains"] >= 2_000 // (120 + full * packet_ms + 15), "a busy machine sends late"
        assert row["light_after_ms"] is row["busy_delay_ms"] is None, "a wire remembers nothing"
        assert row["lost_trains_pct"] == row["lost_in_trains_pct"] == 0
        assert row["rate_mbit_s"] == pytest.approx(rate_mbit_s, rel=0.06), row
        light = np.loadtxt(wire.folder / str(row["light_trace"]))
        assert light.shape == (row["trains"], 3 + full)
        assert (np.diff(light[:, 0]) > 100).all()
        assert light[-1, 0] < 2_000
        assert np.median(np.diff(light[:, 2:])) == pytest.approx(packet_ms, abs=0.2)
    link = (wire.folder / "real.toml").read_text()
    assert 'light_trace = "real-uplink.light"\nlight_first = "92 B"' in link
    assert "light_after" not in link
    assert "busy_delay" not in link


def lone_packet_p95_ms(link: str, direction: str, folder: Path) -> float:
    """Return the simulator's 95th percentile of the delay of packets that are sent alone."""
    application = {"kind": "datagrams", "bytes": "64 bytes", "interval": "110 ms"}
    study = cw.Study(
        link=link,
        algorithm="reno",
        application=application,
        direction=direction,
        duration="120 s",
    )
    flows = study.run(folder / direction).flows()
    return float(flows["datagram_delay_p95_ms"].item())


@needs_kernel
def test_a_cell_has_the_simulators_delays_and_remembers_a_packet(tmp_path: Path) -> None:
    """In LTE, the uplink waits for a grant that the downlink does not need.

    Grants continue for 5 ms after the last packet in this preset.
    """
    cell = recorded(tmp_path, "--link", "lte-typical", duration="3 s")
    for row, direction in ((cell.down, "downlink"), (cell.up, "uplink")):
        base_ms = np.loadtxt(cell.folder / str(row["light_trace"]))[:, 1]
        expected_ms = lone_packet_p95_ms("lte-typical", direction, tmp_path)
        assert np.percentile(base_ms, 95) == pytest.approx(expected_ms, abs=5), direction
    assert cell.up["base_delay_ms"] > cell.down["base_delay_ms"] + 7
    assert cell.down["light_after_ms"] is None
    up = cell.up
    assert up["light_after_low_ms"] <= up["light_after_ms"] <= up["light_after_high_ms"]
    assert 3 <= up["light_after_ms"] <= 9, up
    assert up["busy_delay_low_ms"] <= up["busy_delay_ms"] <= up["busy_delay_high_ms"]
    # The way through the core takes 8 ms, the fastest grant some 10 ms more.
    assert 10 <= up["busy_delay_ms"] < up["base_delay_p10_ms"] - 3
    link = (cell.folder / "real.toml").read_text()
    assert f'light_after = "{up["light_after_ms"]:.1f} ms"' in link
    assert link.count("busy_delay") == 1
