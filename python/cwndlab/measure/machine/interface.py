"""Describe the network interface of a measurement: its queues, offloads and counters."""

from __future__ import annotations

import array
import contextlib
import fcntl
import socket
import struct
from typing import Any

from cwndlab.measure.machine import netlink
from cwndlab.measure.machine.clock import now_ns

_ETHTOOL = 0x8946
_FLAGS, _LARGE_RECEIVE = 0x25, 1 << 15
_OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_IPV4_MAPPED = "::ffff:"


def interface_of(connection: socket.socket) -> str | None:
    """Return the interface through which a connected socket sends packets; None if unknown."""
    index = netlink.interface_to(connection.getpeername()[0].removeprefix(_IPV4_MAPPED))
    with contextlib.suppress(OSError):
        return None if index is None else socket.if_indextoname(index)
    return None


def describe_interface(name: str) -> dict[str, Any]:
    """Return queues, offloads and counters of an interface, as far as the system reports them."""
    facts: dict[str, Any] = {"name": name, "at_ns": now_ns(), "offloads": offloads(name)}
    with contextlib.suppress(OSError):
        index = socket.if_nametoindex(name)
        facts |= netlink.link(index) | {"qdisc_limit_pkts": netlink.qdisc_limit_pkts(index)}
    return facts


def is_up(name: str) -> bool:
    """Return whether an interface exists and can carry packets."""
    try:
        return bool(netlink.link(socket.if_nametoindex(name))["is_up"])
    except OSError:
        return False


def offloads(name: str) -> list[str]:
    """Return the active offloads among TSO, GSO, GRO and LRO, which enlarge captured packets."""
    found = [offload for offload, code in _OFFLOADS.items() if _ethtool(name, code)]
    if (_ethtool(name, _FLAGS) or 0) & _LARGE_RECEIVE:
        found.append("lro")
    return found


def _ethtool(name: str, code: int) -> int | None:
    """Return the value of an ethtool setting; None if the driver does not report it."""
    value = array.array("B", struct.pack("=II", code, 0))
    request = struct.pack("16sP16x", name.encode()[:15], value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            fcntl.ioctl(handle, _ETHTOOL, request)
        except OSError:
            return None
    return int(struct.unpack_from("=I", value, 4)[0])
