"""`cwndlab shell`, if it can run here: a program behind a link, and cleanup after a kill."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from cwndlab.backends.kernel import process
from cwndlab.cli import run as run_cli
from cwndlab.cli.shell import _view
from cwndlab.kernel.capabilities import obstacles, this_kernel
from cwndlab.kernel.objects import kernel_program
from patience import PATIENCE_S, is_soon
from this_machine import devices, namespaces, namespaces_of, needs_kernel
from user_code import GOOD, mine

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELL = [sys.executable, "-m", "cwndlab", "shell"]
LINK = "rate=8 Mbit/s,delay=20 ms,queue=60 packets"
# Read for two seconds; print the algorithm, the rate of the second second, and the shortest of five
# connection times, because a busy machine delays some.
DOWNLOAD = """
import os, socket, time
connects_ms = []
for _ in range(5):
    began = time.monotonic()
    end = socket.create_connection((os.environ[HOST], PORT))
    connects_ms.append(1e3 * (time.monotonic() - began))
    if len(connects_ms) < 5:
        end.close()
began, total, half = time.monotonic(), 0, None
while (now := time.monotonic()) < began + 2:
    total += len(end.recv(65536))
    if half is None and now > began + 1:
        half, half_at = total, time.monotonic()
name = end.getsockopt(socket.IPPROTO_TCP, 13, 16).rstrip(bytes(1)).decode()
print(name, 8e-6 * (total - half) / (time.monotonic() - half_at), min(connects_ms))
"""


@pytest.fixture
def server() -> Iterator[tuple[int, list[str]]]:
    """Run a server that always sends; yield its port and its connections' algorithms."""
    listener = socket.create_server(("0.0.0.0", 0))  # noqa: S104  a shell is another host
    algorithms: list[str] = []

    def serve() -> None:
        while True:
            try:
                end, _ = listener.accept()
            except OSError:
                return
            name = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            algorithms.append(name.rstrip(b"\0").decode())
            threading.Thread(target=pour, args=(end,), daemon=True).start()

    def pour(end: socket.socket) -> None:
        with end:
            try:
                while True:
                    end.sendall(bytes(65536))
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1], algorithms
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def download(port: int, host: str = "CWNDLAB_HOST") -> list[str]:
    """Return a command that downloads from the host named in this environment variable."""
    return [sys.executable, "-c", f"HOST, PORT = {host!r}, {port}\n{DOWNLOAD}"]


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_kernel
def test_a_download_gets_the_rate_the_delay_and_the_algorithm_of_its_shell(
    server: tuple[int, list[str]],
) -> None:
    port, algorithms = server
    shell = [*SHELL, "--link", LINK, "--algorithm", "reno", "--"]
    name, rate, connect_ms = output_of([*shell, *download(port)]).split()
    assert (name, {*algorithms}) == ("reno", {"reno"})  # set at both ends
    assert 6.5 < float(rate) < 8.2
    assert 40 <= float(connect_ms) < 60
    assert Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="utf-8") != ""


@needs_kernel
def test_the_server_of_a_shell_may_be_far_behind_the_access_point(
    server: tuple[int, list[str]],
) -> None:
    port, _ = server
    shell = [*SHELL, "--link", "wifi.standard=802.11n,server=30 ms", "--"]
    _, rate, connect_ms = output_of([*shell, *download(port)]).split()
    assert 60 < float(connect_ms) < 75  # a channel of one station adds half a millisecond
    assert float(rate) > 5


@needs_kernel
def test_a_shell_keeps_the_packets_of_its_program(tmp_path: Path) -> None:
    capture = tmp_path / "shell.pcap"
    began = time.time()
    program = (
        "import os, socket; socket.socket(type=socket.SOCK_DGRAM).sendto(bytes(1000), (%s, 9))"
    )
    command = [sys.executable, "-c", program % 'os.environ["CWNDLAB_HOST"]']
    output_of([*SHELL, "--link", LINK, "--pcap", str(capture), "--", *command])
    content = capture.read_bytes()
    assert content[:4] == b"\x4d\x3c\xb2\xa1", "pcap with nanoseconds"
    sent = [
        (at, length) for at, length, packet in packets(content) if packet[9] == socket.IPPROTO_UDP
    ]
    [(at, length)] = sent
    assert began - 1 < at < time.time() + 1, "by the time of day"
    assert length == 1028
    if tshark := shutil.which("tshark"):
        told = output_of([tshark, "-r", str(capture), "-Y", "udp.dstport == 9"])
        assert "1000" in told
    refused = [*SHELL, "--link", LINK, "--pcap", str(tmp_path / "none" / "x"), "--", "true"]
    done = subprocess.run(refused, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "none/x" in done.stderr


def packets(content: bytes) -> Iterator[tuple[float, int, bytes]]:
    """Yield time, length and captured bytes of each packet in a capture."""
    place = 24
    while place < len(content):
        seconds, nanos, kept, length = struct.unpack_from("<4I", content, place)
        place += 16 + kept
        yield seconds + nanos / 1e9, length, content[place - kept : place]


@needs_kernel
def test_a_shell_in_a_shell_adds_its_link_to_the_outer_one(server: tuple[int, list[str]]) -> None:
    inner = [*SHELL, "--link", "rate=3 Mbit/s,delay=30 ms,queue=60 packets", "--"]
    keep_outer = ["sh", "-c", 'OUTER=$CWNDLAB_HOST exec "$@"', "sh"]
    command = [*SHELL, "--link", LINK, "--", *keep_outer, *inner, *download(server[0], "OUTER")]
    _, rate, connect_ms = output_of(command).split()
    assert 2.2 < float(rate) < 3.2
    assert 100 <= float(connect_ms) < 130


@needs_kernel
def test_a_program_finds_its_status_terminal_and_way_out() -> None:
    script = "echo $http_proxy; cat; exit 7"
    command = [*SHELL, "--link", LINK, "--", "sh", "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, input="typed\n")
    assert done.returncode == 7
    proxy, typed = done.stdout.splitlines()
    assert proxy.startswith("http://100.64.")
    assert typed == "typed"
    missing = [*SHELL, "--link", LINK, "--", "/nonexistent"]
    done = subprocess.run(missing, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "the program /nonexistent could not be started: No such file" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="shells need Linux")
@pytest.mark.skipif(process.helper_path() is None, reason="the helper was not built")
@pytest.mark.parametrize(
    ("algorithm", "told"),
    [
        ("cubik", r'unknown algorithm "cubik"; did you mean cubic'),
        ("nv", r"nv is not in this kernel \((available as ours:nv|module: modprobe tcp_nv)\)"),
        ("./none.c", r"none\.c(: no such file| cannot be loaded| is not in this kernel)"),
    ],
)
def test_an_algorithm_that_is_not_there_is_named_with_what_to_do(
    algorithm: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["shell", "--link", LINK, "--algorithm", algorithm, "--", "true"]) == 2
    assert re.search(told, capsys.readouterr().err)


@needs_kernel
@pytest.mark.skipif(bool(obstacles()), reason="algorithms cannot be loaded here")
def test_an_algorithm_of_ones_own_is_there_for_the_shell(
    server: tuple[int, list[str]], tmp_path: Path
) -> None:
    path = mine(tmp_path, f"{GOOD}/* */ int shell_{os.getpid()};\n")
    name = kernel_program(str(path), tmp_path).name
    shell = [*SHELL, "--link", LINK, "--algorithm", str(path), "--"]
    assert output_of([*shell, *download(server[0])]).split()[0] == name
    assert {*server[1]} == {name}
    assert is_soon(lambda: name not in this_kernel().ours), "it stays"


def test_the_view_shows_both_ways_and_their_last_seconds() -> None:
    down = {"rate_mbit_s": 8.25, "delay_ms": 83.4, "queue_pkts": 37, "dropped_pkts": 2}
    up = {"rate_mbit_s": 0.0, "delay_ms": None, "queue_pkts": 0, "dropped_pkts": 0}
    drawn = Console(file=io.StringIO(), width=100)
    drawn.print(_view({"down": down, "up": up}, {"down": [0.0, 4.2, 8.25], "up": [0.0]}, 80))
    assert isinstance(drawn.file, io.StringIO)
    head, to, back = drawn.file.getvalue().splitlines()
    assert "rate Mbit/s  delay ms  queue pkts  dropped  rate until now" in head
    assert to.split() == ["to", "the", "program", "8.2", "83", "37", "2", "▄█"]
    assert back.split() == ["from", "the", "program", "0.0", "-", "0", "0"]


@needs_kernel
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_shell_that_is_killed_leaves_nothing_behind(
    after_s: float, end: signal.Signals, tmp_path: Path
) -> None:
    mark = f"still here: {tmp_path}"
    host = tmp_path / "host"
    script = f"echo $CWNDLAB_HOST > {host}; setsid sh -c 'sleep 99; echo {mark}' & sleep 99"
    shell = subprocess.Popen([*SHELL, "--link", LINK, "--", "sh", "-c", script])
    wait_for_program(shell, after_s)
    # Other shells may start and end during the test.
    held = namespaces_of(shell.pid) - namespaces_of(os.getpid())
    shell.send_signal(end)
    shell.wait()
    assert is_soon(lambda: not are_running(mark)), "a process of the shell goes on"
    assert is_soon(lambda: not held & namespaces()), "a namespace lives on"
    places = host.read_text(encoding="utf-8").split() if host.exists() else []
    own = {f"cwndlab-{address.split('.')[2]}-1" for address in places}
    assert is_soon(lambda: not own & devices()), "a device lives on"


def are_running(word: str) -> bool:
    """Return whether the command line of any process contains this word."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in path.read_bytes():
                return True
    return False


def wait_for_program(shell: subprocess.Popen[bytes], after_s: float) -> None:
    """Wait until the process has become the helper, and then for `after_s`."""
    comm = Path(f"/proc/{shell.pid}/comm")
    assert is_soon(lambda: comm.read_text(encoding="utf-8").startswith("cwndlab-testb"), 0.005)
    time.sleep(after_s)


@needs_kernel
def test_a_shell_can_be_watched() -> None:
    shell = subprocess.Popen([*SHELL, "--link", LINK, "--", "sleep", "999"])
    name = f"cwndlab-shell-{shell.pid}"
    try:
        assert is_soon(lambda: f"@{name}".encode() in unix_sockets())
        with socket.socket(socket.AF_UNIX) as watching:
            watching.connect(f"\0{name}")
            line = watching.makefile("r", encoding="utf-8").readline()
    finally:
        shell.kill()
        shell.wait()
    status = json.loads(line)
    assert set(status) == {"down", "up"}
    # Only the packets that an interface sends on its own when it comes up.
    assert 0 <= status["down"]["rate_mbit_s"] < 1


def test_without_a_shell_there_is_nothing_to_watch(capsys: pytest.CaptureFixture[str]) -> None:
    if b"@cwndlab-shell-" in unix_sockets():
        pytest.skip("somebody's shell runs here")
    assert run_cli(["shell", "--watch"]) == 2
    assert "no cwndlab shell is running" in capsys.readouterr().err
    assert run_cli(["shell"]) == 2


def unix_sockets() -> bytes:
    path = Path("/proc/net/unix")
    return path.read_bytes() if os.access(path, os.R_OK) else b""
