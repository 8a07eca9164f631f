"""Change the congestion control of a server, for one route or for all connections.

A route can define the congestion control of new connections (`congctl`, ip-route(8)). For a prefix
without a separate route, the trial adds a route through the gateway in use. The trial loads no
algorithm into the kernel; connections that are already open keep their algorithm.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.errors import CwndlabError

SYSCTL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_AVAILABLE = SYSCTL.with_name("tcp_available_congestion_control")
_ONLY_SHOWN = ("linkdown", "dead", "onlink", "offload", "pervasive")
_KEPT = {"via", "dev", "src"}


class SettingError(CwndlabError):
    """The congestion control setting of this computer cannot be read or changed."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route to a prefix during a trial, and the route to this prefix before the trial."""

    prefix: str
    """Destination of the route, in the form in which `ip route` prints it."""
    words: tuple[str, ...]
    """Words of the route after the prefix, as `ip route` prints them; without option `congctl`."""
    before: str | None
    """The route before the trial, as one line of `ip route`; None if there was none."""

    @classmethod
    def to(cls, prefix: str) -> Route:
        """Read the current route to a prefix; the prefix may be `default`.

        Raises:
            SettingError: the prefix is invalid or unreachable, or several routes lead to it.
        """
        prefix = _as_prefix(prefix)
        lines = _ip(_family(prefix), "route", "show", "to", "exact", prefix).splitlines()
        if len(lines) > 1:
            msg = (
                f"{prefix} has several routes, but a trial can change only one route; "
                "use a longer prefix"
            )
            raise SettingError(msg)
        if lines:
            words = [word for word in lines[0].split() if word not in _ONLY_SHOWN]
            return cls(words[0], tuple(_without(words[1:], "congctl")), " ".join(words))
        network = ipaddress.ip_network(prefix)
        host = str(next(iter(network.hosts()), network.network_address))
        reached = _ip(_family(prefix), "route", "get", host).split()
        if not reached or reached[0] in {"unreachable", "blackhole", "prohibit", "local"}:
            msg = f"{prefix} has no usable route; use a prefix that `ip route` lists, or `default`"
            raise SettingError(msg)
        pairs = itertools.pairwise(reached)
        words = [word for name, value in pairs if name in _KEPT for word in (name, value)]
        return cls(prefix, tuple(words), None)

    def choose(self, algorithm: str) -> None:
        """Choose the congestion control for new connections whose destination is in the prefix."""
        _ip(
            _family(self.prefix),
            *("route", "replace", self.prefix, *self.words, "congctl", algorithm),
        )

    def restore(self) -> None:
        """Restore the route that existed before the trial, or remove the added route."""
        if self.before is not None:
            _ip(_family(self.prefix), "route", "replace", *self.before.split())
        elif _ip(_family(self.prefix), "route", "show", "to", "exact", self.prefix).strip():
            _ip(_family(self.prefix), "route", "del", self.prefix, *self.words)

    def to_json(self) -> dict[str, Any]:
        """Return all values that `restore` needs, as a dictionary."""
        return {
            "kind": "route",
            "prefix": self.prefix,
            "words": list(self.words),
            "before": self.before,
        }

    def has_peer(self, address: str) -> bool:
        """Return whether the address is in the route's prefix; always true for `default`."""
        if self.prefix == "default":
            return True
        host = ipaddress.ip_address(address.partition("%")[0])
        network = ipaddress.ip_network(self.prefix)
        return host.version == network.version and host in network


@dataclass(frozen=True, slots=True)
class Default:
    """The default congestion control of this computer (net.ipv4.tcp_congestion_control)."""

    before: str

    @classmethod
    def read(cls) -> Default:
        """Read the current default congestion control.

        Raises:
            SettingError: the system is not Linux.
        """
        return cls(_read(SYSCTL))

    def choose(self, algorithm: str) -> None:
        """Set the congestion control of all new connections."""
        _write(SYSCTL, algorithm)

    def restore(self) -> None:
        """Restore the default congestion control that was set before the trial."""
        _write(SYSCTL, self.before)

    def to_json(self) -> dict[str, Any]:
        """Return all values that `restore` needs, as a dictionary."""
        return {"kind": "sysctl", "before": self.before}

    def has_peer(self, _address: str) -> bool:
        """Return True, because this setting applies to connections to all addresses."""
        return True


def setting_of(document: dict[str, Any]) -> Route | Default:
    """Recreate a `Route` or a `Default` from the dictionary that its `to_json` returned."""
    if document["kind"] == "sysctl":
        return Default(document["before"])
    return Route(document["prefix"], tuple(document["words"]), document["before"])


def require_algorithms(names: tuple[str, ...]) -> None:
    """Check that the kernel already contains these algorithms, because a trial loads none.

    Raises:
        SettingError: an algorithm is missing.
    """
    available = _read(_AVAILABLE).split()
    for name in names:
        if name not in available:
            msg = (
                f"this kernel does not contain {name} (available: {', '.join(available)}); load it "
                f"with `modprobe tcp_{name}` or `cwndlab algorithm load {name} --pin`"
            )
            raise SettingError(msg)


def _as_prefix(text: str) -> str:
    if text == "default":
        return text
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        msg = f"--route {text}: {error}; write a prefix such as 198.51.100.0/24, or `default`"
        raise SettingError(msg) from None


def _family(prefix: str) -> str:
    return "-6" if ":" in prefix else "-4"


def _without(words: list[str], name: str) -> list[str]:
    """Return the words of a route without the option `name` and the option's value."""
    if name not in words:
        return words
    at = words.index(name)
    after = at + (3 if words[at + 1 : at + 2] == ["lock"] else 2)
    return words[:at] + words[after:]


def _ip(*words: str) -> str:
    program = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        msg = "the program ip is missing; install iproute2"
        raise SettingError(msg)
    command = [program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ip
    if done.returncode:
        said = done.stderr.strip().removeprefix("RTNETLINK answers: ")
        msg = f"ip {' '.join(words)}: {said}"
        if "permitted" in said:
            msg += "; changing routes needs root"
        raise SettingError(msg)
    return done.stdout


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        msg = f"{path}: {error.strerror}; trials on a server require Linux"
        raise SettingError(msg) from None


def _write(path: Path, value: str) -> None:
    try:
        path.write_text(value, encoding="ascii")
    except OSError as error:
        remedy = "changing the default needs root"
        if os.geteuid() == 0:
            remedy = (
                f"in a network namespace or a container, {value} cannot be made the default; use "
                "--route instead"
            )
        msg = f"{path}: {error.strerror}; {remedy}"
        raise SettingError(msg) from None
