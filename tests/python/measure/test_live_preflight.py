"""Obstacles between two ends are detected, and nothing else is reported."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cwndlab as cw
from cwndlab.api.running import run_study
from cwndlab.backends.live import RealNetwork
from cwndlab.cli import run as run_cli
from cwndlab.measure import preflight
from cwndlab.measure.machine import interface, netlink
from cwndlab.measure.machine.path_view import PathFinding, compare_views, read_syn
from cwndlab.measure.preflight import Preflight, ProxyError, Sender, findings, look
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.channel import ControlChannel
from cwndlab.measure.wire.client import Session
from cwndlab.measure.wire.control import SessionControl
from cwndlab.measure.wire.flow import AlgorithmMissingError
from cwndlab.run.progress import each_run
from live_server import HOST, TOKEN, server_here
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MS = 10**6


@contextlib.contextmanager
def proxy_to(port: int, *, delay_s: float = 0.0, own_host: str = "127.0.0.2") -> Iterator[int]:
    """Run a proxy like an operator's: end TCP connections, and open others to the server."""
    listener = socket.create_server((HOST, 0))
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(65_536):
                time.sleep(delay_s)
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((HOST, port), source_address=(own_host, 0))
                connections.extend((near, far))
                for pair in ((near, far), (far, near)):
                    threads.append(threading.Thread(target=pass_on, args=pair))
                    threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(PATIENCE_S)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in threads:
            thread.join(PATIENCE_S)


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "_QUIET_S", 0.05)
        patch.setattr(preflight, "_DOUBT_S", 2.0)
        yield


@pytest.fixture(scope="module")
def found() -> Preflight:
    with server_here() as address, Session(address) as session:
        return look(session, [Sender("reno", "forward"), Sender("reno", "reverse")])


def test_two_ends_of_one_connection_agree(found: Preflight) -> None:
    assert not found.is_through_proxy
    syn = found.facts["server"]["path"]["syn"]
    client = found.facts["client"]["path"]
    assert syn["mss_bytes"] == client["advertised_mss_bytes"]
    assert client["sequence"] in {syn["sequence"], None}
    assert found.facts["round_trip_ms"] < 500
    # Both ends have the same clock, so the measured offset must be within its uncertainty.
    assert abs(found.facts["clock_offset_ms"]) <= found.facts["clock_uncertainty_ms"] + 0.001
    text = "\n".join(found.lines())
    assert "downlink: the server sends data (congestion control: reno)" in text
    assert "uplink: the client sends data (congestion control: reno)" in text
    assert "no proxy detected" in text
    (interface,) = (row for row in found.rows() if row["end"] == "interface")
    assert (interface["client"], interface["server"]) == ("lo", "lo")


def test_a_proxy_is_seen_by_the_clocks_of_both_connections() -> None:
    with server_here() as address, proxy_to(address.port) as port:
        with Session(Address(HOST, port, TOKEN)) as session:
            found = look(session)
        with Session(Address(HOST, port, TOKEN)) as session:
            assert session.is_through_proxy, "every run looks by itself, too"
    assert found.is_through_proxy
    text = "\n".join(found.lines())
    assert "a proxy on the path terminates TCP connections" in text
    assert "come from different clocks" in text
    assert "comparisons of algorithms are meaningless" in text
    assert "no answer over UDP" in text  # the proxy forwards only TCP


def proxy_seen(delay_s: float) -> PathFinding:
    """Return the findings on a path through a proxy that delays data by `delay_s` each way."""
    with (
        server_here() as address,
        proxy_to(address.port, delay_s=delay_s, own_host=HOST) as port,
        Session(Address(HOST, port, TOKEN)) as session,
    ):
        found = look(session)
    (proxy,) = (finding for finding in found.findings if finding.kind == "proxy")
    return proxy


def test_a_proxy_that_keeps_the_clock_is_seen_by_its_quick_acknowledgements() -> None:
    proxy = proxy_seen(delay_s=0.03)
    assert "TCP at the client measures an RTT of 0 ms, but the applications measure" in proxy.what


class SlowToAnswer:
    """A session on a path without delay, whose server is busy at first."""

    def __init__(self, slow_answers: int) -> None:
        self.answers = 0
        self.answered_after_ms = 0.0
        self._slow_answers = slow_answers

    def ask(self, _: object) -> dict[str, object]:
        self.answers += 1
        self.answered_after_ms = 20.0 if self.answers <= self._slow_answers else 0.1
        return {"path": {"rtt_ms": 1.0}}

    def view(self) -> dict[str, object]:
        return {"rtt_ms": 1.0}


def test_answers_that_were_late_for_a_while_are_no_proxys() -> None:
    busy: Any = SlowToAnswer(15)
    assert preflight._round_trip_ms(busy) < 10  # noqa: SLF001  else it would take seconds
    assert busy.answers >= 16
    proxy: Any = SlowToAnswer(10**6)
    assert preflight._round_trip_ms(proxy) >= 20  # noqa: SLF001  as above
    assert proxy.answers > 10, "tried for as long as it takes to be sure"


BUSY_S = 0.04


def be_busy(end: str, patch: pytest.MonkeyPatch) -> None:
    """Delay every request at one end before a program reads it, as on a loaded machine."""
    what, name = (SessionControl, "describe") if end == "server" else (ControlChannel, "read_line")
    usual = getattr(what, name)

    def late(*arguments: object) -> object:
        time.sleep(BUSY_S)
        return usual(*arguments)

    patch.setattr(what, name, late)


@pytest.mark.parametrize("end", ["server", "client"])
def test_an_end_that_is_always_busy_is_no_proxy(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    be_busy(end, monkeypatch)
    with server_here() as address, Session(address) as session:
        began_s = time.perf_counter()
        found = look(session)
        assert time.perf_counter() - began_s > 10 * BUSY_S
    assert not found.is_through_proxy
    assert found.facts["round_trip_ms"] < 1e3 * BUSY_S / 2


@pytest.mark.parametrize("end", ["server", "client"])
def test_a_proxy_is_seen_by_its_quick_acknowledgements_also_between_busy_ends(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_busy(end, monkeypatch)
    proxy = proxy_seen(delay_s=0.015)
    assert "measures an RTT of 0 ms, but the applications measure" in proxy.what


STUDY = """
[study]
id = "mine"
duration = "200 ms"
algorithm = "reno"

[live]
pause = "1 ms"
"""


def test_a_campaign_through_a_proxy_is_refused_or_attributes_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY, encoding="utf-8")
    study = cw.Study.load(tmp_path / "mine.toml", is_live=True)
    told: list[str] = []
    with server_here() as address, proxy_to(address.port) as port:
        campaign = RealNetwork(Address(HOST, port, TOKEN), None)
        with pytest.raises(ProxyError, match="--through-proxy"):
            run_study(study, tmp_path / "r", backend=campaign, report=each_run(told.append))
        assert any("comparisons of algorithms are meaningless" in line for line in told)
        campaign = dataclasses.replace(campaign, is_proxy_accepted=True)
        results = run_study(study, tmp_path / "r", backend=campaign, report=each_run(told.append))
    assert results.flows().select("algorithm", "sent_by").rows() == [("reno", "a proxy")]
    assert results.history[-1]["is_attributable"] is False
    first = json.loads(next((tmp_path / "r" / "preflight").iterdir()).read_text(encoding="utf-8"))
    assert first["findings"][0]["kind"] == "proxy"


def test_the_command_prints_both_ends_and_counts_datagrams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "cwndlab.token"
    token.write_text(TOKEN, encoding="ascii")
    token.chmod(0o600)
    monkeypatch.setattr(preflight, "_DATAGRAMS_NS", 200 * MS)
    with server_here() as address:
        asked = ["preflight", "--server", f"{HOST}:{address.port}", "--token", str(token)]
        assert run_cli([*asked, "--udp", "1 Mbit/s"]) == 0
        table = capsys.readouterr().out
        assert run_cli([*asked, "--format", "json"]) == 0
    assert all(word in table for word in ("client", "server", "lo", "round trip", "jitter"))
    (record,) = json.loads(capsys.readouterr().out)
    assert record["server"]["path"]["syn"]["has_sack"] is True


def views() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both ends' views of a connection: 20 ms to connect, observed 100 ms later."""
    client = {
        "at_ns": 120 * MS,
        "opened_ns": 20 * MS,
        "opened_ms": 20.0,
        "clock_ms": 5_120,
        "has_timestamps": True,
        "sending_scale": 7,
        "receiving_scale": 10,
        "advertised_mss_bytes": 1388,
        "rtt_ms": 20.0,
        "sequence": 77,
        "path_mtu_bytes": 1428,
        "interface": None,
    }
    syn = {
        "sequence": 77,
        "mss_bytes": 1388,
        "window_scale": 10,
        "timestamp_ms": 5_000,
        "has_sack": True,
        "hops_left": 50,
    }
    server = client | {"sending_scale": 10, "receiving_scale": 7, "rtt_ms": 21.0, "syn": syn}
    return client, server


@pytest.mark.parametrize(
    ("end", "key", "value", "evidence"),
    [
        ("client", "clock_ms", 2**31, "come from different clocks"),
        ("server", "has_timestamps", False, "only one of the two ends uses TCP timestamps"),
        ("server", "sending_scale", 2, "the two ends see different window scales"),
        ("client", "rtt_ms", 3.0, "TCP at the client measures an RTT of 3 ms"),
        ("server", "rtt_ms", 4.0, "TCP at the server measures an RTT of 4 ms"),
    ],
)
def test_each_sign_of_a_proxy_is_enough(end: str, key: str, value: object, evidence: str) -> None:
    client, server = views()
    assert compare_views(client, server, 21.5) == []
    {"client": client, "server": server}[end][key] = value
    (proxy,) = compare_views(client, server, 21.5)
    assert proxy.kind == "proxy"
    assert evidence in proxy.what


def test_a_clock_that_runs_over_is_still_the_same() -> None:
    client, server = views()
    server["syn"]["timestamp_ms"] = 2**32 - 100
    client["clock_ms"] = 20
    assert compare_views(client, server, 21.5) == []


def test_firewalls_and_tunnels_are_told_from_proxies() -> None:
    client, server = views()
    server["syn"] |= {"sequence": 78, "mss_bytes": 1_200}
    kinds = {finding.kind: finding.what for finding in compare_views(client, server, 21.5)}
    assert kinds == {
        "note": "the path reduces the MSS from 1388 to 1200 bytes, as tunnels often do"
    }
    whole = [str(finding) for finding in compare_views(client, server, 21.5)]
    assert "a firewall on the path rewrites sequence numbers; this is harmless" in whole
    server["syn"]["has_sack"] = False
    assert "a middlebox disables selective acknowledgements" in str(
        compare_views(client, server)[-1]
    )


def test_a_syn_is_read_as_it_stands() -> None:
    options = bytes.fromhex("020405b4 0402 080a 00001388 00000000 01 030307")
    segment = struct.pack("!HHIIBBHHH", 5000, 5209, 77, 0, 10 << 4, 2, 64_240, 0, 0) + options
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 60, 0, 0, 53, 6, 0, bytes(4), bytes(4))
    wanted = {
        "hops_left": 53,
        "sequence": 77,
        "mss_bytes": 1460,
        "window_scale": 7,
        "timestamp_ms": 5_000,
        "has_sack": True,
    }
    assert read_syn(ip + segment) == wanted
    ipv6 = struct.pack("!IHBB16s16s", 6 << 28, 40, 6, 53, bytes(16), bytes(16))
    assert read_syn(ipv6 + segment) == wanted


@given(st.binary(max_size=120))
def test_any_bytes_are_a_syn_or_none(raw: bytes) -> None:
    found = read_syn(raw)
    assert found is None or 0 <= found["sequence"] < 2**32


@given(st.binary(max_size=60))
def test_any_bytes_are_attributes_or_none(raw: bytes) -> None:
    assert all(len(value) < 60 for value in netlink.attributes(raw).values())


def test_what_stands_out_says_what_to_do(found: Preflight) -> None:
    facts: dict[str, Any] = copy.deepcopy(dict(found.facts))
    facts["clock_offset_ms"] = 7_200_000.0
    facts["round_trip_ms"] = 40.0
    facts["client"]["receive_buffer_bytes"] = "4096 131072 212992"
    facts["client"]["path"]["interface"] = {
        "name": "wwan0",
        "queue_length_pkts": 3,
        "qdisc": "pfifo_fast",
        "qdisc_limit_pkts": None,
    }
    facts["foreign_mbit_s"] = {"client": {"rx": 3.2, "tx": 0.01}, "server": None}
    senders = [Sender(None, "forward", is_named=False), Sender("reno", "reverse")]
    text = "\n".join(str(finding) for finding in findings(facts, senders))
    assert "clocks differ by 7,200 s" in text
    assert "timedatectl" in text
    # Half of 212,992 bytes is usable as window: 21 Mbit/s at 40 ms.
    assert "receive window of the client limits a connection to 21 Mbit/s" in text
    assert "queue of wwan0 on the client has room for only 3 packets" in text
    assert "txqueuelen" in text
    assert "other traffic passes through wwan0 of the client (3.20 in, 0.01 out Mbit/s)" in text
    assert "sets the algorithm on the client, but the server sends the data" in text
    assert 'algorithm_on = "sender"' in text


def test_an_algorithm_that_an_end_lacks_is_told_before_the_first_run() -> None:
    with server_here() as address:
        for direction, end in (("forward", "server"), ("reverse", "client")):
            missing = f"kernel of the {end} does not contain nosuch"
            with Session(address) as session, pytest.raises(AlgorithmMissingError, match=missing):
                look(session, [Sender("nosuch", direction)])
        with Session(address) as session, pytest.raises(AlgorithmMissingError) as all_of_them:
            look(session, [Sender(name, "reverse") for name in ("nosuch", "reno", "neither")])
    told = str(all_of_them.value).splitlines()
    assert [line.split(";")[0] for line in told] == [
        f"the kernel of the client does not contain {name}" for name in ("neither", "nosuch")
    ]
    assert all("cwndlab algorithm load --pin" in line for line in told)


def test_the_interface_tells_its_queue_and_counts() -> None:
    before = interface.describe_interface("lo")
    assert (before["name"], before["is_up"]) == ("lo", True)
    assert before["mtu_bytes"] > 1_000
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(1_000), (HOST, 9))
    assert interface.describe_interface("lo")["tx_bytes"] >= before["tx_bytes"] + 1_000
    assert not interface.is_up("nosuch0")
    assert netlink.interface_to(HOST) == socket.if_nametoindex("lo")
