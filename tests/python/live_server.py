"""A server of live measurements for tests, in this process or in a separate process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.certificate import (
    ServerCertificate,
    client_context,
    make_certificate,
    read_certificate,
)
from cwndlab.measure.wire.protocol import Signer
from cwndlab.measure.wire.server import Server
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence

    from cwndlab.measure.wire.sessions import Limits

TOKEN = "0123456789abcdef" * 4
HOST = "127.0.0.1"


def _made() -> tuple[str, ServerCertificate]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cwndlab.key")
        make_certificate(path)
        return path.read_text(encoding="ascii"), read_certificate(path)


KEY, CERTIFICATE = _made()


@contextlib.contextmanager
def server_here(limits: Limits | None = None, host: str = HOST) -> Iterator[Address]:
    """Run a server in a thread."""
    server = Server(TOKEN, CERTIFICATE, limits)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    task: asyncio.Task[None] | None = None

    def run() -> None:
        nonlocal task
        asyncio.set_event_loop(loop)
        task = loop.create_task(server.run(host, 0, ready.set))
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        for other in asyncio.all_tasks(loop):
            other.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(other)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield Address(HOST, server.address[1], TOKEN)
    finally:
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def connected(address: Address, pause_s: float = 0) -> tuple[ssl.SSLSocket, bytes]:
    """Open a control connection, pause, and return the connection and the server's nonce."""
    plain = socket.create_connection((address.host, address.port), timeout=PATIENCE_S)
    time.sleep(pause_s)
    connection = client_context().wrap_socket(plain)
    line = b""
    while not line.endswith(b"\n"):
        line += connection.recv(1)
    return connection, protocol.read_greeting(line)


def opening(nonce: bytes, token: str = TOKEN) -> Signer:
    """Return the signer of a control connection's first line."""
    return Signer(protocol.opening_key(token, CERTIFICATE.binding, nonce), protocol.CLIENT)


def signer_of(nonce: bytes, own: bytes) -> Signer:
    """Return the signer of all later lines."""
    key = protocol.session_key(TOKEN, CERTIFICATE.binding, nonce, own)
    return Signer(key, protocol.CLIENT)


def keep_secrets(folder: Path) -> None:
    """Store the tests' token and key where `cwndlab serve` looks for them."""
    for name, content in (("cwndlab.token", TOKEN), ("cwndlab.key", KEY)):
        path = folder / name
        path.write_text(content, encoding="ascii")
        path.chmod(0o600)


def server_apart(
    folder: Path, port: int = 0, host: str = HOST
) -> tuple[subprocess.Popen[str], int]:
    """Run `cwndlab serve` as a process; return the process and its port."""
    keep_secrets(folder)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "cwndlab", "serve", "--host", host, "--port", str(port)],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "serving on" in line:
            return process, int(line.split(" port ")[1].split(",")[0])
    # If the garbage collector ended the process, an unrelated test would fail.
    process.kill()
    process.communicate()
    msg = "the server did not start"
    raise AssertionError(msg)


@contextlib.contextmanager
def iperf3_server() -> Iterator[int]:
    """Run `iperf3 --server --json`, which reports its own view of each test; yield its port."""
    while True:
        with socket.create_server((HOST, 0)) as listener:
            port: int = listener.getsockname()[1]
        process = subprocess.Popen(
            ["iperf3", "--server", "--json", "--port", str(port)],  # noqa: S607  as installed
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert is_soon(lambda: process.poll() is not None or _is_listening(port))  # noqa: B023  now
            if process.poll() is not None:
                continue  # another process has taken the port
            yield port
        finally:
            process.kill()
            process.wait()
        return


def _is_listening(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection((HOST, port)).close()
        return True
    return False


def record_inside(
    folder: Path, port: int | str, links: Sequence[str], options: Sequence[str]
) -> list[dict[str, Any]]:
    """Record an emulated link from inside, as the rows of `cwndlab link record --format json`."""
    program = [sys.executable, "-m", "cwndlab"]
    words = [*program, "link", "record", *options, "--format", "json"]
    asked = " ".join(f"'{word}'" for word in words)
    done = subprocess.run(
        [*program, "shell", *links, "--", "sh", "-c", f'{asked} --server "$CWNDLAB_HOST:{port}"'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows
