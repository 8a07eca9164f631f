"""The server refuses invalid clients, continues to serve the others, and stays small."""

from __future__ import annotations

import contextlib
import json
import resource
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address, ServerUnreachableError
from cwndlab.measure.wire.client import Session, TransferFailedError
from cwndlab.measure.wire.flow import AlgorithmMissingError
from cwndlab.measure.wire.protocol import ProtocolError, Signer
from cwndlab.measure.wire.sessions import Limits
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from live_server import (
    CERTIFICATE,
    HOST,
    TOKEN,
    connected,
    opening,
    server_apart,
    server_here,
    signer_of,
)
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND_NS = 10**9


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with server_here(Limits(opening_s=60, sessions=1_000, flows=2, flow_s=60)) as found:
        yield found


def rest_of(connection: socket.socket) -> bytes:
    """Return all further bytes until the server closes the connection."""
    content = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(4096):
            content += part
    connection.close()
    return content


def works(address: Address) -> bool:
    with Session(address) as session:
        return bool(session.ask(protocol.Describe())["kernel"])


def flow(direction: str = "forward", algorithm: str = "reno", **more: Any) -> si.ScenarioFlow:  # noqa: ANN401  fields of a flow
    end = si.End(stack="linux-6.1", algorithm=algorithm)
    return si.ScenarioFlow.model_validate(
        {"id": 0, "direction": direction, "sender": end, "receiver": end} | more
    )


def test_who_does_not_know_the_token_is_told_nothing(address: Address) -> None:
    for wrong in ("", "wrong", TOKEN[:-1]):
        connection, nonce = connected(address)
        signer = opening(nonce, wrong)
        connection.sendall(signer.sign(protocol.Hello(nonce="0" * 32)))
        assert rest_of(connection) == b""
    with (
        pytest.raises(ProtocolError, match="--token"),
        Session(Address(address.host, address.port, "wrong")),
    ):
        pass
    assert works(address)


def test_what_was_said_once_is_worth_nothing_a_second_time(address: Address) -> None:
    first, nonce = connected(address)
    first_line = opening(nonce)
    hello = first_line.sign(protocol.Hello(nonce="0" * 32))
    first.sendall(hello)
    assert first.recv(1 << 16)
    second, _ = connected(address)
    second.sendall(hello)
    assert rest_of(second) == b""
    # Replaying a line fails even within its own session, because each line has a number.
    session = signer_of(nonce, bytes(16))
    describe = session.sign(protocol.Describe())
    first.sendall(describe)
    assert b"algorithms" in first.recv(1 << 16)
    first.sendall(describe)
    assert rest_of(first) == b""


@pytest.mark.parametrize(
    "content",
    [
        b"\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"0" * 64 + b' {"do":"hello","version":3}\n',
        b"\xff" * 200 + b"\n",
        b"x" * 20_000,
    ],
)
def test_what_is_no_request_is_not_answered(content: bytes, address: Address) -> None:
    connection, _ = connected(address)
    connection.sendall(content)
    assert rest_of(connection) == b""
    assert works(address)


@pytest.mark.parametrize(
    "request_of",
    [
        {"do": "run", "command": "id"},
        {"do": "prepare", "flow": 0, "direction": "forward", "algorithm": "../../etc/passwd"},
        {"do": "start", "file": "/etc/passwd"},
        {"do": "prepare", "flow": -1, "direction": "up", "algorithm": None, "duration_ns": 1},
        {"do": "datagrams", "direction": "reverse", "bits_per_sec": 0},
        [[[[[[]]]]]],
        "hello",
        None,
    ],
)
def test_a_client_that_asks_for_more_is_refused_and_may_go_on(
    request_of: object, address: Address
) -> None:
    connection, nonce = connected(address)
    first_line = opening(nonce)
    connection.sendall(first_line.sign(protocol.Hello(nonce="0" * 32)))
    signer = signer_of(nonce, bytes(16))
    signer.check(connection.recv(1 << 16))
    for message in (request_of, {"do": "describe"}):
        connection.sendall(signer.sign(cast("dict[str, Any]", message)))  # never sent by clients
        answer = json.loads(signer.check(connection.recv(1 << 16)))
        assert ("error" in answer) == (message is request_of)
    connection.close()


def test_limits_are_told(address: Address) -> None:
    with Session(address) as session:
        prepare = protocol.Prepare(
            flow=0, direction="forward", algorithm=None, duration_ns=SECOND_NS
        )
        with pytest.raises(TransferFailedError, match="at most 60 s"):
            session.ask(prepare.model_copy(update={"duration_ns": 61 * SECOND_NS}))
        for number in range(2):
            session.ask(prepare.model_copy(update={"flow": number}))
        with pytest.raises(TransferFailedError, match="at most 2 flows"):
            session.ask(prepare.model_copy(update={"flow": 2}))
        with pytest.raises(TransferFailedError, match="request a turn first"):
            session.ask(protocol.Start())
        assert list(session.turn()) == []
        with pytest.raises(TransferFailedError, match="no data connection"):
            session.ask(protocol.Start())


def test_a_busy_server_says_so_and_serves_those_it_has() -> None:
    with server_here(Limits(sessions=3)) as small:

        def has_room() -> bool:
            with contextlib.suppress(TransferFailedError):
                return works(small)
            return False

        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(Session(small)) for _ in range(3)]
            with pytest.raises(TransferFailedError, match="busy"), Session(small):
                pass
            assert sessions[0].ask(protocol.Describe())["kernel"]
        assert is_soon(has_room)


def test_a_slow_client_is_left_alone_and_the_others_served() -> None:
    with server_here(Limits(opening_s=2)) as address:
        began_s = time.monotonic()
        slow, _ = connected(address)
        for _ in range(3):
            slow.send(b"0")
            assert works(address)
        assert rest_of(slow) == b""
        assert time.monotonic() - began_s > 1.9


def test_a_thousand_half_open_connections_change_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    process, port = server_apart(tmp_path)
    address = Address(HOST, port, TOKEN)
    try:
        assert works(address)
        before_kb = _resident_kb(process.pid)
        with contextlib.ExitStack() as stack:
            for _ in range(1_000):
                half_open = socket.create_connection((HOST, port), timeout=PATIENCE_S)
                stack.callback(half_open.close)
                half_open.send(b"0" * 100)
            assert works(address)
            assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 400
        assert _resident_kb(process.pid) - before_kb < 20_000
    finally:
        process.kill()
        process.communicate()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _resident_kb(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0])


def test_probes_are_answered_only_with_the_key_and_never_by_more(address: Address) -> None:
    with Session(address) as session:
        results = session.probe(20, 0.05)
        assert len(results) >= 3
        for result in results:
            assert result.rtt_ns > 0
            # Both ends have the same clock, so the offset is at most half of the round-trip time.
            assert abs(result.offset_ns) <= result.rtt_ns / 2 + 1
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.settimeout(0.3)
            name = bytes.fromhex(session.id)  # known to an eavesdropper
            probe = protocol.ProbeDatagram(name, 0, 1, key=b"wrong")
            stranger.sendto(probe.encode(protocol.CLIENT), (address.host, address.port))
            with pytest.raises(TimeoutError):
                stranger.recv(2048)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_datagrams_are_counted_where_they_arrive(direction: Any, address: Address) -> None:  # noqa: ANN401  a literal
    request = protocol.DatagramTest(
        direction=direction, bits_per_sec=4_000_000, payload_bytes=500, duration_ns=SECOND_NS // 2
    )
    with Session(address) as session:
        found = session.datagrams(request)
    assert found["sent"] == 500
    assert found["received"] == pytest.approx(500, abs=25)
    assert found["jitter_ms"] < 50


PROBE = apps.Probe(
    bulk_for_ns=0, pause_ns=100_000_000, bits_per_sec=200_000, doubling_ns=100_000_000
)


@pytest.mark.parametrize(
    ("application", "moved"),
    [
        (apps.Sized(bytes=300_000), 300_000),
        (apps.WindowedFile(request_bytes=10_000, outstanding=3, total_bytes=100_000), 100_000),
        (apps.RequestResponse(request_bytes=100, response_bytes=5_000, count=4), 20_000),
        (apps.Paced(bits_per_sec=400_000, write_bytes=1_000), None),
        (apps.OnOff(on_ns=50_000_000, off_ns=50_000_000), None),
        (PROBE, None),
        (apps.Bulk(), None),
    ],
)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_every_application_moves_its_data_both_ways(
    application: apps.Application, moved: int | None, direction: str, address: Address
) -> None:
    # A paced application must reach its rate, although its last write may be late.
    is_limited = isinstance(application, apps.Paced | apps.Probe)
    duration_ns = SECOND_NS if is_limited else SECOND_NS // 2
    with Session(address) as session:
        found = session.transfer(
            [flow(direction, application=application)], duration_ns, [("reno", "cubic")]
        )
    near, far = found.near[0], found.far[0]
    assert (near["algorithm"], far["algorithm"]) == ("reno", "cubic")
    sender, receiver = (far, near) if direction == "forward" else (near, far)
    assert sender["moved_bytes"] >= receiver["moved_bytes"] > 0
    if moved is not None:
        assert receiver["moved_bytes"] == moved
    if isinstance(application, apps.Paced):
        assert receiver["moved_bytes"] == pytest.approx(50_000, rel=0.3)
    if application is PROBE:  # nine steps of 2.5, 5, 10, ... kB; the last may be late
        assert receiver["moved_bytes"] == pytest.approx(511 * 2_500, rel=0.6)
    for end in (near, far):
        assert len(end["at_ns"]) == len(end["info"]["snd_cwnd"]) > 0


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("method", ["http", "http in chunks", "sftp"])
def test_every_method_moves_a_file_by_its_own_protocol_both_ways(
    method: str, direction: str, address: Address
) -> None:
    size, is_upload = 700_000, direction == "reverse"
    files: dict[str, apps.Application] = {
        "http": apps.Http(bytes=size, is_upload=is_upload),
        "http in chunks": apps.Http(bytes=size, chunk_bytes=200_000, is_upload=is_upload),
        "sftp": apps.Sftp(bytes=size, request_bytes=32_768, outstanding=4, is_upload=is_upload),
    }
    if method == "sftp":
        pytest.importorskip("asyncssh")
    with Session(address) as session:
        found = session.transfer(
            [flow(direction, application=files[method])], 60 * SECOND_NS, [("reno", "cubic")]
        )
    near, far = found.near[0], found.far[0]
    assert (near["algorithm"], far["algorithm"]) == ("reno", "cubic")
    sender, receiver = (near, far) if is_upload else (far, near)
    assert sender["moved_bytes"] == receiver["moved_bytes"] == size
    assert receiver["ended_ns"] < near["began_ns"] + 50 * SECOND_NS, "it ended by itself"


def test_an_algorithm_that_an_end_lacks_is_told_with_its_remedy(address: Address) -> None:
    for end, algorithms in (("client", ("nosuch", None)), ("server", (None, "nosuch"))):
        remedy = f"kernel of the {end} does not contain nosuch.* sudo modprobe tcp_nosuch"
        with Session(address) as session, pytest.raises(AlgorithmMissingError, match=remedy):
            session.transfer([flow()], SECOND_NS, [algorithms])


def test_no_server_and_another_server_say_what_to_check() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with (
        pytest.raises(ServerUnreachableError, match="cwndlab serve"),
        Session(Address(HOST, port, TOKEN)),
    ):
        pass


@pytest.mark.parametrize(
    ("greeting", "is_secure", "error", "match"),
    [
        (b"", False, ServerUnreachableError, "not answer .connection (closed|reset)"),
        (b"", True, ServerUnreachableError, "does not answer .connection closed."),
        (b"SSH-2.0-x\r\n", False, ProtocolError, "not `cwndlab serve`"),
        (b"cwndlab 1 0\n", False, ProtocolError, "or runs a different version"),
        (b"SSH-2.0-x\r\n", True, ProtocolError, "not `cwndlab serve`"),
        (protocol.greeting(bytes(16)), True, ProtocolError, "wrong token"),
    ],
)
def test_who_answers_and_hangs_up_is_told_from_who_does_not(
    greeting: bytes, *, is_secure: bool, error: type[Exception], match: str
) -> None:
    with socket.create_server((HOST, 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            if is_secure:
                connection = CERTIFICATE.context.wrap_socket(connection, server_side=True)
            with connection:
                connection.sendall(greeting)
                if greeting:
                    connection.recv(4096)

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            pytest.raises(error, match=match),
            Session(Address(HOST, listener.getsockname()[1], TOKEN)),
        ):
            pass
        thread.join()


secret = secrets.token_bytes(32)


@given(st.binary(max_size=400))
def test_any_line_is_refused_without_the_key(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        Signer(secret, protocol.SERVER).check(line)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=100).map(str.encode),
        st.just(b"[" * 4000),
        st.dictionaries(
            st.sampled_from(["do", "flow", "direction", "algorithm", "duration_ns", "session"]),
            st.sampled_from(["prepare", "attach", "hello", "forward", 0, -1, 10**30, None, [], {}]),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_signed_content_is_a_request_or_refused(body: bytes) -> None:
    for read in (protocol.read_hello, protocol.read_attach, protocol.read_request):
        with contextlib.suppress(ProtocolError):
            read(body)


@given(st.binary(max_size=protocol.PROBE_BYTES + 20))
def test_any_datagram_is_a_probe_or_nothing(content: bytes) -> None:
    assert protocol.read_probe(content, secret, protocol.CLIENT) is None


def test_a_name_without_an_address_is_asked_for_its_spelling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    wrong = Address("sever.example", 5209, TOKEN)
    with pytest.raises(ServerUnreachableError, match=r"sever\.example: .*; check the name"):
        Session(wrong).__enter__()
