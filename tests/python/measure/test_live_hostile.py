"""A peer with the token may be hostile: the server only measures, and stays small."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.client import Session, TransferFailedError
from cwndlab.measure.wire.sessions import Limits
from live_server import (
    HOST,
    TOKEN,
    connected,
    opening,
    server_apart,
    server_here,
    signer_of,
)
from patience import is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.measure.wire.protocol import Signer

MS = 10**6
PATHS = ["/etc/passwd", "../../etc/shadow", "cwndlab.token", "$(id)", "|id", "\0", "id; id"]
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")


class Deeds:
    """Records what the threads of a server do to the system; audit hooks cannot be removed.

    Start the server afterwards: threads that exist before belong to other tests.
    """

    def __init__(self) -> None:
        self.is_watching = False
        self._others = set(threading.enumerate())
        self.opened: list[str] = []
        self.forbidden: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_watching or threading.current_thread() in self._others:
            return
        if event == "open":
            self.opened.append(str(arguments[0]))
        elif event in FORBIDDEN:
            self.forbidden.append(event)


@pytest.fixture(scope="module")
def deeds() -> Deeds:
    return Deeds()


@pytest.fixture(scope="module")
def address(deeds: Deeds) -> Iterator[Address]:
    del deeds  # created first
    limits = Limits(
        opening_s=60, sessions=1_000, flows=3, flow_s=1, datagram_mbit_s=5, asking_s=0.1
    )
    with server_here(limits) as found:
        with Session(found) as session:  # the first session loads modules
            session.ask(protocol.Describe())
        yield found


def session_with(address: Address) -> tuple[socket.socket, Signer]:
    """Open a control connection without a client."""
    connection, nonce = connected(address)
    first_line = opening(nonce)
    own = secrets.token_bytes(16)
    connection.sendall(first_line.sign(protocol.Hello(nonce=own.hex())))
    signer = signer_of(nonce, own)
    signer.check(read_line(connection))
    return connection, signer


def read_line(connection: socket.socket) -> bytes:
    content = b""
    while not content.endswith(b"\n"):
        part = connection.recv(1 << 16)
        assert part, "the server closed the connection"
        content += part
    return content


words = st.sampled_from([*PATHS, "reno", "cubic", "forward", "reverse", ""])
values: st.SearchStrategy[Any] = st.one_of(
    words,
    st.integers(-5, 5),
    st.integers(1, 30 * MS),
    st.sampled_from([10**30, -(10**30), 2**63, 1.5, None, True, [], {}, "x" * 5_000]),
)
applications = st.fixed_dictionaries(
    {"kind": st.sampled_from(["bulk", "sized", "on_off", "paced", "file", "/etc/passwd"])},
    optional={
        "bytes": values,
        "path": words,
        "bits_per_sec": st.integers(1, 10**9),
        "write_bytes": values,
        "on_ns": values,
        "off_ns": values,
    },
)
requests = st.fixed_dictionaries(
    {
        "do": st.sampled_from(
            ["prepare", "start", "finish", "describe", "hello", "attach", "run", "open"]
        )
    },
    optional={
        "flow": st.integers(-1, 5),
        "direction": st.sampled_from(["forward", "reverse", "/etc/passwd"]),
        "algorithm": words,
        "application": applications,
        "duration_ns": values,
        "command": words,
        "file": words,
    },
)
durations = st.sampled_from([0, 1, 20 * MS, 900 * MS, 10**12, 10**30])
# Requests like those of clients, with values that clients do not send.
likely = st.one_of(
    st.fixed_dictionaries(
        {
            "do": st.just("prepare"),
            "flow": st.integers(0, 4),
            "direction": st.sampled_from(["forward", "reverse"]),
            "algorithm": st.none() | words,
            "application": st.just({"kind": "bulk"}) | applications,
            "duration_ns": durations,
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("datagrams"),
            "direction": st.just("forward"),
            "bits_per_sec": st.integers(1, 10**12),
            "payload_bytes": st.integers(0, 10**6),
            "duration_ns": durations,
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("saturate"),
            "direction": st.just("forward"),
            "most_bits_per_sec": st.integers(1, 10**12),
            "payload_bytes": st.integers(60, 1_600),
            "packet_bytes": st.integers(60, 1_600),
            "duration_ns": durations,
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("trains"),
            "direction": st.just("forward"),
            "series": st.sampled_from([0, 65_535, 65_536, -1]),
            "packets": st.integers(0, 70),
            "payload_bytes": st.integers(60, 1_600),
            "packet_bytes": st.integers(60, 1_600),
            "gaps_ns": st.lists(st.sampled_from([0, MS, 20 * MS, 10**12]), max_size=450),
        }
    ),
    st.sampled_from([{"do": "start"}, {"do": "finish"}, {"do": "describe"}, {"do": "turn"}]),
)


@settings(max_examples=40)
@given(asked=st.lists(requests | likely, max_size=6))
def test_whatever_a_client_asks_no_file_is_opened_and_no_program_run(
    asked: list[dict[str, Any]], address: Address, deeds: Deeds
) -> None:
    deeds.is_watching = True
    try:
        connection, signer = session_with(address)
        with connection:
            for request in [{"do": "turn"}, *asked]:
                connection.sendall(signer.sign(request))
                answer = json.loads(signer.check(read_line(connection)))
                assert isinstance(answer, dict)
        with Session(address) as other:
            assert other.ask(protocol.Describe())["kernel"], "others are still served"
    finally:
        deeds.is_watching = False
    assert deeds.forbidden == []
    assert all(path.startswith("/proc/sys/net/") for path in deeds.opened), deeds.opened


@settings(max_examples=30)
@given(lines=st.lists(st.binary(max_size=300), max_size=4))
def test_what_is_not_signed_ends_the_connection_and_nothing_else(
    lines: list[bytes], address: Address
) -> None:
    connection, _ = session_with(address)
    with connection, contextlib.suppress(OSError):
        for line in lines:
            connection.sendall(line.replace(b"\n", b"") + b"\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    with Session(address) as other:
        assert other.ask(protocol.Describe())["kernel"]


def test_a_client_that_does_not_read_blocks_itself_alone(address: Address) -> None:
    connection, signer = session_with(address)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(0.3)
    with connection:
        asked = 0
        with contextlib.suppress(TimeoutError):
            for _ in range(100_000):
                connection.sendall(signer.sign(protocol.Describe()))
                asked += 1
        assert asked < 100_000, "the server stopped reading, too"
        with Session(address) as other:
            assert other.ask(protocol.Describe())["kernel"]


def test_datagrams_end_with_who_asked_for_them() -> None:
    request = protocol.DatagramTest(
        direction="forward", bits_per_sec=800_000, payload_bytes=100, duration_ns=600 * 10**9
    )
    with server_here(Limits(flow_s=600)) as address, Session(address) as session:
        closing = threading.Timer(0.7, session.close)
        closing.start()
        with pytest.raises(TransferFailedError):
            session.datagrams(request)
        closing.join()
    # A sender that continued would take ten minutes.
    assert is_soon(lambda: not [each for each in threading.enumerate() if each.name == "cwndlab"])


def resident_kb(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0])


def test_memory_is_bounded_whatever_is_sent(tmp_path: Path) -> None:
    process, port = server_apart(tmp_path)
    address = Address(HOST, port, TOKEN)
    try:
        with Session(address) as session:
            session.ask(protocol.Describe())
        before_kb = resident_kb(process.pid)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
            for size in (1, 52, 1_400, 60_000):
                for _ in range(1_000):
                    with contextlib.suppress(OSError):
                        flood.sendto(secrets.token_bytes(52) + bytes(size), (HOST, port))
        for _ in range(60):
            connection, signer = session_with(address)
            with connection:
                for number in range(40):
                    prepare = protocol.Prepare(
                        flow=number, direction="forward", algorithm=None, duration_ns=MS
                    )
                    connection.sendall(signer.sign(prepare))
                    signer.check(read_line(connection))
                with contextlib.suppress(OSError):  # the server may close the connection first
                    connection.sendall(b"x" * 100_000)  # a line without an end
        assert resident_kb(process.pid) - before_kb < 30_000
        with Session(address) as session:
            assert session.ask(protocol.Describe())["kernel"]
    finally:
        process.kill()
        process.communicate()
