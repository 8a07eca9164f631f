"""Three machines in namespaces: a proxy between the ends is detected, and an MSS clamp is not."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from iproute import IP, ip, needs_ip
from live_server import keep_secrets
from patience import PATIENCE_S
from this_machine import needs_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = 5209
MIDDLE = Path(__file__).parents[1] / "middle.py"


@dataclass
class Way:
    """A client, a forwarding host in the middle, and a server, each in a namespace."""

    client: str
    middle: str
    server: str
    folder: Path

    def start(self, where: str, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [IP, "netns", "exec", where, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
        )

    def preflight(self) -> dict[str, Any]:
        command = ["-m", "cwndlab", "preflight", "--server", "198.18.9.2", "--format", "json"]
        process = self.start(self.client, sys.executable, *command)
        out, _ = process.communicate(timeout=PATIENCE_S)
        (record,) = json.loads(out)
        return {"status": process.returncode, **record}


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    client, middle, far = names = [f"cwl{side}{os.getpid()}" for side in "cms"]
    way = Way(client, middle, far, tmp_path)
    server: subprocess.Popen[str] | None = None
    try:
        for name in names:
            ip("netns", "add", name)
        for number, (end, own, other) in enumerate(
            ((way.client, "8.2", "8.1"), (way.server, "9.2", "9.1"))
        ):
            veth = f"v{number}"
            ip("-n", way.middle, "link", "add", veth, "type", "veth", "peer", "name", "up0",
               "netns", end)  # fmt: skip
            ip("-n", way.middle, "addr", "add", f"198.18.{other}/24", "dev", veth)
            ip("-n", way.middle, "link", "set", veth, "up")
            ip("-n", end, "addr", "add", f"198.18.{own}/24", "dev", "up0")
            ip("-n", end, "link", "set", "up0", "up")
            ip("-n", end, "route", "add", "default", "via", f"198.18.{other}")
        ip("-n", way.middle, "link", "set", "lo", "up")
        settings = "; ".join(
            f"echo {value} > /proc/sys/net/ipv4/{key}"
            for key, value in (("ip_forward", 1), ("conf/all/rp_filter", 0))
        )  # of this namespace only
        ip("netns", "exec", way.middle, "sh", "-c", settings)
        keep_secrets(tmp_path)
        server = way.start(way.server, sys.executable, "-u", "-m", "cwndlab", "serve")
        assert server.stdout is not None
        assert any("serving on" in line for line in server.stdout)
        yield way
    finally:
        if server is not None:
            server.kill()
            server.communicate()
        for name in names:
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)


@contextlib.contextmanager
def running(way: Way, *words: str) -> Iterator[None]:
    process = way.start(way.middle, sys.executable, str(MIDDLE), *words)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.kill()
        process.communicate()


def kinds(record: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in record["findings"]]


@needs_kernel
@needs_ip
def test_a_proxy_in_the_network_is_found_and_a_clamp_is_none(way: Way) -> None:
    plain = way.preflight()
    assert plain["status"] == 0
    assert "proxy" not in kinds(plain)
    client, server = plain["client"]["path"], plain["server"]["path"]
    assert client["sequence"] == server["syn"]["sequence"], "root is told both"
    assert client["interface"]["name"] == server["interface"]["name"] == "up0"
    assert server["syn"]["hops_left"] == 63

    rules = [("iif", "v0", "lookup", "100"), ("iif", "v1", "lookup", "100")]
    with running(way, "clamp", "1200"):
        ip("-n", way.middle, "link", "set", "middle", "up")
        ip("-n", way.middle, "route", "add", "default", "dev", "middle", "table", "100")
        for rule in rules:
            ip("-n", way.middle, "rule", "add", *rule)
        clamped = way.preflight()
        for rule in rules:
            ip("-n", way.middle, "rule", "del", *rule)
    assert clamped["status"] == 0
    assert "proxy" not in kinds(clamped)
    told = [finding["what"] for finding in clamped["findings"]]
    assert any("reduces the MSS from 1460 to 1200 bytes" in what for what in told), told

    with running(way, "proxy", str(PORT)):
        ip("-n", way.middle, "route", "add", "local", "0.0.0.0/0", "dev", "lo", "table", "101")
        ip("-n", way.middle, "rule", "add", "iif", "v0", "ipproto", "tcp", "dport", str(PORT),
           "lookup", "101")  # fmt: skip
        through = way.preflight()
    assert through["status"] == 1
    (proxy,) = (found for found in through["findings"] if found["kind"] == "proxy")
    assert "come from different clocks" in proxy["what"]
    assert "different sequence numbers" in proxy["what"]
    assert "another port" in proxy["remedy"]


# Measure when it is this client's turn, until stopped; report when the turn begins.
HOLDER = """
import sys, time
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.client import Session
host, token = sys.argv[1], open("cwndlab.token").read()
with Session(Address(host, 5209, token)) as session:
    assert not list(session.turn()) or host == "127.0.0.1"
    print("ready", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@needs_kernel
@needs_ip
def test_a_vanished_client_is_noticed_within_ten_seconds(way: Way) -> None:
    """Its network disappears during its turn: it sends nothing and answers nothing."""
    ip("-n", way.server, "link", "set", "lo", "up")
    first = way.start(way.client, sys.executable, "-c", HOLDER, "198.18.9.2", "600")
    second = None
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        second = way.start(way.server, sys.executable, "-c", HOLDER, "127.0.0.1", "0")
        assert second.stdout is not None
        drop = ("tc", "qdisc", "replace", "dev", "v0", "root", "bfifo", "limit", "1")
        ip("netns", "exec", way.middle, *drop)
        cut_s = time.monotonic()
        assert second.stdout.readline() == "ready\n"
        took_s = time.monotonic() - cut_s
        assert took_s < 10 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.communicate()
