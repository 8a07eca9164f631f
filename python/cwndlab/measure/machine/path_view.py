"""Detect middleboxes from differences between the client's and the server's view of a connection.

A proxy that terminates TCP replaces one connection with two. Client and server then measure only
their own connections to the proxy. The server's algorithm controls only the data between server and
proxy, and not the data on a radio link between proxy and client. Therefore, comparisons of
algorithms are meaningless.

Any of these observations reveals a proxy, and none needs root privileges:

- the TCP timestamps at client and server come from different clocks;
- only one of the two hosts uses TCP timestamps;
- the window scales at client and server differ;
- TCP's round-trip times are too short for the whole path.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.interface import describe_interface, interface_of
from cwndlab.results import tcp_info

if TYPE_CHECKING:
    from collections.abc import Mapping

# linux/tcp.h
_TIMESTAMP, _SAVE_SYN, _SAVED_SYN = 24, 27, 28
_REPAIR, _REPAIR_QUEUE, _QUEUE_SEQUENCE = 19, 20, 21
_SEND_QUEUE, _REPAIR_OFF_WITHOUT_PROBE = 2, -1
_HAS_TIMESTAMPS = 1
_TIMESTAMPS_BYTES = 12

_SYN_BYTES = 512
_END, _NOTHING = 0, 1
_MSS, _WINDOW_SCALE, _SACK_PERMITTED, _TIMESTAMPS = 2, 3, 4, 8
_IPV6_HEADER_BYTES = 40
_TCP_HEADER_BYTES = 20
_TTL_AT, _HOP_LIMIT_AT = 8, 7

_CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; its resolution is a tick of the kernel

_CLOCK_TOLERANCE_MS = 250
_SHORT_OF_SHARE, _SHORT_OF_MS = 0.75, 5.0

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PathFinding:
    """A property of the path that a user should know before a long measurement."""

    kind: Literal["note", "warning", "proxy"]
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the finding as one line, followed by its remedy if there is one."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


def save_syns(listener: socket.socket) -> None:
    """Configure a listening socket to save the SYN of each connection."""
    with contextlib.suppress(OSError):
        listener.setsockopt(socket.IPPROTO_TCP, _SAVE_SYN, 1)


def saved_syn(connection: socket.socket) -> View | None:
    """Return the fields of a connection's SYN (see `read_syn`); None if the kernel saved no SYN."""
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, _SAVED_SYN, _SYN_BYTES)
    except OSError:
        return None
    return read_syn(raw)


def read_syn(raw: bytes) -> View | None:
    """Return TTL, sequence number and options of a SYN packet; None if the packet is too short."""
    if len(raw) < _TCP_HEADER_BYTES:
        return None
    is_ipv6 = raw[0] >> 4 == 6  # noqa: PLR2004  version of IP
    segment = raw[_IPV6_HEADER_BYTES if is_ipv6 else (raw[0] & 0xF) * 4 :]
    if len(segment) < _TCP_HEADER_BYTES:
        return None
    options = _options(segment[_TCP_HEADER_BYTES : (segment[12] >> 4) * 4])
    return {
        "hops_left": raw[_HOP_LIMIT_AT if is_ipv6 else _TTL_AT],
        "sequence": struct.unpack_from("!I", segment, 4)[0],
        "mss_bytes": _whole(options.get(_MSS), 2),
        "window_scale": _whole(options.get(_WINDOW_SCALE), 1),
        "timestamp_ms": _whole(options.get(_TIMESTAMPS), 4),
        "has_sack": _SACK_PERMITTED in options,
    }


def initial_sequence(connection: socket.socket) -> int | None:
    """Return the sequence number of this computer's SYN; None without root privileges.

    The connection must not have sent any data yet.
    """
    tcp = socket.IPPROTO_TCP
    try:
        connection.setsockopt(tcp, _REPAIR, 1)
    except OSError:
        return None
    try:
        connection.setsockopt(tcp, _REPAIR_QUEUE, _SEND_QUEUE)
        return (connection.getsockopt(tcp, _QUEUE_SEQUENCE) - 1) & 0xFFFF_FFFF
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            connection.setsockopt(tcp, _REPAIR, _REPAIR_OFF_WITHOUT_PROBE)


def view_of(connection: socket.socket) -> View:
    """Return this computer's view of a connection: TCP_INFO, TCP options, network interface."""
    info = tcp_info.decode(tcp_info.read(connection))
    scales = info["window_scales"]
    has_timestamps = bool(info["options"] & _HAS_TIMESTAMPS)
    name = interface_of(connection)
    return {
        "peer": list(connection.getpeername()[:2]),
        "own": list(connection.getsockname()[:2]),
        "clock_ms": _clock_ms(connection, info),
        "has_timestamps": has_timestamps,
        "sending_scale": scales & 0xF,
        "receiving_scale": scales >> 4,
        "mss_bytes": info["snd_mss"],
        # The kernel has subtracted the bytes of the timestamp option from the announced MSS.
        "advertised_mss_bytes": info["advmss"] + (_TIMESTAMPS_BYTES if has_timestamps else 0),
        "path_mtu_bytes": info["pmtu"],
        "rtt_ms": info["min_rtt_us"] / 1e3 if info.get("min_rtt_us", 0) < 2**32 - 1 else None,
        "interface": None if name is None else describe_interface(name),
        # Last, so that "clock_ms" was certainly read before this time.
        "at_ns": now_ns(),
    }


def waited_ms(connection: socket.socket) -> float:
    """Return a lower bound, in ms, of the time since a connection's last data arrived here.

    If the data have just been read, the result shows how long they waited in the receive buffer;
    this wait can be long on a busy computer. The kernel counts whole ticks since the arrival, so
    one tick is subtracted.
    """
    tick_ms = 1e3 * time.clock_getres(_CLOCK_MONOTONIC_COARSE)
    since_ms = tcp_info.decode(tcp_info.read(connection))["last_data_recv_ms"]
    return max(0.0, since_ms - tick_ms)


def compare_views(
    client: Mapping[str, Any], server: Mapping[str, Any], round_trip_ms: float | None = None
) -> list[PathFinding]:
    """Return findings on middleboxes between the client and the server of a connection.

    Args:
        client: view of the client. Its key `sequence` contains the initial sequence number, and
            `opened_ms` the duration of the connection setup.
        server: view of the server. Its key `syn` describes the SYN that the server received.
        round_trip_ms: minimum round-trip time between the client's and the server's application.
    """
    found = [*_split(client, server, round_trip_ms)]
    if found:
        return found
    syn = server.get("syn") or {}
    if _differ(client.get("sequence"), syn.get("sequence")):
        found.append(
            PathFinding(
                "note", "a firewall on the path rewrites sequence numbers; this is harmless"
            )
        )
    mss = syn.get("mss_bytes")
    if mss is not None and mss < client["advertised_mss_bytes"]:
        announced = client["advertised_mss_bytes"]
        what = f"the path reduces the MSS from {announced} to {mss} bytes, as tunnels often do"
        found.append(PathFinding("note", what))
    if syn and not syn["has_sack"]:
        found.append(
            PathFinding(
                "warning",
                "a middlebox disables selective acknowledgements",
                "without SACK, loss recovery is slower; try another --port",
            )
        )
    return found


def _split(
    client: Mapping[str, Any], server: Mapping[str, Any], round_trip_ms: float | None
) -> list[PathFinding]:
    """Return a finding if a proxy has replaced the connection with two connections."""
    syn = server.get("syn") or {}
    evidence = _in_handshake(client, server, syn)
    if round_trip_ms is not None:
        evidence += too_quick(client, server, round_trip_ms)
    if not evidence:
        return []
    if _differ(client.get("sequence"), syn.get("sequence")):
        evidence.append("the ends see different sequence numbers")
    if _differ(client["advertised_mss_bytes"], syn.get("mss_bytes")):
        evidence.append("the ends see different segment sizes")
    return [
        PathFinding(
            "proxy",
            f"a proxy on the path terminates TCP connections: {', '.join(evidence)}",
            "the proxy uses its own congestion control, so comparisons of algorithms are "
            "meaningless; try another port (cwndlab serve --port 443), or measure through a "
            "tunnel over UDP such as WireGuard",
        )
    ]


def _in_handshake(
    client: Mapping[str, Any], server: Mapping[str, Any], syn: Mapping[str, Any]
) -> list[str]:
    evidence = []
    stamp_ms, clock_ms = syn.get("timestamp_ms"), client.get("clock_ms")
    if stamp_ms is not None and clock_ms is not None:
        passed_ms = (clock_ms - stamp_ms) & 0xFFFF_FFFF
        known_ms = client["opened_ms"] + (client["at_ns"] - client["opened_ns"]) / 1e6
        if min(passed_ms, 2**32 - passed_ms) > known_ms + _CLOCK_TOLERANCE_MS:
            evidence.append(
                "the TCP timestamps that the client sent and those that the server received come "
                "from different clocks"
            )
    if client["has_timestamps"] != server["has_timestamps"]:
        evidence.append("only one of the two ends uses TCP timestamps")
    if (client["sending_scale"], client["receiving_scale"]) != (
        server["receiving_scale"],
        server["sending_scale"],
    ):
        evidence.append("the two ends see different window scales")
    return evidence


def too_quick(
    client: Mapping[str, Any], server: Mapping[str, Any], round_trip_ms: float
) -> list[str]:
    """Return evidence that TCP measures a much shorter round-trip time than the applications."""
    evidence = []
    for end, view in (("client", client), ("server", server)):
        rtt_ms = view.get("rtt_ms")
        if rtt_ms is not None and rtt_ms < _SHORT_OF_SHARE * round_trip_ms - _SHORT_OF_MS:
            quick = f"TCP at the {end} measures an RTT of {rtt_ms:.0f} ms"
            evidence.append(f"{quick}, but the applications measure {round_trip_ms:.0f} ms")
    return evidence


def _clock_ms(connection: socket.socket, info: Mapping[str, int]) -> int | None:
    if not info["options"] & _HAS_TIMESTAMPS:
        return None
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, _TIMESTAMP) & 0xFFFF_FFFF
    except OSError:
        return None


def _options(content: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at = 0
    while at < len(content) and content[at] != _END:
        if content[at] == _NOTHING:
            at += 1
            continue
        length = content[at + 1] if at + 1 < len(content) else 0
        if length < 2 or at + length > len(content):  # noqa: PLR2004  bytes of kind and length
            break
        found[content[at]] = content[at + 2 : at + length]
        at += length
    return found


def _whole(value: bytes | None, size: int) -> int | None:
    return None if value is None or len(value) < size else int.from_bytes(value[:size], "big")


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other
