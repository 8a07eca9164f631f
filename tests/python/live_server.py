"""A server of live measurements in this process or in one of its own, for the tests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.server import Server
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cwndlab.measure.wire.sessions import Limits

TOKEN = "0123456789abcdef" * 4
HOST = "127.0.0.1"


@contextlib.contextmanager
def server_here(limits: Limits | None = None, host: str = HOST) -> Iterator[Address]:
    """A server in a thread."""
    server = Server(TOKEN, limits)
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


def connected(address: Address, pause_s: float = 0) -> tuple[socket.socket, bytes]:
    """A connection, and the server's nonce, read after a pause."""
    connection = socket.create_connection((address.host, address.port), timeout=PATIENCE_S)
    time.sleep(pause_s)
    line = b""
    while not line.endswith(b"\n"):
        line += connection.recv(1)
    return connection, protocol.read_greeting(line)


def server_apart(
    folder: Path, port: int = 0, host: str = HOST
) -> tuple[subprocess.Popen[str], int]:
    """`cwndlab serve` as a process, and its port."""
    token = folder / "cwndlab.token"
    token.write_text(TOKEN, encoding="ascii")
    token.chmod(0o600)
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
    # Left to the collector, it would fail whichever test runs then.
    process.kill()
    process.communicate()
    msg = "the server did not start"
    raise AssertionError(msg)


@contextlib.contextmanager
def iperf3_server() -> Iterator[int]:
    """`iperf3 --server --json`, which gives its own view of each test, and its port."""
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
                continue  # somebody else took the port meanwhile
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
