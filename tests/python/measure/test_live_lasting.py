"""A server that runs for months drops root privileges and frees all resources of measurements."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cwndlab.measure.machine.privileges import PrivilegeError, unprivileged_user
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.channel import read_line
from cwndlab.measure.wire.client import Session
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from live_server import HOST, TOKEN, connected, opening, server_apart, signer_of
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND_NS = 10**9
_NET_ADMIN = 1 << 12
NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, Address]]:
    """Yield the server's process ID and its address."""
    process, port = server_apart(tmp_path)
    try:
        yield process.pid, Address(HOST, port, TOKEN)
    finally:
        process.kill()
        process.communicate()


def status_of(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="the server gives up root, which only a server started as root has"
)
def test_root_is_given_up_once_the_port_is_open(server: tuple[int, Address]) -> None:
    pid, address = server
    found = status_of(pid)
    assert set(found["Uid"].split()) == {str(NOBODY.pw_uid)}
    assert set(found["Gid"].split()) == {str(NOBODY.pw_gid)}
    assert found["Groups"].split() == []
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert int(found[name], 16) & ~_NET_ADMIN == 0
    assert found["NoNewPrivs"] == "1"
    # Operations that needed root still work, as do modules that are loaded at first use.
    with Session(address) as session:
        kept = set(session.server["algorithms"]) - set(session.server["allowed"])
        for algorithm in kept if int(found["CapEff"], 16) else ():
            session.try_algorithm(algorithm)
        files: list[apps.Application] = [apps.Http(bytes=100_000, is_upload=False)]
        if _has_asyncssh():
            files.append(
                apps.Sftp(bytes=100_000, request_bytes=32_768, outstanding=4, is_upload=False)
            )
        end = si.End(stack="linux-6.1", algorithm="reno")
        for file in files:
            flow = si.ScenarioFlow(
                id=0, direction="forward", sender=end, receiver=end, application=file
            )
            transfer = session.transfer([flow], 60 * SECOND_NS, [("reno", "reno")])
            assert transfer.near[0]["moved_bytes"] == 100_000


def _has_asyncssh() -> bool:
    try:
        import asyncssh  # noqa: F401, PLC0415  whether it is there
    except ImportError:
        return False
    return True


def test_whom_root_becomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert unprivileged_user(None) == NOBODY
    monkeypatch.setenv("SUDO_USER", "root")
    assert unprivileged_user(None) == NOBODY, "root by sudo from a shell of root"
    monkeypatch.setenv("SUDO_USER", "daemon")
    assert unprivileged_user(None) == pwd.getpwnam("daemon")
    assert unprivileged_user("nobody") == NOBODY
    with pytest.raises(PrivilegeError, match=r"no user no-such-user .* --user"):
        unprivileged_user("no-such-user")
    with pytest.raises(PrivilegeError, match="name another user"):
        unprivileged_user("root")


def measure_shortly(address: Address) -> None:
    """Measure like a client, as briefly as possible."""
    control, nonce = connected(address)
    own = bytes(16)
    control.sendall(opening(nonce).sign(protocol.Hello(nonce=own.hex())))
    signer = signer_of(nonce, own)
    rest = b""

    def answer() -> dict[str, object]:
        nonlocal rest
        while b"\n" not in rest:
            part = control.recv(1 << 16)
            assert part, "the server closed the connection"
            rest += part
        line, _, rest = rest.partition(b"\n")
        return protocol.read_answer(signer.check(line))

    def ask(request: protocol.AnyRequest) -> dict[str, object]:
        control.sendall(signer.sign(request))
        return answer()

    session = str(answer()["session"])
    while ask(protocol.TakeTurn())["ahead"]:
        pass
    prepare = protocol.Prepare(
        flow=0,
        direction="forward",
        algorithm="reno",
        application=apps.Sized(bytes=10_000),
        duration_ns=60 * SECOND_NS,
    )
    ticket = bytes.fromhex(str(ask(prepare)["ticket"]))
    with socket.create_connection((HOST, address.port), timeout=PATIENCE_S) as data:
        bound = protocol.Signer(protocol.data_key(signer.key, ticket), protocol.CLIENT)
        data.sendall(bound.sign(protocol.Attach(session=session, flow=0)))
        bound.check(read_line(data))
        assert "now_ns" in ask(protocol.Start())
        received = 0
        while part := data.recv(1 << 16):
            received += len(part)
    assert received == 10_000
    flows = ask(protocol.Finish())["flows"]
    assert isinstance(flows, dict)
    assert flows["0"]["moved_bytes"] == 10_000
    control.close()


def test_a_client_that_left_a_long_reception_keeps_nobody_waiting(
    server: tuple[int, Address],
) -> None:
    _, address = server
    prepare = protocol.Prepare(
        flow=0, direction="reverse", algorithm=None, duration_ns=60 * SECOND_NS
    )
    with Session(address) as leaving:
        assert list(leaving.turn()) == []
        data = leaving._attached(prepare).dup()  # noqa: SLF001  no flow that ends by itself
        leaving.ask(protocol.Start())
    with data, contextlib.suppress(ConnectionError):
        data.sendall(bytes(1 << 16))
        began_s = time.monotonic()
        measure_shortly(address)
        assert time.monotonic() - began_s < 20


def test_the_server_loads_no_library_of_tables() -> None:
    """They would take half of its memory, and it creates no tables."""
    script = (
        "import sys, cwndlab.cli.serve\n"
        "print({'polars', 'numpy', 'matplotlib'} & set(sys.modules) or 'none')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "none\n"


MEASUREMENTS = int(os.environ.get("CWNDLAB_MEASUREMENTS", "150"))
"""One after the other; 10,000 is what a month may bring."""


def test_memory_threads_and_descriptors_stay_as_they_are(server: tuple[int, Address]) -> None:
    pid, address = server

    def held() -> dict[str, int]:
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return {"threads": int(status_of(pid)["Threads"]), "descriptors": descriptors}

    def is_as_before() -> bool:
        now = held()
        return all(now[each] <= before[each] for each in before)

    before = held()
    for _ in range(20):  # fills pools and caches
        measure_shortly(address)
    assert is_soon(is_as_before), (held(), before)
    before_kb = resident_kb(pid)
    for _ in range(MEASUREMENTS):
        measure_shortly(address)
    assert is_soon(is_as_before), (held(), before)
    assert resident_kb(pid) - before_kb < 3_000


def resident_kb(pid: int) -> int:
    return int(status_of(pid)["VmRSS"].split()[0])
