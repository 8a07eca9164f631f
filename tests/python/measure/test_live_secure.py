"""Control connections use TLS 1.3 with a known server; data connections are bound to them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.certificate import (
    CertificateError,
    client_context,
    make_certificate,
    read_certificate,
)
from cwndlab.measure.wire.client import Session
from cwndlab.measure.wire.known_servers import KnownServers, OtherServerError
from cwndlab.measure.wire.protocol import ProtocolError, Signer
from live_server import CERTIFICATE, HOST, TOKEN, server_here
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND_NS = 10**9
PREPARE = protocol.Prepare(flow=0, direction="forward", algorithm=None, duration_ns=SECOND_NS)


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with server_here() as found:
        yield found


def answer_to(address: Address, content: bytes) -> bytes:
    """Return the answer to a plain connection: a line, or the bytes before it is closed."""
    answered = b""
    with socket.create_connection((HOST, address.port), timeout=PATIENCE_S) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while not answered.endswith(b"\n") and (part := connection.recv(4096)):
                answered += part
    return answered


def test_the_control_connection_is_tls_13_and_nothing_older(address: Address) -> None:
    with Session(address) as session:
        assert isinstance(session._control, ssl.SSLSocket)  # noqa: SLF001  how it is spoken to
        assert session._control.version() == "TLSv1.3"  # noqa: SLF001  as above
    context = client_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        pytest.raises(ssl.SSLError),
        socket.create_connection((HOST, address.port), timeout=PATIENCE_S) as connection,
        context.wrap_socket(connection),
    ):
        pass


@pytest.mark.parametrize(
    "content", [b"\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\n", b"x" * 99]
)
def test_a_plain_connection_is_told_nothing(content: bytes, address: Address) -> None:
    found = answer_to(address, content)
    assert found == b"" or content[0] == 0x16  # TLS answers invalid data with an alert


def test_a_data_connection_needs_the_key_of_its_control_connection(address: Address) -> None:
    attach = protocol.Attach(session="0" * 16, flow=0)
    assert answer_to(address, Signer(b"any", protocol.CLIENT).sign(attach)) == b""
    with Session(address) as session:
        ticket = bytes.fromhex(session.ask(PREPARE)["ticket"])
        attach = protocol.Attach(session=session.id, flow=0)
        # Neither the token alone nor the key of another session suffices.
        for key in (TOKEN.encode(), protocol.data_key(bytes(32), ticket)):
            assert answer_to(address, Signer(key, protocol.CLIENT).sign(attach)) == b""
        key = protocol.data_key(session._signer.key, ticket)  # noqa: SLF001  what the ends share
        line = Signer(key, protocol.CLIENT).sign(attach)
        assert b'"algorithm"' in answer_to(address, line)
        assert answer_to(address, line) == b"", "nor what was heard and is said again"
        session.ask(protocol.Finish())
        session.ask(PREPARE)
        assert answer_to(address, line) == b"", "nor for the next flow of that number"


@contextlib.contextmanager
def in_between(port: int, key: Path) -> Iterator[int]:
    """Run a proxy that ends TLS with its own key and forwards all messages."""
    listener = socket.create_server((HOST, 0))

    def pass_on(source: ssl.SSLSocket, target: ssl.SSLSocket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(4096):
                target.sendall(content)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        plain, _ = listener.accept()
        try:
            near = read_certificate(key).context.wrap_socket(plain, server_side=True)
        except OSError:
            return  # the client refused the fingerprint
        far = client_context().wrap_socket(socket.create_connection((HOST, port)))
        other = threading.Thread(target=pass_on, args=(far, near))
        other.start()
        pass_on(near, far)
        other.join()
        near.close()
        far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        thread.join()
        listener.close()


def test_who_stands_in_between_cannot_pass_the_proof_of_the_token_on(
    address: Address, tmp_path: Path
) -> None:
    """Not even at the first contact, when the client knows only the token."""
    make_certificate(tmp_path / "its.key")
    known = KnownServers(tmp_path / "known")
    with (
        in_between(address.port, tmp_path / "its.key") as port,
        pytest.raises(ProtocolError, match="a proxy answers in place of the server"),
        Session(Address(HOST, port, TOKEN, known=known)),
    ):
        pass
    assert not known.path.exists(), "nor is it remembered"


def test_a_server_is_remembered_and_another_in_its_place_refused(
    address: Address, tmp_path: Path
) -> None:
    known = KnownServers(tmp_path / "state" / "known-servers")
    here = Address(HOST, address.port, TOKEN, known=known)
    for _ in range(2):
        with Session(here):
            pass
    expected = f"{HOST}:{address.port} {CERTIFICATE.fingerprint}\n"
    assert known.path.read_text(encoding="utf-8") == expected
    known.path.write_text(expected.replace("SHA256:", "SHA256:x"), encoding="utf-8")
    with pytest.raises(OtherServerError, match="delete the line of this server"), Session(here):
        pass


def test_a_given_fingerprint_is_what_counts(address: Address, tmp_path: Path) -> None:
    known = KnownServers(tmp_path / "known")
    good = Address(HOST, address.port, TOKEN, CERTIFICATE.fingerprint, known)
    with Session(good) as session:
        assert session.ask(protocol.Describe())["kernel"]
    other = Address(HOST, address.port, TOKEN, "SHA256:0000", known)
    with pytest.raises(OtherServerError, match="prints the fingerprint"), Session(other):
        pass
    assert not known.path.exists()


def test_a_key_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "cwndlab.key"
    make_certificate(path)
    assert path.stat().st_mode & 0o777 == 0o600
    found = read_certificate(path)
    assert found.fingerprint == read_certificate(path).fingerprint != CERTIFICATE.fingerprint
    assert found.fingerprint.startswith("SHA256:")
    with pytest.raises(FileExistsError):
        make_certificate(path)
    path.chmod(0o644)
    with pytest.raises(CertificateError, match="chmod 600"):
        read_certificate(path)
    path.write_text("no key", encoding="ascii")
    with pytest.raises(CertificateError, match="if you delete the file, `cwndlab serve` creates"):
        read_certificate(path)
    with pytest.raises(CertificateError, match="no such file"):
        read_certificate(tmp_path / "none")
