"""`cwndlab play` serves the page on the loopback interface, and serves nothing else."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cwndlab.cli.play import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_page = pytest.mark.skipif(not PAGE.exists(), reason="the page has not been built: make page")


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; yield the process and the address that it prints."""
    words = ["play", "--no-browser", "--link", "rate=5 Mbit/s,delay=9 ms", "--algorithm", "reno"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cwndlab", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert process.stdout is not None
    yield process, process.stdout.readline()
    process.kill()
    process.communicate()


@needs_page
def test_it_serves_the_page_and_nothing_else(served: tuple[subprocess.Popen[str], str]) -> None:
    process, said = served
    found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S+)", said)
    assert found is not None, said
    assert found[2] == "link=rate%3D5+Mbit%2Fs%2Cdelay%3D9+ms&algorithm=reno"
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
    for path, status in (("/", 200), ("/../doctor.py", 404), ("//etc/passwd", 404), ("/?a", 404)):
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == status, path
        assert (body == PAGE.read_bytes()) == (path == "/")
    for host in {socket.gethostbyname(socket.gethostname())} - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((host, int(found[1])), timeout=5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err.strip()) == (130, "stopped")


@needs_page
def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "cwndlab", "play", "--no-browser", "--port", port],
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"--port {port}: Address already in use")
