"""Two hosts, each in a namespace, connected by IPv4 and IPv6."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iproute import IP, ip
from live_server import keep_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IPV4 = {"near": "198.18.7.1", "far": "198.18.7.2"}
IPV6 = {"near": "fd18:7::1", "far": "fd18:7::2"}


@dataclass
class Hosts:
    """A client (`near`) and a server (`far`)."""

    names: dict[str, str]
    folder: Path

    def start(self, end: str, *words: str) -> subprocess.Popen[str]:
        """Start a Python program at one end."""
        return subprocess.Popen(
            [IP, "netns", "exec", self.names[end], sys.executable, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder / end)},
        )

    def settings(self) -> dict[str, str]:
        """Return all settings at both ends that a trial could leave behind."""
        found = {}
        for end, name in self.names.items():
            for words in (["-4", "route"], ["-6", "route"], ["rule"], ["link"]):
                found[f"{end} {' '.join(words)}"] = ip("-n", name, *words)
            tcp = "cd /proc/sys/net/ipv4; grep -s . tcp_*"
            found[f"{end} sysctl"] = ip("netns", "exec", name, "sh", "-c", tcp)
        return found


@contextlib.contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Create two hosts that are connected by a virtual cable."""
    names = {end: f"cwt{end}{os.getpid()}" for end in ("near", "far")}
    try:
        for name in names.values():
            ip("netns", "add", name)
        ip("-n", names["near"], "link", "add", "up0", "type", "veth", "peer", "name", "up0",
           "netns", names["far"])  # fmt: skip
        for end, name in names.items():
            ip("-n", name, "addr", "add", f"{IPV4[end]}/24", "dev", "up0")
            ip("-n", name, "addr", "add", f"{IPV6[end]}/64", "dev", "up0", "nodad")
            ip("-n", name, "link", "set", "up0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield Hosts(names, folder)
    finally:
        for name in names.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)


@contextlib.contextmanager
def serving(at: Hosts) -> Iterator[None]:
    """Run `cwndlab serve` at the far end, over IPv4 and IPv6."""
    keep_secrets(at.folder)
    server = at.start("far", "-u", "-m", "cwndlab", "serve", "--host", "::")
    try:
        assert server.stdout is not None
        assert any("serving on" in line for line in server.stdout)
        yield
    finally:
        server.kill()
        server.communicate()
