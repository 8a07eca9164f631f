"""Describe the simulated sender: TCP stack, buffers, pacing, queueing discipline and offload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab import core

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROC = Path("/proc/sys/net")
_SYSCTL_NAMES = {"pfifo": "pfifo_fast"}
"""Maps cwndlab's name of a queueing discipline to Linux's name in `net.core.default_qdisc`, if both
names differ."""


@dataclass(frozen=True, slots=True)
class SimulatedHost:
    """Properties of a sending host that affect the behaviour of congestion control."""

    stack: str
    qdisc: str | None
    """Queueing discipline of the network device; None if TCP sends directly to the link."""
    is_paced: bool
    """True if TCP paces every algorithm. If false, TCP paces only algorithms that request pacing,
    such as BBR, or all algorithms if the queueing discipline is fq."""
    has_offload: bool
    """True if the network device splits large segments (segmentation offload)."""
    send_buffer_max_bytes: int | None
    receive_buffer_max_bytes: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the properties of the host as a dictionary, for JSON."""
        return {
            "stack": self.stack,
            "qdisc": self.qdisc,
            "pacing": self.is_paced,
            "offload": self.has_offload,
            "send_buffer_max_bytes": self.send_buffer_max_bytes,
            "receive_buffer_max_bytes": self.receive_buffer_max_bytes,
        }


def simulated_host(scenario: Mapping[str, Any]) -> SimulatedHost:
    """Return the simulated host of the first sender in a scenario."""
    sender = scenario["flows"][0]["sender"]
    values = core.stack(sender["stack"]).values.get("linux", {})
    values = {**values, **sender.get("stack_overrides", {})}
    host = sender.get("host") or {}
    qdisc: str | None = host.get("qdisc")
    return SimulatedHost(
        stack=sender["stack"],
        qdisc=_SYSCTL_NAMES.get(qdisc or "", qdisc),
        is_paced=bool(values.get("pacing", False)),
        has_offload=bool(values.get("segmentation_offload", False)) or bool(host),
        send_buffer_max_bytes=values.get("send_buffer_max_bytes"),
        receive_buffer_max_bytes=values.get("receive_buffer_max_bytes"),
    )


@dataclass(frozen=True, slots=True)
class HostDifference:
    """A setting of this computer that differs from the simulated host."""

    setting: str
    """Name of the sysctl. The suffix `(largest)` denotes the last of its three values."""
    here: str
    simulated: str


def differences(host: SimulatedHost, proc: Path = _PROC) -> tuple[HostDifference, ...]:
    """Return the settings in which this computer differs from the simulated host.

    Buffers that are larger on this computer than on the simulated host are omitted.
    """
    found = []
    qdisc = _read(proc / "core/default_qdisc")
    if None not in {qdisc, host.qdisc} and qdisc != host.qdisc:
        found.append(HostDifference("net.core.default_qdisc", str(qdisc), str(host.qdisc)))
    for name, wanted in (
        ("tcp_wmem", host.send_buffer_max_bytes),
        ("tcp_rmem", host.receive_buffer_max_bytes),
    ):
        here = _read(proc / "ipv4" / name)
        if here is not None and wanted is not None and int(here.split()[-1]) < wanted:
            difference = HostDifference(
                f"net.ipv4.{name} (largest)",
                f"{int(here.split()[-1]):,} bytes",
                f"{wanted:,} bytes",
            )
            found.append(difference)
    return tuple(found)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None  # not Linux, or not readable in this container
