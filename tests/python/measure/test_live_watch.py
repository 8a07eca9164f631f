"""The plotter shows rates, the owners of flows, and the places of losses."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.cli import run as run_cli
from cwndlab.cli.screens.braille import Canvas
from cwndlab.cli.screens.watch import plain_line, screen
from cwndlab.measure.machine import sock_diag
from cwndlab.measure.machine.sock_diag import Connection, connections
from cwndlab.measure.watch import SPAN_S, Watch
from live_server import HOST

MBIT_BYTES = 125_000


class Machine:
    """A machine with an interface and connections, whose counters the tests set."""

    def __init__(self) -> None:
        self.link: dict[str, Any] = {
            "name": "wwan0",
            "rx_bytes": 0,
            "tx_bytes": 0,
            "rx_dropped_pkts": 0,
        }
        self.infos: dict[bytes, dict[str, int]] = {}

    def links(self) -> list[dict[str, Any]]:
        quiet = {"name": "eth0", "rx_bytes": 7, "tx_bytes": 7}
        return [quiet, dict(self.link), {"name": "lo", "rx_bytes": 10**9, "tx_bytes": 10**9}]

    def connections(self) -> list[Connection]:
        return [
            Connection(cookie, ("192.0.2.2", 40_000 + n), ("192.0.2.1", 5_000 + n), "cubic",
                       dict(info))
            for n, (cookie, info) in enumerate(self.infos.items())
        ]  # fmt: skip

    def add(self, name: bytes) -> dict[str, int]:
        self.infos[name] = {
            "bytes_acked": 0,
            "bytes_received": 0,
            "rtt_us": 45_000,
            "rcv_rtt_us": 60_000,
            "snd_cwnd": 10,
            "unacked": 5,
            "total_retrans": 0,
            "total_rto": 0,
        }
        return self.infos[name]


@pytest.fixture
def machine() -> Machine:
    return Machine()


def watch_of(machine: Machine) -> Watch:
    watch = Watch(see_links=machine.links, see_connections=machine.connections)
    watch.look(0.0)
    return watch


def test_rates_are_those_since_the_look_before(machine: Machine) -> None:
    info = machine.add(b"upload")
    watch = watch_of(machine)
    info["bytes_acked"] += 4 * MBIT_BYTES
    info["snd_cwnd"], info["total_retrans"] = 33, 2
    machine.link["tx_bytes"] += 5 * MBIT_BYTES
    watch.look(2.0)
    (track,) = watch.running(6)
    (moment,) = track.moments
    assert (moment.up_mbit_s, moment.down_mbit_s) == (2.0, 0.0)
    assert (moment.rtt_ms, moment.cwnd_pkts, moment.lost_pkts) == (45.0, 33, 2)
    assert track.is_upward
    interface = watch.interface()
    assert interface is not None
    assert (interface.name, interface.moments[-1].up_mbit_s) == ("wwan0", 2.5)


def test_a_receiver_has_a_round_trip_but_no_window(machine: Machine) -> None:
    info = machine.add(b"download")
    info["unacked"] = 0
    watch = watch_of(machine)
    info["bytes_received"] += MBIT_BYTES
    watch.look(1.0)
    (track,) = watch.running(6)
    assert (track.moments[0].rtt_ms, track.moments[0].cwnd_pkts) == (60.0, None)
    assert not track.is_upward


def test_what_is_idle_or_long_over_is_not_shown(machine: Machine) -> None:
    info = machine.add(b"a")
    machine.add(b"chatter")["bytes_acked"] = 0
    watch = watch_of(machine)
    info["bytes_acked"] += MBIT_BYTES
    watch.look(1.0)
    assert len(watch.running(6)) == 1
    machine.infos.clear()
    watch.look(SPAN_S / 2)
    assert len(watch.running(6)) == 1, "it is still within the picture"
    watch.look(SPAN_S + 2)
    assert watch.running(6) == []


def busy(machine: Machine, flows: int) -> Watch:
    """Return a watch of flows that have run for a minute; the first had losses and a timeout."""
    infos = [machine.add(b"%d" % n) for n in range(flows)]
    watch = watch_of(machine)
    for step in range(1, 241):
        for n, info in enumerate(infos):
            info["bytes_acked"] += (n + 1) * MBIT_BYTES // 4
            info["snd_cwnd"] = 10 + step % 40
        machine.link["tx_bytes"] += MBIT_BYTES
        if infos and step in {60, 180}:
            infos[0]["total_retrans"] += 3
        if infos and step == 120:
            infos[0]["total_rto"] += 1
        watch.look(step / 4)
    return watch


@pytest.mark.parametrize("flows", [0, 1, 8])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (40, 12)])
def test_the_screen_fits_every_terminal(
    machine: Machine, width: int, height: int, flows: int
) -> None:
    lines = screen(busy(machine, flows), width, height).plain.split("\n")
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    if height >= 24:
        text = "\n".join(lines)
        assert "throughput, Mbit/s" in text
        assert "Ctrl-C to stop" in text
        assert ("no transfers yet" in text) == (flows == 0)


def test_losses_are_marked_where_they_were(machine: Machine) -> None:
    lines = screen(busy(machine, 1), 80, 24).plain.split("\n")
    (marks,) = (line for line in lines if line.strip().startswith("losses"))
    columns = [at for at, character in enumerate(marks) if character in "▲◆"]
    assert [marks[at] for at in columns] == ["▲", "◆", "▲"]
    # At 15, 30 and 45 of 60 s, in 71 columns to the right of the labels.
    assert columns == pytest.approx([8 + 17, 8 + 35, 8 + 53], abs=1)
    (row,) = (line for line in lines if "192.0.2.1:5000" in line)
    assert row.split()[-2:] == ["6", "1"]


def test_a_flow_has_its_colour_in_charts_marks_and_table(machine: Machine) -> None:
    drawn = screen(busy(machine, 1), 80, 24)
    cyan = "".join(drawn.plain[s.start : s.end] for s in drawn.spans if s.style == "cyan")
    assert {"▲", "◆", "●"} <= set(cyan)
    assert any(0x2800 < ord(character) < 0x2900 for character in cyan)
    for span in drawn.spans:
        if span.style == "dim":
            assert "▲" not in drawn.plain[span.start : span.end].removeprefix("▲ retransmitted")


def test_a_pipe_gets_a_line(machine: Machine) -> None:
    line = plain_line(busy(machine, 1))
    assert line.startswith("wwan0: 0.00 Mbit/s in, 4.00 out · 192.0.2.1:5000 cubic 1.00 Mbit/s, ")
    assert line.endswith("cwnd 10, retransmitted 6")


def test_dots_are_where_they_were_drawn() -> None:
    canvas = Canvas(2, 1)
    canvas.draw(0, 0, 3)
    canvas.draw(3, 0, 0, owner=4)
    assert (canvas.text(0), canvas.owners(0)) == ("⡇⢀", [0, 4])


def test_connections_of_this_machine_are_seen_without_root() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((HOST, port)) as client:
            server, _ = listener.accept()
            with server:
                server.sendall(bytes(10_000))
                ends = [c for c in connections() if port in {c.own[1], c.peer[1]}]
                name = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert {end.own[1] for end in ends} == {port, client_port(ends, port)}
    (sender,) = (end for end in ends if end.own == (HOST, port))
    assert sender.info["bytes_sent"] == 10_000
    assert sender.algorithm == name.rstrip(b"\0").decode()
    assert len({end.cookie for end in ends}) == 2


def client_port(ends: list[Connection], port: int) -> int:
    return next(end.own[1] for end in ends if end.own[1] != port)


@given(st.binary(max_size=300))
def test_any_answer_is_a_connection_or_none(answer: bytes) -> None:
    found = sock_diag.read(answer)
    assert found is None or found.info is not None


def test_the_command_ends_when_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["watch", "--interface", "lo", "--duration", "600 ms"]) == 0
    assert "lo: " in capsys.readouterr().out
    assert run_cli(["watch", "--interface", "nosuch0"]) == 2
    assert "the interface nosuch0 does not exist" in capsys.readouterr().err
